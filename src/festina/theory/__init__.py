"""What mathematics predicts: exact solutions and reductions, each a function of time or of the data."""

from festina.theory import abstraction, coding, margin, rectified, routing, saddles, stack, views
from festina.theory.balanced import balanced, determinant_obstruction
from festina.theory.balanced_literal import literal
from festina.theory.chain import chain, imbalanced, stage_index, time_to_reach
from festina.theory.closure import Closure, closure
from festina.theory.modes import modes
from festina.theory.paths import PathStatistics, path_statistics
from festina.theory.race import Race, race
from festina.theory.reduced import Reduction
from festina.theory.reduction import reduction
from festina.theory.sequence import sequence
from festina.theory.solution import Solution

__all__ = [
    "Closure",
    "PathStatistics",
    "Race",
    "Reduction",
    "Solution",
    "abstraction",
    "balanced",
    "chain",
    "closure",
    "coding",
    "determinant_obstruction",
    "imbalanced",
    "literal",
    "margin",
    "modes",
    "path_statistics",
    "race",
    "rectified",
    "reduction",
    "routing",
    "saddles",
    "sequence",
    "stack",
    "stage_index",
    "time_to_reach",
    "views",
]
