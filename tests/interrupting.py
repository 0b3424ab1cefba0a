"""Commands in processes of their own, Ctrl-C at a moment of one's choosing, and how they ended."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import IO, Any

import psutil

from patience import PATIENCE, wait_for

SENTENCE = re.compile(r"festina: .*interrupted.*")
REMARK = "festina: stopping at the end of the step at hand; Ctrl-C again ends at once"
FORECAST = re.compile(r"festina: warning: .* (will|may) take .*")  # what a slow machine may have made it say before
SERVES, STOPPED = "festina is at http", "festina has stopped"
RESTS = 1.0  # seconds without any work, after which nobody waits for more of it
# From `run` on, there is a function of festina's; a checkout may lie in a folder of any name.
OURS = re.compile(r'File "[^"]*/(?:src|site-packages)/festina/[^"]*", line \d+, in (?!<module>)')


@dataclass(frozen=True)
class Ending:
    """How a process ended: its exit code, and all that it wrote."""

    code: int
    out: str
    err: str

    @property
    def kind(self) -> str:
        """What happened, in a word or two; `disorderly` is what must not be."""
        whole = self.err == "" or self.err.endswith("\n")
        said = [line for line in self.err.splitlines() if line != REMARK and not FORECAST.fullmatch(line)]
        if self.code == 130 and whole and len(said) == 1 and SENTENCE.fullmatch(self.err.splitlines()[-1]):
            return "interrupted"
        if self.code == 0 and whole and not said:
            return "stopped" if SERVES in self.out and self.out.endswith(f"{STOPPED}\n") else "finished"
        if self.is_pythons:
            return "before festina"
        return "disorderly"

    @property
    def is_pythons(self) -> bool:
        """Whether Python was interrupted while it started, or read the first modules, before it could come to `run`."""
        said = self.err == "" or "KeyboardInterrupt" in self.err
        return self.code in (-signal.SIGINT, 1) and self.out == "" and said and not OURS.search(self.err)


@contextmanager
def answering(handler: Any) -> Iterator[None]:
    """Let Ctrl-C do something in this process; one that is started meanwhile ignores it if this one does.

    Tests that a shell runs in the background ignore it, and so would all that they start.
    """
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Command:
    """A command that was started cold: with nothing compiled before, in a process group of its own."""

    def __init__(self, words: Sequence[object], cache: Path) -> None:
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115, read to the end
        kept = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
        with answering(signal.default_int_handler):
            self.process = subprocess.Popen(
                [sys.executable, "-m", "festina", *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=self._err,
                env=kept | {"FESTINA_CACHE": str(cache), "JAX_PLATFORMS": "cpu"},
                start_new_session=True,
            )

    def has_said(self, words: str) -> bool:
        return words in self.said

    def is_alive(self) -> bool:
        return self.process.poll() is None

    @property
    def said(self) -> str:
        """What it has printed so far."""
        return _content(self._out)

    def worked(self) -> float:
        """The seconds of CPU time that it has used so far; infinitely many once it has ended."""
        try:
            used = psutil.Process(self.process.pid).cpu_times()
        except psutil.NoSuchProcess:
            return inf
        return used.user + used.system

    def let_work(self, seconds: float) -> None:
        """Wait until it has used so much more CPU time, however busy the machine is, or until it ends or rests."""
        last, changed = self.worked(), time.monotonic()
        until = last + seconds
        while self.is_alive() and last < until and time.monotonic() < changed + RESTS:
            time.sleep(0.01)
            now = self.worked()
            if now > last:
                last, changed = now, time.monotonic()

    def interrupt(self, *, group: bool = False) -> None:
        """Ctrl-C, for the process alone or, as a terminal does it, for its group."""
        with suppress(ProcessLookupError):  # it has ended before
            (os.killpg if group else os.kill)(self.process.pid, signal.SIGINT)

    def end(self) -> Ending:
        """Wait for its end, and for that of all that it has started and not taken along."""
        try:
            self.process.wait(PATIENCE)
            wait_for(lambda: not self._group())
        finally:
            self.process.kill()
            self.process.wait()
        return Ending(self.process.returncode, self.said, _content(self._err))

    def _group(self) -> list[str]:
        """The processes of its group that are alive."""
        listed = _processes("pgid=,stat=")
        return [line for line in listed if line.split()[0] == str(self.process.pid) and "Z" not in line.split()[1]]


def at_work_on(folder: Path) -> list[int]:
    """The processes whose command names a folder."""
    return [int(line.split()[0]) for line in _processes("pid=,command=") if str(folder) in line]


def _processes(columns: str) -> list[str]:
    return subprocess.run(
        ["ps", "-axww", "-o", columns], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def _content(stream: IO[bytes]) -> str:
    return os.pread(stream.fileno(), 2**24, 0).decode(errors="replace")
