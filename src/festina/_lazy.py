"""Modules that load when first used, so that asking for help costs no second of importing JAX."""

from importlib import import_module
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """Stands for a module and imports it when one of its names is first asked for.

    Experiment files write, so that editors still see the real module::

        if TYPE_CHECKING:
            import jax.numpy as jnp
        else:
            jnp = LazyModule("jax.numpy")
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # introspection (copy, doctest, hypothesis) must not trigger an import
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)

    def __repr__(self) -> str:
        return f"<lazy module {self.__name__!r}>"
