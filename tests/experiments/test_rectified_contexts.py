"""rectified/contexts: its claims, those that do not hold included, and what they are computed from."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from festina.experiments.rectified.contexts import number, strength_at_end
from shared import outcomes, quick

pytestmark = pytest.mark.full

NOT_SO = {"mixed-five", "larger-share-1.0", "larger-share-1.35", "constant-gates", "gates-of-contexts"}


@pytest.fixture(scope="module")
def result():
    return quick("rectified/contexts")


def test_quick_claims_hold_but_for_those_that_do_not(result):
    judged = outcomes(result)
    assert {claim for claim, outcome in judged.items() if outcome == "not reproduced"} == NOT_SO, result
    assert judged["more-contexts-1.0"] == judged["more-contexts-1.35"] == "reproduced"


def test_shares_of_strength_add_up_and_have_the_mean_that_is_counted(result):
    for contexts in (3, 5):
        shares = strength_at_end(result, contexts, 1.35)
        np.testing.assert_allclose(shares.sum("size"), 1.0, atol=1e-5)
        counts = np.arange(contexts + 1)
        np.testing.assert_allclose(number(result, contexts, 1.35), shares.transpose("run", "size").values @ counts)


def test_too_few_steps_are_not_judged_and_missing_worlds_do_not_apply(result):
    short = replace(result, data=result.data.isel(time=slice(0, 10)))
    verdicts = {claim.id: claim.judge(short, "full") for claim in result.experiment.claims}
    assert verdicts["lead-4"].outcome == "not applicable" and verdicts["lead-4"].note == "needs the world C = 4"
    assert verdicts["lead-3"].note.startswith("a tenth of the loss is not reached with C = 3; needs --steps ")
    assert verdicts["constant-gates"].outcome == "undecided"
    assert {verdict.outcome for verdict in verdicts.values()} == {"not applicable", "undecided"}
    short.figure()


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(result.figure().axes) == 4
