"""model/redundant-paths: costs of weights against autodiff, the limit without them, and what is refused."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError
from festina.models.redundant_paths import RedundantPaths
from festina.precision import to_numpy
from festina.testing.model import model_findings
from narrowing import solution_of, there

SMALL: dict[str, Any] = {
    "inputs": 5,
    "outputs": 2,
    "paths": 3,
    "until": 0.6,
    "step_size": 0.01,
    "records": 12,
    "block_length": 0.1,
    "scale": 0.5,
    "data": "population",
}


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    """All but that totals are not recorded, and that there is no theory of networks with a cost."""
    fields = SMALL | {"until": 0.2, "records": 4, "column_cost": 0.3, "square_cost": 0.5}
    silent = "it has a theory that says nothing at its quick settings"
    found = list(model_findings(RedundantPaths, "quick", True, fields))
    assert found == ["neither simulation nor theory has ['separation']", silent]


@pytest.mark.full
def test_steps_go_down_the_gradient_of_the_loss_with_its_costs():
    costs: dict[str, Any] = {"column_cost": 2.0, "square_cost": 3.0}
    model = RedundantPaths(**SMALL | {"until": 0.01, "records": 1}, **costs)
    with fs.double():
        start = model.start(jax.random.key(0))
        teacher = jnp.asarray(start.tasks.maps[0])

        def loss(students, gates):
            error = teacher - jnp.einsum("p,poi->oi", gates, students)
            columns = jnp.sum(jnp.sqrt(jnp.sum(students**2, axis=1))) / (3 * 5)
            bounds = 5 / 11 * (jnp.sum(jnp.abs(gates)) - 1) ** 2
            return 0.5 * jnp.sum(error**2) + bounds + 2.0 * columns + 3.0 * jnp.sum(students**2) / (2 * 3 * 5)

        students, gates = jnp.stack(start.network.students), jnp.full(3, 0.5)
        slopes = jax.grad(loss, (0, 1))(students, gates)
    end = model.run().data.isel(run=0, time=-1)
    np.testing.assert_allclose(end["gates"], gates - 0.01 / 0.03 * slopes[1], atol=1e-12)
    norms = np.linalg.norm(students - 0.01 / 1.3 * slopes[0], axis=(1, 2))
    np.testing.assert_allclose(end["norms"], norms, atol=1e-12)


@pytest.mark.full
@pytest.mark.parametrize(("paths", "tasks"), [(3, 2), (3, 3), (1, 3)])
def test_without_a_cost_paths_follow_their_limit(paths, tasks):
    result = RedundantPaths(**SMALL | {"paths": paths, "tasks": tasks, "inputs": 6}).run(seeds=2)
    assert {"loss", "gates", "components", "norms", "overlaps"} <= set(there(result.theory))
    assert result.errors().max() < 1e-10
    assert np.isnan(result["total_alignment"]).all() == (paths < tasks)


def test_totals_are_of_the_teachers_and_paths_that_are_there():
    """NaN fills up networks that are smaller than others; one with fewer paths than teachers has no total."""
    filled = np.full((3, 3, 4), np.nan)
    filled[0, :2, :3] = [[2.0, 0.0, 0.0], [0.0, 2.0, 5.0]]  # the third student is longest along the second teacher
    filled[1, :3, :2] = 1.0
    norms = np.array([[2.0, 2.0, 5.0, np.nan], [2.0, 2.0, np.nan, np.nan], [np.nan] * 4])
    data = xr.Dataset(
        {
            "loss": (("run", "time"), np.zeros((3, 1))),
            "components": (("run", "time", "teacher", "path"), filled[:, None]),
            "norms": (("run", "time", "path"), norms[:, None]),
        }
    )
    total = RedundantPaths.measure(data)["total_alignment"].values[:, 0]
    np.testing.assert_allclose(total, [7.0 / np.sqrt(2 * 29.0), np.nan, np.nan])


def test_theory_is_of_those_networks_that_have_no_cost():
    chosen: tuple[dict[str, Any], ...] = ({}, {"column_cost": 0.1}, {"gate_timescale": 0.06}, {"square_cost": 1.0})
    models = [RedundantPaths(**SMALL | fields) for fields in chosen]
    with fs.double():
        starts = [to_numpy(model.start(jax.random.key(5))) for model in models]
    times = np.tile(np.arange(4) * 0.05, (4, 1))
    first, none, third, last = RedundantPaths.solutions(models, starts, times)
    first, third = there(first), there(third)
    assert none is None and last is None and models[1].solution(starts[1]) is None
    for found, place in ((first, 0), (third, 2)):
        expected = solution_of(models[place], starts[place])(times[0])
        np.testing.assert_allclose(found["gates"], expected["gates"], atol=1e-14)
    assert np.abs(first["gates"] - third["gates"]).max() > 1e-3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"data": "closure"}, "`data` must be sampled, wishart or population"),
        ({"recorded": "totals"}, "`recorded` must be courses"),
        ({"paths": 0}, "`paths` must be greater than or equal to 1"),
        ({"column_cost": -1.0}, "`column_cost` must be greater than or equal to 0"),
    ],
)
def test_what_cannot_be_is_refused(fields, message):
    with pytest.raises(ArgumentError, match=message):
        RedundantPaths.checked("model/redundant-paths", SMALL | fields)
