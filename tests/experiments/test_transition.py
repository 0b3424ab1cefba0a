"""linear/transition: its claims, and what they cannot check."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.experiments.linear.transition import EXPONENTIAL, Transition, measured_ratios
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("linear/transition")


def test_quick_claims_hold(result):
    assert all(verdict.outcome == "reproduced" for verdict in result.verdicts), result


@pytest.mark.parametrize("imbalance", [0.0, 1.0, 10.0])
def test_an_independent_integration_of_the_two_weights(result, imbalance):
    time = result["time"].values
    size = np.sqrt((np.hypot(imbalance, 2e-3) + imbalance) / 2)

    def rate(_, weights):
        return (1.0 - weights[0] * weights[1]) * weights[::-1]

    solved = solve_ivp(rate, (0, time[-1]), [1e-3 / size, size], "DOP853", time, rtol=1e-12, atol=1e-14)
    simulated = result["learned"].isel(run=0).sel(network="two-weights", imbalance=imbalance, mode=1)
    np.testing.assert_allclose(simulated, np.prod(solved.y, axis=0), atol=1e-8)


def test_times_of_a_tenth_and_nine_tenths(result):
    """Measured t10/t90 is that of the closed form: .517 for λ = 0, and nearly ln(10/9)/ln(10) = .0458 for λ = 100."""
    found = measured_ratios(result)
    exact = fs.theory.imbalanced(1.0, 1e-3, found["size"].values)
    np.testing.assert_allclose(found, exact.time_to_reach(0.1) / exact.time_to_reach(0.9), rtol=2e-3)
    assert found[0] == pytest.approx(0.517, abs=1e-3) and found[-1] == pytest.approx(EXPONENTIAL, abs=1e-3)


def test_weights_that_have_not_learned_yet_say_how_long_it_takes(result):
    seen = result["time"].values <= 3.0
    config = result.config.model_copy(update={"until": 3.0})
    short = replace(result, config=config, data=result.data.isel(time=seen), theory=result.theory.isel(time=seen))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in Transition.claims}
    assert verdicts["exact"].outcome == verdicts["exponential"].outcome == verdicts["together"].outcome == "reproduced"
    assert verdicts["gradual"].note == "|λ| = 0 not learned to 90 %: needs --until 4.6"
    assert verdicts["one-after-another"].note == "modes at λ = 0 not learned to a half: needs --until 14"
    assert verdicts["sigmoid"].note == "modes at λ = 0 not learned to 90 %: needs --until 16"


@pytest.mark.parametrize("imbalance", [0.1, 1.0])
def test_modes_of_unequal_layers_are_no_sigmoids(result, imbalance):
    """What is claimed of balanced layers can fail: it does of others."""
    data = result.data.copy(deep=True)
    data["learned"].loc[{"imbalance": 0.0}] = data["learned"].sel(imbalance=imbalance, drop=True)
    (judged,) = (
        claim.judge(replace(result, data=data), "quick") for claim in Transition.claims if claim.id == "sigmoid"
    )
    assert judged.outcome == "not reproduced", judged


def test_imbalances_of_either_sign_and_without_zero():
    """The sign does not matter for two weights; claims that need λ = 0 or a large |λ| say so."""
    fields = {"inputs": 2, "outputs": 2, "strongest": 2.0, "weakest": 0.8, "scale": 0.01}
    result = fs.run("linear/transition", budget="quick", seeds=1, imbalance=(-1, 1), **fields)
    product = result["learned"].sel(network="two-weights", mode=1)
    np.testing.assert_allclose(product.sel(imbalance=-1.0), product.sel(imbalance=1.0), atol=1e-9)
    assert all(it.outcome == "reproduced" for it in result.verdicts if it.claim.startswith("exact"))
    notes = {verdict.claim: verdict.note for verdict in result.verdicts}
    assert notes["sigmoid"] == "needs λ = 0 among the imbalances"
    assert notes["together"] == "needs an imbalance of at least ten times the strength"
    plt.close(result.figure())


def test_the_network_may_have_any_shape():
    result = fs.run("linear/transition", budget="quick", seeds=1, imbalance=(0, 10), inputs=3, outputs=1, until=5.0)
    found = {verdict.claim: verdict for verdict in result.verdicts}
    assert found["exact-network"].outcome == found["exponential"].outcome == "reproduced"
    assert found["together"].note == "needs two modes at least"
    plt.close(result.figure())


def test_the_figure_has_six_labelled_panels(result):
    figure = result.figure()
    assert len(figure.axes) == 6
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
