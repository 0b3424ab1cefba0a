"""Every example in a docstring runs as a user would run it, and whatever the package shows has one.

`run_examples.py` runs them in a process of their own; `fs`, `np` and `jax` are imported for them.
"""

import ast
import inspect
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import festina as fs
from festina.lab.identity import PACKAGE, _module_of

RUNNER = Path(__file__).with_name("run_examples.py")

QUICK = {
    "festina.draws.normal",
    "festina.errors.require",
    "festina.figures.panels.log_ticks",
    "festina.learning.loop.drive",
    "festina.learning.process.Process",
    "festina.measures.codes.overlaps",
    "festina.networks.gated.Gated",
    "festina.networks.linear.DeepLinear",
    "festina.precision.double",
    "festina.verdicts.summary",
    "festina.worlds.from_data.from_data",
    "festina.worlds.logic.xor",
    "festina.worlds.losses.CrossEntropy",
    "festina.worlds.semantic.tree",
}

EXEMPT = {
    "fs.claims.NotApplicable": "raised by a claim; `claims.paper` shows one",
    "fs.claims.Undecided": "raised by a claim; `claims.paper` shows one",
    "fs.errors.FestinaError": "the base of all errors; never raised by itself",
    "fs.errors.FestinaWarning": "a category of warnings",
    "fs.errors.Interrupted": "takes a person at the keyboard",
    "fs.errors.StoreError": "takes a damaged folder",
    "fs.learning.Diverged": "an error; `descent` says when it is raised",
    "fs.theory.abstraction.NoOrbit": "an error; `specialization` says when it is raised",
    "fs.worlds.images.DamagedImages": "takes a damaged file",
    "fs.worlds.images.MissingImages": "takes files that are not there",
}
"""What needs no example, and why."""


def texts():
    """The modules that have examples, with their source."""
    found = {_module_of(path): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    return {name: text for name, text in found.items() if ">>>" in text}


def written(node, name):
    """The names of a syntax tree's objects, and of the objects within them, whose docstrings hold an example."""
    if ">>>" in (ast.get_docstring(node) or ""):
        yield name
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from written(child, f"{name}.{child.name}")


EXAMPLES = {name: module for module, text in texts().items() for name in written(ast.parse(text), module)}


@cache
def outcomes(quick: bool) -> dict[str, str]:
    """What examples say where they should not, those of a tier in one process without the checks of the other tests."""
    names = [f"{module} {name}" for name, module in EXAMPLES.items() if (name in QUICK) == quick]
    done = subprocess.run([sys.executable, RUNNER, *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.full) for name in EXAMPLES]
)
def test_the_example_runs_as_written(name):
    assert outcomes(name in QUICK)[name] == ""


def test_the_quick_examples_are_there():
    assert set(EXAMPLES) >= QUICK


def shown(module, name, seen):
    """The functions and classes of a module and of the modules it shows, by the name that a user writes."""
    listed = getattr(module, "__all__", None)
    names = [each for each in (listed or vars(module)) if not each.startswith("_")]
    objects = {f"{name}.{each}": getattr(module, each) for each in sorted(names)}
    for path, each in objects.items():
        own = inspect.isclass(each) or inspect.isfunction(each)
        own = own and each.__module__.startswith("festina") and (listed or each.__module__ == module.__name__)
        if own and id(each) not in seen:
            seen.add(id(each))
            yield path, each
    for path, each in objects.items():
        if listed and inspect.ismodule(each) and each.__name__.startswith("festina") and id(each) not in seen:
            seen.add(id(each))
            yield from shown(each, path, seen)


def has_example(each):
    """Whether an object has an example; of a class, one of its methods may have it instead."""
    methods = [value for value in vars(each).values() if _is_method(value)] if inspect.isclass(each) else []
    return any(">>>" in (part.__doc__ or "") for part in (each, *methods))


def _is_method(value):
    return inspect.isroutine(value) or isinstance(value, property | classmethod | staticmethod)


def covers(listed, name):
    return name == listed or name.startswith(f"{listed}.")


SHOWN = dict(shown(fs, "fs", set()))
LACKING = {name for name, each in SHOWN.items() if not has_example(each)}


def test_whatever_is_shown_has_an_example():
    assert len(SHOWN) > 300
    assert not [name for name in LACKING if not any(covers(listed, name) for listed in EXEMPT)]


@pytest.mark.parametrize("listed", EXEMPT)
def test_whatever_is_listed_lacks_an_example(listed):
    assert any(covers(listed, name) for name in LACKING), f"{listed} is complete: take it off the list"
