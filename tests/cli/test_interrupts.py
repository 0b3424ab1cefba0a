"""Ctrl-C at any moment: one sentence, the right exit code, and results that are whole."""

import random
import resource
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.cli import main
from festina.errors import Interrupted
from festina.exit_codes import INTERRUPTED_SENTENCE
from festina.lab.sweeps.crew import runs_done
from festina.lab.sweeps.executors import InProcess
from festina.lab.sweeps.folder import sweep_folder
from festina.lab.sweeps.plan import Plan
from festina.lab.sweeps.sweep import planned
from festina.lab.sweeps.worker import computed, inspect
from interrupting import REMARK, SERVES, Command, Ending, answering, at_work_on
from patience import PATIENCE, wait_for

KEPT = f"festina: {INTERRUPTED_SENTENCE}\n"


# A process of its own, whose command is a few lines.

PROGRAM = """
import hashlib, os, signal, sys, threading, time, types
from festina import __main__ as command

def press():
    signal.raise_signal(signal.SIGINT)

def later(times):
    def press_often():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # or this thread could not see whether one waits
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
            while signal.SIGINT in signal.sigpending():  # two that wait to be heard are one
                time.sleep(0.01)
    threading.Timer(0.1, press_often).start()

def compute_for_ever():
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)

def main(say):
    from festina.interrupts import held
{body}

sys.modules["festina.cli"] = types.SimpleNamespace(main=main)
command.run()
"""


def ending(folder: Path, body: str, *, before: Any = signal.default_int_handler, shell: str = 'exec "$@"') -> Ending:
    """How a command ends that does what ``body`` says, started where Ctrl-C does what it did ``before``."""
    program = PROGRAM.format(body=indent(dedent(body), "    "))
    paths = [folder / "out", folder / "err"]
    with answering(before), paths[0].open("w") as out, paths[1].open("w") as err:
        words = ["sh", "-c", shell, "sh", sys.executable, "-c", program]
        done = subprocess.run(words, stdout=out, stderr=err, cwd=folder, timeout=PATIENCE, check=False)
    return Ending(done.returncode, *(path.read_text() for path in paths))


