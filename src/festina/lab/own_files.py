"""Experiments and models that stand in a file of one's own: `./mine.py`, or `./mine.py:Name` if it holds several.

Imports nothing heavy; the file may.
"""

from __future__ import annotations

import hashlib
import re
import sys
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from inspect import isclass
from pathlib import Path
from types import ModuleType
from typing import Any

from festina.errors import FestinaError, UnknownName, one_line
from festina.experiment import Experiment
from festina.model import Model

FILE = re.compile(r"(?P<path>.*\.py)(?::(?P<kind>\w+))?")
_spelled: dict[type[Experiment] | type[Model], str] = {}  # how those that came from files were asked for


def is_file_name(name: str) -> bool:
    """Whether a name is that of a file, and not of an experiment.

    Example:
        >>> is_file_name("./mine.py:Decay"), is_file_name("linear/chain")
        (True, False)
    """
    return FILE.fullmatch(name) is not None


def kind_in_file(name: str) -> type[Experiment] | type[Model]:
    """The experiment, or else the model, that a file defines.

    Args:
        name: the path of the file, and after a colon the name of a class, if the file defines several.

    Returns:
        The class. A file that has not changed is imported once.
    """
    match = FILE.fullmatch(name)
    if match is None:
        raise FestinaError(f"{name!r} is not the name of a Python file")
    path = Path(match["path"]).expanduser()
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "there is no such file"
        raise FestinaError(f"cannot run {str(path)!r}: {what}")
    looks = path.stat()
    found = _defined_in(_imported(path.resolve(), looks.st_mtime_ns, looks.st_size))
    kind = _chosen(path, found) if match["kind"] is None else _named(path, match["kind"], found)
    if not isinstance(getattr(kind, "name", None), str):
        raise FestinaError(f"{kind.__name__} in {path} must have a class attribute `name`, but has none")
    _spelled[kind] = name
    return kind


def name_to_ask_for(experiment: Experiment) -> str:
    """By which name `festina.run` and the command line find an experiment: its own, or its file."""
    models = experiment.arms.models if experiment.name.startswith("model/") else ()
    return next((_spelled[kind] for kind in (type(experiment), *models) if kind in _spelled), experiment.name)


@lru_cache
def _imported(path: Path, changed: int, size: int) -> ModuleType:
    """A file as a module; its neighbours can be imported, as if it were run as a script."""
    name = f"festina_file_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FestinaError(f"{path} cannot be imported")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = module_from_spec(spec)
    sys.modules[name] = module  # where Python looks for the file of a class
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise FestinaError(f"{path} cannot be imported: {_where(error, path)}{one_line(error)}") from error
    return module


def _where(error: BaseException, path: Path) -> str:
    """The last line of a file that an exception passed through."""
    lines, trace = [], error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == str(path) else None
    return f"line {line or lines[-1]}: " if line or lines else ""


def _defined_in(module: ModuleType) -> dict[str, Any]:
    """The experiments and models that a module defines itself; a name that begins with an underscore is its own."""
    return {
        name: thing
        for name, thing in vars(module).items()
        if isclass(thing)
        and issubclass(thing, Experiment | Model)
        and thing.__module__ == module.__name__
        and not name.startswith("_")
    }


def _chosen(path: Path, found: dict[str, Any]) -> Any:
    """The one experiment of a file; the one model of a file without experiments."""
    experiments = {name: kind for name, kind in found.items() if issubclass(kind, Experiment)}
    meant = experiments or found
    if not meant:
        raise FestinaError(f"{path} must define an Experiment or a Model, but defines none")
    if len(meant) > 1:
        names = ", ".join(meant)
        raise FestinaError(f"{path} defines several: {names}; name one of them, as in {path}:{next(iter(meant))}")
    return next(iter(meant.values()))


def _named(path: Path, name: str, found: dict[str, Any]) -> Any:
    if name not in found:
        raise UnknownName(f"experiment or model in {path}", name, found)
    return found[name]
