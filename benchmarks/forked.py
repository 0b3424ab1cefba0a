"""Runs of pytest that begin with all libraries imported, each in a process forked from this one; for mutations.py.

Each line that comes in is a run: the arguments of pytest, settings of the environment, and the file into which it
writes. Out comes a line with the number of its process when it begins, and one with what it ended with.
"""

import json
import os
import sys
from contextlib import suppress
from importlib import import_module

LIBRARIES = """
_pytest.assertion.rewrite _pytest.doctest beartype beartype.door coverage diffrax equinox hypothesis.extra.numpy
hypothesis.strategies jax jax.experimental.serialize_executable jax.scipy.special jaxtyping lineax matplotlib.pyplot
optax optimistix psutil pydantic pytest scipy.integrate scipy.linalg scipy.optimize scipy.stats sklearn.decomposition
tqdm unittest.mock xarray xdist.scheduler zarr
"""


def run(arguments: list[str], settings: dict[str, str], said: str) -> int:
    """Pytest in this process, alone in its group so that it can be ended together with all that it has started."""
    os.setsid()
    with open(said, "w") as out, open(os.devnull) as nothing:  # noqa: PTH123
        for stream, number in ((nothing, 0), (out, 1), (out, 2)):
            os.dup2(stream.fileno(), number)
    os.environ.update(settings)
    import pytest

    return pytest.main(arguments)


def main() -> None:
    for name in LIBRARIES.split():
        with suppress(ImportError):
            import_module(name)
    assert len(os.listdir("/proc/self/task")) == 1, "a process with threads must not be forked"  # noqa: PTH208
    while line := sys.stdin.readline():
        asked = json.loads(line)
        if not (process := os.fork()):
            code = 99
            try:
                code = int(run(**asked))
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        print(process, flush=True)
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
