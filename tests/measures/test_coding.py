"""The analyser of coding schemes on layers whose scheme is known: neurons drawn from theory, or planted by hand."""

import warnings

import jax
import numpy as np
import pytest
import xarray as xr
from scipy.special import erf

import festina as fs
from festina.errors import ArgumentError
from festina.measures.coding import _prior

NEURONS, VARIANCE = 300, 0.01
WORLD = fs.worlds.toy_classes()


def sigmoid(z):
    return 0.5 * (1 + erf(np.pi**0.5 * z / 2))


@pytest.fixture(scope="module")
def layers():
    """Activations (samples, neurons) and readouts (outputs, neurons) of each scheme, and the theory's codes."""
    theory = fs.theory.coding
    with jax.enable_x64(True):
        kernel = WORLD.inputs @ WORLD.inputs.T
        made = {
            "analog": (theory.analog(kernel, WORLD.targets, 0.05, VARIANCE, NEURONS), lambda z: z),
            "redundant": (theory.redundant(WORLD.counts, WORLD.class_targets, 0.05, VARIANCE), sigmoid),
            "sparse": (theory.sparse(WORLD.counts, WORLD.class_targets, 0.1, VARIANCE), lambda z: np.maximum(z, 0)),
        }
        drawn = {name: (each.draw_neurons(jax.random.key(1), NEURONS), phi, each) for name, (each, phi) in made.items()}
    return {name: (phi(z).T, a.T, each) for name, ((a, z), phi, each) in drawn.items()}


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["analog", "redundant", "sparse"])
@pytest.mark.parametrize("with_readout", [True, False])
def test_neurons_drawn_from_theory_have_their_scheme(layers, scheme, with_readout):
    activity, readout, _ = layers[scheme]
    found = fs.measures.coding(activity, WORLD.labels, readout if with_readout else None, resamples=20, shuffles=20)
    assert found.scheme == scheme and found.confidence > 0.9, found
    assert found.statistics.strength > 10 * np.max(found.null_strength)


@pytest.mark.full
def test_codes_are_those_of_the_theory(layers):
    activity, readout, theory = layers["redundant"]
    found = fs.measures.coding(activity, WORLD.labels, readout, resamples=1, shuffles=1)
    counts = {code.classes: code.count / NEURONS for code in found.codes}
    for subset, weight in zip(theory.codes.subsets, theory.codes.weights, strict=True):
        assert abs(counts[tuple(np.flatnonzero(subset).tolist())] - weight) < 0.1
    activity, readout, _ = layers["sparse"]
    sparse = fs.measures.coding(activity, WORLD.labels, readout, resamples=1, shuffles=1)
    assert sorted(code.classes for code in sparse.codes) == [(0,), (1,), (2,)]
    assert sum(code.count for code in sparse.codes) == 3


@pytest.mark.parametrize(
    "nonlinearity", [fs.networks.LINEAR, fs.networks.SIGMOIDAL, fs.networks.RECTIFIED], ids=lambda each: each.name
)
def test_a_network_from_the_prior_is_lazy(nonlinearity):
    network = fs.networks.Bayesian.init(jax.random.key(2), (100, NEURONS, 3), nonlinearity)
    found = fs.measures.coding(network.hidden(WORLD.inputs)[-1], WORLD.labels, network.readout, resamples=5)
    assert found.scheme == "lazy" and abs(found.statistics.strength) < 0.02 and found.codes == ()


def test_alike_inputs_are_no_learning_if_the_prior_says_so():
    """Inputs that resemble each other within classes: only the prior's kernel tells that nothing was learned."""
    random = np.random.default_rng(0)
    inputs = np.eye(3)[WORLD.labels] @ random.normal(size=(3, 20)) + 0.3 * random.normal(size=(100, 20))
    layer = np.maximum(inputs @ random.normal(size=(20, NEURONS)), 0)
    before = np.maximum(inputs @ random.normal(size=(20, 4000)), 0)
    assert fs.measures.coding(layer, WORLD.labels, resamples=1).scheme != "lazy"
    told = fs.measures.coding(layer, WORLD.labels, prior_kernel=before @ before.T / 4000, resamples=1)
    assert told.statistics.strength < 0.25 * fs.measures.coding(layer, WORLD.labels, resamples=1).statistics.strength


