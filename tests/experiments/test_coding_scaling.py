"""coding/scaling: its claims at the quick budget, and what they cannot check."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from festina.experiments.coding import scaling
from festina.experiments.coding.scaling import DEEP, NETWORKS, Scaling
from narrowing import there
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/scaling")


def test_quick_claims_hold(result):
    found = outcomes(result)
    assert set(found.values()) == {"reproduced"}, result
    names = {f"{claim}-{network}" for claim in ("kept", "blurred") for network in NETWORKS}
    names |= {f"sharpens-{network}" for network in DEEP}
    assert names | {"law-linear-0", "law-deep-linear-0.5"} <= set(found)


def test_sharpness_is_that_of_whole_kernels(result):
    """Of the theory that stands beside the samples, and of the same theory in the figure."""
    beside = scaling.sharpness_of(result, result.solved).isel(run=0)
    for network, power in (("linear", 0.5), ("sigmoidal", 0.0), ("deep-linear", 2.0)):
        known = scaling.predicted(network, 40, power, result.config.temperature, result.config.width)[0]
        np.testing.assert_allclose(beside.sel(network=network, exponent=power, examples=40), known, rtol=1e-6)


def test_claims_of_the_full_budget_are_measured_or_say_what_they_need(result):
    found = {claim.id: claim.judge(result, "full") for claim in Scaling.claims if claim.id != "rectified"}
    assert not [verdict for verdict in found.values() if verdict.outcome == "broken"]
    assert found["ceases-linear"].note == "needs a --temperature above 0.15, or more examples"
    assert there(found["theory-linear"].measured) < 0.05
    fewer = replace(result, config=result.config.model_copy(update={"exponent": (1.0, 2.0)}))
    assert Scaling.claims[4].judge(fewer, "quick").note == "needs --exponent with 0"


def test_the_figure_has_six_labelled_panels(result):
    figure = result.figure()
    assert len(figure.axes) == 6
    assert all(axis.get_xlabel() and axis.get_ylabel() and axis.get_title() for axis in figure.axes)
    plt.close(figure)
