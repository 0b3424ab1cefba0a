"""The map from the sources to what answers them names what there is, all of it, and leaves nothing without a word."""

import re
import sys
from functools import reduce
from pathlib import Path

import pytest

import festina as fs
from festina.lab.registry import all_experiments

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))
import tables

ITEMS = [(source["name"], item) for source in tables.sources() for item in source["items"]]
KINDS = {"figure", "equation", "table", "claim", "question", "idea"}


@pytest.mark.parametrize(("source", "item"), ITEMS, ids=lambda it: it["item"][:40] if isinstance(it, dict) else "")
def test_an_item_is_answered_or_says_what_is_missing(source, item):
    assert item["kind"] in KINDS
    assert item.get("by") or item.get("missing")
    assert set(item) <= {"item", "kind", "by", "missing"}


def test_every_experiment_answers_something_and_only_experiments_do():
    named = {name for _, item in ITEMS for name in item.get("by", ()) if not name.startswith("`")}
    assert named == {experiment.name for experiment in all_experiments()}


def test_other_parts_that_are_named_are_there():
    named = {name.strip("`") for _, item in ITEMS for name in item.get("by", ()) if name.startswith("`")}
    for name in named:
        assert re.fullmatch(r"fs(\.\w+)+", name)
        reduce(getattr, name.split(".")[1:], fs)
