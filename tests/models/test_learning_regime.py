"""model/learning-regime: a lazy network in the coordinates of one that learns features, and its answers in parts."""

from typing import Any

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.models.learning_regime import LearningRegime
from festina.testing import check_model
from narrowing import there, unsolved

SMALL = {"width": 12, "counts": (3, 2), "warm_up": 4, "draws": 8, "records": 4, "tests": 1}


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    """But for slopes: forces are in single precision."""
    check_model(LearningRegime, differentiate=False, nonlinearity="linear", laziness=1.0, **SMALL)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["linear", "sigmoidal", "rectified"])
def test_at_full_laziness_it_is_the_lazy_network(kind):
    """Answers and energies of the same weights are those of f = aφ/√N at the temperature T."""
    model = LearningRegime(nonlinearity=kind, width=30, counts=(4, 3), laziness=1.0, layers=2, temperature=0.1)
    data = model.world()
    with fs.double():
        ours = model.prior(jax.random.key(0))
        theirs = fs.networks.Bayesian(ours.weights, ours.readout, 1.0, ours.nonlinearity, fs.networks.LAZY)
        heat = model.heat(jax.numpy.asarray(10_000))
        np.testing.assert_allclose(ours(data.inputs), theirs(data.inputs), rtol=1e-10)
        energies = [net.energy(data.inputs, data.targets, at) for net, at in ((ours, heat), (theirs, 0.1))]
        np.testing.assert_allclose(*energies, rtol=1e-10)
        seen = model.seen(ours)
        np.testing.assert_allclose(seen["parts"].sum(axis=0), ours(model.test_inputs()), atol=1e-10)


def test_without_laziness_it_is_the_network_that_learns_features():
    model, known = (kind(width=30, counts=(4, 3), layers=2) for kind in (LearningRegime, fs.models.WideBayesian))
    assert model.readout_variance == known.readout_variance
    with fs.double():
        assert float(model.heat(jax.numpy.asarray(50))) == float(known.heat(jax.numpy.asarray(50)))


@pytest.mark.full
def test_networks_that_learn_features_are_drawn_neuron_by_neuron_and_lazy_ones_are_not():
    with pytest.raises(ArgumentError, match="`laziness` must be 0 for the collapsed method"):
        LearningRegime.checked("model/learning-regime", {"method": "collapsed", "laziness": 0.5})
    network = LearningRegime(
        method="collapsed", **SMALL | {"width": 40, "draws": 36, "records": 20, "temperature": 0.05}
    )
    run = network.run()
    assert np.all(run["gradients"] == 0) and np.all(run["heat"] == 0.05)
    expected, ours = there(network.predicted()).mean, run.data["mean"].values
    assert np.abs(ours - expected).max() < 0.3 < np.abs(expected).max()


def test_theory_is_known_in_both_regimes_and_not_between():
    linear: dict[str, Any] = {"nonlinearity": "linear", "counts": (4, 3), "layers": 3}
    lazy = there(LearningRegime(laziness=1.0, **linear).predicted())
    process = fs.theory.coding.lazy(np.eye(7), np.asarray(LearningRegime(**linear).world().targets), 0.1,
                                    fs.theory.coding.LINEAR, 3)  # fmt: skip
    model = LearningRegime(laziness=1.0, **linear)
    tests = model.test_inputs()
    known = process.predict(tests @ np.asarray(model.world().inputs).T, np.sum(tests**2, axis=1))
    np.testing.assert_allclose(lazy.variance, known.variance)
    assert unsolved(LearningRegime(laziness=0.5, **linear))
    assert unsolved(LearningRegime(counts=(4, 3), layers=2))
    assert there(LearningRegime(**linear).predicted()).variance.mean() < lazy.variance.mean()
