"""The collapsed sampler: its parts against direct computations, its law against quadrature and calibration."""

from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

import festina as fs
from festina.errors import ArgumentError
from festina.learning import tilted
from festina.learning.climbing import modes_of
from festina.learning.collapsed import Collapsed, Redraw, Span
from festina.learning.evidence import Evidence, drawn_readouts, log_evidence
from festina.learning.loop import drive
from festina.learning.mode_law import ModeLaw, Others
from festina.learning.neuron_law import FAITHFUL, NeuronLaw, Tables
from festina.learning.posterior import constant, posterior_process
from festina.learning.replicas import ReplicaExchange
from festina.learning.samplers import normal_like
from festina.learning.slices import Shuffle, Slice
from festina.networks.bayesian import LAZY, NONLINEARITIES, RECTIFIED, SIGMOIDAL, Bayesian

RANDOM = np.random.default_rng(3)
READOUTS, WEIGHTS = np.array([[2.0], [-1.5], [0.5], [0.0]]), np.array([0.3, 0.3, 0.2, 0.2])
RESIDUAL = np.array([[2.0], [-1.5]])  # of no theory: any law must do
FIELDS = READOUTS @ RESIDUAL.T
TEMPERATURE, VARIANCE = 0.1, 0.5


def sigmoid(z):
    return special.ndtr(np.sqrt(np.pi / 2) * z)


def test_the_evidence_is_an_integral_over_readouts():
    """By Gauss–Hermite quadrature over the readouts of two neurons, and by the Gaussian density of the targets."""
    features, targets = RANDOM.uniform(size=(2, 3)), 0.3 * RANDOM.normal(size=(3, 1))
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    readouts = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2) * np.sqrt(VARIANCE)
    missed = targets[:, 0] - readouts @ features / 2
    noise = 1.0 / 2  # T/N with T = 1, at which the quadrature is exact
    likelihood = np.exp(-0.5 * np.sum(missed**2, axis=1) / noise) / (2 * np.pi * noise) ** 1.5
    expected = np.log(np.outer(weights, weights).reshape(-1) @ likelihood / (2 * np.pi))
    assert float(log_evidence(features, targets, 1.0, VARIANCE)) == pytest.approx(expected, rel=1e-10)
    many, asked = RANDOM.uniform(size=(7, 4)), RANDOM.normal(size=(4, 2))
    covariance = TEMPERATURE / 7 * np.eye(4) + VARIANCE / 49 * many.T @ many
    direct = sum(stats.multivariate_normal(np.zeros(4), covariance).logpdf(column) for column in asked.T)
    assert float(log_evidence(many, asked, TEMPERATURE, VARIANCE)) == pytest.approx(direct, rel=1e-10)


@pytest.mark.parametrize("temperature", [1.0, 1e-2, 1e-4])
def test_changes_of_two_ranks_add_up(temperature):
    """Five hundred neurons that change one after the other, against what is computed from scratch."""
    features, targets = RANDOM.uniform(size=(20, 12)), RANDOM.normal(size=(12, 3))
    whole, sum_of_changes = Evidence.of(features, targets, temperature, 1 / 12), 0.0
    before = float(log_evidence(features, targets, temperature, 1 / 12))
    news = RANDOM.uniform(size=(500, 12))

    @jax.jit
    def one(whole: Any, old: Any, new: Any) -> Any:
        change = whole.change(old, new, whole.inverse @ old)
        return change.log_ratio, whole.after(change), whole.after(change, 0.0)

    for number, new in enumerate(news):
        change, following, still = one(whole, features[number % 20], new)
        np.testing.assert_array_equal(still.inverse, whole.inverse)
        whole, sum_of_changes = following, sum_of_changes + float(change)
        features[number % 20] = new
    fresh = Evidence.of(features, targets, temperature, 1 / 12)
    after = float(log_evidence(features, targets, temperature, 1 / 12))
    np.testing.assert_allclose(whole.inverse, fresh.inverse, atol=1e-9 / temperature)
    np.testing.assert_allclose(whole.residual, fresh.residual, atol=1e-9 / temperature)
    assert sum_of_changes == pytest.approx(after - before, rel=1e-8)


