"""Posteriors of networks: against closed forms, another library, the prior; alone, in a batch and resumed."""

import subprocess
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.chains import effective_sample_size
from festina.compiling import QUICK, known_options
from festina.errors import ArgumentError, FestinaWarning, Interrupted
from festina.learning import HMC, MALA, NUTS
from festina.networks import Bayesian, DeepLinear, Ensemble
from festina.worlds import Dataset, Taught, Teacher
from festina.worlds.losses import CrossEntropy, SquaredError
from narrowing import there

RANDOM = np.random.default_rng(4)
INPUTS, TARGETS = RANDOM.normal(size=(9, 2)), RANDOM.normal(size=(9, 2))
FEATURES = np.concatenate([INPUTS, np.ones((9, 1))], axis=1)
DEVIATIONS = np.array([0.5, 0.5, 2.0])  # of two weights and a bias
FEW: dict[str, Any] = {"chains": 2, "draws": 12, "warm_up": 8}


def linear(weight: Any = 0.5, bias: Any = 2.0):
    """A linear network, or a tree with its structure."""
    made = eqx.nn.Linear(2, 2, key=jax.random.key(0))
    return made, eqx.tree_at(lambda own: (own.weight, own.bias), made, (weight, bias))


def tanh(key=None, outputs=2):
    return eqx.nn.MLP(2, outputs, 3, 1, activation=jax.nn.tanh, key=jax.random.key(0) if key is None else key)


@cache
def few():
    """A few draws, for tests of everything but their law."""
    return fs.sample(tanh(), (INPUTS, TARGETS), **FEW)


@cache
def few_labelled(chains=2, seed=0):
    """With forces in float64, so that rounding is not amplified to anything that can be seen."""
    world, exactly = (INPUTS, np.arange(9) % 2), HMC(force_precision="float64")
    settings: dict[str, Any] = FEW | {"chains": chains, "seed": seed}
    return fs.sample(tanh(), world, test=world, method=exactly, **settings)


@cache
def few_along_a_line():
    along = np.linspace(-1, 1, 9)[:, None]
    network = eqx.nn.MLP(1, 2, 3, 1, key=jax.random.key(0))
    return fs.sample(network, (along, TARGETS), test=(2 * along[:4], TARGETS[:4]), **FEW)


def agrees(values, expected):
    """Means over (chain, draw) within four standard errors of what is expected; what does not move is what it is."""
    error = values.std(axis=(0, 1)) / np.nan_to_num(effective_sample_size(values), nan=1.0) ** 0.5
    np.testing.assert_array_less(np.abs(values.mean(axis=(0, 1)) - expected), 4 * error + 1e-12)


def closed_form(temperature):
    """Mean (3, outputs) and covariance (3, 3) of weights and bias: those of two outputs are independent."""
    covariance = np.linalg.inv(FEATURES.T @ FEATURES / temperature + np.diag(DEVIATIONS**-2))
    return covariance @ FEATURES.T @ TARGETS / temperature, covariance


def sampled_regression(method, temperature, **settings):
    network, prior = linear()
    posterior = fs.sample(network, (INPUTS, TARGETS), temperature=temperature, prior=prior, method=method, **settings)
    weights = there(posterior.weights)
    return posterior, np.concatenate([weights["weight"].values, weights["bias"].values[..., None]], axis=-1)


@pytest.mark.mostly_full(2)
@pytest.mark.parametrize(
    ("method", "temperature", "draws"),
    [(HMC(), 0.5, 400), (HMC(), 2.0, 400), (NUTS(), 0.5, 500), (MALA(first_step=0.05), 0.5, 4000)],
    ids=str,
)
def test_the_posterior_of_a_regression(method, temperature, draws):
    """Mean, covariance and energy; other temperatures and standard deviations than these would not do."""
    mean, covariance = closed_form(temperature)
    posterior, found = sampled_regression(method, temperature, draws=draws, warm_up=200)
    agrees(found, mean.T)
    centred = found - mean.T
    agrees(centred[..., :, None] * centred[..., None, :], np.broadcast_to(covariance, (2, 3, 3)))
    rest = np.sum((TARGETS - FEATURES @ mean) ** 2) + 2 * np.sum(FEATURES.T @ FEATURES * covariance)
    agrees(posterior["energy"].values, rest / (2 * temperature))
    agrees(posterior["answer"].values, FEATURES @ mean)
    spread = np.sqrt(np.einsum("ni,ij,nj->n", FEATURES, covariance, FEATURES))
    np.testing.assert_allclose(posterior.deviation, np.stack([spread] * 2, axis=1), rtol=0.15)
    assert abs(float(posterior.statistics["acceptance_rate"].mean()) - method.target) < 0.15
    assert posterior.troubles == [] and float(posterior.r_hats.to_array().max()) < 1.05


