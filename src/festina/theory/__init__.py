"""What mathematics predicts: exact solutions and reductions, each a function of time or of the data."""

from festina.theory import (
    abstraction,
    coding,
    margin,
    phases,
    rectified,
    routing,
    saddles,
    speeds,
    stack,
    stationary,
    structures,
    views,
)
from festina.theory.balanced import balanced, determinant_obstruction
from festina.theory.balanced_literal import literal
from festina.theory.chain import chain, imbalanced, stage_index, time_to_reach
from festina.theory.closure import Closure, closure
from festina.theory.gated_race import GatedRace, gated_race
from festina.theory.modes import modes
from festina.theory.paths import PathStatistics, path_statistics
from festina.theory.reduced import Reduction
from festina.theory.reduction import reduction
from festina.theory.sequence import sequence
from festina.theory.solution import Solution

__all__ = [
    "Closure",
    "GatedRace",
    "PathStatistics",
    "Reduction",
    "Solution",
    "abstraction",
    "balanced",
    "chain",
    "closure",
    "coding",
    "determinant_obstruction",
    "gated_race",
    "imbalanced",
    "literal",
    "margin",
    "modes",
    "path_statistics",
    "phases",
    "rectified",
    "reduction",
    "routing",
    "saddles",
    "sequence",
    "speeds",
    "stack",
    "stage_index",
    "stationary",
    "structures",
    "time_to_reach",
    "views",
]
