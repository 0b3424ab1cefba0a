"""linear/chain: its claims, and what they cannot check."""

from dataclasses import replace

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.linear import chain
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


def verdicts(**fields):
    result = fs.run("linear/chain", budget="quick", **fields)
    return {verdict.claim: verdict for verdict in result.verdicts}


@pytest.mark.full
def test_a_chain_that_has_not_moved_yet_says_how_long_it_takes():
    short = verdicts(depth=(1, np.inf), initial=1e-3)
    assert short["exact"].outcome == "reproduced"
    for claim in ("plateau", "sharper", "misprint-infinite"):
        assert short[claim].outcome == "undecided"
        assert "D = inf" in short[claim].note and short[claim].note.endswith("needs --until 340")
    enough = verdicts(depth=(1, np.inf), initial=1e-3, until=340.0)
    assert {verdict.outcome for verdict in enough.values()} == {"reproduced"}
    never = verdicts(depth=(2, np.inf), initial=1e-9)["sharper"]
    assert never.note.endswith("needs --until 3.4e+08, but 100000 is the most there is")


@pytest.mark.full
def test_claims_need_a_small_start_and_statistics_for_which_the_print_is_wrong():
    found = verdicts(depth=(1, 2, np.inf), initial=0.1, strength=2.0, input_variance=4.0)
    assert found["plateau"].note == found["sharper"].note == "needs a start below a tenth of the final value s/λ"
    assert found["misprint-shallow"].outcome == "reproduced"
    assert found["misprint-infinite"].note.startswith("needs other statistics")  # s² = λ


def test_misprints_are_of_the_printed_curves_alone(result):
    """If the chain followed what is printed, or neither curve, no misprint would be confirmed."""
    for claim, depth, printed in (
        ("misprint-shallow", 1.0, chain._printed_shallow),
        ("misprint-infinite", np.inf, chain._printed_infinite),
    ):
        data = result.data.copy(deep=True)
        data["product"].loc[{"depth": depth}] = printed(result.config, result["time"].values)
        (judged,) = (c.judge(replace(result, data=data), "quick") for c in chain.Chain.claims if c.id == claim)
        assert judged.outcome == "not reproduced", judged
        data["product"].loc[{"depth": depth}] = -10.0
        (judged,) = (c.judge(replace(result, data=data), "quick") for c in chain.Chain.claims if c.id == claim)
        assert judged.outcome == "not reproduced", judged


def test_one_layer_is_seen_from_its_beginning_however_long_the_run():
    """The first recordings lie where one layer, with rate λ, has hardly begun."""
    model = fs.models.Chain(until=1e5, input_variance=50.0)
    times = np.asarray(model.process(model.start(jax.random.key(0))).times)
    assert times[0] == 0 and times[1] <= 0.02 / 50 * (1 + 1e-6) and times[-1] == pytest.approx(1e5)


@pytest.mark.parametrize("depth", [0.5, 0, "two", (), (2, 2)])
def test_impossible_depths_are_refused(depth):
    with pytest.raises(ArgumentError, match="`depth` must"):
        fs.run("linear/chain", depth=depth)


def test_the_figure_has_three_labelled_panels(result):
    figure = result.figure()
    assert len(figure.axes) == 3
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
