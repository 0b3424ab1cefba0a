"""Which runs the kernels in C leave to JAX, and why; what they do is in the tests of `festina.fast`."""

import numpy as np
import pytest

from festina.learning.native import Plan, reason_by_numbers
from festina.worlds import Population

BLOCKS = "they know blocks of whole steps"


def plan(ends, step_size=(0.1, 0.1)):
    keys = np.zeros((len(step_size), 2), np.uint32)
    return Plan(None, np.asarray(ends), (0, 1), keys, np.asarray(step_size), Population(), 1)


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], ""),  # blocks of one step are whole steps
        ([[1.0, 2.5], [3.0, 4.0]], BLOCKS),
        ([[1.0, 1.0], [3.0, 4.0]], BLOCKS),
        ([[0.0, 2.0], [3.0, 4.0]], BLOCKS),
        ([[1.0, 2.0**53], [3.0, 4.0]], BLOCKS),  # from here on not every number of steps is a number
    ],
)
def test_blocks_must_have_whole_steps(ends, reason):
    assert reason_by_numbers(plan(ends)) == reason


def test_all_runs_must_have_one_length_of_step():
    assert reason_by_numbers(plan([[1.0, 2.0]], (0.1,))) == ""
    assert reason_by_numbers(plan([[1.0, 2.0]] * 2, (0.1, 0.2))) == "they take steps of one length in all runs"
