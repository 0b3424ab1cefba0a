"""Programs kept by what determines them, so that they are neither traced nor compiled again in another process.

JAX's own cache is asked with the text of a program, and to trace and write that text takes longer than many programs
run. Here the machine code itself is kept, and asked for by what determines it: a hash of the code that it can reach,
the values that are part of it, the shapes of what it is called with, how JAX is set, and the processor. Only programs
whose code is known that well are kept: one of their static arguments has a ``program_mark``.
"""

import hashlib
import math
import os
import pickle
import platform
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from uuid import uuid4

import jax
import numpy as np
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from festina.errors import StoreError
from festina.files import write_bytes

PLAIN = (int, str, bool, type(None))  # static arguments that are what they say
ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # of a function, as it is printed: nothing that another process would know
CALLED = re.compile(r"custom_call @(\w+)")  # code outside of a program, as its text has it
LAPACK = "lapack_"  # how the names of LAPACK's routines begin, the only such code that another process has, too
DIGEST = 32  # bytes of a hash before the content of a file
FOUND = "/jax/compilation_cache/cache_hits"  # what JAX calls the event
LEAST_SECONDS = "jax_persistent_cache_min_compile_time_secs"  # of compiling what JAX's own cache takes
ONE_AT_A_TIME = Lock()  # a setting of JAX is changed while a program is compiled, for all threads
ALIKE: dict[str, tuple[Any, bool]] = {}  # programs compiled in this process, by their text

Jit = Callable[[Callable[..., Any]], Any]


class Program(NamedTuple):
    """A program that is called without its static arguments, and the shapes of what it returns."""

    run: Callable[..., Any]
    shapes: Any


class Keeper:
    """Keeps programs in a folder, and those of this process at hand.

    Attributes:
        folder: of one file for each program; None to keep none.
    """

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._at_hand: dict[str, Program] = {}

    def program(
        self,
        function: Callable[..., Any],
        jit: Jit,
        name: str,
        options: Any,
        static: tuple[Any, ...],
        dynamic: tuple[Any, ...],
    ) -> Program | None:
        """The program of a function called with such arguments; None if it is not one to keep.

        Args:
            function: of the dynamic arguments.
            jit: compiles it.
            name: of the function.
            options: that the compiler is asked for.
            static: its static arguments.
            dynamic: its other arguments.
        """
        if self.folder is None or not _marked(static):
            return None
        text = _determined_by(name, options, static, dynamic)
        if ADDRESS.search(text):
            return None
        key = hashlib.sha256(text.encode()).hexdigest()[:32]
        if key not in self._at_hand:
            path = self.folder / f"{key}.program"
            self._at_hand[key] = _read(path) or _traced(path, function, jit, str(options), dynamic)
        return self._at_hand[key]


KEEPER = Keeper()


def _marked(static: tuple[Any, ...]) -> bool:
    """Whether static arguments tell all that a program depends on besides the shapes of its other arguments."""
    known = all(isinstance(each, PLAIN) or getattr(each, "program_mark", None) for each in static)
    return known and not all(isinstance(each, PLAIN) for each in static)


def _determined_by(name: str, options: Any, static: tuple[Any, ...], dynamic: tuple[Any, ...]) -> str:
    """All that a program depends on."""
    leaves, structure = jax.tree.flatten(dynamic)
    shapes = [str(jax.typeof(leaf)) for leaf in leaves]
    marks = [repr(each) if isinstance(each, PLAIN) else each.program_mark for each in static]
    settings = {each: value for each, value in jax.config.values.items() if "cache" not in each}
    return "\n".join((name, str(options), *marks, str(structure), *shapes, str(sorted(settings.items())), _machine()))


@lru_cache
def _machine() -> str:
    """What machine code is made by and for."""
    kind = jax.devices()[0].device_kind
    return f"{jax.__version__} {version('jaxlib')} {kind} {os.environ.get('XLA_FLAGS', '')} {processor()}"


def processor() -> str:
    """The processor and what it can do, as Linux tells of the first core; elsewhere as Python does."""
    try:
        cores = Path("/proc/cpuinfo").read_text().split("\n\n")
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    told = ("model name", "flags", "Features", "CPU part")  # what changes with the load, such as its clock, is left out
    return " ".join(line for line in cores[0].splitlines() if line.startswith(told))


