"""abstraction/redundancy: its claims, and what they cannot check."""

import warnings
from typing import Any

import jax
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.experiment import Result
from festina.experiments.abstraction.redundancy import ARMS, Redundancy, silent_paths
from shared import outcomes, quick


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/redundancy")


@pytest.mark.full
def test_quick_claims_hold_but_for_the_cost_of_the_text(result):
    judged = outcomes(result)
    assert set(judged) == {"decayed", "decayed-text", "specialised"}
    assert judged.pop("decayed-text") == "not reproduced"
    assert all(outcome.startswith("reproduced") for outcome in judged.values()), result


@pytest.mark.full
def test_every_arm_follows_the_literal_equations():
    """Three steps in NumPy, with strong or weak bounds and each cost."""
    fields = {"data": "population", "until": 0.003, "records": 3, "column_cost": 3.0, "square_cost": 50.0}
    for_teachers, for_weights, _ = fs.draws.split(jax.random.key(1), 3)
    teacher = np.asarray(fs.worlds.Tasks.orthogonal(for_teachers, 2, 10, 20).maps[0])
    network = fs.networks.PathGated.init(for_weights, 4, 10, 20)
    students = [np.stack([student] * 4) for student in network.students]
    gates = [np.stack([gate] * 4) for gate in network.gates]
    strong = np.array([1, 0, 0, 0])
    normalization = np.where(strong, 30 / 11, 30 / 31)
    columns, squares = np.array([0, 3.0, 0, 0]), np.array([0, 0, 50.0, 0])
    for _ in range(3):
        error = teacher - sum(c[:, None, None] * W for c, W in zip(gates, students, strict=True))
        bound = 2 * normalization * (sum(np.abs(c) for c in gates) - 1)
        for path in range(4):
            c, W = gates[path].copy(), students[path].copy()
            length = np.linalg.norm(W, axis=1, keepdims=True)
            cost = (columns[:, None, None] / length + squares[:, None, None]) * W / (4 * 20)
            gates[path] = c + 0.001 / 0.03 * ((W * error).sum((1, 2)) - bound)
            students[path] = W + 0.001 / 1.3 * (c[:, None, None] * error - cost)
    found = fs.run("abstraction/redundancy", seeds=1, first_seed=1, **fields).data.isel(run=0, time=-1)
    np.testing.assert_allclose(found["gates"].transpose("path", "arm"), np.stack(gates), atol=1e-13)
    norms = np.linalg.norm(np.stack(students), axis=(2, 3))
    np.testing.assert_allclose(found["norms"].transpose("path", "arm"), norms, atol=1e-13)


def test_a_path_is_silent_if_neither_its_gate_nor_its_contribution_is_heard():
    config = Redundancy().configure(until=4.0, records=8, block_length=1.0)
    gates = np.zeros((1, len(ARMS), 4, 9))
    gates[:, :, 0] = 1.0
    gates[:, :, 1, 7] = 0.2  # at the end of the last block only; faint, but heavy
    gates[:, :, 2] = 0.05  # a closed gate before enormous weights
    gates[:, :, 3, [2, 4, 6]] = 1.0  # open only at the beginning of blocks
    norms = np.ones_like(gates) * np.array([0.7, 0.7, 7.0, 0.7])[:, None]
    data = xr.Dataset(
        {name: (("run", "arm", "path", "time"), values) for name, values in (("gates", gates), ("norms", norms))},
        {"time": np.linspace(0, 4, 9)},
    )
    silent = silent_paths(Result(Redundancy(), config, data)).transpose("run", "arm", "path")
    np.testing.assert_array_equal(silent[0, 0], [False, False, False, True])


def test_only_columns_and_squares_have_a_cost():
    arms: dict[str, Any] = {
        arm.labels["arm"]: arm.model for arm in Redundancy().arms_at(Redundancy().configure(column_cost=3.0))
    }
    assert tuple(arms) == ("no cost", "cost of columns", "cost of squares", "no cost, weak bounds")
    assert [arms[arm].column_cost for arm in ARMS] == [0.0, 3.0, 0.0, 0.0]
    assert [arms[arm].square_cost for arm in ARMS] == [0.0, 0.0, 0.77, 0.0]
    assert [arms[arm].normalization for arm in ARMS] == [30 / 11, *[30 / 31] * 3]


@pytest.mark.full
def test_arms_without_a_cost_follow_the_limit_of_many_inputs(result):
    """For as long as gates that tremble at zero do not tell rounding from noise."""
    gap = abs(result["gates"] - result.theory["gates"]).sel(time=slice(0, 1)).max(["run", "time", "path"])
    assert float(gap.sel(arm=["no cost", "no cost, weak bounds"]).max()) < 1e-8
    assert result.theory["gates"].sel(arm=["cost of columns", "cost of squares"]).isnull().all()


@pytest.mark.full
def test_the_figure_draws_without_warnings(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 6
