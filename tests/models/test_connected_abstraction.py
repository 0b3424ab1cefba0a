"""Two full layers as a model: the literal equations, what descent conserves, sorting by rows, and what is refused."""

import jax
import numpy as np
import pytest
import xarray as xr

from festina import models
from festina.errors import ArgumentError
from festina.models.connected_abstraction import sort_by_row
from festina.testing import check_model

SMALL = {"inputs": 4, "outputs": 2, "hidden": 4, "until": 0.08, "records": 4, "block_length": 0.04}


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    check_model(models.ConnectedAbstraction, **SMALL, scale=0.5, similarity=0.2)


@pytest.mark.mostly_full
@pytest.mark.parametrize("strength", [1.0, 0.0])
def test_both_layers_follow_the_literal_equations(strength):
    """A few steps of both layers in NumPy, with bounds and without, across a switch of tasks."""
    model = models.ConnectedAbstraction(**SMALL, data="population", strength=strength, scale=0.5)
    begin = model.start(jax.random.key(3))
    teachers = np.asarray(begin.tasks.maps)
    first, second = np.asarray(begin.network.students), np.asarray(begin.network.gates)
    for step in range(8):
        error = teachers[step // 4] - second @ first
        norm = np.linalg.norm(second)
        bound = 2 * 0.1 * (norm - 1) * second / norm - 0.2 * (second < 0)
        up, gates_up = second.T @ error, error @ first.T - strength * bound
        first, second = first + 0.01 / 0.06 * up, second + 0.01 / 0.01 * gates_up
    found = model.run(first_seed=3).data.isel(run=0, time=-1)
    np.testing.assert_allclose(found["second_layer"], second, atol=1e-12)
    np.testing.assert_allclose(found["components"], teachers.reshape(4, 4) * 4**0.5 @ first.T, atol=1e-12)
    np.testing.assert_allclose(found["norms"], np.linalg.norm(first, axis=-1), atol=1e-12)
    np.testing.assert_allclose(found["loss"], ((teachers[0] - second @ first) ** 2).sum() / 2, atol=1e-12)


@pytest.mark.full
def test_descent_without_bounds_conserves_the_balance_of_the_layers():
    """τ₂ CᵀC − τ₁ WWᵀ is constant along gradient flow, whatever the task; steps half as long miss it by half."""

    def drift(step_size):
        fields = SMALL | {"until": 0.4, "records": 4, "block_length": 0.2}
        run = models.ConnectedAbstraction(**fields, data="population", strength=0.0, scale=0.5, step_size=step_size)
        data = run.run().data.isel(run=0)
        first, second = (
            data["components"].values,
            data["second_layer"].values,
        )  # as many rows as inputs: a rotation of W
        balance = 0.01 * np.einsum("toh,tok->thk", second, second) - 0.06 * np.einsum("trh,trk->thk", first, first)
        assert np.abs(first[-1] - first[0]).max() > 0.1
        return np.abs(balance[-1] - balance[0]).max()

    coarse, fine = drift(1e-3), drift(5e-4)
    assert coarse < 3e-3 and coarse / fine == pytest.approx(2.0, rel=0.1)


def test_a_shuffled_solution_is_sorted_back():
    """Units that hold the rows of both teachers, in any order: all alignments are 1, and C is diagonal again."""
    shuffle = np.random.default_rng(0).permutation(6)
    components = np.eye(6)[:, shuffle] * np.linspace(1, 1.001, 6)[shuffle]
    second = np.concatenate([np.eye(3), 0.2 * np.eye(3)], axis=1)[:, shuffle]
    repeat = lambda values: np.broadcast_to(values, (1, 4, 2, *values.shape))  # noqa: E731
    axes = ("run", "time", "arm")
    data = xr.Dataset({
        "components": ((*axes, "row", "hidden"), repeat(components)),
        "norms": ((*axes, "hidden"), repeat(np.linalg.norm(components, axis=0))),
        "second_layer": ((*axes, "output", "hidden"), repeat(second)),
    })  # fmt: skip
    found = {name: values.transpose(*axes, ...) for name, values in sort_by_row(data).items()}
    np.testing.assert_allclose(found["total_alignment"], 1.0, atol=1e-5)
    np.testing.assert_allclose(found["sorted_alignment"], repeat(np.eye(2)))
    np.testing.assert_allclose(found["sorted_gates"], repeat(np.asarray([1.0, 0.2])))
    np.testing.assert_allclose(found["sorted_second_layer"], repeat(second[:, np.argsort(shuffle)]))
    alone = sort_by_row(data.drop_vars("second_layer"))
    assert set(alone) == {"total_alignment"}
    np.testing.assert_array_equal(alone["total_alignment"], sort_by_row(data)["total_alignment"])


def test_units_are_matched_by_the_second_half():
    """Two units that change places half-way belong to the rows they end with, even if nearer to the others."""
    turned = np.concatenate([np.stack([np.eye(2)[::-1]] * 3), np.stack([0.6 * np.eye(2)] * 3)])
    data = xr.Dataset(
        {"components": (("time", "row", "hidden"), turned), "norms": (("time", "hidden"), np.ones((6, 2)))}
    )
    np.testing.assert_allclose(sort_by_row(data)["total_alignment"], [0, 0, 0, 0.6, 0.6, 0.6])


def test_teachers_have_the_cosine_that_is_asked_for():
    maps = np.asarray(models.ConnectedAbstraction(**SMALL, similarity=0.4).start(jax.random.key(0)).tasks.maps)
    unit = maps.reshape(4, 4) / np.linalg.norm(maps.reshape(4, 4), axis=-1, keepdims=True)
    expected = np.eye(4) + 0.4 * np.roll(np.eye(4), 2, axis=1)
    np.testing.assert_allclose(unit @ unit.T, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"hidden": 3}, "`hidden` must be at least 4, one for every row of the 2 teachers"),
        ({"data": "closure"}, "`data` must be `population` for a fully connected network, but is 'closure'"),
        ({"records": 3}, "`records` must divide the 8 steps there are"),
        ({"step_size": 0.08, "records": 1}, "`step_size` must not exceed the length of a block, 0.04"),
    ],
)
def test_what_cannot_be_is_refused(fields, message):
    with pytest.raises(ArgumentError, match=message):
        models.ConnectedAbstraction.checked("model/connected-abstraction", SMALL | fields)
