"""What runs experiments: registry, run, sweep, store, report (`festina.run` and `festina.sweep` lead here)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
