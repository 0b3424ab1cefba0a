"""What learns."""

from festina.networks import tutor
from festina.networks.linear import DeepLinear
from festina.networks.tutor import TutorExecutor

__all__ = ["DeepLinear", "TutorExecutor", "tutor"]
