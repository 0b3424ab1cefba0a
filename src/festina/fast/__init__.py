"""Kernels in C for what JAX compiles less well: optional, built from the source beside this file on first use.

Nothing here is needed: without a compiler, or with ``FESTINA_FAST=0``, everything is computed by JAX and NumPy, with
the same random numbers and the same results up to rounding.
"""

from festina.fast.building import library
from festina.fast.joint import Descent

__all__ = ["Descent", "library"]
