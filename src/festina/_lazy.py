"""Modules that load when first used, so that asking for help costs no second of importing JAX."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # as type checkers know it; `typing` itself takes longer to import than all else here
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "LazyModule",
    "integrate",
    "interpolate",
    "jax",
    "jnp",
    "np",
    "optax",
    "optimize",
    "plt",
    "spatial",
    "special",
    "xr",
]


class LazyModule(ModuleType):
    """Stands for a module and imports it when one of its names is first asked for.

    Experiment files write ``from festina._lazy import jnp, np, plt``; type checkers see the real modules.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # introspection (copy, doctest, hypothesis) must not trigger an import
            raise AttributeError(name)
        module = self.__dict__.get("_module")  # looked up once: a formula asks for names thousands of times
        if module is None:
            module = self.__dict__["_module"] = import_module(self.__name__)
        return getattr(module, name)

    def __repr__(self) -> str:
        return f"<lazy module {self.__name__!r}>"


if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    import matplotlib.pyplot as plt
    import numpy as np
    import optax
    import scipy.integrate as integrate
    import scipy.interpolate as interpolate
    import scipy.optimize as optimize
    import scipy.spatial as spatial
    import scipy.special as special
    import xarray as xr
else:
    jax = LazyModule("jax")
    jnp = LazyModule("jax.numpy")
    plt = LazyModule("matplotlib.pyplot")
    np = LazyModule("numpy")
    optax = LazyModule("optax")
    xr = LazyModule("xarray")
    integrate, interpolate = LazyModule("scipy.integrate"), LazyModule("scipy.interpolate")
    optimize, spatial, special = LazyModule("scipy.optimize"), LazyModule("scipy.spatial"), LazyModule("scipy.special")
