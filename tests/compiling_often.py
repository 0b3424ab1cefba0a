"""Thousands of small programs in one process: what JAX makes anew for each of them is made once for a file of tests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from jax._src.interpreters import mlir


@contextmanager
def one_context() -> Iterator[None]:
    """Within, each thread lowers all its programs in one MLIR context.

    JAX makes a new one for every program, which takes as long as all else does for a small one whose compiled form is
    found in the cache. A context keeps the constants that it has met, so it must not live as long as the process.
    """
    make, known = getattr(mlir, "make_ir_context", None), threading.local()
    if make is None:  # another JAX: every program has its own again
        yield
        return

    def context():
        if not hasattr(known, "context"):
            known.context = make()
        return known.context

    mlir.make_ir_context = context
    try:
        yield
    finally:
        mlir.make_ir_context = make
