"""World, network, way of learning and theory as one parameterised system each; every number of it is a field.

A module for every model, imported when it is first asked for; the stub beside this file lists them all.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
