"""How it looks: style, palette, and panels that know simulation from theory and arms from seeds."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
