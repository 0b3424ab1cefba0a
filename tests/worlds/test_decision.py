"""The context-dependent decision: its examples, and what pathways see of them."""

import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.worlds.decision import decision


def test_the_answer_is_the_cued_feature():
    world = decision(1.5)
    assert len({tuple(row) for row in world.inputs}) == 8
    for inputs, target in zip(world.inputs, world.targets[:, 0], strict=True):
        assert target == (inputs[0] if inputs[2] == 1.5 else inputs[1])
    np.testing.assert_array_equal(world.contexts, world.inputs[:, 2:] / 1.5)
    with pytest.raises(ArgumentError, match="`cue` must be one number"):
        decision([1.0, 2.0])


def test_strengths_that_pathways_see():
    """Always on: s = .707, half explained. In one context: s = ½ with input variance ½, all explained."""
    world = decision()
    always = np.mean(world.targets * world.inputs, axis=0)
    np.testing.assert_allclose(always, [0.5, 0.5, 0, 0], atol=1e-15)
    motion = np.mean(world.gated.gates["motion"][:, None] * world.targets * world.inputs, axis=0)
    np.testing.assert_allclose(motion, [0.5, 0, 0, 0], atol=1e-15)
    answers = world.inputs @ np.linalg.lstsq(world.inputs, world.targets, rcond=None)[0]
    np.testing.assert_allclose(0.5 * np.mean((world.targets - answers) ** 2), 0.25)


def test_gates_open_the_cued_feature():
    gated = decision().gated
    answers = gated.gates["motion"] * gated.inputs["x"][:, 0] + gated.gates["colour"] * gated.inputs["x"][:, 1]
    np.testing.assert_array_equal(answers, gated.targets["y"][:, 0])
