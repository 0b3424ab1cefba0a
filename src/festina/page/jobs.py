"""A few jobs at a time in threads of their own, a short queue behind them, and a way out for each at any moment.

JAX cannot be stopped in the middle of a compiled chunk. A cancelled job gives up its place at once; its thread goes on
to the end of the chunk, where it notices, and nothing of it is heard again.
"""

import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, RLock, Thread, Timer
from typing import Any

from festina.errors import FestinaError, UnknownName, one_line
from festina.page import limits
from festina.page.events import Events

ENDED = frozenset(["done", "failed", "cancelled"])


class Cancelled(Exception):
    """Raised inside a job that nobody wants any more."""


class QueueFull(FestinaError):
    """More is waiting than the page allows."""


@dataclass(eq=False)
class Job:
    """Something to compute: what to do, how far it is, what became of it."""

    work: Callable[["Job"], None]
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    events: Events = field(default_factory=Events)
    state: str = "queued"
    position: int = 0
    result: Any = None
    size: int = 0  # bytes that the result holds
    streams: int = 0  # event streams that are open; only the event loop counts them
    _stop: Event = field(default_factory=Event)
    _lock: RLock = field(default_factory=RLock)

    def say(self, state: str, message: str = "") -> None:
        """Tell all listeners what the job is doing now."""
        with self._lock:
            if self.state not in ENDED:
                self.state = state
                self.events.publish("state", {"state": state, "position": self.position, "message": message})

    def check(self) -> None:
        """Leave the job if it was cancelled; called between chunks."""
        if self._stop.is_set():
            raise Cancelled

    def end(self, state: str, message: str = "", **done: Any) -> None:
        """The last word; whatever the thread still says is not heard."""
        with self._lock:
            if self.state in ENDED:
                return
            self.state = state
            self.events.publish("state", {"state": state, "position": 0, "message": message}, last=not done)
            if done:
                self.events.publish("done", done, last=True)
            self._stop.set()

    @property
    def ended(self) -> bool:
        return self.state in ENDED


class Jobs:
    """All jobs of a server: those that run, those that wait, and the latest that are finished."""

    def __init__(
        self,
        at_once: int = limits.AT_ONCE,
        queue: int = limits.QUEUE,
        winding_down: int = limits.WINDING_DOWN,
        seconds: float = limits.SECONDS,
    ) -> None:
        self.at_once, self.queue, self.winding_down, self.seconds = at_once, queue, winding_down, seconds
        self._lock = RLock()
        self._known: dict[str, Job] = {}
        self._waiting: deque[Job] = deque()
        self._running: set[Job] = set()
        self._leaving: set[Job] = set()

    def submit(self, work: Callable[[Job], None]) -> Job:
        """A job that starts now or waits its turn."""
        job = Job(work)
        with self._lock:
            if len(self._waiting) >= self.queue:
                waiting = len(self._waiting)
                raise QueueFull(
                    f"{waiting} runs are waiting, which is all there may be; cancel one, or come back soon."
                )
            self._known[job.id] = job
            self._waiting.append(job)
            job.position = len(self._waiting)
            self._start_next()
            if job.state == "queued":
                job.say("queued", self._why_waiting())
            self._forget()
        return job

    def find(self, kind: str, name: str) -> Job:
        with self._lock:
            if name not in self._known:
                raise UnknownJob(kind, name)
            return self._known[name]

    def cancel(self, job: Job, message: str = "") -> None:
        """End a job and give its place to the next at once."""
        with self._lock:
            job.end("cancelled", message)
            if job in self._waiting:
                self._waiting.remove(job)
            if job in self._running:
                self._running.remove(job)
                self._leaving.add(job)
            self._start_next()

    def cancel_all(self) -> None:
        with self._lock:
            for job in [*self._waiting, *self._running]:
                self.cancel(job, "the server stops")

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many run, wait, and are on their way out."""
        with self._lock:
            return len(self._running), len(self._waiting), len(self._leaving)

    def _start_next(self) -> None:
        moved = False
        while self._waiting and len(self._running) < self.at_once and len(self._leaving) < self.winding_down:
            job = self._waiting.popleft()
            job.position = 0
            self._running.add(job)
            job.say("compiling")
            Thread(target=self._carry_out, args=(job,), name=f"job {job.id}", daemon=True).start()
            moved = True
        if moved:
            self._renumber()

    def _why_waiting(self) -> str:
        stuck = len(self._leaving) >= self.winding_down
        return "cancelled runs must come to the end of what they are computing first" if stuck else ""

    def _renumber(self) -> None:
        for position, job in enumerate(self._waiting, start=1):
            if job.position != position:
                job.position = position
                job.say("queued")

    def _carry_out(self, job: Job) -> None:
        limit = Timer(self.seconds, self.cancel, (job, f"it took longer than {self.seconds:g} seconds"))
        limit.daemon = True
        limit.start()
        try:
            job.work(job)
        except Cancelled:
            pass
        except Exception as error:  # one job's trouble is its own
            job.end("failed", one_line(error))
        finally:
            limit.cancel()
            with self._lock:
                job.end("failed", "it ended without a result")
                self._running.discard(job)
                self._leaving.discard(job)
                self._start_next()
                self._forget()

    def _forget(self) -> None:
        """Keep the latest finished jobs, as many as there is room for; the very latest in any case."""
        finished = [job for job in self._known.values() if job.ended]
        kept, size = 0, 0
        for job in reversed(finished):
            kept, size = kept + 1, size + job.size
            if kept > 1 and (kept > limits.KEPT_JOBS or size > limits.KEPT_BYTES):
                del self._known[job.id]


class UnknownJob(UnknownName):
    """A run or map that is not there, or not there any more; names of other jobs are not shown."""

    def __init__(self, kind: str, name: str) -> None:
        FestinaError.__init__(self, f"unknown {kind} {name[:40]!r}; it may have been long ago, or on another server")
