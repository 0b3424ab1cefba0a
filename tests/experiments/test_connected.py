"""abstraction/connected: its claims, and what they cannot check."""

import warnings

import jax
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.abstraction._connected_rows import initial
from festina.experiments.abstraction.connected import Connected, sort_by_row
from shared import quick

FAILS = {"gates-closed", "no-gates", "task-specific"}


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/connected")


@pytest.mark.full
def test_quick_claims_hold_but_for_those_known_to_fail(result):
    assert {verdict.claim for verdict in result.verdicts if not verdict.holds} == FAILS, result


def test_both_arms_follow_the_literal_equations():
    """A few steps of both layers in NumPy, with bounds and without, across a switch of tasks."""
    fields = {"data": "population", "until": 0.08, "records": 8, "block_length": 0.04}
    tasks, network, _ = initial(Connected().configure(**fields), jax.random.key(3))
    teachers = np.asarray(tasks.maps)
    first, second = (np.stack([layer] * 2) for layer in (network.students, network.gates))
    for step in range(8):
        for arm in range(2):
            error = teachers[step // 4] - second[arm] @ first[arm]
            norm = np.linalg.norm(second[arm])
            bound = 2 * 0.1 * (norm - 1) * second[arm] / norm - 0.2 * (second[arm] < 0)
            up, gates_up = second[arm].T @ error, error @ first[arm].T - (bound if arm == 0 else 0)
            first[arm] += 0.01 / 0.06 * up
            second[arm] += 0.01 / 0.01 * gates_up
    found = fs.run("abstraction/connected", seeds=1, first_seed=3, **fields).data.isel(run=0, time=-1)
    np.testing.assert_allclose(found["second_layer"], second, atol=1e-12)
    rows = teachers.reshape(20, 20) * 20**0.5
    np.testing.assert_allclose(found["components"], rows @ np.swapaxes(first, 1, 2), atol=1e-12)
    np.testing.assert_allclose(found["norms"], np.linalg.norm(first, axis=-1), atol=1e-12)


def test_a_shuffled_solution_is_sorted_back():
    """Units that hold the rows of both teachers, in any order: all alignments are 1, and C is diagonal again."""
    shuffle = np.random.default_rng(0).permutation(6)
    components = np.eye(6)[:, shuffle] * np.linspace(1, 1.001, 6)[shuffle]
    second = np.concatenate([np.eye(3), 0.2 * np.eye(3)], axis=1)[:, shuffle]
    repeat = lambda values: np.broadcast_to(values, (1, 2, 4, *values.shape))  # noqa: E731
    axes = ("run", "arm", "time")
    data = xr.Dataset({
        "components": ((*axes, "row", "hidden"), repeat(components)),
        "norms": ((*axes, "hidden"), repeat(np.linalg.norm(components, axis=0))),
        "second_layer": ((*axes, "output", "hidden"), repeat(second)),
    })  # fmt: skip
    found = sort_by_row(data)
    np.testing.assert_allclose(found["total_alignment"], 1.0, atol=1e-5)
    np.testing.assert_allclose(found["sorted_alignment"], repeat(np.eye(2)))
    np.testing.assert_allclose(found["sorted_gates"], repeat(np.asarray([1.0, 0.2])))
    np.testing.assert_allclose(found["sorted_second_layer"], repeat(second[:, np.argsort(shuffle)]))


def test_too_few_hidden_units_are_refused():
    with pytest.raises(ArgumentError, match="`hidden` must be at least 20"):
        Connected().configure(hidden=19)


@pytest.mark.full
def test_the_figure_draws_without_warnings(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 6 + 8 + 1
