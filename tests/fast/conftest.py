"""Tests of the kernels in C switch them on, and build them where the suite keeps what it compiles."""

import pytest

from festina import fast
from shared import CACHE


@pytest.fixture
def kernels(monkeypatch):
    """Kernels that are there; all else computes with JAX alone, so that results do not depend on a compiler."""
    monkeypatch.setenv("FESTINA_FAST", "1")
    monkeypatch.setenv("FESTINA_CACHE", str(CACHE))
    if fast.library() is None:
        pytest.skip("there is no C compiler here")
