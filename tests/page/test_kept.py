"""Answers of theory that are kept, arm by arm: what is asked again is not computed again, and nothing else is taken."""

import json

import numpy as np
import pytest

import festina as fs
from festina.lab.batch import Run
from festina.lab.registry import find
from festina.models import Chain, Margin
from festina.page import theory
from festina.page.kept import Latest
from festina.page.theory import theory_of


@pytest.fixture
def kept(monkeypatch):
    own = Latest()
    monkeypatch.setattr(theory, "KEPT", own)
    return own


@pytest.fixture
def solved(monkeypatch):
    """The models of chains that theory is computed for."""
    found = []
    plain = Chain.solution

    def solution(model, start):
        found.append(model)
        return plain(model, start)

    monkeypatch.setattr(Chain, "solution", solution)
    return found


def asked(name, seed=0, **fields):
    """The answer of the page, as it is sent."""
    experiment = find(name)
    return json.dumps(theory_of(experiment, Run(experiment.configure("quick", **fields), seed)))


def test_only_the_arm_that_moved_is_solved_again(kept, solved):
    before = asked("linear/chain", depth=(1.0, 2.0, 3.0))
    assert [model.depth for model in solved] == [1.0, 2.0, 3.0]
    solved.clear()
    after = asked("linear/chain", depth=(1.0, 2.5, 3.0))
    assert [model.depth for model in solved] == [2.5]
    assert after != before
    solved.clear()
    assert asked("linear/chain", depth=(1.0, 2.0, 3.0)) == before
    assert solved == []


@pytest.mark.parametrize("fields", [{"initial": 2e-3}, {"until": 9.0}, {"records": 33}])
def test_another_setting_or_other_times_are_another_answer(kept, monkeypatch, fields):
    asked("linear/chain")
    found = asked("linear/chain", **fields)
    monkeypatch.setattr(theory, "KEPT", Latest())
    assert found == asked("linear/chain", **fields)


def test_what_is_solved_together_is_solved_together_again(kept, monkeypatch):
    """An adaptive integration of all arms at once has other errors with other arms in it."""
    asked_for = []
    plain = Margin.solutions.__func__

    def solutions(cls, models, starts, times):
        asked_for.append([model.separation for model in models])
        return plain(cls, models, starts, times)

    monkeypatch.setattr(Margin, "solutions", classmethod(solutions))
    for values in ((0.2, 0.8), (0.2, 0.9), (0.2, 0.8)):
        asked("race/margin", separation=values, scale=(0.01,))
    assert asked_for == [[0.2, 0.8], [0.2, 0.9]]


def test_another_start_is_another_answer(kept, monkeypatch):
    first, second = (asked("model/two-layer", seed) for seed in (0, 1))
    assert first != second
    monkeypatch.setattr(theory, "KEPT", Latest())
    assert second == asked("model/two-layer", 1)


def test_where_theory_says_nothing_that_is_kept_too(kept):
    fields = {"nonlinearity": "rectified", "layers": 2}
    model = find("model/deep-bayesian")
    run = Run(model.configure("quick", **fields), 0)
    assert theory_of(model, run) is None
    assert list(kept.values()) == [None]
    assert theory_of(model, run) is None


def test_so_many_bytes_are_kept_and_no_more():
    few = Latest(most_bytes=1000)
    for name in "abc":
        few[name] = {"loss": np.zeros(50)}
    assert few["b"] is not None  # asked for, and so the latest
    few["d"] = {"loss": np.zeros(50)}
    assert list(few) == ["b", "d"]
    few["b"] = None
    few["e"] = {"loss": np.zeros(75)}
    assert list(few) == ["d", "b", "e"]
    with pytest.raises(KeyError):
        few["a"]
    few["too large"] = {"loss": np.zeros(1000)}
    assert list(few) == []


def test_outside_of_the_page_nothing_is_kept(solved):
    experiment = find("linear/chain")
    for _ in range(2):
        experiment.predicted(experiment.configure("quick"), 0, np.linspace(0.0, 1.0, 4))
    assert len(solved) == 2 * len(experiment.arms_at(experiment.configure("quick")))
    assert fs.models.Chain().theory()(0.0)["product"].shape == ()
