"""What learns."""

from festina.networks import bayesian, convolutional, tutor
from festina.networks.abstraction import Abstraction, FullyConnected, NeuronGated, PathGated, Regularizer
from festina.networks.bayesian import LAZY, LINEAR, NON_LAZY, RECTIFIED, SIGMOIDAL, Bayesian, Nonlinearity, Scaling
from festina.networks.convolutional import Convolutional
from festina.networks.ensemble import Ensemble
from festina.networks.gated import Gated
from festina.networks.graph import Graph
from festina.networks.linear import DeepLinear
from festina.networks.rectified import Rectified
from festina.networks.stack import Stack
from festina.networks.tutor import TutorExecutor

__all__ = [
    "LAZY",
    "LINEAR",
    "NON_LAZY",
    "RECTIFIED",
    "SIGMOIDAL",
    "Abstraction",
    "Bayesian",
    "Convolutional",
    "DeepLinear",
    "Ensemble",
    "FullyConnected",
    "Gated",
    "Graph",
    "NeuronGated",
    "Nonlinearity",
    "PathGated",
    "Rectified",
    "Regularizer",
    "Scaling",
    "Stack",
    "TutorExecutor",
    "bayesian",
    "convolutional",
    "tutor",
]