def test_readouts_are_drawn_from_their_law():
    """Gaussian with covariance (I/s + ΦᵀΦ/(NT))⁻¹, in weight space, where the sampler works with examples."""
    features, targets = RANDOM.uniform(size=(4, 3)), RANDOM.normal(size=(3, 2))
    keys = jax.random.split(jax.random.key(0), 40_000)
    found = np.asarray(jax.vmap(lambda key: drawn_readouts(key, features, targets, 0.3, VARIANCE))(keys))
    covariance = np.linalg.inv(np.eye(4) / VARIANCE + features @ features.T / (4 * 0.3))
    mean = covariance @ features @ targets / 0.3
    scale = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(found.mean(axis=0) - mean) < 4.5 * scale[:, None] / 200)
    for output in range(2):
        close = np.abs(np.cov(found[:, :, output].T) - covariance)
        assert np.all(close < 4.5 * np.sqrt(2) * np.outer(scale, scale) / 200)


@pytest.mark.mostly_full
@pytest.mark.parametrize("field", [-199.0, -7.3, 0.13, 3.3, 41.0])
def test_a_preactivation_under_a_field(field):
    """Where the table leads from x is where the integral of the density is Φ(x), also between its rows and columns."""
    (log_partition,) = np.asarray(tilted.log_partitions(SIGMOIDAL, np.array([field])))

    def density(z: Any) -> Any:
        return np.exp(field * sigmoid(z) - log_partition - 0.5 * z**2) / np.sqrt(2 * np.pi)

    assert integrate.quad(density, -12, 12, epsabs=1e-13, limit=400)[0] == pytest.approx(1.0, abs=1e-10)
    x = np.array([-5.01, -2.017, -0.503, 0.004, 1.77, 4.34])
    rows = tilted.quantile_rows(SIGMOIDAL, np.array([field]))
    z = np.asarray(tilted.at_normal(rows, np.zeros(len(x), int), x))
    for low, high, share in zip(z[:-1], z[1:], np.diff(special.ndtr(x)), strict=True):
        assert integrate.quad(density, low, high, epsabs=1e-15)[0] == pytest.approx(share, rel=1e-7)
    assert integrate.quad(density, -12, z[0], epsabs=1e-15)[0] == pytest.approx(special.ndtr(x[0]), rel=1e-6)
    close = np.asarray(tilted.at_normal(rows, np.zeros(2, int), np.array([0.3, 0.3 + 1e-4])))
    slope = stats.norm.pdf(0.3) / density(close[0])  # the density of what is drawn, not its place alone
    assert np.diff(close)[0] / 1e-4 == pytest.approx(slope, rel=1e-3)


def test_a_law_draws_what_it_says():
    """Weighted by N/q, draws of the law are draws of the prior; and ratios are sums over points."""
    law = NeuronLaw(READOUTS, WEIGHTS, RESIDUAL, (0, 0, 1))
    z = np.asarray(jax.jit(lambda key: law.draw(key, 100_000))(jax.random.key(1)))
    tables = Tables.of(law)
    found = np.asarray(jax.jit(jax.vmap(lambda phi: tables.log_ratio(None, None, phi, tables.log_weights)))(sigmoid(z)))
    partition = fs.theory.coding.SIGMOIDAL.site(FIELDS).log_partition
    exponents = sigmoid(z) @ FIELDS[:, [0, 0, 1]].T - partition @ np.array([2.0, 1.0]) + np.log(WEIGHTS)
    np.testing.assert_allclose(found, special.logsumexp(exponents, axis=1), atol=1e-7)
    weight = np.exp(-found)
    for values, expected in ((np.ones(len(z)), 1.0), (z[:, 0], 0.0), (z[:, 1] * z[:, 2], 0.0), (z[:, 2] ** 2, 1.0)):
        terms = weight * values
        assert abs(terms.mean() - expected) < 4.5 * terms.std() / np.sqrt(len(z))


