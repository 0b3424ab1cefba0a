"""Run every experiment of a paper, a family, or all of them; one that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from festina.errors import Interrupted, UnknownName, one_line
from festina.experiment import Budget, Experiment, Result
from festina.lab import registry
from festina.verdicts import Verdict


@dataclass(frozen=True)
class Entry:
    """One experiment in a report: what differs from its defaults, and its result, or why there is none."""

    name: str
    experiment: Experiment | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Of its configuration, and ``seeds``; all others are the budget's."""
    result: Result | None = None
    error: str = ""
    figure_error: str = ""
    seconds: float = 0.0

    @property
    def problem(self) -> str:
        """What went wrong, in one line; empty if nothing did."""
        return self.error or self.figure_error or "; ".join(self.broken)

    @property
    def broken(self) -> list[str]:
        """Claims that ended in an error of their own, which is a bug and no verdict."""
        return [f"claim `{it.claim}` is broken: {it.note}" for it in self.verdicts if it.outcome == "broken"]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What became of the claims; none, if there is no result."""
        return self.result.verdicts if self.result is not None else ()


def load_all() -> list[Entry]:
    """Every experiment by name; one that cannot be loaded stands there with its error."""
    return [load(name) for name in registry.names()]


def load(name: str, fields: Mapping[str, Any] | None = None) -> Entry:
    """One experiment to run with these fields; one that cannot be loaded stands there with its error."""
    try:
        return Entry(name, registry.find(name), fields or {})
    except Exception as error:  # a broken module must not hide the sound ones
        return Entry(name, error=one_line(error))


def select(*wanted: str) -> list[Entry]:
    """The experiments that belong to a source's key, to a family, or bear a name; all, if nothing is asked for."""
    entries = load_all()
    known = {word for entry in entries for word in _belongs_to(entry)}
    for word in wanted:
        if word not in known:
            raise UnknownName("paper, family or experiment", word, known)
    return [entry for entry in entries if not wanted or _belongs_to(entry) & set(wanted)]


def _belongs_to(entry: Entry) -> set[str]:
    sources = entry.experiment.sources if entry.experiment else ()
    return {entry.name, entry.name.split("/")[0], *(source.key for source in sources)}


def reproduce(
    entries: Sequence[Entry],
    *,
    store: str | Path,
    budget: Budget = "full",
    seeds: int | None = None,
    fresh: bool = False,
    begin: Callable[[Entry], None] = lambda entry: None,
    tell: Callable[[Entry], None] = lambda entry: None,
) -> list[Entry]:
    """Run the chosen experiments and draw their figures.

    Args:
        entries: what `select` gave.
        store: a folder of results; what it holds already is not computed again.
        budget: `full` for the sources' settings, `quick` for a look.
        seeds: how many independent runs of each.
        fresh: compute even what the store holds.
        begin: called with each entry before its work.
        tell: called with each entry as soon as it is done.
    """
    from festina.lab.store import check_writable  # here, because only work needs JAX

    check_writable(Path(store))
    done = []
    for entry in entries:
        begin(entry)
        done.append(_attempt(entry, store=store, budget=budget, seeds=seeds, fresh=fresh))
        tell(done[-1])
    return done


def _attempt(entry: Entry, **options: Any) -> Entry:
    from festina.lab.pictures import ensure_figure
    from festina.lab.run import run

    if entry.experiment is None:
        return entry
    began = monotonic()
    try:
        result = run(entry.experiment, **(options | dict(entry.fields)))
    except Interrupted:
        raise
    except Exception as error:  # whatever it is, the others go on and the report says it
        return replace(entry, result=getattr(error, "result", None), error=one_line(error))
    figure_error = ""
    try:
        ensure_figure(result)
    except Exception as error:
        figure_error = f"the figure could not be drawn: {one_line(error)}"
    return replace(entry, result=result, figure_error=figure_error, seconds=monotonic() - began)
