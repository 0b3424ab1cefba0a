"""Programs that compile quickly.

Most of festina's programs run for seconds, and compiling them takes as long. XLA has two ways to turn fused operations
into machine code on a CPU; the older one compiles in two thirds of the time, and for these small operations its code is
as fast.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import jax

QUICK = {"xla_cpu_use_fusion_emitters": False}


@lru_cache
def quick_options() -> dict[str, Any] | None:
    """The options that compile quickly, or none if this version of XLA does not know them."""
    try:
        jax.jit(lambda x: x, compiler_options=QUICK).lower(0.0).compile()
    except Exception:  # whatever XLA says to an option it has dropped
        return None
    return QUICK


class quick_jit:
    """`jax.jit` with `quick_options`, which are looked up when the function is first called, not on import."""

    def __init__(self, function: Callable[..., Any], **settings: Any) -> None:
        self.function, self.settings = function, settings

    @cached_property
    def compiled(self) -> Any:
        return jax.jit(self.function, compiler_options=quick_options(), **self.settings)

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)