ENDINGS = {
    "done": ("return 0", 0, ""),
    "wrong": ("say('cannot be'); return 2", 2, "festina: cannot be\n"),
    "at once": ("press(); return 0", 130, KEPT),
    "while nobody looks up": (
        """
        later(times=1)
        compute_for_ever()
        """,
        130,
        KEPT,
    ),
    "after the last word": ("say('cannot be'); press(); time.sleep(0.1); return 2", 2, "festina: cannot be\n"),
    "held, with time to save what can be saved": (
        """
        command.PATIENCE = 3600.0
        try:
            with held():
                press()
        except KeyboardInterrupt:
            time.sleep(0.3)
            say("kept in a file")
            return 130
        """,
        130,
        "festina: kept in a file\n",
    ),
    "twice": (
        """
        with held():
            press()
            press()
            time.sleep(3600)
        """,
        130,
        KEPT,
    ),
    "twice while nobody looks up": (
        """
        with held():
            later(times=2)
            compute_for_ever()
        """,
        130,
        KEPT,
    ),
    "held for long": (
        """
        command.PATIENCE = 0.0
        try:
            with held():
                press()
                while os.fstat(2).st_size == 0:
                    time.sleep(0.01)
        except KeyboardInterrupt:
            say("kept in a file")
            return 130
        """,
        130,
        f"{REMARK}\nfestina: kept in a file\n",
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_command_ends_with_one_sentence(name, tmp_path):
    body, code, err = ENDINGS[name]
    found = ending(tmp_path, body)
    assert (found.code, found.err) == (code, err)


def test_nothing_comes_after_the_last_word(tmp_path):
    body = """
    def chatter():
        while True:
            os.write(2, b"noise\\n")

    def end_slowly(code, end=os._exit):
        time.sleep(0.1)
        end(code)

    os._exit = end_slowly
    threading.Thread(target=chatter, daemon=True).start()
    while os.fstat(2).st_size == 0:
        time.sleep(0.01)
    press()
    """
    found = ending(tmp_path, body)
    assert found.code == 130
    assert found.err.endswith(f"noise\n{KEPT}")


def test_a_process_that_was_started_to_ignore_it_does(tmp_path):
    assert ending(tmp_path, "press(); return 0", before=signal.SIG_IGN) == Ending(0, "", "")


def test_the_sentence_goes_into_no_file_that_stands_where_standard_error_was(tmp_path):
    found = ending(tmp_path, "data = open('data', 'w'); press()", shell='exec "$@" 2>&-')
    assert found.code == 130
    assert (tmp_path / "data").read_text() == ""


def test_the_sentence_is_said_though_nobody_reads_the_output_any_more(monkeypatch):
    """As in a pipeline, all of whose processes hear of Ctrl-C at once."""

    def flush() -> None:
        raise BrokenPipeError

    def interrupted(words: list[str]) -> int:
        monkeypatch.setattr(sys.stdout, "flush", flush)
        raise Interrupted("kept in a file")

    said = []
    monkeypatch.setattr("festina.cli.dispatch", interrupted)
    assert main(["run"], say=said.append) == 130
    assert said == ["kept in a file"]


@pytest.mark.parametrize(
    ("err", "kind"),
    [
        (KEPT, "interrupted"),
        (f"festina: warning: sweep x will take about 1 h more at this pace; wait\n{KEPT}", "interrupted"),
        (f"{REMARK}\n{KEPT}", "interrupted"),
        (f"{KEPT}Exception ignored in atexit callback\n", "disorderly"),
        (f"{KEPT}{REMARK}\n", "disorderly"),
        (KEPT.removesuffix("\n"), "disorderly"),
    ],
)
def test_what_is_an_orderly_end(err, kind):
    """A slow machine may have been warned of before; the sentence is the last word."""
    assert Ending(130, "", err).kind == kind


# The commands themselves, cold.

FIELDS = {"records": 20, "depth": "1", "budget": "quick"}
FLAGS = [word for name, value in FIELDS.items() for word in (f"--{name}", value)]
STRENGTHS = [1.0, 2.0, 3.0, 4.0]
REPRODUCED = "abstraction/regularizer"


def words(name: str, store: Path) -> list[object]:
    """The cheapest form of a command."""
    over = f"strength={','.join(map(str, STRENGTHS))}"
    return {
        "run": ["run", "linear/chain", *FLAGS, "--out", store],
        "sweep": ["sweep", "linear/chain", *FLAGS, "--over", over, "--tile", 1, "--out", store],
        "reproduce": ["reproduce", REPRODUCED, "--budget", "quick", "--out", store],
        "export": ["export", "linear/chain", *FLAGS, "--html", store / "page.html", "--out", store],
        "explore": ["explore", "--port", 0, "--no-browser"],
    }[name]


def asked_again(name: str, store: Path) -> xr.Dataset | None:
    """What a store answers to the question of a command, after it was interrupted or not."""
    if name == "sweep":
        question: Any = {"over": {"strength": STRENGTHS}, "tile": 1, **FIELDS}
        return fs.sweep("linear/chain", store=store, executor=InProcess(), **question).load()
    if name == "explore":
        return None
    asked: Any = [REPRODUCED, {"budget": "quick"}] if name == "reproduce" else ["linear/chain", FIELDS]
    return fs.run(asked[0], store=store, **asked[1]).data


def assert_whole(name: str, store: Path, whole: xr.Dataset | None) -> None:
    found = asked_again(name, store)
    assert (found is None and whole is None) or (found is not None and whole is not None and found.equals(whole))
    assert not [path for path in store.rglob("*") if "damaged" in path.name or "unusable" in path.name]
    assert all(page.read_text().endswith("</html>\n") for page in store.glob("*.html"))


def assert_orderly(found: Ending, *, served: bool) -> None:
    """``served``: whether the page was announced before the only Ctrl-C, which then is the way to end it."""
    assert found.kind != "disorderly", found
    assert not served or found.kind == "stopped", found


def cpu_time_of_children() -> float:
    """The seconds of CPU time that all ended processes took that this one has started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Weather:
    """Ctrl-C at moments that are drawn by chance, as shares of the CPU time that the command takes."""

    def __init__(self, name: str, folder: Path, seed: int) -> None:
        self.name, self.folder, self.chance = name, folder, random.Random(f"{name} {seed}")
        self.store = folder / f"{name}-whole"
        self.cache = folder / f"{name}-whole-cache"
        before, command = cpu_time_of_children(), Command(words(name, self.store), self.cache)
        served = 0.0
        if name == "explore":
            wait_for(lambda: command.has_said(SERVES))
            served = command.worked()
            command.interrupt()
        assert command.end().code == 0
        assert any(self.cache.iterdir()) or name != "run"  # a command keeps what it compiles
        # While the page warms up, it serves already.
        self.seconds = 1.5 * served if name == "explore" else cpu_time_of_children() - before
        self.whole = asked_again(name, self.store)

    def strike(self, number: int, *, second: bool, group: bool) -> str:
        """Interrupt one cold start; how it ended."""
        store = self.folder / f"{self.name}-{number}"
        command = Command(words(self.name, store), self.folder / f"{self.name}-{number}-cache")
        command.let_work(self.chance.random() ** 1.5 * self.seconds)  # the beginning is cheaper, and has more in it
        served = command.has_said(SERVES)
        command.interrupt(group=group)
        if second:
            command.let_work(self.chance.choice([0.0, self.chance.random() * self.seconds / 10]))
            command.interrupt(group=group)
        found = command.end()
        assert_orderly(found, served=served and not second)
        assert_whole(self.name, store, self.whole)
        return found.kind


@pytest.mark.full
def test_commands_end_orderly_at_any_moment(tmp_path):
    sky = Weather("sweep", tmp_path, seed=1)
    sky.strike(0, second=False, group=True)
    sky.strike(1, second=True, group=False)
    sky.name, sky.whole = "run", asked_again("run", tmp_path / "run")
    assert sky.strike(2, second=False, group=False) == "interrupted"  # it takes longer than the sweep


MOMENTS = {"run": 20, "explore": 6}  # the others share the way of the first


@pytest.mark.full
@pytest.mark.parametrize("name", ["run", "sweep", "reproduce", "export", "explore"])
def test_a_storm_of_interrupts(name, tmp_path, record_property):
    sky = Weather(name, tmp_path, seed=0)
    moments = MOMENTS.get(name, 5)
    tally = Counter(sky.strike(k, second=k % 2 == 1, group=k % 4 == 2) for k in range(moments))
    record_property("tally", dict(tally))
    print(f"{name}, {sky.seconds:.1f} s if not interrupted: {dict(tally)}")
    assert tally["interrupted"] + tally["stopped"] > moments / 3


LONG: dict[str, Any] = FIELDS | {
    "records": 2000
}  # long enough, times so many, that it is worth while to start processes
MANY = "strength=lin:1:51:2000"


def long_sweep(store: Path, *who: object) -> tuple[Command, Plan, Path]:
    """A sweep that others compute, until it is interrupted."""
    plan = planned("linear/chain", MANY, tile=1, **LONG)
    flags = [word for name, value in LONG.items() for word in (f"--{name}", value)]
    words = ["sweep", "linear/chain", *flags, "--over", MANY, "--tile", 1, *who, "--out", store]
    return Command(words, store / "cache"), plan, sweep_folder(store, plan)


def assert_sound(folder: Path, plan: Plan) -> None:
    """What is marked as done is there, and is what this process computes."""
    inspect(folder, plan)  # what is damaged would be named, and is an error here
    stored = fs.lab.open_sweep(folder)
    first, *_ = np.flatnonzero(stored["done"].values)  # tiles are of one run each
    _, data = computed(plan, plan.tiles()[first])
    np.testing.assert_array_equal(stored["loss"].isel(strength=first).values.ravel(), data["loss"].values.ravel())


@pytest.mark.full
@pytest.mark.parametrize(("second", "group"), [(False, True), (True, False)])
def test_a_sweep_takes_its_workers_along(second, group, tmp_path):
    """However it is interrupted, while they import, compile or compute."""
    command, plan, folder = long_sweep(tmp_path, "--processes", 2)
    wait_for(lambda: at_work_on(folder))
    command.let_work(random.Random(f"{second} {group}").random() / 2 * command.worked())
    command.interrupt(group=group)
    if second:
        command.interrupt(group=group)
    found = command.end()
    assert found.kind == "interrupted" and (second or "ask again to go on" in found.err), found
    wait_for(lambda: not at_work_on(folder))
    assert_sound(folder, plan)


@pytest.mark.full
def test_a_sweep_takes_its_cluster_along(tmp_path):
    pytest.importorskip("distributed")
    command, plan, folder = long_sweep(tmp_path, "--workers", 1)
    wait_for(lambda: runs_done(folder, plan))
    command.interrupt(group=True)
    assert command.end().kind == "interrupted"
    assert_sound(folder, plan)
