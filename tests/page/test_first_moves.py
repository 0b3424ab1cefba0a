"""What to try first: every experiment has one move, of a field that it has, and what is shown changes with it."""

import json

import pytest

from festina.lab.batch import Run
from festina.lab.registry import find, names
from festina.page.describe import describe, gallery
from festina.page.limits import MOST_SEEDS
from festina.page.scenes import scenes
from festina.page.theory import theory_of
from festina.views import views_of
from festina.views.first import MOVES, Move
from shared import quick


def test_every_experiment_has_one():
    assert set(MOVES) == set(names())


@pytest.mark.parametrize("name", names())
def test_it_is_a_move_of_a_field_in_one_sentence(name):
    experiment, move = find(name), MOVES[name]
    before, after = experiment.configure("quick"), experiment.configure("quick", **{move.field: move.value})
    assert getattr(before, move.field) != getattr(after, move.field)
    assert move.sentence.startswith(f"Set {move.field.replace('_', ' ')} to ")
    assert move.sentence.endswith(".")
    assert len(move.sentence) <= 120
    told = describe(experiment)["try"]
    assert (told["sentence"], told["field"]) == (move.sentence, move.field)
    assert experiment.configure("quick", **{told["field"]: told["value"]}) == after


def test_values_are_written_as_they_are_read():
    assert Move("gate_timescale", 0.0008, "x.").sentence == "Set gate timescale to 0.0008: x."
    assert Move("scale", 1e-6, "x.").sentence == "Set scale to 1e-6: x."
    assert Move("digits", "0,1,4", "x.").sentence == "Set digits to 0, 1, 4: x."


def test_the_gallery_says_it():
    cards = {card["name"]: card for card in gallery([find("race/xor"), find("model/chain")], {})["experiments"]}
    assert cards["race/xor"]["try"] == MOVES["race/xor"].sentence
    assert cards["model/chain"]["try"] == ""


def shown_by_theory(name, **fields):
    experiment = find(name)
    found = theory_of(experiment, Run(experiment.configure("quick", **fields), 0))
    return None if found is None or not any(found["scenes"]) else json.dumps(found["scenes"])


def shown_by_simulation(name, **fields):
    few = {"seeds": MOST_SEEDS} if find(name).seeds_at("quick") > MOST_SEEDS else {}
    result = quick(name, **few, **fields)
    return json.dumps(scenes(views_of(find(name)), result.data, result.config))


CHEAP = ["linear/chain", "linear/alignment", "linear/transition", "race/xor", "race/context", "coding/analog"]


@pytest.mark.mostly_full
@pytest.mark.parametrize("name", CHEAP)
def test_theory_that_is_shown_changes(name):
    move = MOVES[name]
    before, after = shown_by_theory(name), shown_by_theory(name, **{move.field: move.value})
    assert before is not None
    assert after is not None
    assert before != after


@pytest.mark.full
@pytest.mark.parametrize("name", ["linear/saddles", "race/routing", "rectified/race", "coding/sparse"])  # one a family
def test_what_is_shown_changes(name):
    move = MOVES[name]
    assert shown_by_simulation(name) != shown_by_simulation(name, **{move.field: move.value})
