"""Every test runs with shapes checked at run time, in strict arithmetic."""

import gc
import os
import sys
from collections import Counter
from pathlib import Path

from jaxtyping import install_import_hook

# Before festina is first imported: jaxtyping annotations are then checked by beartype on every call.
ROOMS = ("worlds", "networks", "learning", "theory", "measures", "precision", "errors", "chains")
install_import_hook([f"festina.{room}" for room in ROOMS], "typecheck.checked")

# Compiled programs are many small things that live long: to look through all of them as often as usual costs a tenth.
gc.set_threshold(200_000, 20, 50)
os.environ["NPROC"] = "1"  # of XLA's threads: pytest has a worker for every core, and bits must not depend on cores

import jax  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

import compiling_often  # noqa: E402
import sharing  # noqa: E402
from festina.worlds import images  # noqa: E402
from made_up_time import Time  # noqa: E402
from shared import CACHE, COMPILED  # noqa: E402

# Most of the suite's time is compiling: what one worker, an earlier run, or a command that a test starts has compiled
# serves the others. A process that a test kills must not, since it could leave half a program behind.
for name, value in {"compilation_cache_dir": str(COMPILED), "persistent_cache_min_compile_time_secs": 0.0}.items():
    jax.config.update(f"jax_{name}", value)
    os.environ[f"JAX_{name.upper()}"] = str(value)

# What comes out must not depend on the sets of images that a machine has: there are none, but for those a test makes.
os.environ["FESTINA_DATA"] = str(CACHE / "no-images")
images.SYSTEM.clear()

# Nor must it depend on a C compiler: kernels in C are off, but for tests of their own.
os.environ["FESTINA_FAST"] = "0"

# Examples are drawn from the test's own text, so that what has passed passes again, and none is ever late.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Sort tests into tiers, and into the order in which workers take them.

    Of a test marked `mostly_full(n)` the first n cases (one) belong to `make test`, all others to `test-all`.
    """
    met = Counter()
    for item in items:
        function = item.nodeid.partition("[")[0]
        mark = item.get_closest_marker("mostly_full")
        if mark and met[function] >= (mark.args[0] if mark.args else 1):
            item.add_marker("full")
        met[function] += 1
    items.sort(key=lambda item: sharing.place(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests that share what takes long to make go to one worker."""
    return sharing.Shares(config, log)


@pytest.fixture(autouse=True)
def strict_arithmetic():
    """Float64 and no silent promotion; a mixed-precision bug is an error, not a rounding."""
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


MAPPED = Path("/proc/self/maps")
MOST_MAPPED = 15_000  # places in memory: Linux gives a process 65,530, each program takes several, and XLA does not ask


@pytest.fixture(autouse=True, scope="module")
def no_more_programs_than_there_is_room_for():
    """A worker forgets what it has compiled before it is too much; what is needed again is read from the cache."""
    with compiling_often.one_context():
        yield
    if MAPPED.exists() and MAPPED.read_bytes().count(b"\n") > MOST_MAPPED:
        jax.clear_caches()
        gc.collect()


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
