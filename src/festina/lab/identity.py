"""Which code a result depends on: the modules that an experiment can reach, and the libraries below them.

Reached is what an experiment's file imports, anywhere in it, and what these import in turn; names taken through a
package, as in ``fs.theory.chain``, lead to the module that defines them and to no other (a package that is handed on as
it stands leads nowhere). What shows results (the page, the command line, views, figures) and what keeps them (the rest
of the lab) is not followed: an edit there costs nobody a result. Comments do not count either.
"""

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.machinery import SourceFileLoader
from importlib.metadata import PackageNotFoundError, version
from inspect import getfile
from pathlib import Path
from types import CodeType
from typing import Any

from festina.experiment import Experiment

PACKAGE = Path(__file__).resolve().parent.parent
ROOT = PACKAGE.name
SHOWS_OR_KEEPS = ("lab", "page", "cli", "views", "figures", "testing", "models._types")
NOT_FOLLOWED = tuple(f"{ROOT}.{room}" for room in SHOWS_OR_KEEPS)
ALWAYS = tuple(f"{ROOT}.{name}" for name in ("lab.batch", "lab.labelled", "learning.loop"))
"""What computes and labels every result, whatever the experiment."""
IMPORT = re.compile(rf"^[ \t]*import ({ROOT}[\w.]*)(?: as (\w+))?", re.MULTILINE)
FROM = re.compile(rf"^[ \t]*from ({ROOT}(?:\.[\w.]+)?) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
LIBRARIES = ("jax", "jaxlib", "numpy", "scipy", "diffrax", "equinox", "optax", "scikit-learn")


def identity(experiment: Experiment) -> str:
    """A hash of all code that a result of this experiment depends on: its own, its models', and what these reach."""
    outside, modules = [], list(ALWAYS)
    for kind in dict.fromkeys((type(experiment), *experiment.arms.models)):
        own = _own_file(kind)
        if own is None:  # typed in at a prompt: there is no file to tell one version from another
            outside.append(str(id(kind)))
        elif PACKAGE in own.parents:
            modules.append(_module_of(own))
        else:
            text = own.read_text(encoding="utf-8")
            outside.append(ast.dump(ast.parse(text)))
            modules += sorted(_named_in(text))
    return _hash([*outside, _of_modules(tuple(dict.fromkeys(modules))), _libraries()])


def model_code(experiment: Experiment, kind: type) -> str:
    """A hash of all code that the processes of a model depend on; nothing if either is of another package.

    What else such a package changes, no hash of files could know.
    """
    asked, own = _own_file(type(experiment)), _own_file(kind)
    if asked is None or own is None or PACKAGE not in asked.parents or PACKAGE not in own.parents:
        return ""
    return _hash([_of_modules((*ALWAYS, _module_of(own))), _libraries()])


@cache
def drawing_code() -> str:
    """A hash of the code of figures that experiments share."""
    return _hash([_code(_module_of(path)) for path in sorted((PACKAGE / "figures").glob("*.py"))])


def reached(*modules: str) -> frozenset[str]:
    """All modules of festina that some of them can reach, themselves included.

    Example:
        >>> "festina.theory.chain" in reached("festina.models.chain")
        True
        >>> "festina.theory.views" in reached("festina.models.chain")
        False
    """
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += [each for each in _direct(module) if not each.startswith(NOT_FOLLOWED)]
    return frozenset(found)


@lru_cache(maxsize=1024)
def _own_file(kind: type) -> Path | None:
    """The file that defines an experiment or a model."""
    try:
        return Path(getfile(kind)).resolve()
    except (OSError, TypeError):
        return None


@cache
def _of_modules(modules: tuple[str, ...]) -> str:
    """A hash of the code of all modules that are reached."""
    found = sorted(reached(*modules))
    kernels = [path.read_text(encoding="utf-8") for path in sorted((PACKAGE / "fast").glob("*.[ch]"))]
    used = kernels if f"{ROOT}.fast.building" in found else []
    return _hash([*(part for module in found for part in (module, _code(module))), *used])


@cache
def _code(module: str) -> str:
    """The code of a module without comments; that of a package counts only for what it defines itself.

    Python has compiled a module that is imported, and keeps what it has compiled: to read that takes a tenth of the
    time of parsing the text.
    """
    if _is_package(module):
        return ast.dump(ast.Module([node for node in ast.parse(_text(module)).body if not _reexports(node)], []))
    compiled = SourceFileLoader(module, str(_path(module))).get_code(module)
    return "" if compiled is None else "\n".join(map(repr, _parts(compiled)))


def _parts(code: CodeType) -> Iterator[Any]:
    """All of a compiled function or module but where its lines are."""
    yield from (code.co_qualname, code.co_flags, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    yield from (code.co_code, code.co_exceptiontable, code.co_names)
    yield from (code.co_varnames, code.co_freevars, code.co_cellvars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)
        else:  # the order of a set differs from process to process
            yield sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant


def _reexports(node: ast.stmt) -> bool:
    """Whether a statement of a package only passes names on, or describes them."""
    passed = isinstance(node, ast.Assign) and "__all__" in ast.unparse(node.targets[0])
    return passed or isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)


@cache
def _direct(module: str) -> frozenset[str]:
    """The modules that a module imports or takes names from; of a package, none: its names lead to their homes."""
    return frozenset() if _is_package(module) else _named_in(_text(module))


def _named_in(text: str) -> frozenset[str]:
    """The modules of festina that code names: in its imports, and in attributes of packages that it imports.

    Read from the text, for a walk through the syntax tree of every module would take longer than all else.
    """
    packages: dict[str, str] = {}  # what a package is called here
    found: set[str] = set()
    for name, target in _imports(text):
        if _is_package(target):
            packages[name] = target
        else:
            found.add(target)
    for name, target in packages.items():
        found |= {_followed(target, chain) for chain in set(re.findall(rf"\b{name}((?:\.\w+)+)", text))}
    return frozenset(module for module in found if not _is_package(module))


def _imports(text: str) -> Iterator[tuple[str, str]]:
    """Names that code imports from festina, and the module or package each leads to."""
    for called, module, name in _import_lines(text):
        yield called, _home(module, name) if name else module


def _import_lines(text: str) -> Iterator[tuple[str, str, str]]:
    """What a name that code imports is called here, the module it is taken from, and its name there, if it has one."""
    for module, called in IMPORT.findall(text):
        yield (called, module, "") if called else (ROOT, ROOT, "")
    for module, names in FROM.findall(text):
        for entry in re.sub(r"#.*", "", names).strip("()").split(","):
            name, _, called = entry.strip().partition(" as ")
            if name:
                yield called or name, module, name


def _followed(target: str, chain: str) -> str:
    """Where ``.b.c`` leads from a package: to the module that defines it, or as far as packages go."""
    for name in chain.split(".")[1:]:
        if not _is_package(target):
            break
        target = _home(target, name)
    return target


@cache
def _home(module: str, name: str) -> str:
    """The module, or package, in which a name of a module or package is defined."""
    if _path(f"{module}.{name}").exists():
        return f"{module}.{name}"
    if _is_package(module):
        for called, source, there in _import_lines(_face(module)):
            if called == name and (source, there) != (module, name):
                return _home(source, there) if there else source
    return module


@cache
def _face(package: str) -> str:
    """Where a package says which names it passes on: in its stub, if they load when first used, or else in itself."""
    stub = _path(package).with_suffix(".pyi")
    if not stub.exists():
        return _text(package)
    text = stub.read_text(encoding="utf-8")
    return text.replace("from . import", f"from {package} import").replace("from .", f"from {package}.")


def _module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _path(module: str) -> Path:
    folder = PACKAGE.parent.joinpath(*module.split("."))
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def _is_package(module: str) -> bool:
    return _path(module).name == "__init__.py"


@cache
def _text(module: str) -> str:
    return _path(module).read_text(encoding="utf-8")


@cache
def _libraries() -> str:
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


def _hash(parts: list[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]
