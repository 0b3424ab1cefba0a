"""abstraction/reduction: where the reduced model is exact, where it is not, and its steps by hand."""

import warnings
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.experiments.abstraction.reduction import Reduction, gap, lead
from shared import quick

pytestmark = pytest.mark.full

FAIL = {"exact", "captured-as-published", "on-time", "on-time-as-published"}  # of random starts


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/reduction")


def test_exact_pairs_are_exact_and_random_starts_are_not(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert {claim for claim, outcome in outcomes.items() if outcome == "not reproduced"} == FAIL
    assert {outcome for claim, outcome in outcomes.items() if claim not in FAIL} == {"reproduced"}


@pytest.mark.parametrize(("model", "doubled"), [("reduced", 2.0), ("published", 1.0)])
def test_the_reduced_models_by_hand(result, model, doubled):
    """One block and a half of Euler steps, with gates twice as slow as those of the full network."""
    chosen = result.data.isel(run=2).sel(model=model)
    weights, gates = chosen["weights"].values[0], chosen["gates"].values[0]
    for step in range(1500):
        error = np.eye(2)[step // 1000] - gates @ weights
        pull = weights @ error - doubled * (2 * 5 / 11 * (np.abs(gates).sum() - 1) * np.sign(gates) - (gates < 0) / 11)
        weights, gates = weights + 1e-3 / 1.3 * np.outer(gates, error), gates + 1e-3 / 0.06 * pull
    then = chosen.sel(time=1.5, method="nearest")
    np.testing.assert_allclose(then["weights"], weights, atol=1e-10)
    np.testing.assert_allclose(then["gates"], gates, atol=1e-10)
    np.testing.assert_allclose(then["share"], np.sum((np.eye(2)[1] - gates @ weights) ** 2), atol=1e-10)


def test_the_published_start_is_the_same_for_all_seeds(result):
    start = result["weights"].sel(model="published").isel(time=0).values
    np.testing.assert_allclose(np.hypot(start[..., 0], start[..., 1]), 0.01, rtol=1e-12)
    assert np.ptp(start, axis=0).max() < 1e-17


def test_batches_are_for_full_networks_alone():
    """The others are descriptions without noise, with which they can no longer agree."""
    noisy = fs.run("abstraction/reduction", seeds=1, until=1.0, records=20, data="wishart")
    still = fs.run("abstraction/reduction", seeds=1, until=1.0, records=20)
    differs = abs(noisy["gates"] - still["gates"]).max(("run", "time", "path")) > 1e-6
    assert differs["model"].values[differs].tolist() == ["full", "spanned", "aligned"]
    assert {v.note for v in noisy.verdicts if "exact" in v.claim} == {
        "needs infinitely many inputs, --data population",
        "the course up to specialisation needs 12 blocks: --until 12",
    }


def test_gap_and_lead_on_a_made_up_result():
    time = np.arange(5.0)
    gates = xr.DataArray(np.zeros((1, 5, 2, 2)), dims=("run", "time", "model", "path"))
    gates[0, 3, 1, 0] = -0.25
    loss = xr.DataArray(np.zeros((1, 5, 2)), dims=("run", "time", "model"))
    loss[0, 4, 0] = 0.5
    grown = xr.DataArray(np.stack([time / 8, time / 4], axis=-1)[None], dims=("run", "time", "model"))
    data = xr.Dataset({"gates": gates, "share": loss, "specialization": grown})
    data = data.assign_coords(time=time, model=["full", "reduced"])
    made_up = fs.experiment.Result(Reduction(), SimpleNamespace(block_length=2.0), data)
    np.testing.assert_allclose(gap(made_up, "full", "reduced"), [[0, 0, 0, 0.25, 0.5]])
    np.testing.assert_allclose(lead(made_up, "reduced"), [1.0])


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 6 and all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
