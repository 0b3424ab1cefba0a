"""Claims: methods of an experiment that measure a number, under a line that says whose number it is.

A claim's name is that of the method, its sentence the docstring, its measure the body. The decorator says whose
statement it is, where it is made, and what is expected:

    @claims.paper(LECTURE.at("depth introduces a saddle point"), claims.below(0.2))
    def plateau(self, result):
        \"\"\"A deep chain waits and then jumps: (t90 − t10)/t10 is a small share of the shallow chain's.\"\"\"
        return stage_indices(result)

`paper`: a source says it at the place named, and the number is its own. `code`: the authors' published code gives it.
`theory`: simulation against a closed form or a reduction, ours or theirs. `reference`: an independent computation gives
it. `misprint`: a source as printed does not hold. `check`: health of the computation, counted apart.

The measure gives one number, or an array of them, labelled by what they are of. It raises `NotApplicable` if the claim
says nothing about this configuration, and `Undecided` if this run is too short for it; any other exception is a bug
in the claim, and told as one.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from inspect import cleandoc
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack

from festina._lazy import np
from festina.errors import FestinaError, Interrupted, one_line
from festina.relations import Relation, above, below, between, near
from festina.sources import Citation, Source
from festina.verdicts import Kind, Outcome, Verdict

if TYPE_CHECKING:
    from festina.experiment import Result

__all__ = [
    "Claim",
    "NotApplicable",
    "Undecided",
    "above",
    "below",
    "between",
    "check",
    "code",
    "misprint",
    "near",
    "paper",
    "reference",
    "theory",
]

Measure = TypeVar("Measure", bound=Callable[..., Any])
OURS = "our own comparison"


class NotApplicable(FestinaError):
    """A claim says nothing about this configuration: what it needs, as in `needs λ = 0 among the imbalances`."""


class Undecided(FestinaError):
    """A run is too short, or too small, for a claim: what would decide it, as in `needs --until 400`."""


class Terms(TypedDict, total=False):
    """What else can be said of a claim."""

    loosely: Relation
    """A weaker expectation; if only this one holds, the claim is reproduced qualitatively."""
    budget: Literal["quick", "full"]
    """The smallest budget at which the quantity means something."""
    reason: str
    """Beside `not reproduced`: whether the source, its scope or our budget is the likely cause, and where it stands."""
    each: Mapping[str, Iterable[Any]]
    """One claim for each value, given to the measure by name, and named in braces in the sentence."""


@dataclass(frozen=True)
class Claim:
    """A statement with the number that decides it.

    Attributes:
        id: short name, unique in its experiment.
        kind: whose statement it is.
        source: where it is said, or which computation gives it.
        statement: what is said; it can be read alone.
        measure: the number, or numbers, that decide; from an experiment and its result.
        expect: what is expected of them.
        loosely: a weaker expectation, for what is reproduced qualitatively.
        budget: the smallest budget at which the quantity means something.
        reason: why it may not be reproduced.

    Example:
        >>> import festina as fs
        >>> @fs.claims.theory(fs.claims.below(1e-6))
        ... def exact(self, result):
        ...     "Simulation and theory agree."
        ...     return result.errors("product")
        >>> exact.claims[0].judge(fs.run("model/chain", records=20), budget="quick").outcome
        'reproduced'
    """

    id: str
    kind: Kind
    source: str
    statement: str
    measure: Callable[[Any, Result], Any]
    expect: Relation
    loosely: Relation | None = None
    budget: Literal["quick", "full"] = "quick"
    reason: str = ""

    def judge(self, result: Result, budget: str) -> Verdict:
        """Measure the quantity and say what follows."""
        if self.budget == "full" and budget == "quick":
            return self._verdict("needs the full budget")
        try:
            quantity = self.measure(result.experiment, result)
            values = np.atleast_1d(np.asarray(quantity, dtype=float))
            if values.size == 0:
                raise ValueError("there is nothing to measure")
            return replace(self._decided(values, result), over=_counted(quantity, values.size, result))
        except NotApplicable as error:
            return self._verdict("not applicable", note=str(error))
        except Undecided as error:
            return self._verdict("undecided", note=str(error))
        except Interrupted:
            raise
        except Exception as error:
            return self._verdict("broken", note=f"{one_line(error)}, at {_place(error)}")

    def _decided(self, values: Any, result: Result) -> Verdict:
        """What follows from the values of the quantity."""
        if result.failures:
            return self._verdict("undecided", values, f"{len(result.failures)} of the runs failed")
        if not np.all(np.isfinite(values)):
            lost = int(np.sum(~np.isfinite(values)))
            return self._verdict("not reproduced", values, f"{lost} of {values.size} values are not finite")
        if self.expect.holds(values):
            return self._verdict("reproduced", values)
        if self.loosely is not None and self.loosely.holds(values):
            return self._verdict("reproduced qualitatively", values, f"only {self.loosely}")
        return self._verdict("not reproduced", values)

    def _verdict(self, outcome: Outcome, values: Any = None, note: str = "") -> Verdict:
        finite = np.empty(0) if values is None else values[np.isfinite(values)]
        known = finite.size > 0
        return Verdict(
            claim=self.id,
            kind=self.kind,
            source=self.source,
            statement=self.statement,
            expected=self.expect.says,
            tolerance=self.expect.tolerance,
            measured=float(np.mean(finite)) if known else None,
            spread=float(np.std(finite)) if known else None,
            worst=[float(np.min(finite)), float(np.max(finite))] if known else None,
            outcome=outcome,
            note=note,
            reason=self.reason,
        )


def paper(at: Citation, expect: Relation, **terms: Unpack[Terms]) -> Callable[[Measure], Measure]:
    """A source says it, at the place named; numbers are the source's own.

    Args:
        at: the place, as ``SOURCE.at("Fig. 2a")``.
        expect: of the number or numbers that the method measures: `below`, `above`, `between` or `near`.
        **terms: what else can be said: ``loosely`` (a weaker expectation), ``budget`` (`quick` or `full`), ``reason``
            (why it may not be reproduced), ``each`` (one claim for each value of some arguments of the method).

    Returns:
        A decorator: the method measures, its docstring is the sentence.

    Example:
        >>> import festina as fs
        >>> from festina.sources import LECTURE
        >>> @fs.claims.paper(LECTURE.at("depth introduces a saddle point"), fs.claims.below(0.2))
        ... def plateau(self, result):
        ...     "A deep chain waits and then jumps."
        ...     return result["stage_index"]
        >>> [(claim.id, claim.kind, claim.source) for claim in plateau.claims]
        [('plateau', 'paper', 'Saxe, lecture, depth introduces a saddle point')]
    """
    return _making("paper", _placed(at, "paper"), expect, terms)


def code(of: Citation, expect: Relation, **terms: Unpack[Terms]) -> Callable[[Measure], Measure]:
    """The authors' published code gives it, when it is run; the place names the repository.

    Args:
        of: the code, as ``SOURCE.at("its repository")``.
        expect: of the number or numbers that the method measures: `below`, `above`, `between` or `near`.
        **terms: what else can be said: ``loosely`` (a weaker expectation), ``budget`` (`quick` or `full`), ``reason``
            (why it may not be reproduced), ``each`` (one claim for each value of some arguments of the method).

    Returns:
        A decorator: the method measures, its docstring is the sentence.

    Example:
        >>> import festina as fs
        >>> from festina.sources import Source
        >>> work = Source("someone2020", "Someone 2020", "Someone (2020). A work with code.")
        >>> @fs.claims.code(work.at("its repository"), fs.claims.near(0.5, 0.1), budget="full")
        ... def separation(self, result):
        ...     "Students differ by half late in training."
        ...     return result["separation"].isel(time=-1)
        >>> separation.claims[0].kind, separation.claims[0].budget
        ('code', 'full')
    """
    return _making("code", _placed(of, "code"), expect, terms)


def theory(
    expect: Relation, *, source: Citation | Source | None = None, **terms: Unpack[Terms]
) -> Callable[[Measure], Measure]:
    """Simulation against a closed form or a reduction; ``source`` is where that stands, if it is not ours.

    Args:
        expect: of the number or numbers that the method measures: `below`, `above`, `between` or `near`.
        source: a work, or a place in it.
        **terms: what else can be said: ``loosely`` (a weaker expectation), ``budget`` (`quick` or `full`), ``reason``
            (why it may not be reproduced), ``each`` (one claim for each value of some arguments of the method).

    Returns:
        A decorator: the method measures, its docstring is the sentence.

    Example:
        >>> import festina as fs
        >>> @fs.claims.theory(fs.claims.below(1e-6), each={"of": ("loss", "product")})
        ... def agrees(self, result, of):
        ...     "The {of} of the simulation is that of theory."
        ...     return result.errors(of)
        >>> [claim.statement for claim in agrees.claims]
        ['The loss of the simulation is that of theory.', 'The product of the simulation is that of theory.']
    """
    return _making("theory", OURS if source is None else str(source), expect, terms)


def reference(computation: str, expect: Relation, **terms: Unpack[Terms]) -> Callable[[Measure], Measure]:
    """An independent computation gives it: which.

    Args:
        computation: which one, in a few words.
        expect: of the number or numbers that the method measures: `below`, `above`, `between` or `near`.
        **terms: what else can be said: ``loosely`` (a weaker expectation), ``budget`` (`quick` or `full`), ``reason``
            (why it may not be reproduced), ``each`` (one claim for each value of some arguments of the method).

    Returns:
        A decorator: the method measures, its docstring is the sentence.

    Example:
        >>> import festina as fs
        >>> @fs.claims.reference("numerical quadrature", fs.claims.near(0.5, 1e-6))
        ... def half(self, result):
        ...     "The integral of the course is one half."
        ...     return result["integral"]
        >>> half.claims[0].source
        'numerical quadrature'
    """
    if not computation:
        raise TypeError("a reference says which independent computation it is")
    return _making("reference", computation, expect, terms)


def misprint(at: Citation, expect: Relation, **terms: Unpack[Terms]) -> Callable[[Measure], Measure]:
    """A source, as printed at the place named, does not hold.

    Args:
        at: the place, as ``SOURCE.at("eq. 7")``.
        expect: of the number or numbers that the method measures: `below`, `above`, `between` or `near`.
        **terms: what else can be said: ``loosely`` (a weaker expectation), ``budget`` (`quick` or `full`), ``reason``
            (why it may not be reproduced), ``each`` (one claim for each value of some arguments of the method).

    Returns:
        A decorator: the method measures, its docstring is the sentence.

    Example:
        >>> import festina as fs
        >>> from festina.sources import Source
        >>> work = Source("someone2020", "Someone 2020", "Someone (2020). A work with a misprint.")
        >>> @fs.claims.misprint(work.at("eq. 7"), fs.claims.above(0.1))
        ... def sign(self, result):
        ...     "The equation as printed is off by a sign."
        ...     return abs(result["printed"] - result["product"])
        >>> sign.claims[0].source
        'Someone 2020, eq. 7'
    """
    return _making("misprint", _placed(at, "misprint"), expect, terms)


def check(expect: Relation, **terms: Unpack[Terms]) -> Callable[[Measure], Measure]:
    """Health of the computation: sample sizes, agreement of chains, errors of energy.

    Args:
        expect: of the number or numbers that the method measures: `below`, `above`, `between` or `near`.
        **terms: what else can be said: ``loosely`` (a weaker expectation), ``budget`` (`quick` or `full`), ``reason``
            (why it may not be reproduced), ``each`` (one claim for each value of some arguments of the method).

    Returns:
        A decorator: the method measures, its docstring is the sentence.

    Example:
        >>> import festina as fs
        >>> @fs.claims.check(fs.claims.below(1.05))
        ... def mixed(self, result):
        ...     "All chains have come to the same law."
        ...     return result["r_hat"]
        >>> mixed.claims[0].source
        'health of the computation'
    """
    return _making("check", "health of the computation", expect, terms)


def claims_of(body: Mapping[str, Any]) -> list[Claim]:
    """The claims among the methods of a class, in the order in which they stand there."""
    return [claim for method in body.values() for claim in getattr(method, "claims", ())]


def _placed(citation: Citation, kind: str) -> str:
    if not isinstance(citation, Citation) or not citation.place:
        raise TypeError(f"a claim of kind `{kind}` names its place, as in SOURCE.at('Fig. 2a'), but is at {citation!r}")
    return str(citation)


def _making(kind: Kind, source: str, expect: Relation, terms: Terms) -> Callable[[Measure], Measure]:
    """A decorator that leaves a method as it is, and notes on it the claims that it measures."""
    each = {name: list(values) for name, values in terms.get("each", {}).items()}

    def note(method: Measure) -> Measure:
        name = method.__name__.replace("_", "-")
        sentence = " ".join(cleandoc(method.__doc__ or "").split())

        def one(chosen: dict[str, Any]) -> Claim:
            return Claim(
                id="-".join([name, *(str(value).replace(" ", "-").lower() for value in chosen.values())]),
                kind=kind,
                source=source,
                statement=sentence.format(**chosen) if chosen else sentence,
                measure=lambda experiment, result: method(experiment, result, **chosen),
                expect=expect,
                loosely=terms.get("loosely"),
                budget=terms.get("budget", "quick"),
                reason=terms.get("reason", ""),
            )

        combinations = (dict(zip(each, values, strict=True)) for values in product(*each.values()))
        method.claims = tuple(map(one, combinations))  # pyright: ignore[reportFunctionMemberAccess]
        return method

    return note


def _place(error: BaseException) -> str:
    """The line in which an exception was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _counted(quantity: Any, count: int, result: Result) -> str:
    """How many values of what a quantity has, as in `3 depths`; without names of its own it has values, or runs."""
    sizes = getattr(quantity, "sizes", None)
    if sizes is None:
        runs = getattr(getattr(result, "data", None), "sizes", {}).get("run", 0)
        sizes = {"run" if count == runs else "value": count}
    return " and ".join(f"{size} {_plural(str(name))}" for name, size in sizes.items() if size > 1)


def _plural(name: str) -> str:
    word = name.replace("_", " ")
    if word.endswith(("ss", "as", "us", "x")):
        return f"{word}es"
    return word if word.endswith("s") else f"{word}s"  # `paths` are many already
