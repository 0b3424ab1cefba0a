"""model/wide-images: its task, its theory and its features against independent calculations, and what is refused."""

import jax
import numpy as np
import pytest
from scipy.special import erf

import festina as fs
from festina.errors import ArgumentError
from festina.models.wide_images import _chosen
from festina.testing.model import model_findings
from narrowing import solution_of, there

SMALL = {"width": 12, "counts": (3, 3), "digits": (3, 5), "tests": 1, "warm_up": 4, "draws": 8, "records": 4}


def small(**fields):
    return fs.models.WideImages(**SMALL | fields)


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    """But for the rounding of single precision: a run alone is nearly that in a batch, differences are rough."""
    found = model_findings(fs.models.WideImages, "quick", False, SMALL | {"nonlinearity": "linear"})
    assert [each for each in found if "of a run alone" not in each] == []
    together, alone = small().run(seeds=3), small().run(first_seed=1)
    for variable in ("loss", "readout", "class_kernel"):
        np.testing.assert_allclose(together[variable].isel(run=1), alone[variable].isel(run=0), atol=1e-5)


def test_images_are_those_asked_for_and_none_is_in_both_sets():
    model = small(counts=(7, 5), digits=(8, 1), tests=4)
    shown, tests = model.world(), model.test_world()
    everything = fs.worlds.load_images("digits")
    wanted = everything.images[everything.labels == 8].reshape(-1, 64).astype(float)
    ones = everything.images[everything.labels == 1].reshape(-1, 64).astype(float)
    np.testing.assert_allclose(np.linalg.norm(shown.inputs, axis=1), 1.0)
    np.testing.assert_allclose(np.asarray(shown.targets)[[0, -1]], [[1, -1], [-1, 1]])
    assert shown.counts.tolist() == [7, 5] and tests.counts.tolist() == [4, 4]
    chosen = _chosen(everything.images, everything.labels, (8, 1), (7, 5), "counts")
    assert all((wanted == one).all(axis=1).any() for one in chosen[:7])
    assert all((ones == one).all(axis=1).any() for one in chosen[7:])
    centred = chosen - chosen.mean(axis=0)
    cosines = centred @ centred.T / np.linalg.norm(centred, axis=1) / np.linalg.norm(centred, axis=1)[:, None]
    np.testing.assert_allclose(model.input_kernel(), cosines, atol=1e-12)
    assert np.abs(np.asarray(tests.inputs) @ np.asarray(shown.inputs).T).max() < 0.9999


def test_what_cannot_be_is_refused():
    for digits in ((1, 1, 2), (1, 2), (1, 2, 10)):
        with pytest.raises(ArgumentError, match="`digits` must"):
            fs.models.WideImages.checked("model/wide-images", {"digits": digits})
    with pytest.raises(ArgumentError, match="`tests` must be at most the"):
        small(tests=900).world()
    many = {"digits": tuple(range(10)), "counts": (2,) * 10, "nonlinearity": "rectified"}
    assert fs.models.WideImages(**many).world().counts.tolist() == [2] * 10  # more than theory has of the toy task


def test_theory_is_that_of_linear_networks():
    with jax.enable_x64(True):
        start = small().start(jax.random.key(0))
        assert small(nonlinearity="sigmoidal").solution(start) is None
        known = solution_of(small(nonlinearity="linear"), start)(np.zeros(2))
    assert set(known) == {"kernel", "class_kernel", "answer", "mean", "square"}
    assert known["mean"].shape == (2, 2, 2) and np.all(known["square"] > known["mean"] ** 2)


def test_implied_features_are_those_of_importance_sampling():
    """p(z|a) ∝ N(z|0, K_0) exp(a·tᵀφ(z)) by brute force, for weak fields."""
    model = small(nonlinearity="sigmoidal")
    residual, readout = np.linspace(-1, 1, 12).reshape(6, 2), np.array([[1.0, -0.5]])
    values, vectors = np.linalg.eigh(model.input_kernel())
    z = np.random.default_rng(0).standard_normal((200_000, 6)) * np.sqrt(np.maximum(values, 0)) @ vectors.T
    phi = 0.5 + 0.5 * erf(z * np.pi**0.5 / 2)
    weight = np.exp(phi @ (residual @ readout[0]))
    np.testing.assert_allclose(model.implied(residual, readout)[0], weight @ phi / weight.sum(), atol=0.01)


def test_the_kernel_of_the_prior_is_that_of_many_random_neurons():
    model = small(nonlinearity="rectified")
    inputs = np.asarray(model.world().inputs)
    drawn = np.maximum(inputs @ np.random.default_rng(0).standard_normal((inputs.shape[1], 100_000)), 0.0)
    np.testing.assert_allclose(model.prior_kernel(), drawn @ drawn.T / 100_000, atol=0.02)


@pytest.mark.full
def test_chains_have_the_kernel_and_the_predictor_of_the_theory():
    """And miss those of another temperature."""
    settings = {"nonlinearity": "linear", "width": 60, "warm_up": 60, "draws": 140, "records": 20, "hottest": 0.4}
    run = small(temperature=0.2, **settings).run()
    kernel, mean = run["kernel"][0].values, run["mean"][0].values
    gaps = [np.linalg.norm(kernel - small(**settings).prediction(heat).kernels[-1]) for heat in (0.2, 0.4)]
    assert gaps[0] < 0.05 * np.linalg.norm(kernel) and gaps[0] < 0.5 * gaps[1]
    np.testing.assert_allclose(mean, there(run.theory)["mean"][0], atol=0.05)
    variance, theirs = ((each["square"] - each["mean"] ** 2)[0].mean() for each in (run, there(run.theory)))
    assert float(variance / theirs) == pytest.approx(1.0, abs=0.4)


def test_what_is_averaged_is_what_the_network_does_with_images():
    """Kernels between classes from the answers of single images, by hand."""
    model = small(nonlinearity="rectified", tests=2)
    with jax.enable_x64(True):
        network = model.prior(jax.random.key(0))
        found = {name: np.asarray(value) for name, value in model.averaged(network).items()}
    weights, readouts = np.asarray(network.weights[0]), np.asarray(network.readouts)
    seen, tests = (np.maximum(np.asarray(x) @ weights.T, 0.0) for x in (model.world().inputs, model.test_inputs()))
    across, within = tests @ seen.T / 12, seen @ seen.T / 12
    blocks = [[across[2 * c : 2 * c + 2, 3 * d : 3 * d + 3].mean() for d in range(2)] for c in range(2)]
    np.testing.assert_allclose(found["test_class_kernel"], blocks)
    assert found["mean_class_kernel"][0, 0] == pytest.approx((within[0, 1] + within[0, 2] + within[1, 2]) / 3)
    np.testing.assert_allclose(found["square"], (tests @ readouts / 12) ** 2)
    np.testing.assert_allclose(found["mean_hidden"], seen)


@pytest.mark.full
def test_what_is_recorded_at_the_end_is_of_the_last_network():
    run = small(nonlinearity="sigmoidal").run().data.isel(run=0, time=-1)
    np.testing.assert_allclose(
        fs.measures.class_means(run["hidden"].values, small().world().membership), run["activity"]
    )
    answers = run["hidden"].values @ run["readout"].values / 12
    loss = 0.5 * np.mean(np.sum((answers - np.asarray(small().world().targets)) ** 2, axis=1))
    assert float(run["loss"]) == pytest.approx(loss)
    assert run["test_hidden"].shape == (2, 12) and run["output"].values.tolist() == [3, 5]
