"""How a network learns: flow, descent and sampling, and the one loop that drives them."""

from festina.learning.abstracted import Abstracted, AbstractedArms
from festina.learning.closure import (
    closed_process,
    compressed,
    compressed_by_row,
    spanned_by_mean,
    spanned_by_row,
    teacher_bases,
)
from festina.learning.collapsed import Collapsed, Redraw
from festina.learning.descent import descent_process, scaled_by, stages_by_time
from festina.learning.evidence import Evidence, drawn_readouts, log_evidence
from festina.learning.failure import Failure
from festina.learning.flow import Tolerance, flow_process
from festina.learning.joint import JointDescent, View, joint_process
from festina.learning.learn import descent, flow
from festina.learning.loop import Checkpoint, Recording, drive
from festina.learning.mode_law import ModeLaw
from festina.learning.neuron_law import NeuronLaw
from festina.learning.pilot import piloted_law
from festina.learning.posterior import Chain, annealed, constant, dwelling, posterior_process
from festina.learning.process import Process, State
from festina.learning.replicas import Company, ReplicaExchange
from festina.learning.runge_kutta import DORMAND_PRINCE, TSITOURAS, RungeKutta
from festina.learning.sampled import Posterior
from festina.learning.samplers import HMC, MALA, NUTS, Kinked, Sampler
from festina.learning.sampling import sample
from festina.learning.slices import Shuffle, Slice
from festina.learning.stream import abstract, stream_rule
from festina.learning.trajectory import Diverged, Trajectory

__all__ = [
    "DORMAND_PRINCE",
    "HMC",
    "MALA",
    "NUTS",
    "TSITOURAS",
    "Abstracted",
    "AbstractedArms",
    "Chain",
    "Checkpoint",
    "Collapsed",
    "Company",
    "Diverged",
    "Evidence",
    "Failure",
    "JointDescent",
    "Kinked",
    "ModeLaw",
    "NeuronLaw",
    "Posterior",
    "Process",
    "Recording",
    "Redraw",
    "ReplicaExchange",
    "RungeKutta",
    "Sampler",
    "Shuffle",
    "Slice",
    "State",
    "Tolerance",
    "Trajectory",
    "View",
    "abstract",
    "annealed",
    "closed_process",
    "compressed",
    "compressed_by_row",
    "constant",
    "descent",
    "descent_process",
    "drawn_readouts",
    "drive",
    "dwelling",
    "flow",
    "flow_process",
    "joint_process",
    "log_evidence",
    "piloted_law",
    "posterior_process",
    "sample",
    "scaled_by",
    "spanned_by_mean",
    "spanned_by_row",
    "stages_by_time",
    "stream_rule",
    "teacher_bases",
]
