"""model/saddle-to-saddle: its saddles by automatic differentiation, its flow and theory by independent computations."""

from typing import Any

import jax
import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.models import SaddleToSaddle
from festina.models.saddle_to_saddle import growing, slope_and_curvatures
from festina.networks import DeepLinear
from festina.precision import to_numpy
from festina.testing import check_model
from plain_flow import gradient_flow

SMALL: dict[str, Any] = {"inputs": 3, "outputs": 2, "hidden": 3, "records": 40}


def drawn(model, seed=0):
    return to_numpy(jax.jit(model.start)(jax.random.key(seed)))


def shape_of_loss(task, first, second):
    """Gradient and eigenvalues of the Hessian at some weights."""

    def loss(network):
        return 0.5 * ((task - network.map) ** 2).sum()

    return to_numpy(jax.jit(lambda network: slope_and_curvatures(loss, network))(DeepLinear((first, second))))


def resting(start, hidden, kept, seed=0):
    """Layers whose product is the sum of some modes of the task; hidden directions of any basis, not balanced."""
    random = np.random.default_rng(seed)
    basis = np.linalg.qr(random.normal(size=(hidden, hidden)))[0][:, : len(kept)]
    mixing, root = random.normal(size=(len(kept), len(kept))), np.sqrt(start.strengths[kept])
    first = basis @ mixing @ (root[:, None] * start.right[kept])
    return first, (start.left[:, kept] * root) @ np.linalg.inv(mixing) @ basis.T


@pytest.mark.full
def test_it_is_a_model():
    check_model(SaddleToSaddle, inputs=3, outputs=2, hidden=3, records=40, until=6.0, scale=0.05)


@pytest.mark.parametrize(("inputs", "outputs", "hidden"), [(5, 4, 6), (3, 4, 3)])
def test_best_maps_of_lower_rank_are_saddles_with_the_losses_and_indices_that_theory_has(inputs, outputs, hidden):
    model = SaddleToSaddle(inputs=inputs, outputs=outputs, hidden=hidden)
    start, strengths = drawn(model), model.strengths()
    np.testing.assert_allclose(start.strengths, strengths, rtol=1e-12)
    for rank, (height, index) in enumerate(zip(model.saddle_losses(), model.saddle_indices(), strict=True)):
        first, second = resting(start, hidden, list(range(rank)))
        np.testing.assert_allclose(second @ first, start.saddles()[rank], atol=1e-12)
        gradient, curvatures = shape_of_loss(start.task, first, second)
        assert np.abs(gradient).max() < 1e-10
        assert 0.5 * np.sum((start.task - second @ first) ** 2) == pytest.approx(height)
        assert np.sum(curvatures < -1e-6) == index
        ways_down = np.sort(np.repeat(-strengths[rank:], hidden - rank))
        np.testing.assert_allclose(curvatures[:index], ways_down, atol=1e-9)


@pytest.mark.parametrize(("kept", "index"), [([1], 3 * 5 + 1), ([3], 3 * 5 + 3), ([0, 3], 2 * 4 + 2)])
def test_a_saddle_without_the_strongest_modes_has_a_way_down_more_for_each_exchange(kept, index):
    """Strong modes that are not learned can take the place of each weaker one that is: not what a best map is like."""
    start = drawn(SaddleToSaddle())
    curvatures = shape_of_loss(start.task, *resting(start, 6, kept))[1]
    assert np.sum(curvatures < -1e-6) == index


def test_curvatures_are_those_of_the_second_variation_as_it_is_written():
    """½|δW₂W₁ + W₂δW₁|² − ⟨S − W₂W₁, δW₂δW₁⟩ for all pairs of weights, at weights that are no saddle."""
    start, random = drawn(SaddleToSaddle(**SMALL)), np.random.default_rng(1)
    first, second = random.normal(size=(3, 3)), random.normal(size=(2, 3))
    unit = np.eye(first.size + second.size)
    pairs = [(flat[: first.size].reshape(first.shape), flat[first.size :].reshape(second.shape)) for flat in unit]
    linear = np.array([(above @ first + second @ below).ravel() for below, above in pairs])
    left = start.task - second @ first
    mixed = np.array([[np.sum(left * (b @ c + d @ a)) for c, d in pairs] for a, b in pairs])
    expected = np.linalg.eigvalsh(linear @ linear.T - mixed)
    np.testing.assert_allclose(shape_of_loss(start.task, first, second)[1], expected, atol=1e-9)


def test_networks_follow_an_independent_integration():
    model = SaddleToSaddle(scale=0.1, until=6.0, **SMALL)
    start, result = drawn(model), model.run()
    loss = gradient_flow(start.network.weights, start.task, 2 * result["time"].values)  # at half the rate
    np.testing.assert_allclose(result["loss"][0], loss * np.sum(start.task**2) / 2, atol=1e-6)


def test_what_stronger_modes_leave_is_found_one_mode_after_the_other():
    start = drawn(SaddleToSaddle(), seed=3)
    (first, second), taken = start.network.weights, []
    for mode, left in enumerate(growing(start)):
        vector = (second.T @ start.left[:, mode] + first @ start.right[mode]) / 2
        for direction in taken:
            vector = vector - (direction @ vector) * direction
        assert left == pytest.approx(vector @ vector)
        taken.append(vector / np.linalg.norm(vector))


@pytest.mark.full
def test_theory_comes_nearer_with_smaller_weights():
    errors = [SaddleToSaddle(scale=scale, until=12.0, **SMALL).run(seeds=3) for scale in (1e-2, 1e-3)]
    coarse, fine = (result.errors("loss", "gradient", "learned", "distance").max() for result in errors)
    assert fine < 0.03 and fine < coarse / 3


def test_one_layer_is_solved_exactly_and_has_no_negative_direction():
    result = SaddleToSaddle(depth=1, scale=0.7, until=4.0, **SMALL).run(seeds=3)
    assert result.errors("loss", "gradient", "learned", "distance").max() < 1e-9
    assert (result["index"] == 0).all()
    np.testing.assert_allclose(result["curvature"], 1.0)


def test_the_spread_of_half_times_is_that_of_many_small_starts():
    model = SaddleToSaddle(scale=1e-5)
    random = np.random.default_rng(0)
    vectors = 1e-5 * random.normal(size=(40_000, 2, 6, 4)).sum(axis=1) / 2  # (W₂ᵀu + W₁v)/2
    started = np.diagonal(np.linalg.qr(vectors)[1], axis1=1, axis2=2) ** 2
    times = np.log(model.strengths() / started - 1) / (2 * model.strengths())
    np.testing.assert_allclose(times.std(axis=0), model.half_time_spread(), rtol=0.03)


@pytest.mark.parametrize(
    ("fields", "told"),
    [({"hidden": 3}, "`hidden` must be at least the 4 modes"), ({"weakest": 5.0}, "`weakest` must not be above")],
)
def test_networks_without_saddles_of_every_rank_are_refused(fields, told):
    with pytest.raises(ArgumentError, match=told):
        SaddleToSaddle.checked("model/saddle-to-saddle", fields)
