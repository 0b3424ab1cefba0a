"""The closure of joint descent by the kernels in C is that of NumPy: the same networks, the same steps."""

from typing import Any

import numpy as np
import pytest

import festina as fs
from festina.theory import Closure

SETTINGS: dict[str, Any] = {
    "weight_timescale": 0.8,
    "gate_timescale": np.array([0.05, 0.1, 0.2]),
    "nonnegativity": 0.2,
    "normalization": 0.6,
    "block_length": np.array([0.3, 0.5, 0.7]),
    "step_size": 0.01,
    "loss_share": 0.25,
}
TIMES = np.array([2.5, 0.0, 0.37, 0.37, 1.0])  # in no order, and one of them twice
SHIFTS = np.random.default_rng(1).integers(0, 2, (3, 251)).cumsum(axis=1)


@pytest.fixture
def maps():
    rng = np.random.default_rng(0)
    return 0.3 * rng.normal(size=(3, 3, 4, 6)), rng.normal(size=(3, 2, 4, 6)) / 3


@pytest.fixture
def by_numpy(monkeypatch):
    """A course without kernels."""

    def of(course, times):
        with monkeypatch.context() as context:
            context.setenv("FESTINA_FAST", "0")
            return course(times)

    return of


@pytest.fixture
def no_numpy(kernels, monkeypatch):
    """Kernels alone: a step of NumPy is an error."""

    def refuse(self, stops):
        raise AssertionError("kernels are there, but NumPy takes the steps")

    def off():
        monkeypatch.setattr(Closure, "_by_steps", refuse)

    return off


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"shifts": SHIFTS},
        {"order": (0, 1, 1)},
        {"block_length": np.inf},
        {"gates": np.array([-0.1, 0.5, 0.0])},
        {"compared": 1},
    ],
    ids=str,
)
def test_kernels_take_the_steps_of_numpy(maps, change, by_numpy, no_numpy):
    course = fs.theory.closure(*maps, **SETTINGS | change)
    expected = by_numpy(course, TIMES)
    no_numpy()
    found = course(TIMES)
    assert list(found) == list(expected)
    for name, values in expected.items():
        assert found[name].shape == values.shape
        np.testing.assert_allclose(found[name], values, rtol=1e-12, atol=1e-13, err_msg=name)


def test_networks_that_diverge_do_so_by_kernels_too(maps, by_numpy, no_numpy):
    course = fs.theory.closure(*maps, **SETTINGS | {"weight_timescale": 1e-4})
    expected = by_numpy(course, [0.01, 5.0])
    no_numpy()
    found = course([0.01, 5.0])
    np.testing.assert_allclose(found["loss"][0], expected["loss"][0], rtol=1e-12)
    assert not np.isfinite(found["loss"][1]).any() and not np.isfinite(expected["loss"][1]).any()


def test_more_paths_than_kernels_know_are_left_to_numpy(kernels):
    students = np.full((300, 1, 2), 1e-3)
    settings: dict[str, Any] = SETTINGS | {"normalization": 0.0}
    found = fs.theory.closure(students, np.eye(2)[:, None], **settings)([0.1])
    assert found["gates"].shape == (1, 3, 300) and np.isfinite(found["gates"]).all()
