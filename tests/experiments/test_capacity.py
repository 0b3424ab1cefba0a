"""abstraction/capacity: its claims, and what they are measured by."""

import warnings

import numpy as np
import pytest
import xarray as xr

from festina import claims
from festina.experiment import Result
from festina.experiments.abstraction._kept import kept_by_age, paths_of_tasks, relearning, returning, tasks_of_paths
from festina.experiments.abstraction.capacity import Capacity, few, many
from shared import outcomes, quick


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/capacity")


@pytest.mark.full
def test_quick_claims_hold_but_that_spare_paths_split_tasks(result):
    judged = outcomes(result)
    assert judged.pop("split") == "not reproduced"
    assert not {"oldest-lost", "relearned", "held"} & set(judged)  # a map of four cells does not tell
    assert all(outcome.startswith("reproduced") for outcome in judged.values()), result


@pytest.mark.full
def test_the_figure_draws_without_warnings(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 6


def follower(paths: int, tasks: int, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Students (teacher × path) and gates in a block: the first path is the task shown, a second one the one before."""
    students, gates = np.zeros((tasks, paths)), np.zeros(paths)
    for path in range(paths):
        students[(block - path) % tasks, path] = 1.0
    gates[0] = 1.0
    return students, gates


def made_up() -> Result:
    """One or two paths for two or three tasks in 36 blocks of two recordings, NaN where there is no path or task."""
    config = Capacity().configure(paths=(1, 2), tasks=(2, 3), outputs=1, until=36.0, records=72)
    time, sizes = np.linspace(0, 36, 73), (1, 2, 2, 2, 73)
    components, gates = np.full((*sizes, 3, 2), np.nan), np.full((*sizes, 2), np.nan)
    for paths, tasks, place in np.ndindex(2, 2, 73):
        # a recording at a switch is still of the students of the block before
        seen = follower(paths + 1, tasks + 2, max(0, int(np.ceil(time[place])) - 1))
        components[:, paths, tasks, :, place, : tasks + 2, : paths + 1] = seen[0]
        gates[:, paths, tasks, :, place, : paths + 1] = seen[1]
    filled, dims = np.nan_to_num(components), ("run", "paths", "tasks", "arm", "time")
    data = xr.Dataset(
        {
            "components": ((*dims, "teacher", "path"), components),
            "overlaps": ((*dims, "path", "other"), np.einsum("...mp,...mq->...pq", filled, filled)),
            "norms": ((*dims, "path"), np.where(np.isnan(gates), np.nan, 1.0)),
            "gates": ((*dims, "path"), gates),
            "loss": (dims, np.broadcast_to(np.where(time < 1, 4.0, 1.0), sizes)),
        },
        {"time": time, "paths": [1, 2], "tasks": [2, 3], "arm": ["flexible", "forgetful"]},
    )
    return Result(Capacity(), config, data)


def test_followers_keep_the_last_tasks_and_share_their_paths():
    result = made_up()
    kept = kept_by_age(result).sel(arm="flexible").isel(run=0).transpose("paths", "tasks", "age").values
    whole = 1 / 1.01  # gates have a small cost
    np.testing.assert_allclose(kept[0], [[whole, 0, np.nan], [whole, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(kept[1], [[whole, whole, np.nan], [whole, whole, 0]], atol=1e-12)
    last = returning(result).sel(arm="flexible").isel(run=0).transpose("paths", "tasks")
    np.testing.assert_allclose(last, [[0, 0], [whole, 0]], atol=1e-12)
    np.testing.assert_allclose(relearning(result), 0.25)
    assert few(last).sizes["cell"] == 3 and many(last).values.tolist() == [pytest.approx(whole)]


def test_the_path_that_alone_is_used_serves_all_tasks():
    result = made_up()
    served = tasks_of_paths(result).sel(arm="flexible").isel(run=0).transpose("paths", "tasks")
    np.testing.assert_allclose(served, [[2, 3], [2, 3]])
    np.testing.assert_allclose(paths_of_tasks(result), 1.0)


def test_claims_on_the_settled_state_wait_for_it():
    config = Capacity().configure(until=20.0, records=40)
    short = Result(Capacity(), config, made_up().data.isel(time=slice(41)))
    with pytest.raises(claims.Undecided, match="needs 36 blocks: --until 36"):
        returning(short)
