"""abstraction/similarity: its claims, and what they cannot check."""

import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.abstraction.similarity import Similarity, published_specialisation, separation, specialisation
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


class Aligned(dict):
    """A result with the same alignments at all times, one row for each teacher."""

    def __init__(self, alignment):
        values = np.broadcast_to(np.asarray(alignment, float), (1, 1, 1, 800, 2, 2))
        dims = ("run", "similarity", "arm", "time", "teacher", "student")
        self["sorted_alignment"] = xr.DataArray(values, dims=dims)


@pytest.mark.parametrize(
    ("alignment", "ours"), [([[1, 0.3], [0.3, 1]], 0.7), ([[1, 1], [0.3, 0.3]], 0.0), ([[0.6, 0.6], [0.6, 0.6]], 0.0)]
)
def test_only_one_to_one_specialisation_tells_two_students_from_one(alignment, ours):
    """A student at each teacher, both at the first, both between them."""
    np.testing.assert_allclose(separation(Aligned(alignment)), ours, atol=1e-12)
    np.testing.assert_allclose(published_specialisation(Aligned(alignment)), abs(alignment[0][0] - alignment[1][0]))


def test_a_tenth_of_the_bound_loses_what_is_half_similar():
    """The bound of the published notebook instead of the table's."""
    weak = fs.run("abstraction/similarity", budget="quick", normalization=0.05, similarity=(0.0, 0.5))
    found = specialisation(weak)[:, :, 0].mean(axis=0)
    assert found[0] > 0.75 and found[1] < 0.3
    assert {v.claim for v in weak.verdicts if v.outcome == "not reproduced"} == {"graceful", "graceful-half"}


def test_similarities_must_rise():
    with pytest.raises(ArgumentError, match="`similarity` must rise"):
        Similarity().configure(similarity=(0.5, 0.25))


def test_the_figure_has_four_panels_and_a_colour_bar(result, recwarn):
    figure = result.figure()
    figure.canvas.draw()
    assert len(figure.axes) == 5
    assert not recwarn.list
