"""The reference: a page for each room of the package, with a table of what is in it, and a page for each object."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

ROOMS = (
    ("festina", "Main functions", "What `import festina as fs` gives at once."),
    ("festina.worlds", "Worlds", "What there is to learn."),
    ("festina.networks", "Networks", "What learns."),
    ("festina.learning", "Learning", "How it learns: flow, descent, posterior sampling, tasks in blocks."),
    ("festina.theory", "Theory", "What mathematics predicts: plain arrays in, functions of time out."),
    ("festina.measures", "Measures", "What we look at: functions of arrays."),
    ("festina.watching", "Watching", "A network of PyTorch or JAX, watched while it is trained."),
    (
        "festina.model",
        "Parts of a model",
        "What a model is made of; [which there are](models.md) has its own page.",
    ),
    ("festina.config", "Fields", "What a field of a model is."),
    ("festina.arms", "Arms", "Models with settings, side by side."),
    ("festina.claims", "Claims", "What is expected, and whose statement it is."),
    ("festina.figures", "Figures", "Panels that know theory from simulation."),
    ("festina.lab", "The lab", "What runs experiments, keeps their results and sweeps them."),
    ("festina.testing", "Testing", "The conformance suite for models and experiments of your own."),
    ("festina.draws", "Draws", "Random numbers that belong to a run."),
    ("festina.precision", "Precision", "Double precision in a scope."),
    ("festina.style", "Style", "How figures look."),
    ("festina.errors", "Errors", "What is raised, and what is said."),
)
"""Modules in the order in which data passes through them."""


def objects(module: ModuleType, seen: set[int]) -> Iterator[str]:
    """The functions and classes that a module shows, and those of the modules that it shows, by their full names."""
    listed = getattr(module, "__all__", None)
    names = [name for name in (listed or vars(module)) if not name.startswith("_")]
    found = {name: getattr(module, name) for name in sorted(names, key=str.lower)}
    for name, each in found.items():
        if is_own(each, module, bool(listed)) and id(each) not in seen:
            seen.add(id(each))
            yield f"{module.__name__}.{name}"
    for each in found.values():
        inside = inspect.ismodule(each) and each.__name__.startswith(f"{module.__name__}.")
        if listed and inside and module.__name__ != "festina":
            yield from objects(each, seen)


def is_own(each: Any, module: ModuleType, listed: bool) -> bool:
    """Whether something is a function or a class that a module shows as its own."""
    if not (inspect.isclass(each) or inspect.isfunction(each)):
        return False
    home = each.__module__ or ""
    return home.startswith("festina") and (listed or home == module.__name__)


def rooms() -> dict[str, list[str]]:
    """The names of all public objects by the module that shows them; each object once."""
    seen: set[int] = set()
    return {name: list(objects(import_module(name), seen)) for name, *_ in ROOMS}


def api_pages() -> dict[str, str]:
    """A page for each room, by the name of its file."""
    found = rooms()
    listed = {f"{name}.md": room_page(name, title, about, found[name]) for name, title, about in ROOMS}
    return listed | {f"objects/{name}.rst": object_page(name) for names in found.values() for name in names}


def rooms_table() -> str:
    """All rooms with a sentence each, for the first page of the reference."""
    rows = [f"| [{title}](generated/{name}.md) | `{name}` | {about} |" for name, title, about in ROOMS]
    return "\n".join(["| | in | what is there |", "|---|---|---|", *rows, ""])


def object_page(name: str) -> str:
    """A page for one object. It stands in the table of its room, and not in the sidebar, which would be endless."""
    module, _, last = name.rpartition(".")
    is_class = inspect.isclass(getattr(import_module(module), last))
    kind = f".. autoclass:: {name}\n   :members:" if is_class else f".. autofunction:: {name}"
    title = name.replace("festina", "fs", 1)
    return f":orphan:\n\n{title}\n{'=' * len(title)}\n\n{kind}\n"


def room_page(name: str, title: str, about: str, listed: list[str]) -> str:
    rows = "\n".join(f"   ~{each}" for each in listed)
    about = about.replace("](models.md)", "](../models.md)")
    return (
        f"# {title}\n\n{about} They are in `{name}`.\n\n```{{eval-rst}}\n"
        f".. autosummary::\n   :nosignatures:\n\n{rows}\n```\n"
    )
