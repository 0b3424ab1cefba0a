"""What mathematics predicts: exact solutions and reductions, each a function of time or of the data."""

from festina.theory import abstraction, saddles
from festina.theory.balanced import balanced, determinant_obstruction
from festina.theory.balanced_literal import literal
from festina.theory.chain import chain, imbalanced, stage_index, time_to_reach
from festina.theory.closure import Closure, closure
from festina.theory.modes import modes
from festina.theory.sequence import sequence
from festina.theory.solution import Solution

__all__ = [
    "Closure",
    "Solution",
    "abstraction",
    "balanced",
    "chain",
    "closure",
    "determinant_obstruction",
    "imbalanced",
    "literal",
    "modes",
    "saddles",
    "sequence",
    "stage_index",
    "time_to_reach",
]