def test_weights_follow_the_residual_of_the_others():
    """To first order: the logarithm of what each point has of the mean-field law, at a residual nearby."""
    law = NeuronLaw(READOUTS, WEIGHTS, RESIDUAL, (0, 0, 1))
    tables, shift = Tables.of(law), 1e-5 * np.array([[1.0], [-2.0], [0.7]])
    moved = np.asarray(tables.following(RESIDUAL[[0, 0, 1]] + shift))
    near = READOUTS @ (RESIDUAL[[0, 0, 1]] + shift).T
    gain = (
        fs.theory.coding.SIGMOIDAL.site(near).log_partition
        - fs.theory.coding.SIGMOIDAL.site(FIELDS[:, [0, 0, 1]]).log_partition
    )
    exact = np.exp(gain.sum(axis=1)) * WEIGHTS
    expected = (1 - FAITHFUL) * exact / exact.sum() + FAITHFUL * WEIGHTS
    np.testing.assert_allclose(np.exp(moved) - WEIGHTS, expected - WEIGHTS, atol=1e-9)
    assert np.abs(expected - WEIGHTS).max() > 1e-6


def test_what_others_leave_is_what_is_left_without_a_neuron():
    features, targets = RANDOM.uniform(size=(6, 4)), RANDOM.normal(size=(4, 2))
    whole = Evidence.of(features, targets, 0.1, 0.5)
    others = Evidence.of(features[1:], targets, 0.1, 0.5 * 5 / 6)  # of the same s/N
    left = whole.without(features[0], whole.inverse @ features[0])
    np.testing.assert_allclose(left.residual, others.residual, rtol=1e-10)
    np.testing.assert_allclose(left.inverse, others.inverse, rtol=1e-10)
    assert float(left.neurons) == 6.0 and float(left.gain) == pytest.approx(0.5 / 6)


def network_of(neurons: int) -> Bayesian:
    return Bayesian.init(jax.random.key(0), (2, neurons, 1), SIGMOIDAL, readout_variance=VARIANCE)


TARGETS = np.array([[0.8], [-0.4]])
SLANTED = np.array([[1.0, 0.3], [0.6, 0.8]])  # inputs that are not orthonormal
KINDS = {"sigmoidal": sigmoid, "rectified": lambda z: np.maximum(z, 0.0)}


def redraw(examples: int = 2) -> Redraw:
    return Redraw(NeuronLaw(READOUTS, WEIGHTS, RESIDUAL, (0, 1, *[0] * examples)[:examples]))


def slanted_law(inputs: np.ndarray = SLANTED, scale: float = 4.0) -> ModeLaw:
    """Of no theory: any law must do."""
    coordinates, field = Span.of(inputs).coordinates, np.resize(RESIDUAL, (len(inputs), 1))
    others = Others(scale * field, 0.1 * np.eye(len(inputs)), VARIANCE)
    starts = RANDOM.normal(size=(12, coordinates.shape[1]))
    with jax.enable_x64(True):
        return modes_of(jax.random.key(0), others, starts, coordinates, most=4)


def method_of(neurons: int, inputs: Any = None, moves: Any = None, kind: str = "sigmoidal") -> Collapsed:
    inputs = np.eye(2) if inputs is None else inputs
    sizes = (inputs.shape[1], neurons, 1)
    network = Bayesian.init(jax.random.key(0), sizes, NONLINEARITIES[kind], readout_variance=VARIANCE)
    return Collapsed(network, inputs, TARGETS, TEMPERATURE, (redraw(),) if moves is None else moves)


def watched(whitened: Any, inputs: Any, network: Bayesian) -> Any:
    """Features of the first neuron, the kernel, answers, and the size of the first readout."""
    own = network.having(whitened)
    hidden = own.hidden(inputs)[-1]
    kernel = hidden @ hidden.T / own.width
    readouts = own.readouts[0]
    squares = jnp.diag(kernel)[:1] ** 2, own(inputs)[:, 0], readouts**2, hidden[0, :1] * readouts
    return jnp.concatenate([hidden[:, 0], kernel[0, :2], *squares])


