"""What we look at: pure functions of arrays."""

from festina.measures.compare import Comparison, compare
from festina.measures.stages import crossing_time, stage_index

__all__ = ["Comparison", "compare", "crossing_time", "stage_index"]
