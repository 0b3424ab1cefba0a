"""What a run said of a claim, and how many claims came out how, by whose statements they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from festina.notebook import Told
from festina.relations import spelled

Kind = Literal["paper", "code", "theory", "reference", "misprint", "check"]
Outcome = Literal[
    "reproduced",
    "reproduced qualitatively",
    "not reproduced",
    "undecided",
    "not applicable",
    "needs the full budget",
    "broken",
]

MARKS: dict[Outcome, str] = {
    "reproduced": "✓",
    "reproduced qualitatively": "≈",
    "not reproduced": "✗",
    "undecided": "?",
    "not applicable": "–",
    "needs the full budget": "…",
    "broken": "!",
}

KINDS: dict[Kind, str] = {
    "paper": "a source says it, at the place named",
    "code": "the authors' published code gives it",
    "theory": "simulation against a closed form or a reduction",
    "reference": "an independent computation gives it",
    "misprint": "a source as printed does not hold",
    "check": "health of the computation",
}

_COUNTED: dict[Kind, tuple[str, str]] = {
    "paper": ("claim of papers", "claims of papers"),
    "code": ("number of authors' code", "numbers of authors' code"),
    "theory": ("comparison with theory", "comparisons with theory"),
    "reference": ("comparison with another computation", "comparisons with other computations"),
    "misprint": ("misprint", "misprints"),
    "check": ("check", "checks"),
}
_WORDS: dict[Kind, dict[str, str]] = {
    "misprint": {"reproduced": "confirmed", "not reproduced": "not confirmed"},
    "check": {"reproduced": "passed", "not reproduced": "not passed"},
}


@dataclass(frozen=True)
class Verdict(Told):
    """What a run said of a claim.

    Attributes:
        claim: the claim's id.
        kind: whose statement it is.
        source: where it is said, or which computation gives it.
        statement: what is said.
        expected: of the measured number, and ``tolerance``: give or take what, or of how many of the values.
        measured: mean over the values, with their standard deviation ``spread`` and the ``worst`` two of them.
        outcome: what follows.
        note: why there is no number, or what is the matter with it.
        reason: why it may not have been reproduced: the source, its scope or the budget.
        over: what the values are of, as in `3 depths`.
    """

    claim: str
    kind: Kind
    source: str
    statement: str
    expected: str
    tolerance: str
    measured: float | None
    spread: float | None
    worst: list[float] | None
    outcome: Outcome
    note: str = ""
    reason: str = ""
    over: str = ""

    @property
    def expectation(self) -> str:
        """What is expected: `0.8165 ± 0.02` of the mean over all values, `< 1e-08` of each of them."""
        return spelled(self.expected, self.tolerance)

    @property
    def measurement(self) -> str:
        """Mean ± standard deviation, and over what: runs differ by chance, the depths of networks do not."""
        if self.measured is None:
            return "—"
        spread = f" ± {self.spread:.2g} over {self.over}" if self.spread else ""
        return f"{self.measured:.4g}{spread}"

    @property
    def holds(self) -> bool:
        return self.outcome.startswith("reproduced")

    @property
    def tried(self) -> bool:
        """Whether it was put to the test."""
        return self.holds or self.outcome == "not reproduced"

    @property
    def word(self) -> str:
        """The outcome in the words of its kind: checks are passed, misprints confirmed, the others reproduced."""
        return in_words(self.outcome, self.kind)

    @property
    def remark(self) -> str:
        """What is to be said beside the outcome: the note, and the reason of what was not reproduced."""
        return "; ".join(filter(None, [self.note, self.reason if self.outcome == "not reproduced" else ""]))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        remark = f" ({self.remark})" if self.remark else ""
        return f"{self.word}: {self.claim} [{self.kind}]: {self.measurement}, expected {self.expectation}{remark}"


def in_words(outcome: Outcome, kind: Kind) -> str:
    """An outcome in the words of a kind."""
    return _WORDS.get(kind, {}).get(outcome, outcome)


def counts(verdicts: Iterable[Verdict]) -> dict[Kind, dict[Outcome, int]]:
    """How many claims of each kind came out how; kinds and outcomes that do not occur are left out."""
    found = Counter((verdict.kind, verdict.outcome) for verdict in verdicts)
    return {
        kind: {outcome: found[kind, outcome] for outcome in MARKS if found[kind, outcome]}
        for kind in KINDS
        if any(known == kind for known, _ in found)
    }


def headline(verdicts: Sequence[Verdict]) -> str:
    """What became of the papers' claims, which is what a reader asks first; of all, if none is a paper's."""
    return summary([verdict for verdict in verdicts if verdict.kind == "paper"] or verdicts)


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many came out how, a clause for each kind; papers' claims come first, checks of the computation last.

    Example:
        >>> summary([])
        'No claims are made.'
    """
    if not verdicts:
        return "No claims are made."
    clauses = [_clause(kind, found) for kind, found in counts(verdicts).items()]
    broken = [verdict.claim for verdict in verdicts if verdict.outcome == "broken"]
    return " ".join([f"{clause}." for clause in clauses] + ([f"Broken: {', '.join(broken)}."] if broken else []))


def _clause(kind: Kind, found: dict[Outcome, int]) -> str:
    """`5 of 7 claims of papers reproduced, 1 qualitatively, 1 undecided`."""
    total = sum(found.values())
    noun = _COUNTED[kind][total != 1]
    others = [_counted(count, in_words(outcome, kind)) for outcome, count in found.items() if outcome != "reproduced"]
    held = f"{found.get('reproduced', 0)} of {total} {noun} {in_words('reproduced', kind)}"
    return ", ".join([held, *others])


def _counted(count: int, word: str) -> str:
    """`1 qualitatively`, `1 needs the full budget`, `2 need the full budget`."""
    word = word.removeprefix("reproduced ")
    return f"{count} {word if count == 1 else word.replace('needs', 'need', 1)}"