def _read(path: Path) -> Program | None:
    """A program that was kept; None if there is none, or none that can be read."""
    with suppress(Exception):  # whatever a damaged file makes of itself
        content = path.read_bytes()
        if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
            return None
        code, given, returned, shapes = pickle.loads(content[DIGEST:])
        if LAPACK.encode() in code:
            _load_lapack()
        compiled = deserialize_and_load(
            code, jax.tree.structure(given), jax.tree.structure([*shapes]), execution_devices=jax.devices()[:1]
        )
        return _program(compiled, returned, shapes)
    return None


@lru_cache
def _load_lapack() -> None:
    """Look up LAPACK's routines, as JAX does when it first lowers one of them; code that calls them before crashes."""
    try:
        from jaxlib.lapack import prepare_lapack_call  # what JAX calls then, without the rest of the lowering

        prepare_lapack_call("potrf_ffi", np.dtype("float32"))
    except Exception:  # of a version that has it elsewhere
        jax.jit(jax.lax.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), "float32"))


def _traced(path: Path, function: Callable[..., Any], jit: Jit, options: str, dynamic: tuple[Any, ...]) -> Program:
    """A program just traced; when it is first called, it is compiled and kept, if a file can hold it."""
    leaves, given = jax.tree.flatten(dynamic)
    returned = []

    def flat(*leaves: Any) -> list[Any]:
        values, structure = jax.tree.flatten(function(*jax.tree.unflatten(given, leaves)))
        returned.append(jax.tree.unflatten(structure, range(len(values))))
        return values

    lowered = jit(flat).lower(*leaves)
    shapes = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in lowered.out_info]

    @lru_cache
    def compiled() -> Any:
        program, is_new = _compiled(lowered, options)
        if is_new and _is_all_there(lowered):
            with suppress(Exception):  # some machine code cannot be written; it costs the next process its time
                _write(path, program, returned[-1], shapes)
        return program

    return _program(lambda *leaves: compiled()(*leaves), returned[-1], shapes)


def _compiled(lowered: Any, options: str) -> tuple[Any, bool]:
    """A program compiled, and whether it was compiled here.

    Networks that start differently often learn by one and the same program, which is compiled once. Machine code that
    comes from JAX's own cache cannot be written again: its functions would be missing. So that cache is not given what
    is kept here.
    """
    with ONE_AT_A_TIME:
        text = _text(lowered, options)
        if text not in ALIKE:
            found = _Found.programs
            least = getattr(jax.config, LEAST_SECONDS)
            jax.config.update(LEAST_SECONDS, math.inf)
            try:
                ALIKE[text] = lowered.compile(), _Found.programs == found
            finally:
                jax.config.update(LEAST_SECONDS, least)
        return ALIKE[text]


def _text(lowered: Any, options: str) -> str:
    """A hash of all that machine code is made from: options, text, arguments, and which of these it takes.

    Neither what JAX hands to a program beside its arguments nor code outside of it is in the text; then the program is
    shared with no other.
    """
    lowering = lowered._lowering
    taken = getattr(lowering, "compile_args", {}).get("kept_var_idx")
    if taken is None or getattr(lowering, "const_args", None) or not _is_all_there(lowered):
        return uuid4().hex
    told = f"{sorted(taken)} {lowered.args_info}"
    return hashlib.sha256("\n".join((options, told, lowered.as_text())).encode()).hexdigest()


class _Found:
    """How many programs JAX has found in its own cache."""

    programs = 0

    @classmethod
    def note(cls, event: str, **kwargs: str | int) -> None:
        cls.programs += event == FOUND


jax.monitoring.register_event_listener(_Found.note)


def _is_all_there(lowered: Any) -> bool:
    """Whether a program calls nothing outside of it but LAPACK: no Python above all."""
    text = lowered.compiler_ir().operation.get_asm(large_elements_limit=8)
    return all(name.startswith(LAPACK) for name in CALLED.findall(text))


def _write(path: Path, program: Any, returned: Any, shapes: list[jax.ShapeDtypeStruct]) -> None:
    code, given, _ = serialize(program)
    content = pickle.dumps((code, jax.tree.unflatten(given, range(given.num_leaves)), returned, shapes))
    with suppress(StoreError):  # a folder that cannot be written
        write_bytes(path, hashlib.sha256(content).digest() + content)


def _program(compiled: Callable[..., list[Any]], structure: Any, shapes: list[jax.ShapeDtypeStruct]) -> Program:
    """A program from one of lists of arrays, and from the structure of what it returns."""
    returned = jax.tree.structure(structure)

    def run(*dynamic: Any) -> Any:
        return jax.tree.unflatten(returned, compiled(*jax.tree.leaves(dynamic)))

    return Program(run, jax.tree.unflatten(returned, shapes))
