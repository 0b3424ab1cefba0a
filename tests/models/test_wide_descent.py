"""model/wide-descent: its law, its least loss and its gradients against independent calculations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.testing.model import model_findings
from narrowing import solution_of, there, unsolved

SMALL = {"width": 12, "counts": (3, 2), "warm_up": 4, "draws": 8, "records": 4, "steps": 3, "temperature": 0.4}


def small(**fields):
    return fs.models.WideDescent(**SMALL | fields)


def stepped(model, steps):
    """θ before and after some steps of one run, as the process takes them."""
    with jax.enable_x64(True):
        start = model.start(jax.random.key(0))
        process = model.process(start)
        state = jax.jit(process.advance)(process.initial, jnp.asarray(1))
        assert model.steps * model.draws_per_record == steps
        return start, process.initial.parameters, state.parameters


def gradient(model, start, whitened):
    """∂U/∂θ by hand, of linear neurons f = √s A W x/N."""
    (weights,), readout = (jax.tree.map(np.asarray, part) for part in whitened)
    inputs, targets = (np.asarray(part) for part in (model.world().inputs, model.world().targets))
    root, width = float(model.readout_variance) ** 0.5, model.width
    hidden = inputs @ weights.T
    error = (hidden @ readout.T * root / width - targets) * width / model.temperature
    return error.T @ hidden * root / width + readout, (error @ readout * root / width).T @ inputs + weights


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    """But for the rounding of single precision: a run alone is nearly that in a batch, differences are rough."""
    found = model_findings(fs.models.WideDescent, "quick", False, SMALL)
    assert [each for each in found if "of a run alone" not in each] == []
    together, alone = small().run(seeds=3), small().run(first_seed=1)
    for variable in ("loss", "readout", "class_kernel"):
        np.testing.assert_allclose(together[variable].isel(run=1), alone[variable].isel(run=0), atol=1e-5)


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_steps_without_noise_are_those_of_descent_with_momentum(momentum):
    model = small(nonlinearity="linear", noise=0.0, momentum=momentum, hottest=0.4, steps=2, records=12)
    start, (weights, readout), moved = stepped(model, 2)
    here, velocity = (np.asarray(readout), np.asarray(weights[0])), (0.0, 0.0)
    for _ in range(2):
        slopes = gradient(model, start, ((here[1],), here[0]))
        velocity = tuple(momentum * v + slope for v, slope in zip(velocity, slopes, strict=True))
        here = tuple(part - 0.01 * v for part, v in zip(here, velocity, strict=True))
    np.testing.assert_allclose(moved[1], here[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(moved[0][0], here[1], rtol=1e-4, atol=1e-5)


def test_the_first_steps_of_adam_have_the_length_of_its_rate():
    model = small(nonlinearity="linear", optimiser="Adam", hottest=0.4, steps=1, records=12, rate=0.02)
    start, before, after = stepped(model, 1)
    slopes = gradient(model, start, before)
    np.testing.assert_allclose(after[1] - before[1], -0.02 * np.sign(slopes[0]), atol=1e-5)
    np.testing.assert_allclose(after[0][0] - before[0][0], -0.02 * np.sign(slopes[1]), atol=1e-5)


@pytest.mark.parametrize("momentum", [0.0, 0.8])
def test_noise_has_the_size_of_langevin_dynamics(momentum):
    """θ ← θ − ηλθ + √(2η)ξ has the variance 1/(λ(1 − ηλ/2)); with momentum, that of λ alone for short steps."""
    step, curvature = (0.5, 2.0) if momentum == 0.0 else (0.02, 2.0)
    model = small(step=step, momentum=momentum)
    with jax.enable_x64(True):
        rule, start = model.rule(), jnp.zeros(2000, np.float32)

        def move(carried, number):
            slope = jnp.asarray(curvature, np.float32) * carried[0]
            noisy = model.shaken(fs.draws.fold_in(jax.random.key(0), number), slope)
            changes, state = rule.update(noisy, carried[1])
            return (carried[0] + changes, state), carried[0]

        places = np.asarray(jax.lax.scan(move, (start, rule.init(start)), jnp.arange(120))[1])
    expected = 1.0 / (2.0 * (1.0 - 0.5)) if momentum == 0.0 else 0.5
    assert places[60:].var() == pytest.approx(expected, rel=0.04)


def test_the_least_loss_is_that_of_a_numerical_minimum():
    """Of answers F: (N/2T)|Y − F|² + (N/√s) Σ σ(F), by shrinking singular values; for rectified ones by class."""
    settings = {"temperature": 0.4, "counts": (20, 10, 10)}
    linear, rectified = (fs.models.WideDescent(nonlinearity=kind, **settings) for kind in ("linear", "rectified"))
    data, shrink = linear.world(), 0.4 * np.sqrt(40.0)
    targets = np.asarray(data.targets)

    def residual(part):
        left, sizes, right = np.linalg.svd(part, full_matrices=False)
        return part - left * np.maximum(sizes - shrink, 0.0)[None] @ right

    assert linear.least_loss() == pytest.approx(np.sum(residual(targets) ** 2) / 80)
    by_class = sum(np.sum(residual(targets[data.labels == each]) ** 2) for each in range(3))
    assert rectified.least_loss() == pytest.approx(by_class / 80)
    assert np.isnan(fs.models.WideDescent(**settings).least_loss())


def test_theory_is_that_of_the_posterior_with_noise_and_of_the_least_energy_without():
    def known(**fields):
        model = small(**fields)
        return None if unsolved(model) else set(solution_of(model)(np.zeros(2)))

    posterior = {"class_kernel", "mean_class_kernel", "mean_answer"}
    assert known(nonlinearity="linear") == posterior
    assert known(nonlinearity="linear", noise=0.0) == known(nonlinearity="rectified", optimiser="Adam") == {"loss"}
    assert known(nonlinearity="sigmoidal", noise=0.0) is None and known(noise=0.5) is None


@pytest.mark.full
def test_the_virial_of_noisy_descent_is_the_number_of_weights():
    """A mean over draws of θ·∂U/∂θ; without noise it vanishes at the minimum."""
    settings = {"nonlinearity": "linear", "width": 40, "warm_up": 100, "draws": 200, "records": 10, "steps": 5}
    noisy = small(**settings | {"momentum": 0.5}).run()
    assert float(noisy["virial"][0]) == pytest.approx(1.0, abs=0.1)
    still = small(**settings | {"noise": 0.0, "hottest": 0.4, "step": 0.05}).run()
    assert abs(float(still["virial"][0])) < 1e-3
    assert float(still["loss"][0, -1]) == pytest.approx(float(there(still.theory)["loss"][0, -1]), rel=1e-3)


@pytest.mark.full
@pytest.mark.parametrize("field", ["temperature", "step", "noise"])
def test_derivatives_are_those_of_finite_differences(field):
    """Up to the rounding of steps, which are in single precision."""
    model = small(hottest=0.5)
    slope = model.derivative("loss", field).values
    shift = 1e-2 * getattr(model, field)
    below, above = (small(hottest=0.5, **{field: getattr(model, field) + d}).run()["loss"][0] for d in (-shift, shift))
    np.testing.assert_allclose(slope, (above - below) / (2 * shift), rtol=0.02, atol=0.01 * np.abs(slope).max())
    assert np.abs(slope).max() > 1e-3