@pytest.mark.full
def test_numbers_that_decide(layers):
    """Definitions against a direct calculation, with classes of unequal size and names."""
    activity, readout, _ = layers["analog"]
    names = np.array(["cat", "dog", "eel"])[WORLD.labels]
    found = fs.measures.coding(activity, names, readout, resamples=1, shuffles=1)
    shares = np.array([0.5, 0.25, 0.25])
    means = np.stack([activity[names == name].mean(axis=0) for name in found.classes], axis=1)
    deviations = (means - activity.mean(axis=0)[:, None]) * np.sqrt(shares)[None]
    contributions = np.linalg.norm(deviations, axis=1) * np.linalg.norm(readout, axis=0)
    np.testing.assert_allclose(found.contributions, contributions)
    top = np.sort(contributions)[-30:].sum() / contributions.sum()
    np.testing.assert_allclose(found.statistics.share, top)
    gaussian = np.random.default_rng(1).normal(size=(3, 4000))
    assert (
        abs(fs.measures.coding(np.eye(4000)[:100] + 1e-9, names, gaussian, resamples=0).statistics.kurtosis - 1) < 0.05
    )


@pytest.mark.full
def test_the_figure_draws_without_a_warning(layers):
    for scheme, (activity, readout, _) in layers.items():
        found = fs.measures.coding(activity, WORLD.labels, readout, resamples=2, shuffles=2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(found.figure().axes) == 4
        assert repr(found).startswith(scheme)


def test_the_prior_has_the_mean_variances_of_what_has_its_kernel():
    """K = AAᵀ: sums over the columns of A of their variance between classes and within."""
    columns, members = np.random.default_rng(3).normal(size=(9, 4)), np.eye(3)[np.repeat([0, 1, 2], [4, 3, 2])]
    shares, means = members.mean(axis=0), members.T @ columns / members.sum(axis=0)[:, None]
    between = np.sum(shares @ means**2 - (shares @ means) ** 2)
    within = np.sum(np.mean((columns - members @ means) ** 2, axis=0))
    np.testing.assert_allclose(_prior(columns @ columns.T, members), [between, within])


def test_shuffled_labels_leave_nothing_of_the_strength():
    random = np.random.default_rng(5)
    labels = np.repeat([0, 1, 2], 8)
    layer = random.normal(size=(3, 40))[labels] + 0.1 * random.normal(size=(24, 40))
    found = fs.measures.coding(layer, labels, resamples=0, shuffles=20)
    assert found.statistics.strength > 0.9 > 0.3 > found.null_strength.max()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((6, 30)), [0, 1] * 3), "differ between samples"),
        ((np.tile(np.arange(30.0), (6, 1)), [0, 1] * 3), "differ between samples"),
        ((np.random.default_rng(0).normal(size=(6, 30)), [0] * 6), "at least 2 classes"),
        ((np.random.default_rng(0).normal(size=(6, 5)), [0, 1] * 3), "at least 20 neurons"),
        ((np.full((6, 30), np.nan), [0, 1] * 3), "non-finite"),
        ((np.random.default_rng(0).normal(size=(6, 30)), [0, 1]), "one label for each of the 6 samples"),
        ((np.random.default_rng(0).normal(size=(6, 30)), range(6)), "several samples"),
        ((np.random.default_rng(0).normal(size=(6, 30)), [0, 1] * 3, np.ones((2, 4))), "`readout` must be"),
    ],
)
def test_bad_input_is_refused_with_a_reason(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        fs.measures.coding(*arguments)


def grouped_neurons(classes=3, samples=20, neurons=60):
    """(classes, samples, neurons), each neuron on for one class."""
    random = np.random.default_rng(4)
    return np.eye(classes)[:, None, np.arange(neurons) % classes] + 0.1 * random.normal(
        size=(classes, samples, neurons)
    )


def test_contexts_by_items_are_classes_by_samples():
    layer = grouped_neurons()
    few = {"resamples": 2, "shuffles": 2}
    whole = fs.measures.coding(layer, **few)
    flat = fs.measures.coding(layer.reshape(60, 60), np.repeat([0, 1, 2], 20), **few)
    assert whole.scheme == "redundant" and whole.classes == (0, 1, 2) and repr(whole) == repr(flat)
    named = xr.DataArray(layer, dims=("odour", "trial", "cell"), coords={"odour": ["musk", "amber", "clove"]})
    assert fs.measures.coding(named, **few).classes == ("musk", "amber", "clove")
    assert {code.classes for code in fs.measures.coding(named, **few).codes} == {("musk",), ("amber",), ("clove",)}
    pairs = fs.measures.coding(layer, ["x", "y", "x"], **few)
    np.testing.assert_allclose(pairs.means[:, 0], layer[[0, 2]].mean(axis=(0, 1)))
    halves = xr.DataArray(np.arange(20) % 2, dims="trial")  # goes by the name of its dimension
    by_trial = fs.measures.coding(named, halves, **few)
    np.testing.assert_allclose(by_trial.means[:, 1], layer[:, 1::2].mean(axis=(0, 1)))
    whole_labels = fs.measures.coding(layer, np.tile(np.arange(20) % 2, (3, 1)), **few)
    np.testing.assert_allclose(whole_labels.means, by_trial.means)
    for labels, message in (([0, 1], "be 3, one a context"), (xr.DataArray([0, 1], dims="x"), "dimensions among")):
        with pytest.raises(ArgumentError, match=message):
            fs.measures.coding(named, labels)
    with pytest.raises(ArgumentError, match="name the label of each sample"):
        fs.measures.coding(layer[0])


def test_feature_maps_are_means_over_positions():
    maps = np.repeat(grouped_neurons().reshape(60, 60)[:, :, None, None], 4, axis=2) * np.array([0.0, 2.0])
    labels, few = np.repeat([0, 1, 2], 20), {"resamples": 2, "shuffles": 2}
    found = fs.measures.coding(maps, labels, **few)
    np.testing.assert_allclose(found.means[0], [maps[labels == c, 0].mean() for c in range(3)])
    largest = fs.measures.coding(fs.measures.channel_maxima(maps), labels, **few)
    assert found.scheme == largest.scheme == "redundant" and largest.means.max() > 1.5 * found.means.max()


def test_what_was_not_asked_for_is_not_told():
    """Neither resamples nor shuffles: no share of agreement and no bound of the null, in words or in the figure."""
    found = fs.measures.coding(np.eye(60)[:, :20] + 1e-3, np.repeat([0, 1, 2], 20), resamples=0, shuffles=0)
    assert "agree" not in repr(found) and "shuffles" not in repr(found)
    assert "agree" not in found.figure().get_suptitle()


def test_the_share_of_the_top_tenth_is_marked_on_the_curve_in_another_colour():
    found = fs.measures.coding(np.eye(60)[:, :20] + 1e-3, np.repeat([0, 1, 2], 20), resamples=0, shuffles=0)
    curve, _, mark = found.figure().axes[2].lines
    places, shares = (np.asarray(values, float) for values in curve.get_data())
    assert np.interp(0.1, places, shares) == pytest.approx(found.statistics.share)
    assert curve.get_color() != mark.get_color()
    assert [np.asarray(values).tolist() for values in mark.get_data()] == [[0.1], [found.statistics.share]]
