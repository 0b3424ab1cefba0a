"""model/finite-width: sums over neurons in place of neurons, and the theory of infinitely many."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.models.finite_width import FiniteWidth
from festina.testing import check_model
from narrowing import solution_of

SMALL = {"width": 12, "counts": (3, 2), "warm_up": 4, "draws": 8, "records": 4}


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    """But for slopes: forces are in single precision."""
    check_model(FiniteWidth, differentiate=False, nonlinearity="linear", tests=1, **SMALL)


@pytest.mark.full
def test_sums_are_those_over_all_neurons():
    model = FiniteWidth(width=40, counts=(5, 4, 3))
    with fs.double():
        network = model.prior(jax.random.key(0))
        found, whole = model.seen(network), fs.models.WideBayesian(width=40, counts=(5, 4, 3)).seen(network)
    codes = fs.measures.code_numbers(np.asarray(whole["activity"]) > 0.5)
    np.testing.assert_allclose(found["shares"], fs.measures.code_shares(codes, 3))
    readout = np.asarray(whole["readout"])
    np.testing.assert_allclose(found["moments"], readout.T @ readout / 40)
    assert "readout" not in found and jnp.allclose(found["class_kernel"], whole["class_kernel"])


def test_theory_is_that_of_infinitely_many_neurons():
    narrow, wide = (FiniteWidth(nonlinearity="linear", width=width, counts=(5, 4), tests=1) for width in (20, 2000))
    for name in ("kernel", "moments", "mean"):
        one, other = (solution_of(each)(np.zeros(1))[name] for each in (narrow, wide))
        np.testing.assert_array_equal(one, other)
    variances = [solution_of(each)(np.zeros(1)) for each in (narrow, wide)]
    small, large = (each["square"] - each["mean"] ** 2 for each in variances)
    np.testing.assert_allclose(small, 100 * large, rtol=1e-6)
    known = fs.theory.coding.analog(np.eye(9), np.asarray(narrow.world().targets), 0.1, 1 / 9)
    np.testing.assert_allclose(narrow.limit().kernels[0], known.kernels[0], rtol=1e-6)