@pytest.mark.full
def test_a_flat_likelihood_gives_the_prior():
    network, prior = linear(weight=np.array([[0.1, 1.0], [2.0, 3.0]]), bias=0.5)
    flat = lambda answers, targets: 0.0 * jnp.sum(answers)  # noqa: E731
    posterior = fs.sample(network, (INPUTS, TARGETS), prior=prior, loss=flat, draws=400, warm_up=50)
    agrees(there(posterior.weights)["weight"].values ** 2, np.array([[0.01, 1.0], [4.0, 9.0]]))
    agrees(there(posterior.weights)["weight"].values, np.zeros((2, 2)))
    agrees(there(posterior.weights)["bias"].values ** 2, np.full(2, 0.25))
    assert np.all(posterior["energy"] == 0.0) and np.all(posterior.statistics["acceptance_rate"] > 1 - 1e-9)


@pytest.mark.full
def test_the_loss_is_summed_over_examples():
    """Two copies of the data at twice the temperature are the same posterior, whatever the loss; and so they draw."""
    labels, once, exactly = np.arange(9) % 2, few_labelled(), HMC(force_precision="float64")
    doubled = np.tile(INPUTS, (2, 1)), np.tile(labels, 2)
    twice = fs.sample(tanh(), doubled, temperature=2.0, method=exactly, **FEW)
    np.testing.assert_allclose(once["energy"], twice["energy"], rtol=1e-6)
    np.testing.assert_allclose(once["energy"], 9 * once["loss"], rtol=1e-12)
    scores = jax.vmap(once.networks[3])(INPUTS)
    assert float(once["loss"][0, 3]) == pytest.approx(float(CrossEntropy()(scores, labels)), rel=1e-12)
    assert "accuracy" in once.data


@pytest.mark.full
def test_a_bayesian_network_keeps_its_own_energy_and_prior():
    network = Bayesian.init(jax.random.key(0), (2, 5, 2), readout_variance=np.asarray(0.25))
    world = Dataset.labelled(INPUTS, np.arange(9) % 2)  # its energy is squared error nevertheless
    posterior = fs.sample(network, world, temperature=0.3, **FEW)
    assert list(there(posterior.weights)) == ["weights.0", "readout"]  # and not the variance of the readout
    several = posterior.networks
    energies = [several[number].energy(INPUTS, world.targets, 0.3) for number in range(24)]
    np.testing.assert_allclose(posterior["energy"].values.ravel(), energies, rtol=1e-12)
    squares = [sum(np.sum(leaf**2) for leaf in jax.tree.leaves(several[number].whitened)) for number in range(24)]
    np.testing.assert_allclose(posterior.statistics["lp"].values.ravel(), -np.add(energies, np.divide(squares, 2)))


def test_a_linear_network_is_sampled_by_its_moments():
    """Or sample by sample: one law."""
    network = DeepLinear.init(jax.random.key(0), (2, 2), 0.1)
    posterior = fs.sample(network, (INPUTS, TARGETS), temperature=0.5, prior=0.5, draws=400, warm_up=200)
    covariance = np.linalg.inv(INPUTS.T @ INPUTS / 0.5 + 4 * np.eye(2))
    agrees(posterior["map"].values, (covariance @ INPUTS.T @ TARGETS / 0.5).T)
    np.testing.assert_allclose(posterior["energy"], 18 * posterior["loss"], rtol=1e-12)
    np.testing.assert_array_equal(posterior["map"], there(posterior.weights)["weights.0"])


@pytest.mark.full
def test_a_gated_network_is_sampled_too():
    graph = fs.networks.Graph.of("x -> h -> y", "x -> g -> y", widths={"x": 2, "h": 2, "g": 2, "y": 2})
    world = fs.worlds.GatedDataset({"x": INPUTS}, {"y": TARGETS}, gates={"g": (INPUTS[:, 0] > 0) * 1.0})
    network = fs.networks.Gated.init(jax.random.key(0), graph)
    posterior = fs.sample(network, world, **FEW)
    last = posterior.final[1]
    assert float(posterior["energy"][1, -1]) == pytest.approx(9 * float(world.samples.loss(last)), rel=1e-9)
    assert not posterior.answered and len(posterior.plot().axes) == 2
    with pytest.raises(ArgumentError, match="`world` must have inputs that networks answer one by one"):
        _ = posterior.mean


