"""linear/alignment: its claims, and what they cannot check."""

from dataclasses import replace

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.linear.alignment import STARTS, curves_of, small_start, weights_of
from festina.measures.kernels import empirical_kernel
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("linear/alignment")


def test_quick_claims_hold(result):
    assert all(verdict.outcome == "reproduced" for verdict in result.verdicts), result


def test_starts(result):
    first, second = (np.asarray(layer) for layer in weights_of(result.config, jax.random.key(0)))
    output = np.einsum("skhi,skh->ski", first, second)
    mirrored = STARTS.index("mirrored")
    np.testing.assert_allclose(output[mirrored], 0.0, atol=1e-14)
    assert np.min(np.linalg.norm(output[1 - mirrored], axis=-1)) > 0
    scales = result.config.scale * result["rung"].values
    np.testing.assert_allclose(np.sum(second**2, axis=-1) / scales**2, 1.0, atol=0.5)
    np.testing.assert_allclose(np.sum(first**2, axis=(-2, -1)) / scales**2, result.config.inputs, rtol=0.3)


@pytest.mark.parametrize("start, rung", [("random", 2), ("mirrored", 5)])
def test_an_independent_integration_and_the_kernel_itself(result, start, rung):
    number, time = STARTS.index(start), result["time"].values[::25]
    first, second = (np.asarray(layer)[number, rung] for layer in weights_of(result.config, jax.random.key(0)))
    target, split = np.eye(result.config.inputs)[0] * result.config.strength, first.size

    def field(_, weights):
        error = target - weights[:split].reshape(first.shape).T @ weights[split:]
        return np.concatenate([np.outer(weights[split:], error).ravel(), weights[:split].reshape(first.shape) @ error])

    start_weights = np.concatenate([first.ravel(), second])
    solved = solve_ivp(field, (0, time[-1]), start_weights, "DOP853", time, rtol=1e-10, atol=1e-12).y.T
    for weights, moment in zip(solved, time, strict=True):
        layer, readout = weights[:split].reshape(first.shape), weights[split:]
        kernel = empirical_kernel(layer, readout[None], np.eye(len(target)))
        at = result.data.isel(run=0, start=number, rung=rung).sel(time=moment)
        assert float(at["loss"]) == pytest.approx(0.5 * np.sum((target - layer.T @ readout) ** 2), abs=1e-8)
        assert float(at["alignment"]) == pytest.approx(kernel[0, 0] / np.linalg.norm(kernel), abs=1e-8)


def test_the_small_weight_solution_is_right_to_second_order(result):
    """Its error falls with σ²: from the third scale to the first, ten times smaller, by a hundred."""
    gaps = abs(curves_of(result.data, "alignment") - curves_of(result.theory, "alignment")).max(axis=-1)[..., :3]
    order = np.log10(gaps[..., 2] / gaps[..., 0])
    assert np.all((order > 1.6) & (order < 2.4)), order


def test_orthogonal_mirrored_weights_are_solved_at_every_scale():
    """With WᵀW ∝ I and mirrored units nothing leaks out of the target's direction: the solution is exact."""
    rng, time = np.random.default_rng(0), np.linspace(0, 6, 40)
    half = np.linalg.qr(rng.normal(size=(6, 4)))[0]
    readout = rng.normal(size=6)
    readout -= half @ (half.T @ readout)
    for scale in (0.3, 2.0):
        first = scale * np.concatenate([half, half])
        second = 0.3 * scale * np.concatenate([readout, -readout])

        def field(_, weights, shape=first.shape):
            layer, top = weights[:-12].reshape(shape), weights[-12:]
            error = np.eye(4)[0] - layer.T @ top
            return np.concatenate([np.outer(top, error).ravel(), layer @ error])

        start = np.concatenate([first.ravel(), second])
        solved = solve_ivp(field, (0, 6), start, "DOP853", time, rtol=1e-11, atol=1e-13).y.T
        layers, tops = solved[:, :-12].reshape(-1, *first.shape), solved[:, -12:]
        kernels = np.swapaxes(layers, 1, 2) @ layers + np.sum(tops**2, axis=1)[:, None, None] * np.eye(4)
        found = small_start(1.0, first[None, None], second[None, None], time)
        expected = kernels[:, 0, 0] / np.linalg.norm(kernels, axis=(1, 2))
        np.testing.assert_allclose(found["alignment"][:, 0, 0], expected, atol=1e-8)


def test_claims_that_need_more_scales_are_not_attempted(result):
    few = replace(result, config=result.config.model_copy(update={"rungs": 2}))
    outcomes = {claim.id: claim.judge(few, "quick").outcome for claim in result.experiment.claims}
    assert outcomes["order"] == outcomes["learning-time"] == outcomes["large-random"] == "not applicable"


def test_a_loss_that_has_not_fallen_says_how_long_it_takes(result):
    seen = result["time"].values <= 4.0
    config = result.config.model_copy(update={"until": 4.0})
    short = replace(result, config=config, data=result.data.isel(time=seen), theory=result.theory.isel(time=seen))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in result.experiment.claims}
    assert verdicts["small-weights"].outcome == "reproduced"
    for claim in ("small", "order", "alignment-time", "learning-time", "final-kernel"):
        assert verdicts[claim].note == "the loss has not fallen yet from every scale: needs --until 11", claim


def test_weights_that_are_not_small_are_none_of_the_claims(result):
    coarse = replace(result, config=result.config.model_copy(update={"scale": 0.03}))
    outcomes = {claim.id: claim.judge(coarse, "quick").outcome for claim in result.experiment.claims}
    assert outcomes["order"] == outcomes["learning-time"] == outcomes["alignment-time"] == "not applicable"


def test_an_odd_number_of_hidden_units_is_refused():
    with pytest.raises(ArgumentError, match="`hidden` must"):
        fs.run("linear/alignment", hidden=7)


def test_the_figure_has_its_panels(result):
    figure = result.figure()
    panels = [axis for axis in figure.axes if axis.get_xlabel()]
    assert len(panels) == 4 and all(axis.get_ylabel() for axis in panels)
    plt.close(figure)
