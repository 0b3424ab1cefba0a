"""Claims: whose they are, what follows from their numbers, and that a bug in one is never a verdict."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina import claims
from festina.claims import Claim, NotApplicable, Undecided
from festina.cli import main
from festina.lab import registry
from festina.sources import JARVIS_2025, LECTURE, VAN_MEEGEN_2024
from festina.verdicts import KINDS, MARKS, Verdict, counts, headline, summary
from toy import Toy

ONE = claims.near(1.0, 0.1)


def judged(measure: Any, expect: Any = ONE, **terms: Any) -> Verdict:
    result: Any = SimpleNamespace(experiment=None, failures=[])
    return Claim("c", "theory", "ours", "s", lambda *_: measure(), expect, **terms).judge(result, "quick")


def fail(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize(
    ("measure", "outcome", "note"),
    [
        (lambda: 1.05, "reproduced", ""),
        (lambda: [0.9, 1.1], "reproduced", ""),
        (lambda: 2.0, "reproduced qualitatively", "only < 5"),
        (lambda: 9.0, "not reproduced", ""),
        (lambda: np.nan, "not reproduced", "1 of 1 values are not finite"),
        (lambda: fail(NotApplicable("needs λ = 0")), "not applicable", "needs λ = 0"),
        (lambda: fail(Undecided("needs --until 400")), "undecided", "needs --until 400"),
        (lambda: fail(LookupError("needs depths")), "broken", "LookupError: needs depths, at test_claims.py:"),
        (lambda: {}["wieght"], "broken", "KeyError: 'wieght', at test_claims.py:"),
        (lambda: np.empty(0), "broken", "ValueError: there is nothing to measure"),
        (lambda: "many", "broken", "ValueError: could not convert string"),
        (lambda: 1 / 0, "broken", "ZeroDivisionError"),
    ],
)
def test_what_follows(measure, outcome, note):
    verdict = judged(measure, loosely=claims.below(5.0))
    assert verdict.outcome == outcome
    assert verdict.note.startswith(note) and bool(verdict.note) == bool(note)
    json.dumps(verdict.as_dict())


def test_a_costly_claim_waits_for_its_budget():
    assert judged(lambda: 1.0, expect=claims.below(2.0)).outcome == "reproduced"
    claim = Claim("c", "theory", "ours", "s", lambda *_: fail(ValueError()), claims.below(1.0), budget="full")
    nothing: Any = SimpleNamespace(experiment=None, failures=[])
    assert claim.judge(nothing, "quick").outcome == "needs the full budget"


def test_the_reason_stands_beside_what_was_not_reproduced_only():
    terms = {"reason": "the source's scope, see the docs"}
    assert judged(lambda: 9.0, **terms).remark == terms["reason"]
    assert judged(lambda: 1.0, **terms).remark == ""


class Claimed(Toy):
    """One claim of each kind, one for each of two values, and a check from elsewhere."""

    name = "toy/claimed"
    checks = (Claim("shared", "check", "chains", "It is sound.", lambda *_: 1.0, claims.below(2.0)),)

    @claims.code(LECTURE.at("the repository"), claims.below(1.0), each={"unit": (0, 1), "kind": ("a b",)})
    def own(self, result, unit, kind):
        """Unit {unit} of
        the {kind} kind is small.
        """
        return result["rest"].isel(unit=unit)


def test_methods_become_claims_in_their_order():
    assert [claim.id for claim in Claimed.claims] == ["exact", "slow", "false", "own-0-a-b", "own-1-a-b", "shared"]
    own = Claimed.claims[4]
    assert (own.kind, own.source) == ("code", "Saxe, lecture, the repository")
    assert own.statement == "Unit 1 of the a b kind is small."
    result = fs.run(Claimed(), budget="quick", seeds=2)
    measured = Claimed().own(result, unit=1, kind="a b")  # a claim is still a method
    np.testing.assert_array_equal(measured, result["rest"].isel(unit=1))
    assert {verdict.claim: verdict.outcome for verdict in result.verdicts}["own-1-a-b"] == "reproduced"


def test_what_a_claim_must_name():
    with pytest.raises(TypeError, match=r"kind `paper` names its place, as in SOURCE.at\('Fig. 2a'\)"):
        claims.paper(LECTURE.at(""), claims.below(1.0))
    with pytest.raises(TypeError, match="kind `misprint` names its place"):
        claims.misprint(LECTURE, claims.below(1.0))  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="which independent computation"):
        claims.reference("", claims.below(1.0))
    with pytest.raises(TypeError, match=r"a claim is a method under `claims\.paper`"):
        type("Old", (Toy,), {"claims": ()})


class Misspelt(Toy):
    """A claim that asks for a variable that is not there."""

    name = "toy/misspelt"

    @claims.theory(claims.below(1.0))
    def misspelt(self, result):
        """Weights are small."""
        return result["wieght"]


def test_a_broken_claim_is_never_stored_and_never_silent(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(registry, "find", lambda name: Misspelt())
    monkeypatch.setattr(registry, "names", lambda: ["toy/misspelt"])
    words = ["run", "toy/misspelt", "--budget", "quick", "--no-figure", "--out", str(tmp_path)]
    for _ in range(2):
        assert main(words) == 1
        said = capsys.readouterr().out
        assert "Broken: misspelt." in said and "KeyError" in said and "wieght" in said
    (card,) = tmp_path.rglob("result.json")
    assert "misspelt" not in [entry["claim"] for entry in json.loads(card.read_text())["verdicts"]]
    assert fs.run(Misspelt(), budget="quick", store=tmp_path).from_store
    assert main(["reproduce", "toy/misspelt", "--budget", "quick", "--out", str(tmp_path)]) == 1
    assert "claim `misspelt` is broken: KeyError" in capsys.readouterr().err


def verdict(kind: Any, outcome: Any) -> Verdict:
    return Verdict("c", kind, "", "s", "< 1", "each", 1.0, 0.0, [1.0, 1.0], outcome)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ({}, "No claims are made."),
        ({("paper", "reproduced"): 1}, "1 of 1 claim of papers reproduced."),
        (
            {("theory", "reproduced"): 2, ("paper", "reproduced qualitatively"): 1, ("paper", "reproduced"): 2},
            "2 of 3 claims of papers reproduced, 1 qualitatively. 2 of 2 comparisons with theory reproduced.",
        ),
        (
            {("check", "reproduced"): 9, ("check", "not reproduced"): 3, ("misprint", "not reproduced"): 1},
            "0 of 1 misprint confirmed, 1 not confirmed. 9 of 12 checks passed, 3 not passed.",
        ),
        ({("code", "undecided"): 2}, "0 of 2 numbers of authors' code reproduced, 2 undecided."),
        ({("check", "needs the full budget"): 2}, "0 of 2 checks passed, 2 need the full budget."),
        ({("paper", "broken"): 1}, "0 of 1 claim of papers reproduced, 1 broken. Broken: c."),
    ],
)
def test_counts_are_by_kind(found, sentence):
    verdicts = [verdict(*which) for which, count in found.items() for _ in range(count)]
    assert summary(verdicts) == sentence
    for kind, outcomes in counts(verdicts).items():
        assert outcomes == {outcome: found[kind, outcome] for outcome in MARKS if (kind, outcome) in found}


def test_the_headline_is_the_papers_unless_there_is_none():
    paper, theory = verdict("paper", "reproduced"), verdict("theory", "undecided")
    assert headline([theory, paper]) == summary([paper])
    assert headline([theory]) == summary([theory])
    assert headline([]) == "No claims are made."


def test_a_verdict_says_what_is_expected():
    one = verdict("theory", "reproduced")
    assert one.expectation == "< 1"
    mean = replace(one, expected="0.8", tolerance="± 0.1")
    assert mean.expectation == "0.8 ± 0.1"
    assert str(mean) == "reproduced: c [theory]: 1, expected 0.8 ± 0.1"


def test_a_place_that_was_read_in_a_summary_says_so():
    """The text of some works was not at hand, but for their abstracts."""
    assert str(JARVIS_2025.at("proposition 4.2")) == "Jarvis et al. 2025, proposition 4.2 (in a summary)"
    assert (
        str(VAN_MEEGEN_2024.at("abstract: analog coding")) == "van Meegen & Sompolinsky 2024, abstract: analog coding"
    )
    assert str(LECTURE.at("XoR dynamics")) == "Saxe, lecture, XoR dynamics"


@pytest.mark.parametrize("name", registry.names())
def test_every_claim_says_whose_it_is(name):
    experiment = registry.find(name)
    assert experiment.claims
    assert len({claim.id for claim in experiment.claims}) == len(experiment.claims)
    for claim in experiment.claims:
        assert claim.kind in KINDS and claim.source


NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
PRINTED = {  # by the paper, and where
    "abstraction/mechanism adapted": "fig. 4E: reaching L_task < 10⁻² for all τ_c",
    "linear/mice systematic": "fig. 1I: r = .69, of 30 mice",
    "linear/mice flip": "fig. 1G: r = −.53, of 30 mice",
}


@pytest.mark.parametrize("name", registry.names())
def test_a_number_that_no_paper_prints_is_said_to_be_ours(name):
    """A paper's claim expects a sign, an order, all or none, or a number that is the paper's, or says `our`."""
    for claim in registry.find(name).claims:
        plain = {float(number) for number in NUMBER.findall(str(claim.expect))} <= {0.0, 1.0}
        if claim.kind == "paper" and not plain and f"{name} {claim.id}" not in PRINTED:
            assert re.search(r"\b(our|ours)\b", claim.statement), (claim.id, str(claim.expect), claim.statement)


@pytest.mark.parametrize(
    ("name", "many"),
    [
        ("paths", "3 paths"),
        ("class", "3 classes"),
        ("depth", "3 depths"),
        ("bias", "3 biases"),
        ("init_scale", "3 init scales"),
    ],
)
def test_a_number_of_things_reads_well(name, many):
    nobody: Any = None
    assert claims._counted(xr.DataArray(np.zeros(3), dims=name), 3, nobody) == many
