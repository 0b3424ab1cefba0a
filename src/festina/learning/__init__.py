"""How a network learns: flow and descent, and the one loop that drives them."""

from festina.learning.descent import descent_process, scaled_by
from festina.learning.flow import Tolerance, flow_process
from festina.learning.learn import descent, flow
from festina.learning.loop import Checkpoint, Failure, Outcome, drive
from festina.learning.process import Process, State
from festina.learning.trajectory import Diverged, Trajectory

__all__ = [
    "Checkpoint",
    "Diverged",
    "Failure",
    "Outcome",
    "Process",
    "State",
    "Tolerance",
    "Trajectory",
    "descent",
    "descent_process",
    "drive",
    "flow",
    "flow_process",
    "scaled_by",
]
