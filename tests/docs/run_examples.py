"""Runs examples in docstrings as users do: JAX's own precision, types not checked at run time, a warning is a failure.

python run_examples.py NAME ... prints what went wrong, by name, as JSON.
"""

import doctest
import gc
import importlib
import io
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

import jax
import numpy as np

import festina as fs

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from compiling_often import one_context


def found(module: str) -> list[doctest.DocTest]:
    """The examples of a module, one `DocTest` for each object."""
    names = {"fs": fs, "np": np, "jax": jax}
    return doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module), module, extraglobs=names)


def ran(example: doctest.DocTest) -> str:
    """What an example says where it should not; nothing if it runs as written."""
    runner, said = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS), io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        outcome = runner.run(example, out=said.write)
    return said.getvalue() if outcome.failed else ""


def main(names: list[str]) -> None:
    modules = sorted({name.partition(" ")[0] for name in names})  # given as "module object"
    wanted = {name.partition(" ")[2] for name in names}
    gc.set_threshold(200_000, 20, 50)  # as the other tests
    with tempfile.TemporaryDirectory() as folder, one_context():
        os.chdir(folder)
        said = {test.name: ran(test) for module in modules for test in found(module) if test.name in wanted}
        os.chdir("/")
    print(json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1:])
