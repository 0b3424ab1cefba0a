"""A page for each model: what it is, its equations, its fields, and what it records."""

from __future__ import annotations

from typing import Any

from generated_commands import escape

import festina as fs
from festina.cli.fields import facts_of
from festina.lab.registry import all_models


def model_pages() -> dict[str, str]:
    """A page for each model, by the name of its file."""
    return {f"models/{file_name(model)}.md": model_page(model) for model in all_models()}


def file_name(model: Any) -> str:
    return model.name.removeprefix("model/")


def model_page(model: Any) -> str:
    name = class_names()[file_name(model)]
    about = f"```{{eval-rst}}\n.. autoclass:: festina.models.{name}\n   :no-members:\n```\n"
    use = f"```python\nresult = fs.models.{name}().run(seeds=3)\n```\n\n```text\nfestina run {model.name}\n```\n"
    equations = [f"## Equations\n\n{equation_list(model.equations)}"] if model.equations else []
    fields = f"## Fields\n\n{fields_table(model)}\n"
    recorded = f"## What is recorded\n\n{variables_table(model.variables)}\n"
    return "\n".join([f"# {model.name}\n", about, use, *equations, fields, recorded])


def class_names() -> dict[str, str]:
    """The names of the classes in `fs.models`, by the names of models."""
    return {
        getattr(fs.models, name).name: name for name in fs.models.__all__ if hasattr(getattr(fs.models, name), "run")
    }


def equation_list(found: Any) -> str:
    """Equations, each with its sentence."""
    return "\n".join(f"{escape(it.sentence)}\n\n$$\n{it.tex}\n$$\n" for it in found)


def fields_table(experiment: Any) -> str:
    """Every field of a configuration: continuous ones are data to a compiled program, structural ones change it."""
    rows = ["| field | what it is | allowed | default | kind |", "|---|---|---|---|---|"]
    for it in facts_of(experiment):
        quick = f" (quick: {it.quick})" if it.quick else ""
        unit = f", in {it.unit}" if it.unit else ""
        cells = (f"`{it.name}`", it.help, it.allowed + unit, it.default + quick, it.kind)
        rows.append(f"| {' | '.join(escape(cell) for cell in cells)} |")
    return "\n".join(rows)


def variables_table(variables: Any) -> str:
    rows = ["| variable | what it is |", "|---|---|"]
    rows += [f"| `{name}` | {escape(it.label)} |" for name, it in variables.items()]
    return "\n".join(rows)
