"""What a source says, as data: a quantity, what is expected of it, and the verdict after a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from festina._lazy import np
from festina.sources import Citation, Source

if TYPE_CHECKING:
    from festina.experiment import Result

Outcome = Literal["reproduced", "reproduced qualitatively", "not reproduced", "not attempted"]


@dataclass(frozen=True)
class Relation:
    """What is expected of a quantity; bounds hold for every run, target values for the mean over runs."""

    says: str
    tolerance: str
    holds: Callable[[Any], bool]

    def __str__(self) -> str:
        return self.says


def below(bound: float) -> Relation:
    """Every run stays below a bound."""
    return Relation(f"< {bound:g}", "every run", lambda values: bool(np.all(values < bound)))


def above(bound: float) -> Relation:
    """Every run stays above a bound."""
    return Relation(f"> {bound:g}", "every run", lambda values: bool(np.all(values > bound)))


def between(low: float, high: float) -> Relation:
    """The mean over runs lies between two bounds."""
    return Relation(f"{low:g} … {high:g}", "mean of runs", lambda values: bool(low <= np.mean(values) <= high))


def near(value: float, tolerance: float) -> Relation:
    """The mean over runs is a value, give or take a tolerance."""
    return Relation(f"{value:g}", f"± {tolerance:g}", lambda values: bool(abs(np.mean(values) - value) <= tolerance))


@dataclass(frozen=True)
class Claim:
    """A sentence of a source in our own words, with the number that decides it, written before the run.

    Attributes:
        id: short name, unique in its experiment.
        source: where it is said.
        statement: what is said.
        quantity: the number of each run (or of all of them together) that decides.
        expect: what the source says of the number.
        loosely: a weaker expectation; if only this one holds, the claim is reproduced qualitatively.
        budget: the smallest budget at which the quantity means something.
    """

    id: str
    source: Citation | Source
    statement: str
    quantity: Callable[[Result], Any]
    expect: Relation
    loosely: Relation | None = None
    budget: Literal["quick", "full"] = "quick"

    def judge(self, result: Result, budget: str) -> Verdict:
        """Measure the quantity and say what follows."""
        if self.budget == "full" and budget == "quick":
            return self._verdict("not attempted", note="needs the full budget")
        try:
            quantity = self.quantity(result)
            values = np.atleast_1d(np.asarray(quantity, dtype=float))
        except LookupError as error:
            return self._verdict("not attempted", note=str(error.args[0] if error.args else error))
        except (ArithmeticError, ValueError, TypeError) as error:
            return self._verdict("not attempted", note=f"{type(error).__name__}: {error}")
        if values.size == 0:
            return self._verdict("not attempted", note="nothing to measure in this configuration")
        return replace(self._decided(values, result), over=_counted(quantity, values.size, result))

    def _decided(self, values: Any, result: Result) -> Verdict:
        """What follows from the values of the quantity."""
        if not np.all(np.isfinite(values)):
            lost = int(np.sum(~np.isfinite(values)))
            return self._verdict("not reproduced", values, f"{lost} of {values.size} values are not finite")
        if result_failures(result):
            return self._verdict("not reproduced", values, "some runs failed")
        if self.expect.holds(values):
            return self._verdict("reproduced", values)
        if self.loosely is not None and self.loosely.holds(values):
            return self._verdict(
                "reproduced qualitatively", values, f"only {self.loosely.says} ({self.loosely.tolerance})"
            )
        return self._verdict("not reproduced", values)

    def _verdict(self, outcome: Outcome, values: Any = None, note: str = "") -> Verdict:
        finite = np.empty(0) if values is None else values[np.isfinite(values)]
        known = finite.size > 0
        return Verdict(
            claim=self.id,
            source=str(self.source if isinstance(self.source, Citation) else self.source.at("")),
            statement=self.statement,
            expected=self.expect.says,
            tolerance=self.expect.tolerance,
            measured=float(np.mean(finite)) if known else None,
            spread=float(np.std(finite)) if known else None,
            worst=[float(np.min(finite)), float(np.max(finite))] if known else None,
            outcome=outcome,
            note=note,
        )


def _counted(quantity: Any, count: int, result: Result) -> str:
    """How many values of what a quantity has, as in `3 depths`; without names of its own it has values, or runs."""
    sizes = getattr(quantity, "sizes", None)
    if sizes is None:
        runs = getattr(getattr(result, "data", None), "sizes", {}).get("run", 0)
        sizes = {"run" if count == runs else "value": count}
    return " and ".join(f"{size} {_plural(str(name))}" for name, size in sizes.items() if size > 1)


def _plural(name: str) -> str:
    word = name.replace("_", " ")
    return f"{word}es" if word.endswith("s") else f"{word}s"


def result_failures(result: Any) -> list[str]:
    """Why runs failed: no claim is reproduced on the runs that happen to be left."""
    return list(getattr(result, "failures", []))


@dataclass(frozen=True)
class Verdict:
    """What a run said of a claim."""

    claim: str
    source: str
    statement: str
    expected: str
    tolerance: str
    measured: float | None
    spread: float | None
    worst: list[float] | None
    outcome: Outcome
    note: str = ""
    over: str = ""

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

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        return f"{self.outcome}: {self.claim}: {self.measurement}, expected {self.expected}{note}"