def log_density(network, temperature, prior):
    weights, static = eqx.partition(network, eqx.is_inexact_array)
    weights = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), weights)

    def density(weights):
        answers = jax.vmap(eqx.combine(weights, static))(jnp.asarray(INPUTS))
        squares = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(weights))
        return -jnp.sum((answers - TARGETS) ** 2) / (2 * temperature) - squares / (2 * prior**2)

    return density, weights, static


@pytest.mark.full
def test_blackjax_finds_the_same():
    """A network with tanh, by the No-U-Turn sampler with its own driver and adaptation, in weights as they are."""
    blackjax: Any = pytest.importorskip("blackjax")
    density, weights, static = log_density(tanh(), 0.2, 1.5)
    warm_up: Any = blackjax.window_adaptation(blackjax.nuts, density)

    def alone(key):
        for_warming, for_draws = jax.random.split(key)
        (state, settings), _ = warm_up.run(for_warming, weights, 500)
        step = blackjax.nuts(density, **settings).step
        answers = lambda state: jax.vmap(eqx.combine(state.position, static))(jnp.asarray(INPUTS))  # noqa: E731
        following = lambda state, key: (step(key, state)[0], answers(state))  # noqa: E731
        return jax.lax.scan(following, state, jax.random.split(for_draws, 2000))[1]

    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        several = jax.jit(jax.vmap(alone), compiler_options=known_options(QUICK))  # runs longer than it compiles
        others = np.asarray(several(jax.random.split(jax.random.key(2), 8)))
    ours = fs.sample(tanh(), (INPUTS, TARGETS), temperature=0.2, prior=1.5, chains=8, draws=2000)["answer"].values
    for one, other in ((ours, others), (ours**2, others**2)):
        sizes = [effective_sample_size(part) for part in (one, other)]
        error = np.sqrt(one.var(axis=(0, 1)) / sizes[0] + other.var(axis=(0, 1)) / sizes[1])
        assert min(size.min() for size in sizes) > 300
        np.testing.assert_array_less(np.abs(one.mean(axis=(0, 1)) - other.mean(axis=(0, 1))), 4 * error)


@pytest.mark.full
def test_chains_are_the_same_alone_and_in_a_batch():
    several, alone, other = few_labelled(), few_labelled(chains=1), few_labelled(chains=1, seed=1)
    np.testing.assert_allclose(several["loss"][0], alone["loss"][0], rtol=1e-9)
    assert np.all(several["loss"][0] != several["loss"][1]) and np.all(other["loss"] != alone["loss"])


class interrupted_after:
    """Ctrl-C, pressed while so many chunks more were computed."""

    def __init__(self, chunks):
        self.left = chunks

    def __call__(self):
        return self

    def __enter__(self):
        def pressed():
            self.left -= 1
            return self.left < 0

        return pressed

    def __exit__(self, *_):
        raise KeyboardInterrupt


@pytest.mark.parametrize(("chunks", "told"), [(3, "while warming up"), (14, "after 7 draws; they are in")])
@pytest.mark.full
def test_chains_go_on_where_they_were_stopped(chunks, told, tmp_path, monkeypatch):
    """While they warm up and after: to the last bit."""

    def ran(**settings):
        return fs.sample(tanh(), (INPUTS, TARGETS), **FEW, **settings)

    with monkeypatch.context() as patch:
        patch.setattr("festina.learning.loop.held", interrupted_after(chunks))
        with pytest.raises(Interrupted, match=told) as caught:
            ran(checkpoint=tmp_path / "kept.npz")
    resumed, whole = ran(checkpoint=tmp_path / "kept.npz"), few()
    for one, other in ((resumed.data, whole.data), (resumed.weights, whole.weights)):
        xr.testing.assert_identical(one, other)
    xr.testing.assert_identical(resumed.statistics, whole.statistics)
    partial = caught.value.trajectory
    if chunks == 14:
        xr.testing.assert_identical(partial.data, whole.data.isel(draw=slice(0, 7)))
        assert "interrupted" in repr(partial)
    with monkeypatch.context() as patch:
        patch.setattr("festina.learning.loop.held", interrupted_after(chunks))
        with pytest.raises(Interrupted):
            ran(checkpoint=tmp_path / "other.npz")
    with pytest.warns(FestinaWarning, match="belongs to another run"):
        ran(checkpoint=tmp_path / "other.npz", temperature=1.1)


