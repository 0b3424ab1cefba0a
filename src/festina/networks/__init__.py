"""What learns."""

from festina.networks.linear import DeepLinear

__all__ = ["DeepLinear"]