def places(neurons: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights of all neurons with two inputs, and the logarithms of their masses: a grid, or evenly from the prior."""
    if neurons > 2:
        evenly = stats.qmc.Sobol(2 * neurons, rng=0).random_base2(19)
        return special.ndtri(evenly).reshape(-1, neurons, 2), np.zeros(len(evenly))
    nodes = np.linspace(-5.0, 5.0, {1: 201, 2: 31}[neurons])
    grid = np.stack(np.meshgrid(*[nodes] * (2 * neurons), indexing="ij"), axis=-1).reshape(-1, neurons, 2)
    return grid, -0.5 * np.sum(grid**2, axis=(1, 2))


def expected(neurons: int, inputs: np.ndarray, kind: str) -> np.ndarray:
    """Posterior means of what is watched, by quadrature over weights; readouts have moments given features."""
    grid, log_prior = places(neurons)
    features = KINDS[kind](grid @ inputs.T)
    kernel = np.einsum("gip,giq->gpq", features, features) / neurons
    covariance = TEMPERATURE * np.eye(2) + VARIANCE * kernel
    inverse = np.linalg.inv(covariance)
    fit = np.einsum("p,gpq,q->g", TARGETS[:, 0], inverse, TARGETS[:, 0])
    log = -0.5 * (np.linalg.slogdet(covariance)[1] + neurons * fit) + log_prior
    mass = np.exp(log - log.max())
    weights = VARIANCE * np.einsum("gip,gpq,qm->gim", features, inverse, TARGETS)[..., 0]
    spread = VARIANCE - VARIANCE**2 / neurons * np.einsum("gp,gpq,gq->g", features[:, 0], inverse, features[:, 0])
    answers = np.einsum("gip,gi->gp", features, weights) / neurons
    parts = [features[:, 0], kernel[:, 0], kernel[:, :1, 0] ** 2, answers, weights[:, :1] ** 2 + spread[:, None]]
    return mass @ np.concatenate([*parts, features[:, 0, :1] * weights[:, :1]], axis=1) / mass.sum()


FULL = pytest.mark.full
CASES = [  # neurons, inputs, kind, moves
    pytest.param(1, np.eye(2), "sigmoidal", (redraw(),), id="redrawn"),
    pytest.param(2, np.eye(2), "sigmoidal", (redraw(),), id="two redrawn"),
    pytest.param(1, SLANTED, "sigmoidal", (Slice(),), id="sliced"),
    pytest.param(1, SLANTED, "sigmoidal", (Redraw(slanted_law(scale=2.0)),), id="redrawn from modes"),
    pytest.param(2, SLANTED, "sigmoidal", (Redraw(slanted_law()), Slice()), id="modes and slices", marks=FULL),
    pytest.param(1, SLANTED, "rectified", (Slice(), Shuffle()), id="rectified", marks=FULL),
    pytest.param(2, SLANTED, "rectified", (Slice(2), Shuffle()), id="two rectified", marks=FULL),
    pytest.param(3, np.eye(2), "sigmoidal", (redraw(), Slice(), Shuffle()), id="all moves", marks=FULL),
]


@pytest.mark.mostly_full
@pytest.mark.parametrize(("neurons", "inputs", "kind", "moves"), CASES)
def test_the_posterior_of_few_neurons(neurons, inputs, kind, moves):
    """Means by quadrature over all weights of two inputs; chains of draws must have them."""
    method, chains, count = method_of(neurons, inputs, moves, kind), 200, 400

    def chain(key: Any) -> Any:
        def draw(state: Any, number: Any) -> Any:
            moved = method.transition(fs.draws.fold_in(key, number), state, 1.0, lambda _: jnp.zeros(()))
            return moved.parameters, watched(moved.parameters, inputs, method.network)

        start = jax.tree.map(jnp.asarray, method.network.whitened)
        return jax.lax.scan(draw, start, jnp.arange(count))[1][40:].mean(axis=0)

    means = np.asarray(jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(4), chains)))
    error, theirs = means.std(axis=0, ddof=1) / np.sqrt(chains), expected(neurons, inputs, kind)
    np.testing.assert_array_less(np.abs(means.mean(axis=0) - theirs) / error, 4.0)
    assert np.all(error < 0.03 * np.maximum(np.abs(theirs), 0.1))  # so that it can fail


def test_shuffled_neurons_are_the_same_network():
    method = method_of(6, moves=(Shuffle(),))
    start = jax.tree.map(jnp.asarray, method.network.whitened)
    (weights,), _ = method.transition(jax.random.key(1), start, 1.0, lambda _: jnp.zeros(())).parameters
    one, other = (np.asarray(each)[:, 0] for each in (weights, start[0][0]))
    assert np.any(one != other)
    np.testing.assert_allclose(np.sort(one), np.sort(other), rtol=1e-12)


@pytest.mark.full
def test_weights_no_input_has_stay_at_their_prior():
    """Inputs in a plane of a space of four dimensions: there weights answer, elsewhere they are standard normal."""
    inputs = np.linalg.qr(RANDOM.normal(size=(4, 2)))[0].T
    method = method_of(50, inputs)
    step = lambda key, state: method.transition(key, state, 1.0, lambda _: jnp.zeros(())).parameters  # noqa: E731
    start = jax.tree.map(jnp.asarray, method.network.whitened)
    moved = jax.jit(jax.vmap(step, in_axes=(0, None)))(jax.random.split(jax.random.key(2), 200), start)
    weights = np.asarray(moved[0][0])
    idle = weights - weights @ inputs.T @ inputs
    covariance = np.einsum("kni,knj->ij", idle, idle) / (200 * 50)
    np.testing.assert_allclose(covariance, np.eye(4) - inputs.T @ inputs, atol=0.05)


def ranks(data_sets: int, seed: int, inputs: np.ndarray, moves: Any) -> np.ndarray:
    """Of what is watched in the truth among its values in draws: (data sets, quantities), from 0 to 31."""
    neurons, temperature = 4, 0.2
    prior = Bayesian.init(jax.random.key(0), (3, neurons, 1), SIGMOIDAL, readout_variance=VARIANCE)

    def one(key: Any) -> Any:
        for_truth, for_noise, for_start, for_draws = fs.draws.split(key, 4)
        shapes = jax.tree.map(jnp.asarray, prior.whitened)
        truth, start = (normal_like(each, shapes) for each in (for_truth, for_start))
        noise = jnp.asarray(fs.draws.normal(for_noise, (3, 1))) * (temperature / neurons) ** 0.5
        targets = prior.having(truth)(inputs) + noise
        method = Collapsed(prior, inputs, targets, temperature, moves)

        def draw(state: Any, number: Any) -> Any:
            moved = method.transition(fs.draws.fold_in(for_draws, number), state, 1.0, lambda _: jnp.zeros(()))
            return moved.parameters, watched(moved.parameters, inputs, prior)

        seen = jax.lax.scan(draw, start, jnp.arange(20 * 32))[1][39::20]
        return jnp.sum(seen < watched(truth, inputs, prior)[None], axis=0)

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(seed), data_sets)))


TILTED = np.array([[1.0, 0.2, -0.3], [0.7, 0.6, 0.1], [-0.2, 0.5, 0.8]])
ORTHONORMAL = (np.eye(3), (Redraw(NeuronLaw(READOUTS, WEIGHTS, RESIDUAL, (0, 0, 1))),))
FROM_MODES = (TILTED, (Redraw(slanted_law(TILTED)), Slice()))


@pytest.mark.parametrize(
    ("data_sets", "inputs", "moves"),
    [
        pytest.param(40, *ORTHONORMAL, id="40"),
        pytest.param(200, *ORTHONORMAL, id="200", marks=FULL),
        pytest.param(200, *FROM_MODES, id="200 from modes", marks=FULL),
    ],
)
def test_calibration(data_sets, inputs, moves):
    """Truths drawn from the prior and data from the likelihood: the rank of a truth among draws is uniform."""
    found = ranks(data_sets, data_sets, inputs, moves)
    for quantity in found.T:
        counts = np.histogram(quantity, bins=np.linspace(-0.5, 31.5, 9))[0]
        assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.full
def test_theory_proposes_neurons():
    """The law of theory has the kernel of theory, and most of its neurons are welcome in a wide network."""
    counts, targets = (6, 3, 3), np.asarray(fs.worlds.orthogonal_classes((6, 3, 3)).class_targets)
    prediction = fs.theory.coding.redundant(counts, targets, 0.05, 1 / 12)
    law = fs.theory.coding.neuron_law(prediction)
    features = sigmoid(np.asarray(jax.jit(lambda key: law.draw(key, 40_000))(jax.random.key(0))))
    kernel = 0.98 * prediction.kernels[-1] + 0.02 * fs.theory.coding.kernels(np.eye(12), fs.theory.coding.SIGMOIDAL)[-1]
    np.testing.assert_allclose(features.T @ features / len(features), kernel, atol=0.01)
    network = Bayesian.init(jax.random.key(0), (12, 300, 3), SIGMOIDAL, readout_variance=1 / 12)
    world = fs.worlds.orthogonal_classes(counts)
    method = Collapsed(network, np.asarray(world.inputs), np.asarray(world.targets), 0.05, (Redraw(law),))
    posterior = fs.sample(network, world, temperature=0.05, method=method, chains=2, draws=40, warm_up=20)
    assert float(posterior.statistics["acceptance_rate"].mean()) > 0.5
    assert np.abs(posterior.mean.values - prediction.mean).max() < 0.05


def test_a_network_without_features_to_learn_from():
    """Nothing but noise at a high temperature: neurons of the prior are always accepted."""
    law = NeuronLaw(np.zeros((1, 1)), np.ones(1), np.zeros((1, 1)), (0, 0))
    method = Collapsed(network_of(5), np.eye(2), np.zeros((2, 1)), 1e9, (Redraw(law),))
    moved = jax.jit(method.transition, static_argnums=3)(
        jax.random.key(0), network_of(5).whitened, 1.0, lambda _: jnp.zeros(())
    )
    assert float(moved.acceptance) == pytest.approx(1.0, abs=1e-6)
    assert int(moved.gradients) == 0


def test_what_it_does_not_sample_is_refused():
    law = NeuronLaw(READOUTS, WEIGHTS, RESIDUAL, (0, 1))
    inputs, moves = np.eye(2), (Redraw(law),)
    deep = Bayesian.init(jax.random.key(0), (2, 5, 5, 1), SIGMOIDAL)
    lazy = Bayesian.init(jax.random.key(0), (2, 5, 1), SIGMOIDAL, LAZY)
    other = Bayesian.init(jax.random.key(0), (2, 5, 1), RECTIFIED)
    for network, given, targets, temperature, words in (
        (deep, inputs, TARGETS, 0.1, "one hidden layer"),
        (lazy, inputs, TARGETS, 0.1, "non-lazy"),
        (other, inputs, TARGETS, 0.1, "that of rectified neurons"),
        (network_of(5), inputs, np.ones((2, 2)), 0.1, "be of shape"),
        (network_of(5), np.ones((2, 2)), TARGETS, 0.1, "be orthonormal"),
        (network_of(5), inputs, TARGETS, 0.0, "be positive"),
    ):
        with pytest.raises(ArgumentError, match=words):
            Collapsed(network, given, targets, temperature, moves)
    method = Collapsed(network_of(5), inputs, TARGETS, 0.1, moves)
    with pytest.raises(ArgumentError, match="`moves` must have one move"):
        Collapsed(network_of(5), inputs, TARGETS, 0.1, ())
    with pytest.raises(ArgumentError, match="draw at any temperature"):
        ReplicaExchange((1.0, 2.0), method)
    for settings, words in (
        ({"temperature": 0.2}, "be the method's"),
        ({"prior": 2.0}, "`prior` must be 1"),
        ({"world": (inputs, 2 * TARGETS)}, "made for others"),
        ({"network": network_of(6)}, "made for another one"),
    ):
        asked: dict[str, Any] = {"network": network_of(5), "world": (inputs, TARGETS), "temperature": 0.1} | settings
        with pytest.raises(ArgumentError, match=words):
            fs.sample(method=method, draws=8, warm_up=1, **asked)


def test_laws_that_are_none_are_refused():
    for readouts, weights, residual, labels, words in (
        (READOUTS, WEIGHTS[:2], RESIDUAL, (0, 1), "one for each of 4 points"),
        (READOUTS, -WEIGHTS, RESIDUAL, (0, 1), "not be negative"),
        (READOUTS, WEIGHTS, RESIDUAL, (0, 2), "name one of 2 classes"),
        (READOUTS * np.nan, WEIGHTS, RESIDUAL, (0, 1), "be finite"),
    ):
        with pytest.raises(ArgumentError, match=words):
            NeuronLaw(readouts, weights, residual, labels)


def test_inputs_in_coordinates_of_their_own():
    inputs = RANDOM.normal(size=(3, 5))
    span = Span.of(inputs)
    np.testing.assert_allclose(span.coordinates @ span.basis, inputs, atol=1e-12)
    np.testing.assert_allclose(span.basis @ span.basis.T, np.eye(3), atol=1e-12)
    assert not span.orthonormal and Span.of(np.eye(3, 5)).orthonormal
    places = RANDOM.normal(size=(7, 3))
    weights = np.asarray(span.weights(jax.random.key(0), places))
    np.testing.assert_allclose(weights @ inputs.T, span.preactivations(places), atol=1e-12)


def test_a_chain_under_the_common_loop():
    """It is recorded, goes on, and has no gradients; every draw has a key of its own."""
    method = method_of(10)

    def build(inputs: Any) -> Any:
        return posterior_process(
            lambda whitened, data, heat: network_of(10).having(whitened).energy(np.eye(2), data, heat),
            network_of(10).whitened,
            jnp.asarray(TARGETS),
            inputs["key"],
            6,
            2,
            lambda state: {
                "draw": state.parameters[0][0],
                "gradients": state.memory.gradients,
                "acceptance": state.memory.acceptance,
            },
            constant(TEMPERATURE),
            2,
            method,
        )

    seen = drive(build, {"key": jax.random.split(jax.random.key(0), 3)}).observed
    assert np.all(seen["gradients"] == 0)
    rates = seen["acceptance"][:, 1:]
    assert np.all((rates > 0) & (rates <= 1))  # means of probabilities
    assert all(np.any(one != other, axis=(1, 2)).all() for one, other in pairwise(seen["draw"].swapaxes(0, 1)))


def test_a_law_that_was_found_is_carried_along():
    """Draws are those of the sampler that is made from it; and the chain has it, for later programs to use."""
    law, moves = slanted_law(), lambda law: (Redraw(law), Slice())

    def run(sampler: Any, law: Any) -> Any:
        network = method_of(6, SLANTED, (Slice(),)).network
        return posterior_process(
            lambda whitened, data, heat: network.having(whitened).energy(SLANTED, data, heat),
            network.whitened, jnp.asarray(TARGETS), jax.random.key(3), 1, 3, lambda state: {},
            constant(TEMPERATURE), 1, sampler, law=law,
        )  # fmt: skip

    carried = run(lambda law: method_of(6, SLANTED, moves(law)), law)
    assert carried.initial.memory.law is law
    known = run(method_of(6, SLANTED, moves(law)), ())
    ours, theirs = (jax.jit(each.advance)(each.initial, jnp.asarray(1)) for each in (carried, known))
    np.testing.assert_array_equal(ours.memory.law.means, law.means)
    np.testing.assert_allclose(ours.parameters[0][0], theirs.parameters[0][0], atol=1e-12)
    assert np.any(np.asarray(ours.parameters[0][0]) != np.asarray(carried.initial.parameters[0][0]))


def test_a_draw_has_as_many_sweeps_as_are_asked_for():
    def step(key: Any, layer: Any, collapsed: Collapsed) -> Any:
        return layer._replace(places=layer.places + 1.0), jnp.ones(())

    network = network_of(5)
    method = Collapsed(network, np.eye(2), TARGETS, TEMPERATURE, (step, step), sweeps=3)
    moved = method.transition(jax.random.key(0), network.whitened, 1.0, lambda _: jnp.zeros(())).parameters
    np.testing.assert_allclose(moved[0][0], network.weights[0] + 6.0)
    with pytest.raises(ArgumentError, match="`sweeps` must be at least 1"):
        Collapsed(network, np.eye(2), TARGETS, TEMPERATURE, (step,), sweeps=0)
