"""Values that nobody may look at, keys and starts that are made without compiling."""

import math

import jax
import numpy as np
import pytest

from festina.lab.unknown import UNKNOWN, NotKnown, known_key, taken


@pytest.mark.parametrize(
    "look",
    [
        lambda it: it + 1, lambda it: 2.0 * it, lambda it: it**2, lambda it: np.sqrt(it), lambda it: -it, abs, bool,
        float, lambda it: it == it, lambda it: it < 1, lambda it: [1, 2][it], lambda it: list(it), str, math.exp, hash,
        lambda it: it @ np.eye(2), lambda it: np.eye(2) @ it,
    ],
)  # fmt: skip
def test_whoever_looks_is_told(look):
    with pytest.raises(NotKnown):
        look(UNKNOWN)


@pytest.mark.parametrize("seed", [0, 7, 2**32 + 5, 2**63 - 1])
def test_keys_are_those_of_jax(seed):
    found, expected = known_key(seed), jax.random.key(seed)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(jax.random.key_data(found), jax.random.key_data(expected))


def test_starts_are_taken_row_by_row_whatever_they_hold():
    starts = [{"weights": np.full(2, float(seed)), "key": jax.random.key(seed)} for seed in range(3)]
    found = taken(starts, np.array([2, 0, 2]))
    np.testing.assert_array_equal(found["weights"], [[2.0, 2.0], [0.0, 0.0], [2.0, 2.0]])
    words = [jax.random.key_data(starts[seed]["key"]) for seed in (2, 0, 2)]
    np.testing.assert_array_equal(jax.random.key_data(found["key"]), words)
