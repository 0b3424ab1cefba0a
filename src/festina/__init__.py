"""festina: a laboratory for the theory of learning.

Describe a world, a network and a way of learning; festina simulates it, solves it exactly where mathematics can,
and tells which claims held.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