@pytest.mark.mostly_full
@pytest.mark.parametrize(
    "start", [tanh, Ensemble.of([tanh(jax.random.key(k)) for k in range(2)])], ids=["made", "several"]
)
def test_chains_start_from_networks_that_are_given(start):
    still = HMC(length=1e-9, first_step=1e-9)
    posterior = fs.sample(start, (INPUTS, TARGETS), chains=2, draws=4, warm_up=0, prior=0.3, method=still)
    for number in range(2):
        expected = start[number] if isinstance(start, Ensemble) else tanh(jax.random.key(number))
        found = posterior.final[number].layers[0].weight
        np.testing.assert_allclose(found, expected.layers[0].weight, atol=1e-6)


@pytest.mark.full
def test_tests_have_losses_and_answers_of_their_own():
    posterior, inputs = few_along_a_line(), np.linspace(-2, 2, 9)[:4, None]
    assert posterior["answer"].shape == (2, 12, 4, 2) and posterior["test_loss"].shape == (2, 12)
    expected = SquaredError()(jax.vmap(posterior.final[1])(inputs), TARGETS[:4])
    assert float(posterior["test_loss"][1, -1]) == pytest.approx(float(expected), rel=1e-12)
    np.testing.assert_allclose(posterior.predict(inputs), posterior["answer"], rtol=1e-9, atol=1e-12)
    tree = posterior.to_datatree()
    assert "posterior_predictive" not in tree and tree["predictions"]["answer"].shape == (2, 12, 4, 2)
    assert tree["predictions_constant_data"]["inputs"].shape == (4, 1)


