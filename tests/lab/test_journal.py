"""The journal: what festina does, for who listens; silence for everybody else."""

import logging
import subprocess
import sys

import numpy as np
import pytest

import festina as fs
from festina.cli import main
from festina.errors import Interrupted
from festina.lab import compiled
from festina.lab.sweeps.executors import InProcess
from toy import Toy

NAME = "model/chain"
SMALL = ["--records", "10", "--until", "1", "--no-figure"]


@pytest.fixture
def said(caplog):
    """What the journal said since the last time it was asked, level by level."""
    caplog.set_level(logging.DEBUG, logger="festina")

    def take(level="INFO"):
        found = [each.getMessage() for each in caplog.records if each.levelname == level]
        caplog.clear()
        return [line for line in found if not line.startswith("compiled")]

    return take


def test_a_run_and_an_answer_from_the_store(said, tmp_path):
    fs.run(Toy(), budget="quick", store=tmp_path, seeds=2)
    begins, simulated, kept = said()
    assert begins == "toy/decay: begins with seeds 0 to 1 at the quick budget"
    assert simulated.startswith("toy/decay: simulated in ") and kept.startswith(f"toy/decay: kept in {tmp_path}")
    fs.run(Toy(), budget="quick", store=tmp_path, seeds=2)
    (known,) = said()
    assert known.startswith(f"toy/decay: the store has the answer, {tmp_path}")


def test_a_sweep_begun_and_done(said, tmp_path):
    for words in (("begins with 0 of 3 runs done", "done"), ("the store has all 3 runs",)):
        fs.sweep(Toy(), "speed=1,2,3", budget="quick", store=tmp_path, executor=InProcess())
        heard = said()
        assert len(heard) == len(words)
        assert all(line.startswith(f"sweep toy/decay: {word}") for line, word in zip(heard, words, strict=True))


def test_a_run_that_goes_on_says_from_where(said, tmp_path, monkeypatch):
    from festina.learning import loop

    advance, calls = loop._advance_journey, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return advance(*arguments)

    monkeypatch.setattr(loop, "_advance_journey", interrupted)
    with pytest.raises(Interrupted):
        fs.run(Toy(), budget="quick", store=tmp_path)
    said()
    assert np.isfinite(fs.run(Toy(), budget="quick", store=tmp_path)["total"]).all()
    assert "toy/decay: batch 1 of 1 went on from a checkpoint, recording 5 of 21" in said()


def test_what_takes_long_to_compile_is_told(caplog):
    caplog.set_level(logging.DEBUG, logger="festina")
    compiled.tell(compiled.COMPILED, 2.0)
    compiled.tell(compiled.COMPILED, 0.1)
    compiled.tell("/jax/something/else", 9.0)
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("INFO", "compiled a program in 2.0 s"),
        ("DEBUG", "compiled a program in 0.1 s"),
    ]


def test_nothing_is_heard_unless_asked_for(tmp_path, capsys):
    assert main(["run", NAME, *SMALL, "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", [["-v", "run", NAME], ["run", NAME, "--verbose"]])
def test_verbose_tells_each_thing_once(words, tmp_path, capsys):
    assert main([*words, *SMALL, "--out", str(tmp_path)]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "compiled" not in line]
    assert [line.split(" in ")[0].split(" with ")[0] for line in lines] == [
        f"festina: info: {NAME}: begins",
        f"festina: info: {NAME}: simulated",
        f"festina: info: {NAME}: kept",
    ]
    assert main(["run", NAME, *SMALL, "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().err == ""


def test_twice_as_verbose_tells_details(tmp_path, capsys):
    assert main(["-vv", "run", NAME, *SMALL, "--out", str(tmp_path)]) == 0
    assert "festina: debug: model/chain: settings are " in capsys.readouterr().err


@pytest.mark.full
def test_python_is_silent_and_can_listen():
    program = "import festina as fs; fs.models.Chain(records=10).run()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""
    listening = f"import logging; logging.basicConfig(level=logging.INFO); {program}"
    done = subprocess.run([sys.executable, "-c", listening], capture_output=True, text=True, check=True)
    assert "INFO:festina.lab.answer:model/chain: begins with seeds 0 to 0" in done.stderr
