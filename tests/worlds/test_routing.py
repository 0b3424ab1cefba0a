"""The routing world: its pairs, its loss, and the same world for a gated network."""

import jax
import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.networks import Gated, Graph
from festina.worlds.routing import ALL_PAIRS, TRAINED_PAIRS, Routing, hierarchy, hierarchy_modes, trained_pairs


def test_the_hierarchy_has_the_published_strengths():
    np.testing.assert_allclose(Routing.of(2, 1).strengths, [13.601, 6.403, 3.0, 3.0], atol=5e-4)


@pytest.mark.parametrize("sizes", [(6.0, 4.0, 3.0), (0.0, 2.0, 0.5), (1.0, 0.0, 2.0)])
def test_the_modes_of_a_hierarchy_are_those_of_a_singular_value_decomposition(sizes):
    modes, answers = hierarchy_modes(*sizes), hierarchy(*sizes)
    np.testing.assert_allclose(modes.strengths, np.linalg.svd(answers, compute_uv=False), rtol=1e-12)
    np.testing.assert_allclose(modes.left * modes.strengths @ modes.right.T, answers, atol=1e-12)
    np.testing.assert_allclose(modes.left.T @ modes.left, np.eye(4), atol=1e-12)


def test_trained_pairs_lie_around_the_diagonal():
    np.testing.assert_array_equal(trained_pairs(4, 1), np.eye(4))
    offsets = {(output - input_) % 7 for output, input_ in np.argwhere(trained_pairs(7, 4))}
    assert offsets == {6, 0, 1, 2}
    for trained in range(1, 8):
        pairs = trained_pairs(7, trained)
        assert (pairs.sum(axis=0) == trained).all() and (pairs.sum(axis=1) == trained).all()
    with pytest.raises(ArgumentError, match="`trained` must lie between 1 and the 3 domains"):
        trained_pairs(3, 4)


@pytest.mark.parametrize("normalisation", [ALL_PAIRS, TRAINED_PAIRS])
def test_a_gated_network_has_the_loss_and_the_gradient_of_the_direct_form(normalisation):
    world = Routing.of(3, 2, normalisation=normalisation)
    route = "x1, x2, x3 -> first -> second -> y1, y2, y3"
    ends = {f"x{n}": 4 for n in (1, 2, 3)} | {f"y{n}": 7 for n in (1, 2, 3)}
    network = Gated.init(jax.random.key(0), Graph.of(route, widths={"first": 5, "second": 5} | ends), 1.0)

    def direct(network):
        weights = network.weights
        maps = [
            [weights[f"second->y{o}"] @ weights["first->second"] @ weights[f"x{i}->first"] for i in (1, 2, 3)]
            for o in (1, 2, 3)
        ]
        return world.loss(jax.numpy.asarray(maps))

    value, slope = jax.jit(jax.value_and_grad(direct))(network)
    loss, gradient = jax.jit(jax.value_and_grad(world.gated.samples.loss))(network)
    np.testing.assert_allclose(loss, value, rtol=1e-12)
    for one, other in zip(gradient.blocks, slope.blocks, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)


def test_errors_of_simple_answers():
    """Answering zero costs ½|Y|² a pair; the untrained ones count in units of it, and never in the loss."""
    world = Routing.of(3, 2)
    zero, right = np.zeros((3, 3, 7, 4)), np.broadcast_to(world.answers, (3, 3, 7, 4))
    energy = 0.5 * np.sum(np.asarray(world.answers) ** 2)
    np.testing.assert_allclose(world.loss(zero), 6 / 9 * energy)
    np.testing.assert_allclose(Routing.of(3, 2, normalisation=TRAINED_PAIRS).loss(zero), energy)
    np.testing.assert_allclose(world.untrained_error(zero), 1.0)
    only_trained = right * trained_pairs(3, 2)[:, :, None, None]
    assert world.loss(only_trained) == 0.0
    np.testing.assert_allclose(world.untrained_error(only_trained), 1.0)
    assert world.untrained_error(right) == 0.0


def test_what_is_refused():
    with pytest.raises(ArgumentError, match="`answers` must be features by items"):
        Routing.of(3, 2, answers=np.ones(4))
    with pytest.raises(ArgumentError, match="`trained` must leave out a pair"):
        Routing.of(2, 2).untrained_error(np.zeros((2, 2, 7, 4)))
