"""What there is to run, as a table: `festina.list_experiments()` and `festina.list_models()`. Imports nothing heavy."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from festina.errors import FestinaWarning, UnknownName
from festina.experiment import Experiment
from festina.lab import registry
from festina.lab.reproduce import load_all
from festina.notebook import table

WIDTH = 120


@dataclass(frozen=True)
class Line:
    """One thing to run.

    Attributes:
        name: by which `festina.run` and the command line know it.
        sentence: what it shows, or is.
        fields: what can be turned.
    """

    name: str
    sentence: str
    fields: tuple[str, ...]

    @classmethod
    def of(cls, experiment: Experiment) -> Line:
        return cls(experiment.name, experiment.summary(), tuple(experiment.Config.model_fields))


class Catalogue:
    """A table of things to run: it iterates over their names, and has a line for each name."""

    def __init__(self, experiments: Iterable[Experiment]) -> None:
        self.lines = {line.name: line for line in map(Line.of, experiments)}

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __contains__(self, name: object) -> bool:
        return name in self.lines

    def __getitem__(self, name: str) -> Line:
        """The line of a name, or an error with the nearest names."""
        if name not in self.lines:
            raise UnknownName("name", name, self.lines)
        return self.lines[name]

    def __repr__(self) -> str:
        indent = 2 + max(map(len, self.lines), default=0)
        return "\n".join(_paragraphs(line, indent) for line in self.lines.values())

    def _repr_html_(self) -> str:
        rows = ((line.name, line.sentence, ", ".join(line.fields)) for line in self.lines.values())
        return table(("name", "what it is", "fields"), rows)


def list_experiments() -> Catalogue:
    """Every experiment there is, festina's own and those that other packages register.

    Returns:
        A table with a name, a sentence and the fields of each; it iterates over the names.

    Example:
        >>> import festina as fs
        >>> "linear/chain" in fs.list_experiments()
        True
        >>> fs.list_experiments()["linear/chain"].fields[:3]
        ('depth', 'strength', 'input_variance')
    """
    entries = load_all()
    for entry in entries:
        if entry.error:
            warnings.warn(f"experiment {entry.name!r} cannot be loaded: {entry.error}", FestinaWarning, stacklevel=2)
    return Catalogue(entry.experiment for entry in entries if entry.experiment is not None)


def list_models() -> Catalogue:
    """Every model there is, under the name by which it is run by itself.

    Returns:
        A table with a name, a sentence and the fields of each; it iterates over the names.

    Example:
        >>> import festina as fs
        >>> [name for name in fs.list_models() if "layer" in name]
        ['model/two-layer']
    """
    return Catalogue(registry.all_models())


def _paragraphs(line: Line, indent: int) -> str:
    """A name with its sentence beside it, and its fields below that."""
    room = {"width": WIDTH, "break_long_words": False, "break_on_hyphens": False}
    about = textwrap.fill(line.sentence, initial_indent=line.name.ljust(indent), subsequent_indent=" " * indent, **room)
    fields = textwrap.fill(", ".join(line.fields), initial_indent=" " * indent, subsequent_indent=" " * indent, **room)
    return f"{about}\n{fields}"
