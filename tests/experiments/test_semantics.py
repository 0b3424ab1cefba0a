"""linear/semantics: its quick claims on a tree, and the cheap ones on the other structures."""

from dataclasses import replace

import matplotlib.pyplot as plt
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.linear.semantics import Semantics
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("linear/semantics")


def test_quick_claims_hold(result):
    assert {verdict.claim: verdict.outcome for verdict in result.verdicts} == {
        claim.id: "reproduced" for claim in Semantics.claims
    }


@pytest.mark.parametrize(
    ("until", "note"), [(10.0, "the network `deep` is still learning: needs --until "), (25.0, "")]
)
def test_networks_that_still_learn_say_how_long_it_takes(result, until, note):
    """Cut off at until, levels that are not learned to a half make their claims undecided."""
    seen = result["time"].values <= until
    config = result.config.model_copy(update={"until": until})
    short = replace(result, config=config, data=result.data.isel(time=seen), theory=result.theory.isel(time=seen))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in Semantics.claims}
    assert verdicts["exact"].outcome == "reproduced"
    for claim in ("progressive", "half-time"):
        assert verdicts[claim].note.startswith(note) and bool(verdicts[claim].note) == bool(note)
        assert verdicts[claim].outcome == ("undecided" if note else "reproduced")
    if note:
        needed = float(verdicts["progressive"].note.split()[-1])
        assert needed == pytest.approx(float(result["half_time"].sel(network="deep").max()), rel=0.1)


def test_theory_gives_the_variables_of_the_simulation(result):
    assert set(result.theory.data_vars) == {"learned", "loss", "similarity", "illusion", "half_time"}
    for name in result.theory.data_vars:
        assert result.theory[name].dims == result[name].dims
    deep = result.data.sel(network="deep")
    owned = abs(result["illusion"] - result.theory["illusion"]).sel(network=["owned, deep", "owned, shallow"])
    similarity = abs(deep["similarity"] - result.theory["similarity"].sel(network="deep"))
    assert float(owned.max(skipna=False)) < 0.05
    assert float(similarity.max(skipna=False)) < 0.05 * float(deep["similarity"].max())


def test_figure_has_a_letter_for_each_panel(result):
    figure = result.figure()
    letters = {text.get_text() for axis in figure.axes for text in axis.texts}
    assert {"a", "b", "c", "d", "e"} <= letters
    plt.close(figure)


def test_a_run_too_short_for_any_level_can_be_drawn(result):
    unknown = replace(result, data=result.data.assign(half_time=result["half_time"].where(False)))
    plt.close(unknown.figure())


@pytest.mark.parametrize("fields", [{"hidden": 7}, {"features": 7}, {"flip": 0.5}, {"branching": (2, 1)}])
def test_impossible_questions_are_refused(fields):
    with pytest.raises(ArgumentError, match="Argument `"):
        fs.run("linear/semantics", budget="quick", **fields)
