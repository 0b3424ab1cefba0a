"""Programs that compile quickly.

Most of festina's programs run for seconds, and compiling them takes as long. XLA has two ways to turn fused operations
into machine code on a CPU; the older one compiles in two thirds of the time, and for these small operations its code is
as fast. A program that runs once, as the start of a run does, is not worth optimising at all.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import jax

QUICK = {"xla_cpu_use_fusion_emitters": False}
BRIEF = QUICK | {"xla_backend_optimization_level": 0}


@lru_cache
def known_options(brief: bool) -> dict[str, Any] | None:
    """The options that compile quickly, or none if this version of XLA does not know them."""
    options = BRIEF if brief else QUICK
    try:
        jax.jit(lambda x: x, compiler_options=options).lower(0.0).compile()
    except Exception:  # whatever XLA says to an option it has dropped
        return None
    return options


class quick_jit:
    """`jax.jit` with options that compile quickly, looked up when the function is first called, not on import."""

    brief = False

    def __init__(self, function: Callable[..., Any], **settings: Any) -> None:
        self.function, self.settings = function, settings

    @cached_property
    def compiled(self) -> Any:
        return jax.jit(self.function, compiler_options=known_options(self.brief), **self.settings)

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)


class brief_jit(quick_jit):
    """The same for a function that is called once or twice: compiled as quickly as can be, and not optimised."""

    brief = True
