"""What we look at: pure functions of arrays."""

from festina.measures import behaviour
from festina.measures.alignment import at_fall, silent_share
from festina.measures.compare import Comparison, compare
from festina.measures.embedding import classical_scaling, distances, planar_paths, stress
from festina.measures.kernels import (
    kernel_distance,
    kernel_inner,
    kernel_movement,
    representational_similarity,
    target_alignment,
)
from festina.measures.stages import crossing_time, stage_index

__all__ = [
    "Comparison",
    "at_fall",
    "behaviour",
    "classical_scaling",
    "compare",
    "crossing_time",
    "distances",
    "kernel_distance",
    "kernel_inner",
    "kernel_movement",
    "planar_paths",
    "representational_similarity",
    "silent_share",
    "stage_index",
    "stress",
    "target_alignment",
]
