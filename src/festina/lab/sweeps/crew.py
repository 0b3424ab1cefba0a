"""A crew: worker processes on this machine, one for each core, that compute a sweep together.

The one who calls starts them, watches the store for progress, replaces those that are killed, and stops them all if it
is interrupted. Workers notice when it is killed, and stop too: at most the tiles at hand are lost.
"""

import os
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from festina.errors import FestinaError, FestinaWarning, Interrupted, require
from festina.interrupts import held
from festina.lab.sweeps import tiles
from festina.lab.sweeps.plan import Plan
from festina.lab.sweeps.process import command

LOOK = 0.2  # seconds between two looks at the store
PATIENCE = 5.0  # seconds for a worker to end when asked to
MOST_DEATHS = 3  # in a row, with no tile done in between
MOST_WORDS = 2**16  # bytes of a worker's words that are looked through for warnings
WARNING = "festina: warning: "  # how a worker begins a warning


@dataclass
class _Worker:
    """One process, and what it says on standard error."""

    process: subprocess.Popen[bytes]
    words: IO[bytes]

    @property
    def last_words(self) -> str:
        self.words.seek(0)
        lines = self.words.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def warnings(self) -> list[str]:
        """What it has warned of so far, line by line."""
        said = os.pread(self.words.fileno(), MOST_WORDS, 0)  # leaves the worker's own place in the file alone
        whole, _, _ = said.rpartition(b"\n")
        lines = whole.decode(errors="replace").splitlines()
        return [line.removeprefix(WARNING) for line in lines if line.startswith(WARNING)]


@dataclass
class Crew:
    """Processes at work on one sweep.

    Attributes:
        folder: of the sweep.
        size: how many processes.
    """

    folder: Path
    size: int
    _workers: list[_Worker] = field(default_factory=list)
    _passed_on: set[str] = field(default_factory=set)

    def run(self, plan: Plan, tell: Callable[[int], None] = lambda runs: None) -> None:
        """Let the crew finish a sweep; ``tell`` hears how many runs are done so far."""
        require(self.size >= 1, "processes", "be at least 1", self.size)
        try:
            with held() as interrupted:
                try:
                    self._watch(plan, tell, interrupted)
                finally:
                    self._stop()
        except KeyboardInterrupt:
            message = f"sweep interrupted; finished batches are kept in {self.folder}, ask again to go on"
            raise Interrupted(message) from None
        tell(runs_done(self.folder, plan))

    def _watch(self, plan: Plan, tell: Callable[[int], None], interrupted: Callable[[], bool]) -> None:
        deaths, before = 0, -1
        for number in range(self.size):
            self._workers.append(self._start(number / self.size))
        while self._workers and not interrupted():
            time.sleep(LOOK)
            now = runs_done(self.folder, plan)
            tell(now)
            self._pass_on_warnings()
            deaths, before = (0 if now > before else deaths), now
            for worker in [each for each in self._workers if each.process.poll() is not None]:
                self._workers.remove(worker)
                if worker.process.returncode != 0:
                    deaths += 1
                    self._replace(worker, deaths)

    def _pass_on_warnings(self) -> None:
        """What workers warn of, each sentence once."""
        for warning in (each for worker in self._workers for each in worker.warnings()):
            if warning not in self._passed_on:
                self._passed_on.add(warning)
                warnings.warn(warning, FestinaWarning, stacklevel=2)

    def _start(self, begin: float) -> _Worker:
        words = tempfile.TemporaryFile()  # noqa: SIM115, closed with its worker
        process = subprocess.Popen(
            command(self.folder, begin),
            stdin=subprocess.PIPE,  # ends when this process does, and so tells the worker
            stdout=subprocess.DEVNULL,
            stderr=words,
            start_new_session=True,  # Ctrl-C is ours to handle
        )
        return _Worker(process, words)

    def _replace(self, worker: _Worker, deaths: int) -> None:
        """Start another worker for one that was killed; give up if it failed by itself, or if all of them die."""
        code = worker.process.returncode
        if code > 0:
            raise FestinaError(f"a worker failed: {worker.last_words.removeprefix('festina: ') or f'exit code {code}'}")
        if deaths > MOST_DEATHS:
            words = f": {worker.last_words}" if worker.last_words else "; is there enough memory?"
            raise FestinaError(
                f"{deaths} workers in a row were killed ({signal.Signals(-code).name}){words} "
                f"Finished batches are kept in {self.folder}"
            )
        self._workers.append(self._start(0.0))

    def _stop(self) -> None:
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(PATIENCE)
            worker.process.kill()
            worker.process.wait()
            worker.words.close()
        self._workers.clear()


def runs_done(folder: Path, plan: Plan) -> int:
    """Runs in tiles that are marked as done."""
    done = 0
    for number, group in enumerate(plan.groups):
        marked = tiles.count_marked(folder, number)
        whole = marked == len(group.tiles())
        done += len(group.runs) if whole else min(marked * group.tile, len(group.runs))
    return done
