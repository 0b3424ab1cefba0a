"""What we look at: pure functions of arrays."""

from festina.measures import activity, behaviour
from festina.measures.alignment import at_fall, silent_share
from festina.measures.chains import effective_sample_size, split_r_hat
from festina.measures.codes import (
    between_classes,
    class_kernel_distance,
    class_means,
    class_variance,
    code_name,
    code_numbers,
    code_shares,
    mean_kernel,
    outliers,
    persistence,
    representatives,
    top_share,
)
from festina.measures.coding import Coding, coding
from festina.measures.compare import Comparison, compare
from festina.measures.competition import coverage, dominance, effective_number, winner_entropy
from festina.measures.effective import EffectiveNetwork, effective_network
from festina.measures.embedding import classical_scaling, distances, planar_paths, stress
from festina.measures.gates import Gates, gates
from festina.measures.kernels import (
    kernel_distance,
    kernel_inner,
    kernel_movement,
    representational_similarity,
    target_alignment,
)
from festina.measures.specialization import (
    at_block_ends,
    gate_separation,
    matched_paths,
    selectivity,
    take_paths,
    times_in_blocks,
    total_alignment,
)
from festina.measures.stages import crossing_time, crossings, stage_index, zero_crossings
from festina.measures.switching import Switching, matched_labels, switching

__all__ = [
    "Coding",
    "Comparison",
    "EffectiveNetwork",
    "Gates",
    "Switching",
    "activity",
    "at_block_ends",
    "at_fall",
    "behaviour",
    "between_classes",
    "class_kernel_distance",
    "class_means",
    "class_variance",
    "classical_scaling",
    "code_name",
    "code_numbers",
    "code_shares",
    "coding",
    "compare",
    "coverage",
    "crossing_time",
    "crossings",
    "distances",
    "dominance",
    "effective_network",
    "effective_number",
    "effective_sample_size",
    "gate_separation",
    "gates",
    "kernel_distance",
    "kernel_inner",
    "kernel_movement",
    "matched_labels",
    "matched_paths",
    "mean_kernel",
    "outliers",
    "persistence",
    "planar_paths",
    "representational_similarity",
    "representatives",
    "selectivity",
    "silent_share",
    "split_r_hat",
    "stage_index",
    "stress",
    "switching",
    "take_paths",
    "target_alignment",
    "times_in_blocks",
    "top_share",
    "total_alignment",
    "winner_entropy",
    "zero_crossings",
]
