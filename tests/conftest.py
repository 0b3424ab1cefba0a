"""Every test runs with shapes checked at run time, in strict arithmetic."""

import gc
import os
import sys

from jaxtyping import install_import_hook

# Before festina is first imported: jaxtyping annotations are then checked by beartype on every call.
ROOMS = ("worlds", "networks", "learning", "theory", "measures", "precision", "errors")
install_import_hook([f"festina.{room}" for room in ROOMS], "typecheck.checked")

# Compiled programs are many small things that live long: to look through all of them as often as usual costs a tenth.
gc.set_threshold(200_000, 20, 50)
os.environ["NPROC"] = "1"  # of XLA's threads: pytest has a worker for every core, and bits must not depend on cores

import jax  # noqa: E402
import pytest  # noqa: E402

from made_up_time import Time  # noqa: E402
from shared import COMPILED, forget_other_code  # noqa: E402

# Most of the suite's time is compiling: what one worker, or an earlier run, has compiled serves the others.
jax.config.update("jax_compilation_cache_dir", str(COMPILED))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Results of other versions of the code are of no use; one process clears them away."""
    if not hasattr(session.config, "workerinput"):
        forget_other_code()


@pytest.fixture(autouse=True)
def strict_arithmetic():
    """Float64 and no silent promotion; a mixed-precision bug is an error, not a rounding."""
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture
def clock(monkeypatch):
    """A made-up clock by which work is foreseen; no thread looks at it."""
    from festina.learning import outlook

    time = Time()
    monkeypatch.setattr(outlook, "monotonic", time)
    monkeypatch.setattr(outlook, "last_compiled", lambda: time.compiled)
    monkeypatch.setattr(outlook, "LOOK", 1e6)
    return time


@pytest.fixture(autouse=True)
def no_figure_left_open():
    """A test may draw; the next one starts with no figure."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
