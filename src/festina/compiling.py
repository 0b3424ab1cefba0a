"""Programs that compile quickly.

Most of festina's programs run for seconds, and compiling them takes as long. XLA has two ways to turn fused operations
into machine code on a CPU, and which of them is better depends on the program:

- *Quickly* (`quick_jit`): the older way compiles in two thirds of the time, and for descent of many small networks at
  once, for the closure, and for flows of small networks its code is as fast or faster. LLVM's first level of
  optimisation saves another tenth. One module for LLVM, instead of up to 32 for as many threads, is quicker for one
  thread; of optimised programs it has the same bits.
- *Thoroughly* (`thorough_jit`), as XLA thinks best: long runs of an optimiser through large layers are faster by a
  third, draws from posteriors by up to four fifths (sigmoidal neurons: the error function), flows whose stages are
  written out by a tenth, and these compile sooner, too. A process says so by its `passes`, and the loop asks for it
  where there is enough to do.
- *Briefly* (`brief_jit`): a program that runs once, as the start of a run does, is not worth optimising at all. In one
  module such a program would round differently, so that it stays cut.
"""

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from time import monotonic
from typing import Any

import jax
from jax.extend.core import get_opaque_trace_state

from festina.errors import FestinaError
from festina.programs import KEEPER, Program

QUICK = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_backend_optimization_level": 1,
    "xla_cpu_parallel_codegen_split_count": 1,
}
BRIEF = QUICK | {"xla_backend_optimization_level": 0, "xla_cpu_parallel_codegen_split_count": 32}  # 32 is XLA's own
THOROUGH = {"xla_backend_optimization_level": 3}  # XLA's own, which an environment may have turned off for all others
COMPILED = "/jax/core/compile/backend_compile_duration"  # what JAX calls the event


def known_options(options: dict[str, Any]) -> dict[str, Any] | None:
    """These options, or none if this version of XLA does not know them."""
    return options if _are_known() else None


@lru_cache
def _are_known() -> bool:
    try:
        jax.jit(lambda x: x, compiler_options=BRIEF).lower(0.0).compile()
    except Exception:  # whatever XLA says to an option it has dropped
        return False
    return True


class _Compiled:
    """How many programs XLA has finished in this process, and when the last; JAX tells, also of one that it found in
    its cache.
    """

    programs, moment = 0, -math.inf

    @classmethod
    def note(cls, event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == COMPILED:
            cls.programs, cls.moment = cls.programs + 1, monotonic()


jax.monitoring.register_event_duration_secs_listener(_Compiled.note)


def last_compiled() -> float:
    """When a program was last compiled in this process, by the monotonic clock; never is minus infinity."""
    return _Compiled.moment


def programs_compiled() -> int:
    """How many programs were compiled in this process so far, or found in JAX's cache."""
    return _Compiled.programs


@lru_cache
def _at_rest() -> object:
    """The state of a thread in which JAX traces nothing."""
    with ThreadPoolExecutor(1) as fresh:
        return fresh.submit(get_opaque_trace_state).result()


def is_tracing() -> bool:
    """Whether JAX is tracing a function right now, in this thread."""
    return get_opaque_trace_state() != _at_rest()


class _Process:
    """Which process first used JAX; one that is forked off it later has JAX's locks, and not its threads."""

    first: int | None = None


def check_not_forked() -> None:
    """Refuse to compute in a process that was forked after JAX had started: it would wait for ever."""
    if _Process.first is None:
        _Process.first = os.getpid()
    if _Process.first != os.getpid():
        raise FestinaError(
            f"Process {os.getpid()} was forked from process {_Process.first} after JAX had started there, and would "
            "wait for ever: start processes with `multiprocessing.get_context('spawn')`, or sweep with `fs.sweep`, "
            "which does so by itself."
        )


class quick_jit:
    """`jax.jit` with options that compile quickly, looked up when the function is first called, not on import.

    Called while JAX traces another function, it becomes a part of that one, and has no options of its own.

    Attributes:
        wanted: the options, whether XLA knows them or not.
    """

    wanted: dict[str, Any] = QUICK

    def __init__(self, function: Callable[..., Any], **settings: Any) -> None:
        self.function = self.__wrapped__ = function
        self.settings = settings

    @property
    def options(self) -> dict[str, Any] | None:
        return known_options(self.wanted)

    @cached_property
    def compiled(self) -> Any:
        return jax.jit(self.function, compiler_options=self.options, **self.settings)

    @cached_property
    def nested(self) -> Any:
        return jax.jit(self.function, **self.settings)

    def __call__(self, *arguments: Any) -> Any:
        if is_tracing():
            return self.nested(*arguments)
        check_not_forked()
        kept = self._kept(arguments)
        return self.compiled(*arguments) if kept is None else kept.run(*self._split(arguments)[1])

    def bound(self, *arguments: Any) -> Callable[..., Any]:
        """The program for arguments of such shapes, to be called with those that are not static, again and again."""
        kept = self._kept(arguments)
        if kept is not None:
            return kept.run
        static = self._split(arguments)[0]
        return lambda *dynamic: self.compiled(*self._joined(static, dynamic))

    def shapes(self, *arguments: Any) -> Any:
        """The shapes of what would come back; nothing is compiled, and a later call does not trace again."""
        check_not_forked()
        kept = self._kept(arguments)
        return self.compiled.eval_shape(*arguments) if kept is None else kept.shapes

    def _kept(self, arguments: tuple[Any, ...]) -> Program | None:
        if KEEPER.folder is None:  # nothing is kept, and nothing is worth looking up
            return None
        static, dynamic = self._split(arguments)
        name = f"{self.function.__module__}.{self.function.__qualname__}"
        return KEEPER.program(
            lambda *dynamic: self.function(*self._joined(static, dynamic)),
            lambda function: jax.jit(function, compiler_options=self.options),
            name,
            self.wanted,
            static,
            dynamic,
        )

    def _split(self, arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Static arguments, and the others."""
        static = tuple(value for place, value in enumerate(arguments) if place in self._static)
        return static, tuple(value for place, value in enumerate(arguments) if place not in self._static)

    def _joined(self, static: tuple[Any, ...], dynamic: tuple[Any, ...]) -> list[Any]:
        """All arguments in their places."""
        first, second = iter(static), iter(dynamic)
        return [next(first if place in self._static else second) for place in range(len(static) + len(dynamic))]

    @cached_property
    def _static(self) -> frozenset[int]:
        places = self.settings.get("static_argnums", ())
        return frozenset((places,) if isinstance(places, int) else places)


class brief_jit(quick_jit):
    """The same for a function that is called once or twice: compiled as quickly as can be, and not optimised."""

    wanted = BRIEF


class thorough_jit(quick_jit):
    """The same for a function that will run long: compiled as XLA thinks best."""

    wanted = THOROUGH
