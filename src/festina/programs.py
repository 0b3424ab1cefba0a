"""Programs kept by what determines them, so that they are not traced again in another process.

JAX's own cache is asked with the text of a program, and to trace and write that text takes longer than many programs
run. Here the text itself is kept, and asked for by what determines it: a hash of the code that it can reach, the values
that are part of it, the shapes of what it is called with, and how JAX is set. Only programs whose code is known that
well are kept: one of their static arguments has a ``program_mark``.
"""

import hashlib
import os
import pickle
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import jax
from jax import export

from festina.errors import StoreError
from festina.files import write_bytes

PLAIN = (int, str, bool, type(None))  # static arguments that are what they say
ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # of a function, as it is printed: nothing that another process would know


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
        self._at_hand: dict[str, Program | None] = {}

    def program(
        self, function: Callable[..., Any], name: str, options: Any, static: tuple[Any, ...], dynamic: tuple[Any, ...]
    ) -> Program | None:
        """The program of a function called with such arguments; None if it is not one to keep.

        Args:
            function: of the dynamic arguments.
            name: of the function.
            options: of the compiler.
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
            self._at_hand[key] = _read(path, options) or _written(path, function, dynamic, options)
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
    machine = f"{jax.__version__} {jax.default_backend()} {os.environ.get('XLA_FLAGS', '')}"
    return "\n".join((name, str(options), *marks, str(structure), *shapes, str(sorted(settings.items())), machine))


def _read(path: Path, options: Any) -> Program | None:
    """A program that was kept; None if there is none, or none that can be read."""
    with suppress(Exception):  # whatever a damaged file, or one of another version, makes of itself
        text, structure = pickle.loads(path.read_bytes())
        return _program(export.deserialize(bytearray(text)), structure, options)
    return None


def _written(path: Path, function: Callable[..., Any], dynamic: tuple[Any, ...], options: Any) -> Program | None:
    """A program just traced and kept; None if there is something in it that no file can hold."""
    leaves, given = jax.tree.flatten(dynamic)
    returned = []

    def flat(*leaves: Any) -> list[Any]:
        values, structure = jax.tree.flatten(function(*jax.tree.unflatten(given, leaves)))
        returned.append(jax.tree.unflatten(structure, range(len(values))))
        return values

    with suppress(Exception):  # it is then traced as any other
        text = export.export(jax.jit(flat))(*leaves)
        content = pickle.dumps((bytes(text.serialize()), returned[-1]))
        with suppress(StoreError):  # a folder that cannot be written costs the next process its time, and no more
            write_bytes(path, content)
        return _program(text, returned[-1], options)
    return None


def _program(text: export.Exported, structure: Any, options: Any) -> Program:
    """A program from its text, and from the structure of what it returns."""
    returned = jax.tree.structure(structure)

    def run(*dynamic: Any) -> Any:
        return jax.tree.unflatten(returned, text.call(*jax.tree.leaves(dynamic)))

    shapes = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in text.out_avals]
    return Program(jax.jit(run, compiler_options=options), jax.tree.unflatten(returned, shapes))
