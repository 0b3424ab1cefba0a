"""coding/width: its claims at the quick budget, and its measures on deviations that are known."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from festina.experiments.coding import width
from festina.experiments.coding.width import KINDS, Width
from narrowing import there
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/width")


def test_quick_claims_hold(result):
    found = outcomes(result)
    assert set(found.values()) == {"reproduced"}, result
    assert {f"{claim}-{kind}" for claim in ("single-kernel", "variance") for kind in KINDS} <= set(found)


def test_a_power_law_is_found_and_where_it_is_five_percent():
    law = xr.DataArray([0.5, 0.05], dims="width", coords={"width": [10, 1000]})
    assert width.exponent(law) == pytest.approx(-0.5)
    assert width.smallest_width(2 * law) == pytest.approx(4000)


def test_deviations_are_relative_to_the_theory(result):
    """Samples that are theory times 1.1 deviate by a tenth, singly and on average."""
    data = result.data.copy(deep=True)
    data["class_kernel"] = (0 * data["class_kernel"] + 1.1) * result.theory["class_kernel"].isel(run=0, time=-1)
    other = replace(result, data=data)
    for kind in KINDS:
        for found in (width.single(other, "class_kernel", kind), width.on_average(other, "class_kernel", kind)):
            np.testing.assert_allclose(found, 0.1)


def test_claims_of_the_full_budget_are_measured_without_an_exception(result):
    found = {claim.id: claim.judge(result, "full") for claim in Width.claims}
    assert not [verdict for verdict in found.values() if verdict.outcome == "broken"]
    assert 20 < there(found["smallest-linear"].measured) < 200


def test_the_figure_has_six_labelled_panels(result):
    figure = result.figure()
    assert len(figure.axes) == 6
    assert all(axis.get_xlabel() and axis.get_ylabel() and axis.get_title() for axis in figure.axes)
    plt.close(figure)