@pytest.mark.full
def test_what_does_not_fit_is_not_kept_but_averaged(monkeypatch):
    whole = few()
    monkeypatch.setattr("festina.learning.sampling.MOST_KEPT", 1000)
    posterior = fs.sample(tanh(), (INPUTS, TARGETS), **FEW)
    assert posterior.weights is None and "answer" not in posterior.data
    np.testing.assert_allclose(posterior["loss"], whole["loss"], rtol=1e-9)
    np.testing.assert_allclose(posterior.mean, whole.mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(posterior.deviation, whole.deviation, rtol=1e-6)
    with pytest.raises(ArgumentError, match="`draws` must be smaller for the weights of all draws to be kept"):
        _ = posterior.networks
    assert len(posterior.final) == 2 and len(posterior.plot().axes) == 3
    assert set(posterior.to_datatree()["posterior"].data_vars) == {"loss", "energy"}


@pytest.mark.full
def test_groups_have_the_usual_names(tmp_path):
    posterior = few()
    tree = posterior.to_datatree()
    assert set(tree) == {"posterior", "sample_stats", "posterior_predictive", "observed_data", "constant_data"}
    assert tuple(tree["posterior"]["layers.0.weight"].dims)[:2] == ("chain", "draw")
    np.testing.assert_array_equal(tree["observed_data"]["targets"], TARGETS)
    assert set(tree["sample_stats"].data_vars) == {"lp", "acceptance_rate", "n_steps", "step_size"}
    tree.to_zarr(tmp_path / "kept.zarr", consolidated=False)
    xr.testing.assert_identical(
        xr.open_datatree(tmp_path / "kept.zarr", engine="zarr", consolidated=False).load(), tree
    )


def test_it_says_what_draws_are_worth():
    """Chains that are far apart: both sentences; nothing of the kind where all is well (above)."""
    apart = xr.DataArray([0.0, 100.0], dims="chain")
    posterior = replace(few(), data=few().data + apart)
    said = repr(posterior)
    assert "HMC at T = 1, 2 chains of 12 draws after 8: mean energy" in said and "acceptance 0." in said
    assert "Chains disagree: R̂ of" in said and "Draws are few" in said
    assert posterior._repr_html_().startswith("<p>Posterior(HMC")


def test_a_hundred_independent_draws_and_chains_that_agree_are_enough():
    posterior = replace(few())
    for r_hat, draws, count in ((1.05, 100.0, 0), (1.05, 99.0, 1), (1.06, 100.0, 1)):
        vars(posterior).update(r_hats=xr.Dataset({"energy": r_hat}), sample_sizes=xr.Dataset({"energy": draws}))
        assert len(posterior.troubles) == count


def test_the_picture_draws_what_was_drawn():
    posterior = few()
    trace, histogram, answers = posterior.plot().axes
    for number, line in enumerate(trace.lines):
        np.testing.assert_array_equal(line.get_ydata(), posterior["loss"].isel(chain=number))
    assert len(trace.lines) == 2 and trace.get_ylim() == histogram.get_ylim()
    for outline in histogram.patches:  # each of 12 draws is in one bin, whose outline goes there and back
        counts = np.asarray(outline.get_path().vertices)[:, 0]
        assert np.sum(np.abs(np.diff(counts))) >= 2.0 and counts.max() <= 12
    mean, deviation = (np.asarray(part).reshape(TARGETS.shape) for part in (posterior.mean, posterior.deviation))
    for number, (line, _, (bars,)) in enumerate(answers.containers):
        np.testing.assert_allclose(line.get_xdata(), TARGETS[:, number])
        np.testing.assert_allclose(line.get_ydata(), mean[:, number])
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        np.testing.assert_allclose(ends[:, 1] - ends[:, 0], 4 * deviation[:, number])
    assert len(answers.containers) == TARGETS.shape[1] and answers.get_title() == "mean ± 2 s.d."


@pytest.mark.full
def test_the_picture_shows_traces_and_answers():
    panels = [[axis.get_xlabel() for axis in made().plot().axes] for made in (few_along_a_line, few, few_labelled)]
    assert [names[:2] for names in panels] == [["draw", "draws"]] * 3
    assert [names[2] for names in panels] == ["input of the test set", "target", "accuracy"]


REFUSED = {
    "no temperature": ({"temperature": 0.0}, "`temperature` must be positive and finite, but is 0.0"),
    "a temperature below zero": ({"temperature": -1.0}, "`temperature` must be positive and finite"),
    "too few draws": ({"draws": 3}, "`draws` must be a whole number from 4 on, but is 3"),
    "no chains": ({"chains": 0}, "`chains` must be a whole number from 1 on"),
    "a class of methods": ({"method": HMC}, r"`method` must be `HMC\(\)`, `NUTS\(\)`, `MALA\(\)` or another"),
    "no prior": ({"prior": 0.0}, "`prior` must be positive and finite, but is 0.0"),
    "a prior of another structure": ({"prior": {"weight": 1.0}}, "tree of them with the network's structure"),
    "a prior of another shape": (
        {"network": linear()[0], "prior": linear(np.ones((3, 3)))[1]},
        r"`prior.weight` must fit weights of shape \(2, 2\), but is \(3, 3\)",
    ),
    "an endless world": (
        {"world": Taught(tanh(), inputs=2)},
        r"`world` must be a finite data set, .* as in `fs.sample\(network, world.draw",
    ),
    "a world of moments": (
        {"network": DeepLinear.init(jax.random.key(0), (2, 2)), "world": Teacher(np.eye(2))},
        "`world` must be a finite data set, over which the loss can be summed, but is a Teacher",
    ),
    "a curriculum": (
        {"world": fs.worlds.Curriculum.of((Dataset(INPUTS, TARGETS),) * 2, [1.0])},
        "`world` must be one world, but is 'a curriculum'",
    ),
    "an answer that does not fit": ({"network": tanh(outputs=3)}, "`network` must answer one input of shape"),
    "another ensemble": ({"network": Ensemble.of([tanh()] * 3), "chains": 2}, "`chains` must be 3, as the ensemble"),
    "networks of several kinds": (
        {
            "network": Ensemble.of(
                [Bayesian.init(jax.random.key(0), (2, 3, 2), readout_variance=np.asarray(size)) for size in (1.0, 2.0)]
            ),
            "chains": 2,
        },
        "`network` must be networks that differ in what is sampled alone",
    ),
    "a name that is taken": (
        {"observe": lambda network, data: {"energy": data.loss(network)}},
        "`observe` must leave energy and answer to what is recorded anyway",
    ),
    "a test without end": ({"test": Taught(tanh(), inputs=2)}, "must be a finite data set"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_go_is_refused_in_a_sentence(name):
    settings, sentence = REFUSED[name]
    asked = {"network": tanh(), "world": (INPUTS, TARGETS)} | settings
    with pytest.raises(ArgumentError, match=sentence):
        fs.sample(asked.pop("network"), asked.pop("world"), **asked)


UNTYPED = """
import equinox as eqx, jax, numpy as np
import festina as fs

network = eqx.nn.Linear(2, 1, key=jax.random.key(0))
for settings in ({"method": "nuts"}, {"temperature": "warm"}, {"draws": 9.5}, {"prior": "wide"}):
    try:
        fs.sample(network, (np.eye(2), np.ones(2)), **settings)
    except fs.errors.ArgumentError as error:
        print(error)
"""


def test_arguments_of_another_type_are_refused_in_a_sentence():
    """Without the types being checked at run time, as users have it."""
    done = subprocess.run([sys.executable, "-c", UNTYPED], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "Argument `method` must be `HMC()`, `NUTS()`, `MALA()` or another `Sampler`, but is 'nuts'.",
        "Argument `temperature` must be positive and finite, but is 'warm'.",
        "Argument `draws` must be a whole number from 4 on, but is 9.5.",
    ]
    assert lines[3].endswith("but is 'wide'.")
