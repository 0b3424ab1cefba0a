"""coding/regime: its claims at the quick budget, and the parts of a variance that are known."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from festina.experiments.coding import regime
from festina.experiments.coding.regime import KINDS, PARTS, REGIMES, Regime
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/regime")


def test_quick_claims_come_out_as_documented(result):
    found = outcomes(result)
    held = {f"{claim}-{kind}" for claim in ("generalization", "diminishes", "averaging") for kind in KINDS}
    assert held <= {claim for claim, outcome in found.items() if outcome == "reproduced"}, result


def test_parts_add_up_to_the_variance(result):
    for kind in KINDS:
        for each in REGIMES:
            found = regime.split(result, kind, each)
            np.testing.assert_allclose(found.sel(part=list(PARTS)).sum("part"), found.sel(part="all"), rtol=1e-9)


def test_two_codes_that_make_up_for_each_other_have_no_variance(result):
    """One code has x, another −x: within codes there is 2 Var x, between them −2 Var x."""
    data, course = result.data.copy(deep=True), result["time"] % 7.0
    data["parts"] = 0.0 * data["parts"]
    data["parts"].loc[{"code": 1}] = (data["parts"].sel(code=1) + course).transpose(*data["parts"].sel(code=1).dims)
    data["parts"].loc[{"code": 2}] = -data["parts"].sel(code=1)
    found = regime.split(replace(result, data=data), "linear", "lazy")
    np.testing.assert_allclose(found.sel(part=["between chains", "all"]), 0.0, atol=1e-12)
    np.testing.assert_allclose(found.sel(part="between codes"), -found.sel(part="within codes"))
    assert np.all(found.sel(part="within codes") > 0)


def test_what_cannot_be_told_is_not_judged(result):
    found = {claim.id: claim.judge(result, "full") for claim in Regime.claims}
    assert not [verdict for verdict in found.values() if verdict.outcome == "broken"]
    alone = replace(result, data=result.data.isel(run=[0]))
    assert {claim.id: claim for claim in Regime.claims}["averaging-linear"].judge(alone, "quick").note == (
        "needs --seeds 2 or more"
    )


def test_the_figure_has_six_panels(result):
    figure = result.figure()
    assert len(figure.axes) == 6 and all(axis.get_title() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
