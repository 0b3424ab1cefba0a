"""What was found, in words: shared by the terminal, the report and notebooks. Imports nothing heavy."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from festina.verdicts import counts, summary

if TYPE_CHECKING:
    from festina.experiment import Result

RESERVED = frozenset(
    [
        "budget",
        "debug",
        "dry-run",
        "first-seed",
        "fresh",
        "help",
        "json",
        "job-memory",
        "job-time",
        "keep",
        "no-figure",
        "out",
        "over",
        "processes",
        "save-settings",
        "sbatch",
        "scheduler",
        "seeds",
        "shards",
        "submit",
        "set",
        "settings",
        "tile",
        "verbose",
        "workers",
    ]
)
"""Flags that mean the same for every experiment; a field of such a name is given through `--set`."""


def flag_of(field: str) -> str:
    """The flag of a configuration field."""
    return "--" + field.replace("_", "-")


def value_text(value: Any) -> str:
    """A value as it is typed on the command line: tuples with commas, tuples of tuples with semicolons between them."""
    if isinstance(value, list | tuple):
        separator = ";" if any(isinstance(part, list | tuple) for part in value) else ","
        return separator.join(map(value_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def run_command(name: str, budget: str, fields: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """The command that runs an experiment with these fields and options."""
    words = ["festina", "run", name]
    words += ["--budget", "quick"] if budget == "quick" else []
    for option, value in options.items():
        words += [flag_of(option), value_text(value)]
    for field, value in fields.items():
        flag = flag_of(field)
        reserved = flag.removeprefix("--") in RESERVED
        words += ["--set", f"{field}={value_text(value)}"] if reserved else [flag, value_text(value)]
    return shlex.join(words)


def seeds_of(result: Result) -> list[int]:
    """The seeds of a result's runs."""
    return [int(seed) for seed in result.data["seed"].values]


def as_json(value: Any) -> Any:
    """Anything as what JSON can say: NaN is null, infinities are texts."""
    if isinstance(value, Mapping):
        return {str(key): as_json(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(entry) for entry in value]
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Path):
        return str(value)
    return as_json(value.item()) if hasattr(value, "item") else str(value)


def result_json(result: Result) -> dict[str, Any]:
    """A result without its data, for machines."""
    from festina.lab.question import Question  # which builds on this module

    attrs = result.data.attrs
    return as_json(
        {
            "experiment": result.experiment.name,
            "config": result.config.model_dump(),
            "budget": attrs.get("budget"),
            "seeds": seeds_of(result),
            "verdicts": [verdict.as_dict() for verdict in result.verdicts],
            "counts": counts(result.verdicts),
            "summary": summary(result.verdicts),
            "failures": result.failures,
            "folder": result.path,
            "from_store": result.from_store,
            "seconds": attrs.get("seconds"),
            "version": attrs.get("version"),
            "commit": attrs.get("commit"),
            "created": attrs.get("created"),
            "command": Question.answered_by(result).command,
        }
    )
