"""abstraction/similarity: its claims, and what they cannot check."""

from dataclasses import replace

import numpy as np
import pytest

import festina as fs
from festina.experiments.abstraction.similarity import specialisation
from shared import quick

pytestmark = pytest.mark.full

KNOWN = {"orthogonal": "reproduced qualitatively", "graceful": "not reproduced"}


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/similarity")


def test_quick_claims_hold_but_for_those_known_to_hold_loosely_or_not_at_all(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert outcomes == {claim: KNOWN.get(claim, "reproduced") for claim in outcomes}, result


def test_the_loss_after_the_first_switch_is_that_of_the_other_teacher(result):
    """Both students have all but become the first teacher; L = 1 − ρ for unit rows."""
    loss = result["loss"].sel(arm="forgetful", time=1.0).transpose("run", "similarity").values
    np.testing.assert_allclose(loss, np.broadcast_to(1 - np.asarray(result.config.similarity), loss.shape), atol=0.02)


def test_one_similarity_alone_is_the_one_of_the_batch(result):
    alone = fs.run("abstraction/similarity", budget="quick", seeds=1, similarity=0.25, until=2.0, records=200)
    assert "needs 10 blocks: --until 10" in {verdict.note[-27:] for verdict in alone.verdicts}
    batch = result["loss"].sel(similarity=[0.25]).isel(run=[0], time=slice(0, 201))
    np.testing.assert_allclose(alone["loss"].values, batch.transpose(*alone["loss"].dims).values, rtol=0, atol=1e-12)
    notes = {verdict.claim: verdict.note for verdict in alone.verdicts}
    assert notes["orthogonal"] == "needs ρ = 0 among the similarities"
    assert notes["speed"] == "needs several similarities"


def test_a_tenth_of_the_bound_loses_what_is_half_similar():
    """The bound of the published notebook instead of the table's."""
    weak = fs.run("abstraction/similarity", budget="quick", normalization=0.05, similarity=(0.0, 0.5))
    found = specialisation(weak).sel(arm="flexible").mean("run")
    assert found[0] > 0.75 and found[1] < 0.3
    assert {v.claim for v in weak.verdicts if v.outcome == "not reproduced"} == {"graceful", "graceful-half"}


def test_the_order_of_similarities_does_not_matter(result):
    order = [8, 3, 0, 1, 2, 5, 4, 6, 7]
    shuffled = replace(result, data=result.data.isel(similarity=order))
    for claim, verdict in zip(result.experiment.claims, result.verdicts, strict=True):
        np.testing.assert_allclose(claim.judge(shuffled, "quick").measured, verdict.measured, rtol=1e-12)


def test_a_short_run_can_be_drawn_and_says_what_it_needs():
    short = fs.run("abstraction/similarity", seeds=1, similarity=(0.75, 0.0), until=1.5, records=150)
    assert {verdict.outcome for verdict in short.verdicts} == {"undecided"}
    assert len(short.figure().axes) == 5


def test_the_figure_has_four_panels_and_a_colour_bar(result, recwarn):
    figure = result.figure()
    figure.canvas.draw()
    assert len(figure.axes) == 5
    assert not recwarn.list
