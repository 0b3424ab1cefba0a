"""rectified/depth: what is seen at the quick budget."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from shared import outcomes, quick


@pytest.fixture(scope="module")
def result():
    return quick("rectified/depth")


@pytest.mark.full
def test_quick_claims_hold_but_for_those_that_do_not(result):
    judged = outcomes(result)
    own = ("solved", "linear-first-layer", "nonlinear-second-layer")
    beside = ("gated-loss", "as-fast", "shared-is-faster", "linear-residual")
    not_so = dict.fromkeys(("shared-first-layer", "single-differs"), "not reproduced")
    assert judged == dict.fromkeys((*own, *beside), "reproduced") | not_so, result


@pytest.mark.full
def test_shares_of_strength_add_up(result):
    np.testing.assert_allclose(result["strength"].sel(network="relu").sum("size"), 1.0, atol=1e-5)
    assert result["linearity"].max() <= 1.0 + 1e-6


@pytest.mark.full
def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 6


@pytest.mark.full
def test_what_is_too_short_or_has_too_few_contexts_is_not_judged(result):
    short = replace(result, data=result.data.isel(time=slice(0, 20)))
    verdicts = {claim.id: claim.judge(short, "full") for claim in result.experiment.claims}
    assert verdicts.pop("solved").outcome == "not reproduced"
    assert verdicts.pop("linear-residual").outcome == "reproduced"
    assert {verdict.outcome for verdict in verdicts.values()} == {"undecided"}
    assert verdicts["all-but-one"].note.endswith(
        "networks have more than 5% of the loss left; needs more than --steps 1900"
    )
    few = replace(result, config=result.config.model_copy(update={"contexts": 2}))
    notes = {claim.id: claim.judge(few, "full").note for claim in result.experiment.claims}
    assert notes["mixed-persists"] == notes["all-but-one"] == "needs three contexts or more"
