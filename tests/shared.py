"""What all tests share: programs once compiled, and one quick run of every experiment.

A result is computed by whoever first asks for it, kept in a store that both workers of a test run use, and read from
there by everybody else: the tests of the experiment, of the page, of the documentation.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import jax

import festina as fs
from festina.lab.provenance import code_digest

CACHE = Path(os.environ.get("FESTINA_TEST_CACHE") or Path(__file__).resolve().parent.parent / ".cache")
COMPILED = CACHE / "compiled"
RESULTS = CACHE / "results"


def results_store() -> Path:
    """The store of results of the code as it is now."""
    return RESULTS / code_digest()


def forget_other_code() -> None:
    """Remove what other versions of the code have left."""
    for folder in RESULTS.glob("*"):
        if folder != results_store():
            shutil.rmtree(folder, ignore_errors=True)


def quick(experiment: str, **fields: Any) -> fs.Result:
    """An experiment at its quick budget, computed once for all tests.

    Example:
        >>> quick("linear/chain")["product"].dims
        ('run', 'time', 'depth')
    """
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        return fs.run(experiment, budget="quick", store=results_store(), **fields)


def outcomes(result: fs.Result) -> dict[str, str]:
    """How the claims came out that the budget of a result pays for."""
    return {it.claim: it.outcome for it in result.verdicts if it.outcome != "needs the full budget"}
