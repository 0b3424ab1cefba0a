"""Exclusive-or and the margin: what pathways see of them, from singular values of the data."""

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.theory.margin import strengths
from festina.worlds import logic


def correlation(data, node):
    """⟨g y xᵀ⟩ of a pathway."""
    gate = data.gates[node]
    return (gate[:, None] * data.targets["y"]).T @ data.inputs["x"] / len(gate)


def test_no_linear_map_says_anything_of_exclusive_or():
    world = logic.xor()
    np.testing.assert_array_equal(world.moments.cross, np.zeros((1, 2)))
    np.testing.assert_array_equal(world.targets[:, 0], world.inputs[:, 0] * world.inputs[:, 1])


def test_a_margin_is_separable_by_its_third_input():
    world = logic.margin(0.3)
    np.testing.assert_allclose(world.inputs @ [0, 0, 1 / 0.3], world.targets[:, 0])
    np.testing.assert_array_equal(logic.margin(0.0).inputs[:, :2], logic.xor().inputs)
    traced = jax.jit(lambda separation: logic.margin(separation).inputs)(0.3)
    np.testing.assert_array_equal(traced, world.inputs)
    with pytest.raises(ArgumentError, match="`separation` must be zero or positive"):
        logic.margin(-1.0)


@pytest.mark.parametrize("separation", [0.2, 0.8, 1.3])
def test_strengths_are_singular_values_of_what_pathways_see(separation):
    world = logic.margin(separation)
    nonlinear, linear = strengths(separation)
    for data, expected in ((logic.by_example(world), nonlinear), (logic.by_class(world), linear)):
        for node in data.gates:
            seen = np.linalg.svd(correlation(data, node), compute_uv=False)
            np.testing.assert_allclose(seen, [expected], rtol=1e-12)
    np.testing.assert_allclose(correlation(logic.always_on(world), "linear"), [[0, 0, separation]], atol=1e-15)


def test_every_gating_covers_each_example_once():
    for gating in (logic.by_example, logic.by_class, logic.by_half_plane, logic.always_on):
        gates = np.stack([*gating(logic.xor()).gates.values()])
        np.testing.assert_array_equal(gates.sum(axis=0), np.ones(4))
    right = logic.by_half_plane(logic.xor())
    np.testing.assert_allclose(correlation(right, "right"), [[0, 0.5]])


def test_classes_are_those_of_the_answers():
    world = fs.worlds.Dataset(np.array([[1.0, 2.0], [-3.0, 1.0], [2.0, 0.5]]), np.array([[-1.0], [2.0], [0.5]]))
    np.testing.assert_array_equal(logic.by_class(world).gates["positive"], [0, 1, 1])
    np.testing.assert_array_equal(logic.by_half_plane(world).gates["left"], [0, 1, 0])
    assert len(logic.by_example(world).gates) == 3
    with pytest.raises(ArgumentError, match="`world` must have one target"):
        logic.by_class(fs.worlds.Dataset(np.ones((3, 2)), np.ones((3, 2))))
