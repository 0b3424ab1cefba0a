"""coding/deeper: its claims at the quick budget, and its measures on layers that are known."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import festina as fs
from festina.experiments.coding import deeper
from festina.experiments.coding.deeper import Deeper
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/deeper")


def test_quick_claims_come_out_as_documented(result):
    found = {claim: outcome for claim, outcome in outcomes(result).items() if outcome != "not applicable"}
    held = {"sharpens-linear", "sharpens-sigmoidal", "first-linear", "first-sigmoidal", "kernels-1", "kernels-3"}
    assert {claim for claim, outcome in found.items() if outcome == "reproduced"} >= held, result


def test_sharpness_of_theory_is_that_of_whole_kernels(result):
    model = deeper.network(result, "linear", 3)
    members = model.world().membership
    known = [fs.measures.sharpness(kernel, members) for kernel in model.prediction(model.temperature).kernels]
    found = deeper.sharpness_of(result, result.solved, "linear").isel(run=0).sel(depth=3)
    np.testing.assert_allclose(found, known, rtol=1e-9)
    assert deeper.last_layer(found.expand_dims("depth")).item() == pytest.approx(known[-1])


def test_what_cannot_be_told_is_not_judged(result):
    found = {claim.id: claim.judge(result, "full") for claim in Deeper.claims}
    assert not [verdict for verdict in found.values() if verdict.outcome == "broken"]
    assert found["kernels-4"].note == "needs --depth with 4"
    assert found["sharpens-rectified"].note == "needs --nonlinearity with rectified"


def test_the_figure_has_labelled_panels(result):
    figure = result.figure()
    assert len(figure.axes) == 3
    assert all(axis.get_xlabel() and axis.get_ylabel() and axis.get_title() for axis in figure.axes)
    plt.close(figure)
