"""Who waits at a terminal is told for how long, once, and before it has taken that long; time is made up here."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

import festina as fs
from festina.cli import main
from festina.cli.forecasts import forecasts
from festina.errors import FestinaWarning
from festina.lab.answer import answer
from festina.lab.damage import read_sealed, write_sealed
from festina.lab.question import Question
from festina.lab.remembered import seconds_remembered
from festina.learning.outlook import Counted, Outlook, followed_by, foretold
from narrowing import there
from toy import Toy

REMEDY = "Ctrl-C loses nothing that is finished, and the same command goes on from there"


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr("festina.cli.forecasts.sys", SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: True)))


def course(clock, seconds, parts=10):
    """Work of so many seconds, part by part; what is said of it."""
    said = []
    with foretold(lambda label, left: said.append((label, round(left)))):
        work = Outlook("work", Counted(0, parts), parts)
        for done in range(1, parts + 1):
            clock.now += seconds / parts
            work.tick(lambda done=done: Counted(done, parts), parts - done)
    return said


def test_minutes_are_foretold_once_and_after_the_first_part(clock):
    assert course(clock, 300.0) == [("work", 270)]


def test_less_than_a_minute_is_not_worth_a_word(clock):
    assert course(clock, 60.0) == []


def test_hours_have_their_warning_and_no_second_line(clock):
    with pytest.warns(FestinaWarning, match="will take about 9 h 0 min more") as said:
        assert course(clock, 36_000.0) == []
    assert len(said) == 1


def test_what_follows_counts(clock):
    with followed_by(4.0):
        assert course(clock, 50.0) == [("work", 245)]


@pytest.mark.full
def test_each_batch_of_a_run_knows_how_much_follows_it(monkeypatch):
    from festina.lab import batch
    from festina.learning import outlook

    follows, drive = [], batch.drive
    monkeypatch.setattr(
        batch, "drive", lambda *work, **more: follows.append(outlook._afterwards.get()) or drive(*work, **more)
    )
    fs.run("linear/chain", budget="quick", depth=(1, 2, 4), records=10)
    assert follows == [2.0, 1.0, 0.0]
    assert outlook._afterwards.get() == 0.0


def test_who_does_not_ask_hears_nothing(clock, recwarn):
    work = Outlook("work", Counted(0, 10), 10)
    clock.now += 100.0
    work.tick(lambda: Counted(1, 10), 9)
    assert not recwarn


def asked(store, **more):
    return {"budget": "full", "store": store, "fresh": False} | more


def test_a_run_at_a_terminal_tells_how_long_it_takes(clock, terminal, tmp_path, capsys):
    clock.every_look = 5.0  # and two looks for each of forty chunks
    with forecasts(Toy(), asked(tmp_path)):
        fs.run(Toy(), store=tmp_path)
    said = [line for line in capsys.readouterr().err.splitlines() if "will take" in line]
    assert len(said) == 1
    assert re.fullmatch(rf"festina: toy/decay will take about 6 min \d+ s more; {REMEDY}", said[0])


def test_nobody_at_a_terminal_no_word(clock, tmp_path, capsys):
    clock.every_look = 5.0
    with forecasts(Toy(), asked(tmp_path)):
        fs.run(Toy(), store=tmp_path)
    assert "will take" not in capsys.readouterr().err


def took(folder, seconds):
    write_sealed(folder / "result.json", read_sealed(folder / "result.json") | {"seconds": seconds})


def test_the_store_remembers_what_a_question_of_the_same_size_took(clock, terminal, tmp_path, capsys):
    took(fs.run(Toy(), store=tmp_path).path, 100.0)
    other = Question.of(Toy(), seeds=3, speed=2.0)
    assert seconds_remembered(other, tmp_path) == 300.0
    assert seconds_remembered(Question.of(Toy()), tmp_path) == 0.0
    assert seconds_remembered(Question.of(Toy()), tmp_path, fresh=True) == 100.0
    assert seconds_remembered(Question.of(Toy(), units=3), tmp_path) is None
    assert seconds_remembered(Question.of(Toy(), "quick"), tmp_path) is None
    assert seconds_remembered(replace(other, seeds=(0,)), tmp_path / "nowhere") is None
    clock.every_look = 5.0
    with forecasts(Toy(), asked(tmp_path, seeds=3, speed=2.0)):
        fs.run(Toy(), store=tmp_path, seeds=3, speed=2.0)
    assert capsys.readouterr().err.count("toy/decay") == 1


def test_a_run_that_goes_on_is_measured_and_a_damaged_card_says_nothing(tmp_path):
    result = answer(Question.of(Toy()), store=tmp_path)
    other = Question.of(Toy(), speed=2.0)
    begun = tmp_path / "toy" / "decay" / other.key
    begun.mkdir()
    (begun / "checkpoint.npz").touch()
    assert seconds_remembered(other, tmp_path) is None
    (begun / "checkpoint.npz").unlink()
    (there(result.path) / "result.json").write_text("{}")
    assert seconds_remembered(other, tmp_path) is None


def test_the_command_asks_for_it(terminal, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("festina.lab.remembered.seconds_remembered", lambda *question, **more: 1000.0)
    words = ["run", "model/chain", "--records", "10", "--until", "1", "--no-figure", "--out", str(tmp_path)]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert f"festina: model/chain will take about 16 min 40 s, as it did before; {REMEDY}\n" in said
