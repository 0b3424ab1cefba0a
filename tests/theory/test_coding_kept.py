"""What is kept of the way from hot to cold changes no solution, and saves who asks for many temperatures."""

from importlib import import_module

import numpy as np
import pytest

import festina as fs

COUNTS, TARGETS = (10, 8), np.array([[1.0], [-1.0]])
TEMPERATURES = (0.31, 0.3)
ROOM = "festina.theory.coding"
DUAL, SPARSE = import_module(f"{ROOM}.dual"), import_module(f"{ROOM}.sparse")
KEPT = {"redundant": DUAL._coarse, "sparse": SPARSE._followed}
WORK = {"redundant": (DUAL, "minimise"), "sparse": (SPARSE, "_condense")}


@pytest.fixture(params=["redundant", "sparse"])
def kind(request):
    for kept in KEPT.values():
        kept.cache_clear()
    return request.param


def solved(kind, temperature):
    return getattr(fs.theory.coding, kind)(COUNTS, TARGETS, temperature, 0.2)


def test_solutions_are_the_same_whatever_was_asked_before(kind):
    alone = {}
    for temperature in TEMPERATURES:
        KEPT[kind].cache_clear()
        alone[temperature] = solved(kind, temperature)
    KEPT[kind].cache_clear()
    for temperature in sorted(TEMPERATURES):
        together = solved(kind, temperature)
        np.testing.assert_array_equal(together.mean, alone[temperature].mean)
        np.testing.assert_array_equal(together.kernels[0], alone[temperature].kernels[0])


def test_a_neighbouring_temperature_has_the_way_in_common(kind, monkeypatch):
    """The second question is solved in at most two places: on the coarse grid, if there is one, and on the fine."""
    module, work = WORK[kind]
    done, real = [], getattr(module, work)
    monkeypatch.setattr(module, work, lambda *given, **named: done.append(work) or real(*given, **named))
    solved(kind, 0.3)
    made = len(done)
    assert made > 5
    solved(kind, 0.301)
    assert made < len(done) <= made + 2


@pytest.mark.parametrize("other", [(10, 10), (8, 10)])
def test_other_tasks_have_ways_of_their_own(kind, other):
    one = solved(kind, 0.3)
    two = getattr(fs.theory.coding, kind)(other, TARGETS, 0.3, 0.2)
    KEPT[kind].cache_clear()
    again = getattr(fs.theory.coding, kind)(other, TARGETS, 0.3, 0.2)
    np.testing.assert_array_equal(two.kernels[0], again.kernels[0])
    assert one.kernels[0].shape != two.kernels[0].shape or not np.array_equal(one.kernels[0], two.kernels[0])
