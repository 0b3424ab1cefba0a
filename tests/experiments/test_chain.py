"""linear/chain: its claims, and what they cannot check."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError
from shared import quick


@pytest.fixture(scope="module")
def result():
    return quick("linear/chain")


def test_quick_claims_hold(result):
    assert all(verdict.outcome == "reproduced" for verdict in result.verdicts), result


def test_three_weights_follow_an_independent_integration():
    result = fs.run("linear/chain", budget="quick", depth=3, strength=2.0, input_variance=0.5, initial=0.05, until=5.0)
    time = result["time"].values

    def rate(_, w):
        return (2.0 - 0.5 * np.prod(w)) * np.array([w[1] * w[2], w[0] * w[2], w[0] * w[1]])

    solved = solve_ivp(rate, (0, 5.0), np.full(3, 0.05 ** (1 / 3)), "DOP853", time, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(result["product"].values[0, :, 0], np.prod(solved.y, axis=0), atol=1e-8)


@pytest.mark.full
def test_depths_that_are_no_whole_numbers_follow_theory():
    result = fs.run("linear/chain", budget="quick", depth=(1.5, 2.5, 7.3))
    assert result.errors("product").max() < 1e-8
    assert [v.outcome for v in result.verdicts if v.claim.startswith("misprint")] == ["not applicable"] * 2


def test_frozen_half_times(result):
    """Measured once and kept: the half-times of the four depths in units of τ."""
    product = result["product"].isel(run=0).transpose("depth", "time").values
    half = fs.measures.crossing_time(result["time"].values, product, 0.75)
    np.testing.assert_allclose(half, HALF_TIMES, rtol=1e-4)


HALF_TIMES = [0.34324, 0.83399, 1.58277, 33.9488]


@pytest.mark.parametrize("depth", [0.5, 0, "two", ()])
def test_depths_below_one_are_refused(depth):
    with pytest.raises(ArgumentError, match="`depth` must"):
        fs.run("linear/chain", depth=depth)


def test_the_figure_has_three_labelled_panels(result):
    figure = result.figure()
    assert len(figure.axes) == 3
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
