"""The hero views of every experiment and model: something to see from the first recordings on, theory beside it."""

from importlib import import_module

import pytest
from scene_checks import sound

from festina.lab.registry import find, runnable_names
from festina.page.scenes import scenes
from festina.views import Plane, headline_of, matters_of, views_of
from festina.views.declared import FAMILIES
from shared import quick

FIRST = ["linear/chain", "race/xor"]  # which are quick
NAMES = FIRST + sorted(set(runnable_names()) - set(FIRST))
TABLES = [import_module(f"festina.views.{family}") for family in FAMILIES]
# Views of variables that theory has, but not of what the view makes of them.
WITHOUT_THEORY = {
    "coding/depth": {"The second layer has the classes sharper than the first"},
    "coding/width": {"Single networks deviate less, the wider they are"},
    "model/deep-bayesian": {"Kernels of all layers"},
}
# Views of what has to happen before it can be shown.
LATE = {
    "abstraction/few_shot": {"Samples that a switch takes"},
    "abstraction/practice": {"Every switch is easier than the one before, or harder"},
    "coding/width": {"Single networks deviate less, the wider they are"},
    "linear/depth": {"Training time over depth"},
}


def unseen(views, data, config):
    """Titles of views of which the data show nothing; the others are sound."""
    made = scenes(views, data, config)
    for scene in made:
        assert scene is None or sound(scene)
    return {view.title for view, scene in zip(views, made, strict=True) if scene is None}


def variables_of(view):
    """The recorded variables that a view is about."""
    parts = [view.x, view.y] if isinstance(view, Plane) else [view.quantity]
    return {part if isinstance(part, str) else part.variable for part in parts} - {""}


@pytest.mark.mostly_full
@pytest.mark.parametrize("name", NAMES)
def test_seen_from_the_beginning_with_theory_beside_it(name):
    views, result = views_of(find(name)), quick(name)
    assert unseen(views, result.data, result.config) == set()
    assert unseen(views, result.data.isel(time=slice(0, 3)), result.config) == LATE.get(name, set())
    if result.theory is not None:
        beyond = {view.title for view in views if not variables_of(view) <= set(result.theory)}
        assert unseen(views, result.theory, result.config) - beyond == WITHOUT_THEORY.get(name, set())


@pytest.mark.parametrize("name", NAMES)
def test_one_to_three_views_and_a_headline(name):
    experiment, views = find(name), views_of(find(name))
    fields = set(experiment.Config.model_fields)
    assert 1 <= len(views) <= 3
    assert len({view.title for view in views}) == len(views)
    assert headline_of(experiment)
    assert set(headline_of(experiment)) <= fields
    for field, rule in matters_of(experiment).items():
        assert {field, *rule} <= fields
        for other, values in rule.items():
            choices = [experiment.configure("quick", **{other: value}) for value in values]
            assert [getattr(config, other) for config in choices] == values


@pytest.mark.parametrize("table", TABLES, ids=FAMILIES)
def test_declared_of_what_there_is(table):
    """A name that nothing has would be left out without a word."""
    for name, fields in table.HEADLINES.items():
        assert set(fields) <= set(find(name).Config.model_fields), name
    for name, rules in table.MATTERS.items():
        assert set(rules) <= set(find(name).Config.model_fields), name
    assert set(table.VIEWS) <= set(runnable_names())
    assert set(table.VIEWS) == set(table.HEADLINES)
