"""Names that annotations of models use; imported by type checkers only, for it imports JAX."""

from typing import Any

from jaxtyping import Bool, Float, Int, UInt32
from jaxtyping import PRNGKeyArray as Key

from festina.learning.joint import JointDescent, View
from festina.learning.mode_law import ModeLaw
from festina.learning.native import Together
from festina.learning.neuron_law import NeuronLaw
from festina.learning.process import Observed, Process, State
from festina.learning.samplers import Sampler
from festina.networks.abstraction import FullyConnected, NeuronGated, PathGated
from festina.networks.bayesian import Bayesian
from festina.networks.gated import Gated
from festina.networks.graph import Graph
from festina.networks.linear import DeepLinear
from festina.networks.rectified import Rectified
from festina.networks.stack import Stack
from festina.networks.tutor import Rule, Trial
from festina.networks.tutor import TutorExecutor as Tutor
from festina.theory.coding.prediction import Prediction, Predictor
from festina.theory.rectified import TwoPhases
from festina.theory.saddles import MeanField
from festina.theory.solution import Solution
from festina.theory.stationary import Task
from festina.worlds.blocks import Blocks
from festina.worlds.classes import Classes
from festina.worlds.contexts import ContextWorld
from festina.worlds.data import Samples
from festina.worlds.gated import GatedSamples
from festina.worlds.routing import Modes
from festina.worlds.routing import Routing as RoutingWorld
from festina.worlds.statistics import Statistics
from festina.worlds.tasks import Tasks
from festina.worlds.world import Dataset

Array = Any
"""An array of JAX while a run is simulated, of NumPy while it is solved; with a shape, as in `Float[Array, "i o"]`."""

Curves = dict[str, Any]
"""What theory gives: arrays under the names of variables."""

__all__ = [
    "Array",
    "Bayesian",
    "Blocks",
    "Bool",
    "Classes",
    "ContextWorld",
    "Curves",
    "Dataset",
    "DeepLinear",
    "Float",
    "FullyConnected",
    "Gated",
    "GatedSamples",
    "Graph",
    "Int",
    "JointDescent",
    "Key",
    "MeanField",
    "ModeLaw",
    "Modes",
    "NeuronGated",
    "NeuronLaw",
    "Observed",
    "PathGated",
    "Prediction",
    "Predictor",
    "Process",
    "Rectified",
    "RoutingWorld",
    "Rule",
    "Sampler",
    "Samples",
    "Solution",
    "Stack",
    "State",
    "Statistics",
    "Task",
    "Tasks",
    "Together",
    "Trial",
    "Tutor",
    "TwoPhases",
    "UInt32",
    "View",
]
