"""coding/predictor: its claims, and its Gaussian process and test inputs against independent calculations."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import erf

import festina as fs
from festina.claims import NotApplicable, Undecided
from festina.experiments.coding._predictors import compared, linear_shift, sampled
from festina.experiments.coding.predictor import NOISY, Predictor, gain_by_variance
from festina.models._wide import KINDS
from festina.models.wide_bayesian import LEVELS
from shared import quick

pytestmark = pytest.mark.full


def network(**fields):
    """As the quick budget has it, but for the fields that are named."""
    usual = {"width": 100, "counts": (20, 10, 10), "temperature": 0.05, "tests": 10}
    return fs.models.WideBayesian(**usual | fields)


@pytest.fixture(scope="module")
def result():
    return quick("coding/predictor")


def test_quick_claims_hold_where_they_are_meant_to(result):
    """Only for linear networks are mean predictors those of the lazy limit."""
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    for kind in KINDS:
        assert outcomes[f"variance-{kind}"] == outcomes[f"theory-mean-{kind}"] == "reproduced", result
        assert outcomes[f"spread-{kind}"] == "needs the full budget"
        assert (outcomes[f"mean-{kind}"] == "reproduced") == (kind == "linear"), result


def test_sigmoidal_networks_alone_are_drawn_neuron_by_neuron_from_the_prior(result):
    """At one temperature, without a gradient; with another method all are drawn by that."""
    moved = result["gradients"].isel(run=0, time=-1)
    assert moved.sel(nonlinearity="sigmoidal") == 0 and np.all(moved.sel(nonlinearity=["linear", "rectified"]) > 0)
    first = np.linalg.norm(result["readout"].isel(run=0, time=0), axis=(-2, -1))
    assert first[KINDS.index("sigmoidal")] < 0.2 * first[KINDS.index("rectified")]
    both = [Predictor().arms_at(Predictor().configure("quick", method=each)) for each in ("collapsed", "hmc")]
    drawn = [[(arm.model.method, arm.model.origin) for arm in arms] for arms in both]  # pyright: ignore
    theirs = ("hmc", "theory")
    assert drawn == [[theirs, ("collapsed", "prior"), theirs], [theirs] * 3]


def test_the_abstract_is_cited_for_linear_networks_only():
    kinds = {claim.id: (claim.kind, claim.source) for claim in Predictor.claims}
    assert kinds["mean-linear"] == ("paper", "van Meegen & Sompolinsky 2024, abstract")
    assert {kinds[f"{name}-{kind}"][0] for name in ("mean", "gain") for kind in KINDS[1:]} == {"theory"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_lazy_limit_is_what_random_features_give(kind):
    """Bayesian regression on 40 000 random neurons, by linear algebra alone."""
    model = network(nonlinearity=kind, tests=2)
    data, tests = model.world(), model.test_inputs()
    shown = np.asarray(data.inputs)
    weights = np.random.default_rng(0).standard_normal((40_000, shown.shape[1]))
    function = {
        "linear": lambda z: z,
        "sigmoidal": lambda z: erf(z * np.pi**0.5 / 2) / 2 + 0.5,
        "rectified": lambda z: np.maximum(z, 0),
    }[kind]
    first, other = (function(x @ weights.T) / 200.0 for x in (shown, tests))
    solve = np.linalg.solve(first @ first.T + model.temperature * np.eye(len(shown)), first @ other.T)
    expected = model.predictor(lazy=True)
    np.testing.assert_allclose(expected.mean, solve.T @ np.asarray(data.targets), atol=0.06)
    variance = np.sum(other**2, axis=1) - np.sum((other @ first.T) * solve.T, axis=1)
    np.testing.assert_allclose(expected.variance[:, 0], variance, rtol=0.05, atol=0.02)


def test_errors_are_those_of_the_recorded_answers(result):
    """⟨(f − y)²⟩ over draws is the error of the mean plus the variance."""
    last = result.data.sel(nonlinearity="sigmoidal").mean("run")
    targets = network().world().class_targets[network().test_labels()]
    whole = (last["square"].values - 2 * targets * last["mean"].values + targets**2)[LEVELS:].mean()
    found = compared(result, "sigmoidal", NOISY).errors
    assert found["mean"] + found["variance"] == pytest.approx(whole)
    gain = (found["lazy variance"] - found["variance"]) / (found["lazy mean"] + found["lazy variance"] - whole)
    assert gain_by_variance(result, "sigmoidal") == pytest.approx(gain)


def test_running_means_are_those_of_single_draws(result):
    """Recordings are a subset of the draws averaged: their mean is near."""
    late = result.data.sel(nonlinearity="linear").isel(time=slice(30, None))
    gap = (
        late["test"].mean(("run", "time")).transpose("input", "output").values
        - sampled(result, nonlinearity="linear").mean
    )
    assert 0 < np.abs(gap).max() < 0.05


def test_means_are_lazy_ones_in_the_cold_only(result):
    """In theory the difference goes with T: a tenth of it at a tenth of T; hot networks are not asked."""
    hot, cold = (linear_shift(network(nonlinearity="linear", temperature=heat), NOISY) for heat in (0.01, 0.001))
    assert 0.05 < cold / hot < 0.2 and hot < 0.01
    hotter = replace(result, config=result.config.model_copy(update={"temperature": 1.0}))
    with pytest.raises(NotApplicable, match="means are identical as T → 0"):
        Predictor().mean_linear(hotter)


def test_runs_that_cannot_tell_are_not_judged(result):
    short = replace(result, data=result.data.isel(time=slice(0, 10)))
    with pytest.raises(Undecided, match="needs 4 recordings after warming up, of which there are 0"):
        Predictor().mean_linear(short)
    one = replace(result, data=result.data.isel(run=[0]))
    frozen = replace(one, config=one.config.model_copy(update={"method": "hmc"}))
    with pytest.raises(Undecided, match="needs --seeds 2"):
        Predictor().spread(frozen, kind="sigmoidal")
    assert Predictor().spread(frozen, kind="linear") > 0
    assert Predictor().spread(one, kind="sigmoidal") == pytest.approx(1.0, abs=0.5)
    some = replace(result, data=result.data.sel(nonlinearity=["linear"]))
    with pytest.raises(NotApplicable, match="needs --nonlinearity with rectified"):
        Predictor().mean(some, kind="rectified")
    with pytest.raises(NotApplicable, match="needs --tests 1"):
        sampled(replace(result, data=result.data.drop_vars("mean")), nonlinearity="linear")


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert all(axis.get_xlabel() or axis.get_ylabel() for axis in figure.axes) and len(figure.axes) == 6
