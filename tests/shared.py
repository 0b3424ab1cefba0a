"""What all tests share: programs once compiled, and one quick run of every experiment.

A result is computed by whoever first asks for it, kept in a store that both workers of a test run use, and read from
there by everybody else: the tests of the experiment, of the page, of the documentation.
"""

import os
from pathlib import Path
from typing import Any

import jax

import festina as fs

CACHE = Path(os.environ.get("FESTINA_TEST_CACHE") or Path(__file__).resolve().parent.parent / ".cache")
COMPILED = CACHE / "compiled"
RESULTS = CACHE / "results"


def apart(folder: Path) -> dict[str, str]:
    """The settings of processes that are killed: what has been compiled so far, and a place for what they compile.

    A program that was half written when its process was killed is read by nobody else.
    """
    own = folder / "compiled"
    for place in (own, COMPILED):
        place.mkdir(parents=True, exist_ok=True)
    for program in COMPILED.iterdir():
        (own / program.name).symlink_to(program)
    return {"FESTINA_TEST_CACHE": str(folder), "JAX_COMPILATION_CACHE_DIR": str(own)}


def quick(experiment: str, **fields: Any) -> fs.Result:
    """An experiment at its quick budget, computed once for all tests.

    Example:
        >>> quick("linear/chain")["product"].dims
        ('run', 'time', 'depth')
    """
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        return fs.run(experiment, budget="quick", store=RESULTS, **fields)


def outcomes(result: fs.Result) -> dict[str, str]:
    """How the claims came out that the budget of a result pays for."""
    return {it.claim: it.outcome for it in result.verdicts if it.outcome != "needs the full budget"}
