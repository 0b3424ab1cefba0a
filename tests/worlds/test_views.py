"""Worlds in which pathways compete: their statistics against counting."""

import jax
import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.networks import Gated, Graph
from festina.worlds.views import co_occurring_views, separate_slots, similar_tasks


@pytest.mark.parametrize(("count", "cosine"), [(2, -1.0), (2, 0.3), (3, -0.5), (4, 0.0), (5, 1.0)])
def test_targets_have_unit_length_and_the_cosine_asked_for(count, cosine):
    targets = np.asarray(similar_tasks(count, cosine).targets)
    np.testing.assert_allclose(targets @ targets.T, np.where(np.eye(count) > 0, 1.0, cosine), atol=1e-7)


def test_the_cosine_may_be_traced():
    slope = jax.grad(lambda cosine: similar_tasks(3, cosine).strengths[0] ** 2)(0.2)
    np.testing.assert_allclose(slope, 2 / 3)


def test_statistics_of_tasks_are_averages_over_samples():
    world = similar_tasks(3, 0.1)
    gates, targets = np.concatenate([np.ones((3, 1)), np.eye(3)], axis=1), np.asarray(world.targets)
    np.testing.assert_allclose(world.cross, np.einsum("np,no->po", gates, targets) / 3)
    np.testing.assert_allclose(world.overlaps, np.einsum("np,nj->pj", gates, gates) / 3)
    np.testing.assert_allclose(world.strengths, [np.sqrt(1.2 / 3), 1 / 3, 1 / 3, 1 / 3])


def test_a_network_of_tasks_has_the_loss_of_its_pathways():
    world = similar_tasks(2, 0.4)
    hidden = world.pathways
    widths = {"x": 1, "y": 2} | dict.fromkeys(hidden, 3)
    network = Gated.init(jax.random.key(0), Graph.of(f"x -> {', '.join(hidden)} -> y", widths=widths), 1.0)
    weights = network.weights
    maps = [weights[f"{node}->y"] @ weights[f"x->{node}"][:, 0] for node in hidden]
    by_hand = np.mean([0.5 * np.sum((world.targets[c] - maps[0] - maps[1 + c]) ** 2) for c in range(2)])
    np.testing.assert_allclose(world.dataset.samples.loss(network), by_hand)


@pytest.mark.parametrize("together", [0.0, 0.3, 1.0])
def test_views_agree_with_a_count_of_many_drawn_samples(together):
    amplitudes = np.array([1.0, 0.5, 2.0])
    world = co_occurring_views(3, together, amplitudes)
    generator = np.random.default_rng(0)
    draws = 40_000
    all_there = generator.random(draws) < together
    shown = np.where(all_there[:, None], 1.0, np.eye(3)[generator.integers(3, size=draws)]) * amplitudes
    np.testing.assert_allclose(world.strengths, shown.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(world.overlaps, shown.T @ shown / draws, atol=0.06)
    np.testing.assert_allclose(world.probabilities.sum(), 1.0)


def test_views_that_always_co_occur_are_all_one():
    overlaps = np.asarray(co_occurring_views(4, 1.0, [1.0, 2.0, 3.0, 4.0]).overlaps)
    assert np.linalg.matrix_rank(overlaps) == 1
    assert np.linalg.matrix_rank(np.asarray(co_occurring_views(4, 0.99).overlaps)) == 4


def test_a_network_of_views_has_the_loss_of_the_reduction():
    world = co_occurring_views(2, 0.3, [1.0, 0.7])
    graph = Graph.of("view1 -> y", "view2 -> y", widths={"view1": 1, "view2": 1, "y": 1})
    strength = np.array([0.4, 0.9])
    network = Gated.of(graph, {f"view{m}->y": np.full((1, 1), strength[m - 1]) for m in (1, 2)})
    reduced = 0.5 - world.strengths @ strength + 0.5 * strength @ world.overlaps @ strength
    np.testing.assert_allclose(world.dataset.samples.loss(network), reduced)


def test_slots_are_white_and_do_not_meet():
    world = separate_slots(3, [1.0, 0.8, 0.5])
    np.testing.assert_allclose(world.dataset.moments.inputs, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(world.dataset.moments.cross, np.diag([1.0, 0.8, 0.5]), atol=1e-12)
    np.testing.assert_allclose(world.gated.targets["answer2"][:, 0], world.dataset.targets[:, 1])
    np.testing.assert_array_equal(world.overlaps, np.eye(3))


def test_impossible_worlds_are_refused():
    with pytest.raises(ArgumentError, match=r"`cosine` must lie between -0\.5 and 1 for 3 tasks"):
        similar_tasks(3, -0.6)
    with pytest.raises(ArgumentError, match="`together` must lie between 0 and 1"):
        co_occurring_views(3, 1.2)
    with pytest.raises(ArgumentError, match="`amplitudes` must be positive"):
        co_occurring_views(2, 0.5, [1.0, 0.0])
    with pytest.raises(ArgumentError, match="`amplitudes` must be one number, or 3"):
        separate_slots(3, [1.0, 2.0])


def test_views_keep_their_digits_outside_of_double_precision():
    with jax.enable_x64(False):
        world = co_occurring_views(2, together=0.5, amplitudes=0.1)
        assert np.all(np.asarray(world.dataset.inputs["view1"], float) == 0.1)
