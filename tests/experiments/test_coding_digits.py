"""coding/digits: its claims, and its errors and features against independent calculations."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from festina.claims import Undecided
from festina.experiments.coding._comparison import SCHEMES, share_called
from festina.experiments.coding._predictors import compared
from festina.experiments.coding.digits import Digits, codings, features, network
from festina.models._wide import KINDS
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/digits")


def test_quick_claims_hold_where_they_are_meant_to(result):
    """Only for linear networks are mean predictors those of the lazy limit."""
    missed = {name for name, outcome in outcomes(result).items() if outcome != "reproduced"}
    assert len(outcomes(result)) == 20 and missed == {"mean-sigmoidal", "mean-rectified"}, result


def test_runs_that_cannot_tell_are_not_judged_but_drawn(result):
    short = replace(result, data=result.data.isel(time=slice(0, 40)))
    for ask in (lambda: Digits().mean_linear(short), lambda: Digits().features(short, kind="sigmoidal")):
        with pytest.raises(Undecided, match="needs 4 recordings after warming up"):
            ask()
    with pytest.raises(Undecided, match="needs --tests 12"):
        Digits().accuracy(result, kind="linear")
    assert short.figure().axes


def test_layers_that_have_learned_nothing_have_no_scheme():
    assert share_called(["lazy", "sparse", "sparse", "analog"], "sparse") == 0.5
    with pytest.raises(Undecided, match="no layer has learned a code"):
        share_called(["lazy", "lazy"], "sparse")


def test_the_abstract_is_cited_for_linear_networks_only():
    kinds = {claim.id: claim.kind for claim in Digits.claims}
    assert kinds["mean-linear"] == kinds["same-mean-linear"] == "paper"
    assert {kinds[f"{name}-{kind}"] for name in ("mean", "same-mean") for kind in KINDS[1:]} == {"theory"}


@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_those_of_the_last_answers(result, kind):
    """The predictor of the last draw is aφ/N, near the mean over draws; accuracy and error follow from answers."""
    last = result.data.isel(run=0, time=-1).sel(nonlinearity=kind)
    answers = last["test_hidden"].transpose("input", "neuron").values @ last["readout"].values / result.config.width
    mean, variance = compared(result, kind).ours
    assert 0 < np.sqrt(np.mean((answers - mean) ** 2)) < 5 * np.sqrt(variance.mean())
    found = compared(result, kind).errors
    truth = np.repeat(np.arange(3), result.config.tests)
    assert found["accuracy"] == pytest.approx(np.mean(np.argmax(mean, axis=1) == truth))
    whole = result["square"].sel(nonlinearity=kind).mean("run").values - 2 * mean * (1.5 * np.eye(3)[truth] - 0.5)
    assert found["mean"] + found["variance"] == pytest.approx(whole.mean() + 0.5)
    lazy = found["lazy mean"] + found["lazy variance"]
    assert Digits().error(result, kind=kind) == pytest.approx((whole.mean() + 0.5) / lazy)


def test_a_network_without_structure_on_test_images_keeps_less_than_one_with(result):
    """Kernels between classes as the last draw has them, against their means over draws."""
    last = result.data.isel(run=0, time=-1).sel(nonlinearity="sigmoidal")
    seen, tests = (last[name].transpose(..., "neuron").values for name in ("hidden", "test_hidden"))
    means = [part.reshape(3, 10, -1).mean(axis=1) for part in (tests, seen)]
    expected = means[0] @ means[1].T / result.config.width
    np.testing.assert_allclose(last["test_class_kernel"].values, expected, atol=0.05)
    kept = Digits().structure(result, kind="sigmoidal")
    assert np.all((kept > 0.5) & (kept < 1.0))
    mixed = result.data.copy(deep=True)
    mixed["test_class_kernel"][:] = mixed["test_class_kernel"].mean("class")
    np.testing.assert_allclose(Digits().structure(replace(result, data=mixed), kind="sigmoidal"), 0.0, atol=1e-12)


def test_features_are_those_of_the_strongest_neurons_and_of_others(result):
    """In the order of their readouts, where all of them converge; linear ones are ⟨φ⟩ = K_0 t a."""
    ours, theirs = features(result, "linear")
    here, model = result.data.isel(run=0).sel(nonlinearity="linear"), network(result, "linear")
    strongest = int(np.argmax(np.linalg.norm(here["mean_readout"].values, axis=1)))
    np.testing.assert_array_equal(ours[0], here["mean_hidden"].sel(neuron=strongest))
    residual = (np.asarray(model.world().targets) - here["answer"].values) / 0.05
    expected = model.input_kernel() @ residual @ here["mean_readout"].values[strongest]
    np.testing.assert_allclose(theirs[0], expected, atol=1e-5)
    assert ours.shape == theirs.shape == (24, 30)


def test_the_prior_has_no_scheme(result):
    """Features drawn from the prior, in place of the samples, are lazy to the analyser, though classes look alike."""
    data, inputs = result.data.copy(deep=True), np.asarray(network(result, "linear").world().inputs)
    weights = np.random.default_rng(0).standard_normal((result.config.width, inputs.shape[1]))
    data["hidden"].loc[{"nonlinearity": "linear"}] = inputs @ weights.T
    prior, learned = (codings(each, "linear")[0] for each in (replace(result, data=data), result))
    assert abs(prior.statistics.strength) < 0.2 < learned.statistics.strength
    assert learned.scheme == SCHEMES["linear"]


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 13
