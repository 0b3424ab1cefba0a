"""The tests' own type checker: what it remembers of one function never serves another."""

import numpy as np
import pytest
from jaxtyping import Float, TypeCheckError, jaxtyped

from typecheck import checked


def made(kind, shift):
    """A function within another, as it is defined anew in every call."""

    @jaxtyped(typechecker=checked)
    def add(values: kind, more: Float[np.ndarray, " n"] = shift) -> kind:  # pyright: ignore[reportInvalidTypeForm]
        return values + more if shift is not None else "nothing"

    return add


def test_a_function_that_is_defined_again_is_checked_again_and_does_its_own():
    vector, row = Float[np.ndarray, " n"], Float[np.ndarray, "1 n"]
    for shift in (1.0, 2.0):
        add = made(vector, np.full(3, shift))
        np.testing.assert_array_equal(add(np.ones(3)), np.full(3, 1.0 + shift))
        for wrong in (np.ones((1, 3)), np.ones(3, int), 1.0):
            with pytest.raises(TypeCheckError):
                add(wrong)
        with pytest.raises(TypeCheckError):
            add(np.ones(3), np.ones(4))
    assert made(row, np.ones(3))(np.ones((1, 3))).shape == (1, 3)
    with pytest.raises(TypeCheckError):
        made(row, np.ones(3))(np.ones(3))
    with pytest.raises(TypeCheckError):
        made(vector, None)(np.ones(3), np.ones(3))
