"""A crew without processes: who is replaced, when it gives up, and what it passes on of their words."""

import signal
import subprocess
import tempfile
from types import SimpleNamespace

import pytest

from festina.errors import FestinaError
from festina.lab.sweeps import crew, executors
from festina.lab.sweeps.crew import Crew
from festina.lab.sweeps.sweep import planned


class Ended(subprocess.Popen[bytes]):
    """A process that has ended: killed, or by itself."""

    def __init__(self, returncode):
        self.returncode = returncode

    def poll(self):
        return self.returncode

    def wait(self, timeout=None):
        return self.returncode

    def terminate(self):
        pass

    def kill(self):
        pass


def work_of(monkeypatch, tmp_path, codes, done):
    """Let one worker after the other end with these codes, while so many runs are done at each look."""
    codes, done, plan = iter(codes), iter(done), planned("linear/chain", {"strength": [1.0, 2.0]}, budget="quick")
    monkeypatch.setattr(crew, "LOOK", 0.0)
    monkeypatch.setattr(crew, "runs_done", lambda folder, plan: next(done))
    with tempfile.TemporaryFile() as words:
        monkeypatch.setattr(Crew, "_start", lambda self, begin: crew._Worker(Ended(next(codes)), words))
        Crew(tmp_path, 1).run(plan)
    return list(codes)


def test_workers_that_die_are_replaced_three_times_in_a_row_and_again_once_something_was_done(monkeypatch, tmp_path):
    killed = -signal.SIGKILL
    assert work_of(monkeypatch, tmp_path, [killed] * 3 + [0], [0] * 5) == []
    assert work_of(monkeypatch, tmp_path, [killed] * 6 + [0], [0, 0, 0, 1, 1, 1, 1, 2]) == []
    with pytest.raises(FestinaError, match=r"^4 workers in a row were killed \(SIGKILL\); is there enough memory\?"):
        work_of(monkeypatch, tmp_path, [killed] * 4, [0] * 5)


def test_no_more_processes_are_started_than_there_are_tiles_left(monkeypatch, tmp_path):
    """One of four tiles is computed here, and shows that the others are worth it."""
    started, plan = [], planned("linear/chain", {"strength": [1.0, 2.0, 3.0, 4.0]}, budget="quick", tile=1, seeds=1)
    tiles = plan.tiles()
    monkeypatch.setattr(executors, "unmarked", lambda folder, plan: iter(tiles))
    monkeypatch.setattr(executors, "runs_done", lambda folder, plan: 1)
    monkeypatch.setattr(executors, "work", lambda folder, plan, tell: tell(tiles[0], SimpleNamespace(warm_seconds=1e6)))
    monkeypatch.setattr(Crew, "run", lambda self, plan, tell: started.append(self.size))
    heard = []
    executors.Processes(8).finish(tmp_path, plan, heard.append)
    assert len(tiles) == 4 and started == [3] and heard == [1]


def test_the_last_words_of_a_worker_are_its_last_line_whole():
    with tempfile.TemporaryFile() as words:
        words.write(b"festina: no")
        assert crew._Worker(Ended(1), words).last_words == "festina: no"
        words.write(b"\nand nothing else\n")
        assert crew._Worker(Ended(1), words).last_words == "and nothing else"
