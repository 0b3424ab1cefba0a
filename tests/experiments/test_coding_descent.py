"""coding/descent: four ways of training against the posterior, and their parts against independent calculations."""

import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import festina as fs
from festina.claims import NotApplicable, Undecided
from festina.experiments.coding._descent_measures import layer_like, least_loss, loss_over_minimum
from festina.experiments.coding._trained import noise, one_of
from festina.experiments.coding.descent import Descent
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/descent")


def test_quick_claims_hold_where_they_are_meant_to(result):
    """Only that Adam keeps no code does not: redundant ones stay."""
    judged = {verdict.claim: verdict for verdict in result.verdicts if verdict.outcome != "needs the full budget"}
    missed = {name for name, verdict in judged.items() if verdict.outcome != "reproduced"}
    assert len(judged) == 17 and missed == {"code-adam-sigmoidal"}, result


def test_descent_without_noise_comes_to_rest_but_noisy_descent_does_not(result):
    late = result["class_kernel"].isel(time=slice(-10, None)).std("time").max(("run", "class", "other_class"))
    assert float(late.sel(nonlinearity="linear", training=["plain", "momentum"]).max()) < 1e-5
    assert float(late.sel(training="noisy").min()) > 1e-3


def test_a_loss_that_still_falls_is_not_compared_with_the_least(result):
    assert np.all(loss_over_minimum(result, "linear", "momentum") > 0.99)
    falling = result.data.copy(deep=True)
    falling["loss"][:] = falling["loss"] * 0 + np.linspace(2.0, 1.0, falling.sizes["time"])[None, :, None, None]
    with pytest.raises(Undecided, match="needs more --draws: the loss still falls, by 10% in the last tenth"):
        loss_over_minimum(replace(result, data=falling), "linear", "momentum")


def test_langevin_steps_have_the_variance_of_their_discretisation():
    """θ ← θ − ηλθ + √(2η)ξ has the variance 1/(λ(1 − ηλ/2))."""
    with jax.enable_x64(True):
        step, curvature = jnp.asarray(0.5, np.float32), jnp.asarray(2.0, np.float32)
        optimiser = one_of((optax.sgd(step), optax.chain(noise(jax.random.key(0), step), optax.sgd(step))), 1)

        def move(carried, _):
            changes, state = optimiser.update(curvature * carried[0], carried[1])
            return (carried[0] + changes, state), carried[0]

        start = jnp.zeros(2000, np.float32)
        places = np.asarray(jax.lax.scan(move, (start, optimiser.init(start)), None, length=60)[1])
    assert places[20:].var() == pytest.approx(1.0 / (2.0 * (1.0 - 0.5)), rel=0.03)


def test_the_analyser_says_the_same_of_a_layer_and_of_its_means_and_deviations():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], (9, 6, 5))
    layer = random.normal(size=(20, 60)) + 2.0 * random.normal(size=(3, 60))[labels]
    members = np.eye(3)[labels] / np.bincount(labels)[None]
    means = members.T @ layer
    deviations = np.sqrt(members.T @ (layer - means[labels]) ** 2)
    readout = random.normal(size=(2, 60))
    one, other = (
        fs.measures.coding(each, labels, readout, resamples=0, shuffles=1)
        for each in (layer, layer_like(means, deviations, labels))
    )
    np.testing.assert_allclose(
        [getattr(one.statistics, name) for name in ("strength", "share", "neighbour", "kurtosis")],
        [getattr(other.statistics, name) for name in ("strength", "share", "neighbour", "kurtosis")],
    )


def test_the_least_loss_is_that_of_a_numerical_minimum():
    """Of answers F: (N/2T)|Y − F|² + (N/√s) Σ σ(F), by shrinking singular values; for rectified ones by class."""
    config = Descent().configure("quick", temperature=0.4)
    data = fs.worlds.orthogonal_classes(config.counts)
    targets, shrink = np.asarray(data.targets), 0.4 * np.sqrt(40.0)

    def residual(part):
        left, sizes, right = np.linalg.svd(part, full_matrices=False)
        return part - left * np.maximum(sizes - shrink, 0.0)[None] @ right

    assert least_loss(config, "linear") == pytest.approx(np.sum(residual(targets) ** 2) / 80)
    by_class = sum(np.sum(residual(targets[data.labels == each]) ** 2) for each in range(3))
    assert least_loss(config, "rectified") == pytest.approx(by_class / 80)
    with pytest.raises(NotApplicable, match="no closed form"):
        least_loss(config, "sigmoidal")


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 15
