"""What learns."""

from festina.networks import tutor
from festina.networks.abstraction import Abstraction, FullyConnected, NeuronGated, PathGated, Regularizer
from festina.networks.convolutional import Convolutional
from festina.networks.gated import Gated
from festina.networks.graph import Graph
from festina.networks.linear import DeepLinear
from festina.networks.rectified import Rectified
from festina.networks.tutor import TutorExecutor

__all__ = [
    "Abstraction",
    "Convolutional",
    "DeepLinear",
    "FullyConnected",
    "Gated",
    "Graph",
    "NeuronGated",
    "PathGated",
    "Rectified",
    "Regularizer",
    "TutorExecutor",
    "tutor",
]
