"""coding/descent: four ways of training against the posterior."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from festina.claims import NotApplicable, Undecided
from festina.experiments.coding.descent import Descent, network
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/descent")


def test_quick_claims_hold_where_they_are_meant_to(result):
    """Only that Adam keeps no code does not: redundant ones stay."""
    found = outcomes(result)
    missed = {name for name, outcome in found.items() if outcome != "reproduced"}
    assert len(found) == 17 and missed == {"code-adam-sigmoidal"}, result


def test_descent_without_noise_comes_to_rest_but_noisy_descent_does_not(result):
    late = result["class_kernel"].isel(time=slice(-10, None)).std("time").max(("run", "class", "other_class"))
    assert float(late.sel(nonlinearity="linear", training=["plain", "momentum"]).max()) < 1e-5
    assert float(late.sel(training="noisy").min()) > 1e-3


def test_all_ways_of_training_start_from_one_network_and_only_the_noisy_one_cools(result):
    first = result["readout"].isel(time=0)
    np.testing.assert_array_equal(first, first.isel(training=0).broadcast_like(first))
    heat = result["heat"].isel(run=0, nonlinearity=0)
    np.testing.assert_allclose(heat.sel(training="noisy").isel(time=[0, -1]), [1.0, 0.1])
    np.testing.assert_allclose(heat.sel(training=["plain", "momentum", "Adam"]), 0.1)


def test_a_loss_that_still_falls_is_not_compared_with_the_least(result):
    assert np.all(Descent().minimum(result, training="momentum", kind="linear") > 0.99)
    falling = result.data.copy(deep=True)
    falling["loss"][:] = falling["loss"] * 0 + np.linspace(2.0, 1.0, falling.sizes["time"])[None, :, None, None]
    with pytest.raises(Undecided, match="needs more --draws: in the last tenth of the run the loss falls by 10%"):
        Descent().minimum(replace(result, data=falling), training="momentum", kind="linear")


def test_claims_about_networks_that_were_not_run_do_not_apply(result):
    some = replace(result, data=result.data.sel(nonlinearity=["linear"]))
    with pytest.raises(NotApplicable, match="needs --nonlinearity with rectified"):
        Descent().kernel(some, kind="rectified")


def test_kernels_are_compared_class_by_class(result):
    """By hand: √(Σ n_c n_c' Δκ²/Σ n_c n_c' κ²), from the theory of the network itself."""
    kernel = network(result, "linear").prediction(0.1).kernels[-1]
    theirs = kernel[np.ix_([0, 20, 30], [1, 21, 31])]  # of pairs of different examples
    ours = result["mean_class_kernel"].sel(nonlinearity="linear", training="noisy").isel(run=1).values
    weights = np.array([[400, 200, 200], [200, 100, 100], [200, 100, 100]])
    expected = np.sqrt(np.sum(weights * (ours - theirs) ** 2) / np.sum(weights * theirs**2))
    assert Descent().kernel(result, kind="linear")[1] == pytest.approx(expected)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 15
