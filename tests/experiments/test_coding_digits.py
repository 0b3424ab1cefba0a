"""coding/digits: its claims, and its task, errors and features against independent calculations."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.special import erf

import festina as fs
from festina.claims import Undecided
from festina.errors import FestinaError
from festina.experiments.coding import _digits_measures as measures
from festina.experiments.coding._comparison import share_called
from festina.experiments.coding.digits import KINDS, SCHEMES, Digits
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/digits")


def test_quick_claims_hold_where_they_are_meant_to(result):
    """Only for linear networks are mean predictors those of the lazy limit."""
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    for kind in KINDS:
        for name in ("scheme", "structure", "variance", "error"):
            assert outcomes[f"{name}-{kind}"] == "reproduced", result
        assert (outcomes[f"mean-{kind}"] == "reproduced") == (kind == "linear"), result
    for name in ("kernel-linear", "theory-linear", "spread-linear", "features-sigmoidal"):
        assert outcomes[name] == "reproduced", result


def test_runs_that_cannot_tell_are_not_judged(result):
    short = replace(result, data=result.data.isel(time=slice(0, 40)))
    with pytest.raises(Undecided, match="needs 4 recordings after warming up"):
        Digits().mean_linear(short)
    with pytest.raises(Undecided, match="needs --tests 12"):
        Digits().accuracy(result, kind="linear")


def test_layers_that_have_learned_nothing_have_no_scheme():
    assert share_called(["lazy", "sparse", "sparse", "analog"], "sparse") == 0.5
    with pytest.raises(Undecided, match="no layer has learned a code"):
        share_called(["lazy", "lazy"], "sparse")


def test_the_abstract_is_cited_for_linear_networks_only():
    kinds = {claim.id: claim.kind for claim in Digits.claims}
    assert kinds["mean-linear"] == kinds["same-mean-linear"] == "paper"
    assert {kinds[f"{name}-{kind}"] for name in ("mean", "same-mean") for kind in KINDS[1:]} == {"theory"}


def test_images_are_those_asked_for_and_none_is_in_both_sets():
    config = Digits().configure("quick", counts=(7, 5), digits=(8, 1), tests=4)
    shown, tests = measures.task(config)
    everything = fs.worlds.load_images("digits")
    wanted = everything.images[everything.labels == 8].reshape(-1, 64).astype(float)
    ones = everything.images[everything.labels == 1].reshape(-1, 64).astype(float)
    np.testing.assert_allclose(np.linalg.norm(shown.inputs, axis=1), 1.0)
    np.testing.assert_allclose(np.asarray(shown.targets)[[0, -1]], [[1, -1], [-1, 1]])
    assert shown.counts.tolist() == [7, 5] and tests.counts.tolist() == [4, 4]
    chosen = measures._chosen(everything.images, everything.labels, (8, 1), (7, 5), "counts")
    assert all((wanted == one).all(axis=1).any() for one in chosen[:7])
    assert all((ones == one).all(axis=1).any() for one in chosen[7:])
    centred = chosen - chosen.mean(axis=0)
    cosines = centred @ centred.T / np.linalg.norm(centred, axis=1) / np.linalg.norm(centred, axis=1)[:, None]
    np.testing.assert_allclose(measures.input_kernel(config), cosines, atol=1e-12)
    assert np.abs(np.asarray(tests.inputs) @ np.asarray(shown.inputs).T).max() < 0.9999


def test_what_cannot_be_is_refused():
    with pytest.raises((ValidationError, FestinaError), match="digits"):
        Digits().configure(digits=(1, 1, 2))
    with pytest.raises((ValidationError, FestinaError), match="digits"):
        Digits().configure(digits=(1, 2))
    with pytest.raises(FestinaError, match="tests"):
        measures.task(Digits().configure(tests=900))


@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_those_of_the_last_answers(result, kind):
    """The predictor of the last draw is aφ/N, near the mean over draws; accuracy and error follow from answers."""
    last = result.data.isel(run=0).sel(nonlinearity=kind)
    answers = last["test_features"].transpose("test", "neuron").values @ last["readout"].values / result.config.width
    mean, variance = measures.sampled(result, kind)
    assert 0 < np.sqrt(np.mean((answers - mean) ** 2)) < 5 * np.sqrt(variance.mean())
    found = measures.errors(result, kind)
    truth = np.repeat(np.arange(3), result.config.tests)
    assert found["accuracy"] == pytest.approx(np.mean(np.argmax(mean, axis=1) == truth))
    whole = result["square"].sel(nonlinearity=kind).mean("run").values - 2 * mean * (1.5 * np.eye(3)[truth] - 0.5)
    assert found["mean"] + found["variance"] == pytest.approx(whole.mean() + 0.5)


def test_kernels_of_test_images_are_those_of_their_features(result):
    """Means over draws against the last draw; a network without any learning has less structure."""
    last = result.data.isel(run=0).sel(nonlinearity="sigmoidal")
    features = last["features"].transpose("neuron", "example").values
    means = features.reshape(len(features), 3, -1).mean(axis=2)
    expected = last["test_features"].transpose("test", "neuron").values @ means / result.config.width
    np.testing.assert_allclose(last["test_kernel"].values, expected, atol=0.05)
    assert np.all(measures.kept_structure(result, "sigmoidal") < 1.0)


def test_implied_features_are_those_of_importance_sampling():
    """p(z|a) ∝ N(z|0, K_0) exp(a·tᵀφ(z)) by brute force, for weak fields."""
    config = Digits().configure("quick", counts=(3, 3), digits=(3, 5), tests=1)
    kernel = measures.input_kernel(config)
    residual, readout = np.linspace(-1, 1, 12).reshape(6, 2), (1.0, -0.5)
    values, vectors = np.linalg.eigh(kernel)
    z = np.random.default_rng(0).standard_normal((200_000, 6)) * np.sqrt(np.maximum(values, 0)) @ vectors.T
    phi = 0.5 + 0.5 * erf(z * np.pi**0.5 / 2)
    weight = np.exp(phi @ (residual @ np.array(readout)))
    expected = weight @ phi / weight.sum()
    found = measures._implied(config, "sigmoidal", measures._rows(residual), readout)
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_the_prior_has_no_scheme(result):
    """Features drawn from the prior, in place of the samples, are lazy to the analyser, though classes look alike."""
    data = result.data.copy(deep=True)
    inputs = np.asarray(measures.task(result.config)[0].inputs)
    weights = np.random.default_rng(0).standard_normal((result.config.width, inputs.shape[1]))
    data["features"].loc[{"nonlinearity": "linear"}] = weights @ inputs.T
    prior = fs.experiment.Result(result.experiment, result.config, data)
    strength = measures.analysed(prior, "linear", 0).statistics.strength
    assert abs(strength) < 0.2 < measures.analysed(result, "linear", 0).statistics.strength
    assert measures.share_of_scheme(result, "linear", SCHEMES["linear"]) == 1.0


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 13
