"""The settings of a question as a TOML file: fields at the top, and who is asked, seeds and budget under `[run]`.

    strength = 3.0
    depth = [1, 2, inf]

    [run]
    experiment = "linear/chain"
    budget = "full"
    seeds = 1
    first_seed = 0

Imports nothing heavy.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from festina.errors import ArgumentError, FestinaError, UnknownName
from festina.experiment import Experiment
from festina.files import write_text
from festina.lab.own_files import name_to_ask_for

if TYPE_CHECKING:
    from festina.lab.question import Question

OPTIONS = ("budget", "seeds", "first_seed")
KEYS = ("experiment", *OPTIONS)


@dataclass(frozen=True)
class Settings:
    """What a file says of a question.

    Attributes:
        fields: of the experiment.
        options: those of budget, seeds and first_seed that it names.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


def read_settings(path: str | Path, experiment: Experiment) -> Settings:
    """The settings in a file, every name of which is known; values are checked where they are used.

    Args:
        path: a TOML file.
        experiment: whose fields it gives.

    Returns:
        Fields and options. A field may be written with hyphens, as on the command line.
    """
    known = experiment.Config.model_fields
    whole = _table(Path(path))
    run = whole.pop("run", {})
    if not isinstance(run, dict):
        raise ArgumentError(f"Argument `run` must be a table in {path}, as in [run], but is {run!r}.")
    if run.get("experiment", experiment.name) not in (experiment.name, name_to_ask_for(experiment)):
        has = f"{path} has those of {run['experiment']!r}"
        raise ArgumentError(f"Argument `settings` must be settings of {experiment.name!r}, but {has}.")
    fields = {name.replace("-", "_"): value for name, value in whole.items()}
    for name in fields:
        if name in KEYS and name not in known:
            raise ArgumentError(f"Argument `{name}` must stand under [run] in {path}, but is at the top.")
        if name not in known:
            raise UnknownName(f"field of {experiment.name} in {path}", name, known)
    for name in run:
        if name not in KEYS:
            raise UnknownName(f"key under [run] in {path}", name, KEYS)
    return Settings(fields, {name: value for name, value in run.items() if name in OPTIONS})


def write_settings(path: str | Path, question: Question) -> Path:
    """Write all settings of a question, so that who reads them asks the very same question.

    Args:
        path: the file; it appears whole or not at all.
        question: what is asked.

    Returns:
        The path.

    Example:
        >>> import tempfile
        >>> from festina.lab import find
        >>> from festina.lab.question import Question
        >>> chain = find("linear/chain")
        >>> path = write_settings(tempfile.mkdtemp() + "/chain.toml", Question.of(chain, strength=2.0))
        >>> read_settings(path, chain).fields["strength"]
        2.0
    """
    config = question.config
    run = {
        "experiment": question.experiment.name,
        "budget": question.budget,
        "seeds": len(question.seeds),
        "first_seed": question.seeds[0],
    }
    fields = {name: getattr(config, name) for name in type(config).model_fields}
    lines = [
        *(f"{name} = {_literal(value)}" for name, value in fields.items()),
        "",
        "[run]",
        *(f"{name} = {_literal(value)}" for name, value in run.items()),
    ]
    write_text(Path(path), "\n".join(lines) + "\n")
    return Path(path)


def _table(path: Path) -> dict[str, Any]:
    """What a file holds, or a sentence that says why it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FestinaError(f"{path} is no TOML file: {' '.join(str(error).split())}") from None
    except OSError as error:
        raise FestinaError(f"cannot read settings from {path}: {error.strerror or error}") from None


def _literal(value: Any) -> str:
    """A value as TOML has it; the shortest digits of Python are read as the same number."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
