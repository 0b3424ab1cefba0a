"""What work will take, in time and in memory: said before it has taken it.

Nobody knows beforehand how long a run takes. Once a part of it is done the rest can be projected, and who has to wait
for more than an hour is told so, after seconds or, of long parts, half a minute. Who wants to know of more than a
minute, too, as a person at a terminal does, asks for it by `foretold`.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import Any, Protocol, runtime_checkable

import numpy as np

from festina.compiling import last_compiled
from festina.errors import FestinaError, FestinaWarning
from festina.wording import duration, size

HOUR = 3600.0
MINUTE = 60.0
TRUST = 5.0  # seconds of work that tell its pace; in less, a flow may just be leaving its start
STALL = 30.0  # seconds for which a library that loads, or a machine that is busy, may stop work
PATIENCE = 600.0  # seconds for one part, whether it is computed or still being compiled
LOOK = 1.0  # seconds between two looks at a part that does not end
SHORTEST_STEP = 1e-8  # seconds: no processor takes a step of any dynamics in less
REMEDY = "Ctrl-C ends it, and a store keeps what is done"
FORCED = 2  # steps that a recording takes, however short the time to it

Foretell = Callable[[str, float], None]
_foretell: ContextVar[Foretell | None] = ContextVar("foretell", default=None)
_afterwards: ContextVar[float] = ContextVar("afterwards", default=0.0)


@runtime_checkable
class Place(Protocol):
    """How far work has come."""

    def left(self, before: Any) -> float:
        """What is left, in units of what was done since an earlier place."""
        ...


@dataclass(frozen=True)
class Counted:
    """So many of a number of equal parts are done."""

    done: int
    total: int

    def left(self, before: "Counted") -> float:
        return (self.total - self.done) / max(self.done - before.done, 1)


@dataclass(frozen=True)
class Recorded:
    """Where the runs of a batch are.

    Steps are what takes time. Every recording ahead takes one or two, since steps end on recordings; steps beyond these
    go with the time that is covered, as those of a fixed length and those that stiffness keeps short do.

    Attributes:
        records: done, of ``total``.
        total: all recordings.
        steps: taken by each run.
        times: each has reached.
        ends: each is to reach; where it is, if it was given up.
    """

    records: int
    total: int
    steps: np.ndarray
    times: np.ndarray
    ends: np.ndarray

    def left(self, before: "Recorded") -> float:
        records, taken, covered = self.records - before.records, self.steps - before.steps, self.times - before.times
        forced = np.minimum(taken, FORCED * records)
        by_time = np.divide(taken - forced, covered, out=np.zeros(len(taken)), where=covered > 0)
        ahead = forced * (self.total - self.records) / max(records, 1) + by_time * (self.ends - self.times)
        ahead = np.where(self.ends > self.times, ahead, 0.0)
        return float(ahead.sum() / max(taken.sum(), 1))


@contextmanager
def foretold(tell: Foretell) -> Iterator[None]:
    """Within, hear of all work that will take more than a minute, once its pace is known.

    Args:
        tell: called once for each piece of work, with what it is and the seconds that are left; of what takes hours
            there is a warning instead.

    Example:
        >>> with foretold(lambda label, seconds: print(f"{label}: {seconds:.0f} s")):
        ...     pass
    """
    before = _foretell.set(tell)
    try:
        yield
    finally:
        _foretell.reset(before)


@contextmanager
def followed_by(share: float) -> Iterator[None]:
    """Within, work is followed by more of its kind: so many times as much."""
    before = _afterwards.set(share)
    try:
        yield
    finally:
        _afterwards.reset(before)


class Clock:
    """How long recordings take once everything is compiled: the first chunk does not count."""

    def __init__(self) -> None:
        self.marks: list[tuple[float, int]] = []

    def tick(self, count: int) -> None:
        self.marks.append((monotonic(), count))

    def seconds_for(self, records: int, otherwise: float) -> float:
        """What so many recordings would take; a single chunk cannot tell."""
        if len(self.marks) < 2:
            return otherwise
        seen = sum(count for _, count in self.marks[1:])
        return (self.marks[-1][0] - self.marks[0][0]) / seen * records


class Outlook:
    """Foresees when work that is done part by part will end, and warns once if that is more than an hour away.

    Args:
        label: what is at work.
        place: where it begins.
        parts: of about the same length.
        silent: say nothing, since somebody else does.
    """

    def __init__(self, label: str, place: Place, parts: float, *, silent: bool = False) -> None:
        self._label, self._said = label, silent
        self._began = self._looked = self._ticked = monotonic()
        self._place, self._parts = place, parts
        self._foretell, self._afterwards = None if silent else _foretell.get(), _afterwards.get()
        self._long = False  # whether the last look found more than an hour ahead

    @contextmanager
    def watched(self) -> Iterator["Outlook"]:
        """Within, a thread of its own looks whether the part at hand ends."""
        over = Event()
        if not self._said:
            Thread(target=self._watch, args=(over,), name="outlook", daemon=True).start()
        try:
            yield self
        finally:
            over.set()

    def _watch(self, over: Event) -> None:
        while not self._said and not over.wait(LOOK):
            self.look()

    def tick(self, place: Callable[[], Place], parts: float) -> None:
        """A part is done, and so many are left; ``place`` is only asked for when it is time for a look."""
        self._ticked, self._parts = monotonic(), parts
        worked = self._ticked - self._since(self._looked)
        if worked >= TRUST and not self._said:
            here = place()
            left = worked * here.left(self._place)
            if self._long or worked > STALL:  # a single look might have met a pause
                self._expect(left)
            if left <= HOUR:
                self._tell_of_minutes(left)
            self._looked, self._place, self._long = self._ticked, here, left > HOUR

    def look(self) -> None:
        """Say it if the part at hand has taken so long that all that are left would take more than an hour, or may."""
        now = monotonic()
        worked = now - self._since(self._ticked)
        if worked > STALL and (self._ticked > self._began or last_compiled() > self._began):
            self._expect(worked * self._parts)
        if self._parts and now - self._ticked > PATIENCE:
            self._say(f"may take hours: nothing of it was finished in the last {duration(now - self._ticked)}")

    def _since(self, moment: float) -> float:
        """The moment, or when the last program was compiled, if that was later: what comes before says nothing."""
        return max(moment, last_compiled())

    def _expect(self, seconds: float) -> None:
        if seconds > HOUR:
            self._say(f"will take about {duration(seconds)} more at this pace")

    def _tell_of_minutes(self, left: float) -> None:
        """Once, of what is left of this work and of what follows it."""
        whole = self._ticked - self._since(self._began) + left
        seconds = left + self._afterwards * whole
        if self._foretell is not None and seconds > MINUTE:
            self._foretell(self._label, seconds)
            self._foretell = None

    def _say(self, what: str) -> None:
        if not self._said:
            self._said = True
            warnings.warn(f"{self._label} {what}; {REMEDY}", FestinaWarning, stacklevel=2)


def check_steps(label: str, steps: int | None) -> None:
    """Warn before anything is compiled of so many steps that no machine takes them within the hour."""
    seconds = (steps or 0) * SHORTEST_STEP
    if seconds > HOUR:
        warnings.warn(
            f"{label} has {steps:.3g} steps, which take more than {duration(seconds)} on any machine",
            FestinaWarning,
            stacklevel=2,
        )


def check_memory(what: str, needed: int) -> None:
    """Refuse what this machine has no room for, before it is asked for."""
    there = _memory()
    if needed > there:
        raise FestinaError(f"{what} would take {size(needed)}, but this machine has {size(there)} of memory.")


def _memory() -> float:
    """Bytes of memory; without end where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")
