"""The tour: one row for each stop, a report with all of them, and a reason beside whatever did not hold."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.cli import main
from festina.cli import tour as command
from festina.errors import Interrupted
from festina.experiment import Arms
from festina.lab import machine, own_network, registry, tour
from festina.lab import run as _run  # noqa: F401, takes `find` for good when it is first imported: before that is replaced
from festina.lab.tour import Stop
from toy import Toy, Units


class Sound(Toy):
    """One whose claims hold."""

    name = "toy/sound"
    slow = false = None  # pyright: ignore[reportAssignmentType] (claims it does not make)


class BrokenUnits(Units):
    """Units that cannot be simulated."""

    def process(self, start: Any) -> Any:
        raise ZeroDivisionError("nothing <to> divide by")


class Broken(Toy):
    """One that cannot be simulated."""

    name = "toy/broken"
    arms = Arms(BrokenUnits)


class Unseen(Sound):
    """One that cannot be drawn."""

    name = "toy/unseen"

    def figure(self, result: Any) -> Any:
        raise RuntimeError("no ink")


def small_comparison() -> Any:
    """A run whose map ends at 2, and a theory that is off by 0.1."""
    time = np.linspace(0.0, 1.0, 5)
    run = xr.Dataset({"map": ("time", 2.0 * time)}, {"time": time})
    return fs.compare(run, lambda time: {"map": 2.0 * time + 0.1})


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {kind.name: kind for kind in (Toy, Sound, Broken, Unseen)}
    monkeypatch.setattr(registry, "find", lambda name: known[name]())
    monkeypatch.setattr(machine, "prepare", lambda: None)
    monkeypatch.setattr(own_network, "learn_tree", small_comparison)
    monkeypatch.setenv("COLUMNS", "100")
    visit(monkeypatch, Stop(Sound.name, "It falls.", {"units": 3, "seeds": 2}), Stop(Toy.name, "It falls, too."))


def visit(monkeypatch: pytest.MonkeyPatch, *stops: Stop) -> None:
    monkeypatch.setattr(tour, "STOPS", stops)


def test_every_stop_has_a_row_and_a_reason_for_what_did_not_hold(tmp_path: Path, capfd: Any) -> None:
    assert main(["tour", "--out", str(tmp_path)]) == 0
    seen = capfd.readouterr()
    assert seen.err == "" and "\x1b" not in seen.out
    lines = seen.out.splitlines()
    assert len(lines) <= 25 and max(map(len, lines)) <= 100
    assert re.fullmatch(r"  toy/sound         1 of 1 +\d+\.\d s +It falls\.", lines[1])
    assert re.fullmatch(r"  toy/decay         1 of 2 +\d+\.\d s +It falls, too\.", lines[2])
    told = " ".join(" ".join(lines[3:5]).split())
    assert told == "Not reproduced: Levels vanish within two units of time. (the toy is not of that lecture)"
    assert lines[5].strip() == "1 more needs the full budget."
    assert re.fullmatch(r"  your own network  –  .* Ten lines of Python; theory within 5\.0% of it\.", lines[6])
    assert f"  report  {tmp_path / 'tour.html'}" in lines
    assert sum(line.startswith("  festina ") for line in lines) == 3
    page = (tmp_path / "tour.html").read_text(encoding="utf-8")
    assert "festina run toy/sound --budget quick --seeds 2 --units 3" in page
    assert page.count("<figure>") == 3
    for name in ("toy-sound", "toy-decay", "your-own-network"):
        assert f'href="#{name}"' in page and f'<section id="{name}">' in page
    assert "fs.networks.DeepLinear.init(jax.random.key(0)" in page


@pytest.mark.full
def test_the_second_time_the_store_answers(tmp_path: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    visit(monkeypatch, Stop(Sound.name, "It falls.", {"units": 3}))
    first, again, fresh = (
        _answer(capfd, "tour", "--json", "--out", str(tmp_path), *more) for more in ([], [], ["--fresh"])
    )
    assert first["report"] == str(tmp_path / "tour.html")
    assert [each["from_store"] for answer in (first, again, fresh) for each in answer["experiments"]] == [
        False, True, False,
    ]  # fmt: skip
    assert first["experiments"][0]["config"]["units"] == 3 and first["experiments"][0]["budget"] == "quick"
    assert first["own_network"] == {"errors": {"map": pytest.approx(0.1)}, "error": None}


def _answer(capfd: Any, *words: str) -> Any:
    assert main(list(words)) == 0
    return json.loads(capfd.readouterr().out)


def test_a_stop_that_fails_does_not_stop_the_others(
    tmp_path: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("no tree <here>")

    visit(monkeypatch, *(Stop(name, "It falls.") for name in ("toy/broken", "toy/unseen", "toy/absent")))
    monkeypatch.setattr(own_network, "learn_tree", fail)
    assert main(["tour", "--out", str(tmp_path)]) == 1
    seen = capfd.readouterr().out
    assert "ZeroDivisionError: nothing <to> divide by." in " ".join(seen.split())
    assert "the figure could not be drawn: RuntimeError: no ink." in " ".join(seen.split())
    assert re.search(r"toy/absent +failed.*\n +It failed: KeyError", seen)
    assert re.search(r"toy/unseen +1 of 1", seen)
    assert re.search(r"your own network +failed.*\n +It failed: RuntimeError: no tree <here>\.", seen)
    page = (tmp_path / "tour.html").read_text(encoding="utf-8")
    assert "RuntimeError: no tree &lt;here&gt;" in page and "<here>" not in page


def test_an_interrupt_ends_it(tmp_path: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop() -> None:
        raise Interrupted("learning interrupted at 50%")

    visit(monkeypatch)
    monkeypatch.setattr(own_network, "learn_tree", stop)
    assert main(["tour", "--out", str(tmp_path)]) == 130
    assert "learning interrupted at 50%" in capfd.readouterr().err
    assert not (tmp_path / "tour.html").exists()


def test_a_folder_that_cannot_be_written_is_told_before_the_work(tmp_path: Path, capfd: Any) -> None:
    (tmp_path / "file").touch()
    assert main(["tour", "--out", str(tmp_path / "file" / "runs")]) == 2
    seen = capfd.readouterr()
    assert seen.out == "" and "cannot write results to" in seen.err


def test_on_a_screen_the_report_is_opened(tmp_path: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    visit(monkeypatch)
    monkeypatch.setattr(command, "has_screen", lambda: True)
    monkeypatch.setattr(command.webbrowser, "open", opened.append)
    main(["tour", "--json", "--out", str(tmp_path)])
    main(["tour", "--no-browser", "--out", str(tmp_path)])
    assert opened == []
    main(["tour", "--out", str(tmp_path)])
    assert opened == [(tmp_path / "tour.html").as_uri()]


def test_commands_to_try_are_spelled_as_they_can_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [".venv/bin/festina", "tour"])
    monkeypatch.setattr(command.shutil, "which", lambda name: None)
    monkeypatch.setattr(command, "missing_for_page", lambda: ["starlette"])
    tries = command._next().splitlines()[1:]
    assert len(tries) == 3 and all(line.startswith("  .venv/bin/festina ") for line in tries)
    assert "festina sweep " in tries[2]
    monkeypatch.setattr(command.shutil, "which", lambda name: "/usr/bin/festina")
    monkeypatch.setattr(command, "missing_for_page", list)
    assert re.match("  festina explore  ", command._next().splitlines()[3])


def test_the_stops_are_of_four_families_and_their_fields_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert len({stop.name.split("/")[0] for stop in tour.STOPS}) == 4
    for stop in tour.STOPS:
        registry.find(stop.name).configure("quick", **{k: v for k, v in stop.fields.items() if k != "seeds"})
