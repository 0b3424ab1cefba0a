"""linear/reversal: its claims, and what they cannot check."""

from dataclasses import replace
from typing import Any

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import quad

import festina as fs
from festina.errors import FestinaWarning
from festina.experiments.linear.reversal import Reversal, escape_times, loss_ratios
from festina.theory.balanced import balanced
from shared import quick


@pytest.fixture(scope="module")
def result():
    return quick("linear/reversal")


@pytest.mark.full
def test_quick_claims_hold(result):
    assert all(verdict.outcome == "reproduced" for verdict in result.verdicts), result


@pytest.mark.full
def test_theory_is_stuck_at_a_quarter_of_the_loss(result):
    solved = replace(result, data=result.theory)
    np.testing.assert_allclose(loss_ratios(solved, ["axes", "rotated", "single"]), 0.25, atol=1e-6)


@pytest.mark.full
def test_networks_that_are_on_their_way_say_how_long_it_takes(result):
    seen = result["time"].values <= 12.0
    config = result.config.model_copy(update={"until": 12.0})
    short = replace(result, config=config, data=result.data.isel(time=seen), theory=result.theory.isel(time=seen))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in Reversal.claims}
    assert verdicts["exact"].outcome == verdicts["stuck"].outcome == verdicts["crossing"].outcome == "reproduced"
    assert verdicts["relearning"].note == "not every mode is there yet: needs --until 21"
    assert verdicts["spurious"].note == "the slowest mode may still be on its way: needs --until 45"
    assert verdicts["nudged"].note == "the slowest mode may still be on its way: needs --until 23"
    assert verdicts["arbitrary"].outcome == verdicts["precision"].outcome == "undecided"


@pytest.mark.full
def test_crossing_times_by_quadrature(result):
    """t = ∫₀ˢ da / (√(λ² + 4a²)(s + a))."""
    measured = fs.measures.crossings(-result.panel("ladder")["strength"].isel(run=0), 0.0)
    for imbalance in result.config.imbalance[:4]:
        for mode, s in enumerate((2.0, 1.5, 1.0)):

            def slowness(a, imbalance=imbalance, s=s):
                return 1 / (np.hypot(imbalance, 2 * a) * (s + a))

            expected = quad(slowness, 0, s, points=[imbalance, 100 * imbalance], epsabs=1e-10)[0]
            found = float(measured.sel(imbalance=imbalance)[mode])
            assert found == pytest.approx(expected, abs=1e-3)  # recordings are 0.1 apart


@pytest.mark.full
def test_the_matrix_solution_stays_where_the_simulation_escapes(result):
    """The exact solution of the whole network, not mode by mode, and from weights that are rounded like any others."""
    (model,) = (arm.model for arm in result.arms if arm.labels.get("arithmetic") == "rotated")
    left, right, (first, second) = jax.tree.map(np.asarray, model.start(jax.random.key(0)))
    target = -(left * np.array([2.0, 1.5, 1.0])) @ right.T
    with pytest.warns(FestinaWarning, match="ends at a saddle"):
        solution = balanced(first, second, target)
    loss = solution(np.array([0.0, 10.0, 45.0, 1000.0]))["loss"]
    np.testing.assert_allclose(loss[1:] / loss[0], 0.25, rtol=1e-6)
    assert np.all(np.isfinite(escape_times(result, ["rotated"]))) and np.all(np.isnan(escape_times(result, ["axes"])))


@pytest.mark.full
def test_both_layers_are_bitwise_alike_along_the_axes(result):
    np.testing.assert_array_equal(result.panel("balanced")["growing"].sel(arithmetic="axes"), 0.0)


@pytest.mark.full
def test_networks_without_imbalance_are_there_whatever_is_asked():
    """λ of the ladder may be anything; claims that need small ones, or none too small, say so."""
    short = Reversal().configure("quick", imbalance=(0.0, 1.0), until=1.0, records=100)
    models: list[Any] = [arm.model for arm in Reversal().arms_at(short)]
    assert [model.imbalance for model in models] == [0.0, 1.0] + 6 * [0.0]
    result = fs.run("linear/reversal", budget="quick", seeds=1, imbalance=(0.0, 1.0), until=1.0, records=100)
    notes = {verdict.claim: verdict.note for verdict in result.verdicts}
    assert notes["exact"].startswith("needs a smallest λ of 1e-09") and notes["crossing"].startswith("needs two values")
    plt.close(result.figure())


@pytest.mark.full
def test_the_figure_has_four_labelled_panels(result):
    figure = result.figure()
    assert len(figure.axes) == 4
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
