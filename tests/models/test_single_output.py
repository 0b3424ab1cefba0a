"""model/single-output: an independent integration, its small-weight solution, and what every model has to be."""

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError
from festina.measures.kernels import empirical_kernel
from festina.models.single_output import Layers, small_weights
from festina.precision import to_numpy

MODEL = fs.models.SingleOutput(inputs=4, hidden=10, scale=0.1, until=6.0, records=90)
MIRRORED = MODEL.model_copy(update={"mirroring": 1.0})


def drawn(model, seed=0):
    return to_numpy(model.start(jax.random.key(seed)))


def integrated(layers, strength, time):
    """Layers over time, by another integrator: (time, hidden, inputs) and (time, hidden)."""
    shape, split = layers.first.shape, layers.first.size
    target = np.eye(shape[1])[0] * strength

    def rate(_, weights):
        first, second = weights[:split].reshape(shape), weights[split:]
        error = target - first.T @ second
        return np.concatenate([np.outer(second, error).ravel(), first @ error])

    start = np.concatenate([layers.first.ravel(), layers.second])
    solved = solve_ivp(rate, (0, time[-1]), start, "DOP853", time, rtol=1e-11, atol=1e-13).y.T
    return solved[:, :split].reshape(-1, *shape), solved[:, split:]


def test_twins_are_as_alike_as_is_asked_for():
    wide = fs.models.SingleOutput(inputs=200, hidden=400, scale=0.3)
    for mirroring in (0.0, 0.6, 1.0):
        first, second = drawn(wide.model_copy(update={"mirroring": mirroring}))
        assert np.corrcoef(first[:200].ravel(), first[200:].ravel())[0, 1] == pytest.approx(mirroring, abs=0.02)
        assert np.sum(first**2) / (0.3**2 * 200) == pytest.approx(1.0, rel=0.03)
        assert np.sum(second**2) / 0.3**2 == pytest.approx(1.0, rel=0.3)
    np.testing.assert_allclose(first.T @ second, 0.0, atol=1e-14)


@pytest.mark.full
@pytest.mark.parametrize("model", [MODEL, MIRRORED.model_copy(update={"scale": 1.0, "strength": 2.0})])
def test_an_independent_integration_and_the_kernel_itself(model):
    result = model.run()
    time = result["time"].values
    for n, (first, second) in enumerate(zip(*integrated(drawn(model), model.strength, time), strict=True)):
        target = np.eye(model.inputs)[0] * model.strength
        kernel = empirical_kernel(first, second[None], np.eye(model.inputs))
        assert float(result["loss"][0, n]) == pytest.approx(0.5 * np.sum((target - first.T @ second) ** 2), abs=1e-8)
        assert float(result["alignment"][0, n]) == pytest.approx(kernel[0, 0] / np.linalg.norm(kernel), abs=1e-8)


@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_orthogonal_mirrored_weights_are_solved_at_every_scale(scale):
    """With WᵀW ∝ I and mirrored units nothing leaks out of the target's direction: the solution is exact."""
    rng, time = np.random.default_rng(0), np.linspace(0, 6, 40)
    half = np.linalg.qr(rng.normal(size=(6, 4)))[0]
    readout = rng.normal(size=6)
    readout -= half @ (half.T @ readout)
    layers = Layers(scale * np.concatenate([half, half]), 0.3 * scale * np.concatenate([readout, -readout]))
    firsts, seconds = integrated(layers, 1.0, time)
    kernels = np.swapaxes(firsts, 1, 2) @ firsts + np.sum(seconds**2, axis=1)[:, None, None] * np.eye(4)
    expected = kernels[:, 0, 0] / np.linalg.norm(kernels, axis=(1, 2))
    np.testing.assert_allclose(small_weights(1.0, layers, time)["alignment"], expected, atol=1e-8)


@pytest.mark.full
def test_the_error_of_small_weights_falls_with_their_square():
    errors = [
        MODEL.model_copy(update={"scale": scale, "until": 20.0}).run().errors("alignment") for scale in (1e-2, 1e-3)
    ]
    assert 1.6 < np.log10(errors[0] / errors[1]).item() < 2.4


@pytest.mark.full
@pytest.mark.parametrize("field", ["strength", "scale", "mirroring"])
def test_derivatives_are_those_of_finite_differences(field):
    model = MODEL.model_copy(update={"mirroring": 0.5})
    value = getattr(model, field)
    step = 1e-5 * value
    above, below = (model.model_copy(update={field: value + sign * step}).run() for sign in (1, -1))
    for name in ("loss", "alignment"):
        expected = (above[name] - below[name])[0] / (2 * step)
        np.testing.assert_allclose(model.derivative(name, field), expected, atol=2e-4 * abs(expected).max())


@pytest.mark.full
def test_a_batch_is_single_runs():
    models = [MODEL.model_copy(update={"scale": scale}) for scale in (0.1, 1.0)]
    batch = MODEL.sweep(scale=[0.1, 1.0], seeds=2)
    for model in models:
        for seed in (0, 1):
            alone = model.run(first_seed=seed)
            together = batch.sel(scale=model.scale, seed=seed)
            np.testing.assert_allclose(together["loss"], alone["loss"][0], rtol=0, atol=1e-9)
            np.testing.assert_allclose(together["silent"], alone["silent"][0], rtol=1e-6)


@pytest.mark.parametrize(("field", "value"), [("hidden", 7), ("mirroring", 1.5), ("scale", 0.0), ("inputs", 1)])
def test_impossible_fields_are_refused(field, value):
    with pytest.raises(ArgumentError, match=f"`{field}` must"):
        fs.run("model/single-output", **{field: value})
