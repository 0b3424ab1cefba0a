"""linear/saddles: its claims, and what they cannot check."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import festina as fs
from festina.experiments.linear.saddles import Saddles, at_rest
from shared import outcomes, quick

pytestmark = pytest.mark.full

CLAIMS = ["course", "near", "nearer", "plateaus", "index", "curvature", "ranks", "falling", "dwell", "order"]
CLAIMS += ["individual", "shallow", "exponential", "far"]


@pytest.fixture(scope="module")
def result():
    return quick("linear/saddles")


def test_claims_come_out_as_documented(result):
    assert outcomes(result) == dict.fromkeys(CLAIMS, "reproduced") | {"near": "not reproduced"}, result


def test_networks_rest_once_at_each_saddle_in_turn(result):
    rests = at_rest(result)
    assert rests["distance"].sizes == {"run": 12, "saddle": 4}
    assert (rests["time"].diff("saddle") > 0).all()
    np.testing.assert_array_equal(rests["index"][0], [24, 15, 8, 3])


def test_all_networks_of_a_seed_learn_one_task_and_begin_with_the_same_draw(result):
    begin = result.data.isel(time=0)
    scaled = begin["learned"].sel(network="deep") / 1e-4**2
    np.testing.assert_allclose(begin["learned"].sel(network="large"), scaled, rtol=1e-6)
    np.testing.assert_allclose(begin["learned"].sel(network="tenth") * 100, scaled * 1e-4**2, rtol=1e-6)


def test_from_smaller_weights_every_network_comes_near_every_saddle():
    small = fs.run("linear/saddles", budget="quick", scale=1e-7, until=24.0, seeds=4)
    assert {"near", "plateaus"} <= {name for name, outcome in outcomes(small).items() if outcome == "reproduced"}


def test_what_a_result_does_not_have_is_not_judged(result):
    def judged(**fields):
        other = replace(result, config=result.config.model_copy(update=fields))
        return {claim.id: claim.judge(other, "full") for claim in Saddles.claims}

    assert judged(scale=0.1)["index"].note == "needs small initial weights, a smaller --scale"
    assert judged(strongest=1.1)["order"].note == "needs modes apart, a larger --strongest"
    assert judged()["spread"].note == "too few networks for a spread: needs --seeds 40"
    seen = result["time"].values <= 8.0
    short = replace(result, data=result.data.isel(time=seen), theory=result.theory.isel(time=seen))
    told = {claim.id: claim.judge(short, "quick").note for claim in Saddles.claims}
    assert told["dwell"] == "modes are still being learned: needs --until 16"


def test_the_figure_has_six_labelled_panels(result):
    figure = result.figure()
    assert len(figure.axes) == 6
    assert all(axis.get_xlabel() and axis.get_ylabel() and axis.get_title() for axis in figure.axes)
    plt.close(figure)
