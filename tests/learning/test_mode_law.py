"""Laws of single neurons at their modes: the field of all others, climbs, masses and draws, by brute force."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

import festina as fs
from festina.errors import ArgumentError
from festina.learning.climbing import NEVER, modes_of
from festina.learning.collapsed import Collapsed, Redraw, Span
from festina.learning.evidence import Evidence, log_evidence
from festina.learning.mode_law import SAFE, ModeLaw, Others
from festina.learning.slices import Slice

RANDOM = np.random.default_rng(5)
INPUTS = np.array([[1.0, 0.3], [0.6, 0.8], [-0.2, 1.1]])
NODES = np.linspace(-6.0, 6.0, 601)
PLANE = np.stack(np.meshgrid(NODES, NODES, indexing="ij"), axis=-1).reshape(-1, 2)
CELL = (NODES[1] - NODES[0]) ** 2


def sigmoid(z):
    return special.ndtr(np.sqrt(np.pi / 2) * z)


def evidence_of(scale):
    """Of eight neurons that leave much to explain."""
    features, targets = np.random.default_rng(5).uniform(size=(8, 3)), scale * np.array([[1.0], [0.8], [-0.9]])
    return Evidence.of(features, targets, 0.2, 2.0)


def log_density(evidence):
    """log p(v) on the plane, by the evidence with and without the neuron, of all constants but one."""
    others, gain = np.linalg.inv(evidence.inverse), float(evidence.gain)
    phi, targets = sigmoid(PLANE @ INPUTS.T), others @ evidence.residual
    covariance = others[None] + gain * phi[:, :, None] * phi[:, None, :]
    fit = np.einsum("pi,gpq,qi->g", targets, np.linalg.inv(covariance), targets)
    whole = np.linalg.slogdet(covariance)[1] + float(evidence.neurons) * fit
    none = np.linalg.slogdet(others)[1] + float(evidence.neurons) * np.sum(targets * (evidence.inverse @ targets))
    return -0.5 * (whole - none) - 0.5 * np.sum(PLANE**2, axis=1) - np.log(2 * np.pi)


def law_of(evidence, most=4):
    starts = np.array([[2.0, 2.0], [-2.0, -2.0], [2.0, -1.0], [1.9, 2.1], [-2.0, 1.0]])
    return modes_of(jax.random.key(1), Others.of(evidence), starts, INPUTS, most=most)


def test_a_neuron_in_the_field_of_others_is_what_it_adds_to_their_evidence():
    features, targets = RANDOM.uniform(size=(6, 4)), RANDOM.normal(size=(4, 2))
    whole = Evidence.of(features, targets, 0.1, 0.5)
    others = Others.of(whole.without(features[0], whole.inverse @ features[0]))
    with_it, without = (log_evidence(np.vstack([first, features[1:]]), targets, 0.1, 0.5)
                        for first in (features[:1], np.zeros((1, 4))))  # fmt: skip
    value, force, square = others.seen(jnp.asarray(features[0]))
    assert float(value) == pytest.approx(float(with_it - without), rel=1e-10)
    slope = jax.grad(lambda phi: others.seen(phi)[0])(jnp.asarray(features[0]))
    np.testing.assert_allclose(force, slope, rtol=1e-10)
    precision = 1 / 0.5 + features[0] @ others.inverse @ features[0]
    mean = others.residual.T @ features[0] / precision
    assert float(square) == pytest.approx(float(mean @ mean + 2 / precision), rel=1e-10)


def test_modes_are_those_of_the_law():
    """Masses and means by quadrature over the half planes in which two modes are."""
    evidence = evidence_of(1.5)
    law, log = law_of(evidence), log_density(evidence)
    there = np.asarray(law.offsets) > NEVER / 10
    assert there.sum() == 2
    modes = law.among(evidence)
    masses, means = np.exp(log), np.asarray(modes.means)[there]
    nearest = np.argmin([np.sum((PLANE - mean) ** 2, axis=1) for mean in means], axis=0)
    shares = np.bincount(nearest, masses) / masses.sum()
    found = np.exp(np.asarray(modes.log_weights)[:-1][there])
    np.testing.assert_allclose(found, (1 - SAFE) * shares, atol=0.1)
    for mode, mean in enumerate(means):
        own = np.where(nearest == mode, masses, 0.0)
        np.testing.assert_allclose(mean, own @ PLANE / own.sum(), atol=0.15)


def test_masses_follow_what_others_leave():
    """Of a law found in another field: the step is what makes it right, and a draw is welcome in its own."""
    here = evidence_of(1.5)
    there = Evidence(here.inverse, here.residual + np.array([[0.5], [-0.8], [0.2]]), here.neurons, here.gain)
    law = law_of(here)
    moved, known = (law.among(there), law_of(there).among(there))
    np.testing.assert_allclose(moved.log_weights[:2], known.log_weights[:2], atol=0.05)
    assert np.abs(np.asarray(law.among(here).log_weights - known.log_weights))[:2].max() > 0.3
    np.testing.assert_allclose(moved.means[:2], known.means[:2], atol=0.05)
    assert np.abs(np.asarray(law.means - known.means))[:2].max() > 0.2


def test_a_law_of_modes_draws_what_it_says():
    """Weighted by N/q its draws are those of the prior; and the density is of mass one."""
    modes = law_of(evidence_of(0.7)).among(evidence_of(0.5))
    ratio = jax.jit(jax.vmap(lambda v: modes.log_ratio(v, None, None)))
    density = np.exp(np.asarray(ratio(jnp.asarray(PLANE))) - 0.5 * np.sum(PLANE**2, axis=1)) / (2 * np.pi)
    assert density.sum() * CELL == pytest.approx(1.0, abs=1e-6)
    weights = np.exp(np.asarray(modes.log_weights))
    assert len(weights) == 5 and weights[-1] == pytest.approx(SAFE)
    points = RANDOM.choice(len(weights), p=weights / weights.sum(), size=100_000)
    v = np.asarray(jax.vmap(modes.place)(jnp.asarray(points), jnp.asarray(RANDOM.normal(size=(len(points), 2)))))
    for values, on_plane in ((v[:, 0], PLANE[:, 0]), (v[:, 0] * v[:, 1], PLANE[:, 0] * PLANE[:, 1])):
        right = CELL * density @ on_plane
        assert abs(values.mean() - right) < 4.5 * values.std() / np.sqrt(len(values))


def test_what_is_no_mode_leaves_nothing_behind():
    """A climb that ends in a NaN has no share; where all do, proposals are those of the prior."""
    evidence = evidence_of(1.5)
    starts = np.array([[2.0, -1.0], [np.nan, 0.0], [-2.0, 1.0]])
    law = modes_of(jax.random.key(1), Others.of(evidence), starts, INPUTS, most=3)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(law))
    shares = np.exp(np.asarray(law.among(evidence).log_weights))
    assert shares[2] == 0.0 and np.all(shares[[0, 1, 3]] > 0) and shares.sum() == pytest.approx(1.0)
    none = modes_of(jax.random.key(1), Others.of(evidence), np.full((2, 2), np.nan), INPUTS, most=2).among(evidence)
    assert float(none.log_ratio(jnp.ones(2), None, None)) == pytest.approx(0.0)


def test_laws_that_are_none_are_refused():
    law = law_of(evidence_of(1.5))
    means = np.full(law.means.shape, np.nan)
    rest = law.factors, law.inverses, law.features, law.slopes, law.offsets, law.coordinates
    with pytest.raises(ArgumentError, match="`law` must be finite everywhere"):
        ModeLaw(means, *rest)
    network = fs.networks.Bayesian.init(jax.random.key(0), (2, 5, 1))
    with pytest.raises(ArgumentError, match="be about 2 inputs in 2 coordinates"):
        Collapsed(network, np.array([[1.0, 0.3], [0.6, 0.8]]), np.ones((2, 1)), 0.1, (Redraw(law),))


@pytest.mark.full
def test_images_have_a_law_that_most_neurons_follow():
    """Fields of tens, by which codes freeze: neurons drawn from modes are welcome, and change their codes."""
    model = fs.models.WideImages(width=80, counts=(8, 8, 8), digits=(3, 5, 8), temperature=0.03)
    inputs, targets, network = model.world().inputs, model.world().targets, model.prior(jax.random.key(3))
    law = fs.learning.piloted_law(jax.random.key(4), network, inputs, targets, 0.03)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(law))
    moves = (Redraw(law), Slice())
    method = Collapsed(network, np.asarray(inputs), np.asarray(targets), 0.03, moves)
    world = np.asarray(inputs), np.asarray(targets)
    posterior = fs.sample(network, world, temperature=0.03, method=method, chains=2, draws=60, warm_up=40)
    assert float(posterior.statistics["acceptance_rate"].mean()) > 0.4
    assert Span.of(np.asarray(inputs)).coordinates.shape == law.coordinates.shape
