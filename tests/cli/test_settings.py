"""Settings in a file: what is written asks the same question again, and flags win over it."""

import json
import re
import tomllib

import pytest

from festina.cli import main
from festina.errors import ArgumentError, UnknownName
from festina.lab import registry
from festina.lab.question import Question
from festina.lab.settings import read_settings, write_settings

NAME = "linear/chain"
SMALL = ("--budget", "quick", "--records", "20", "--depth", "1,2", "--until", "20", "--no-figure", "--json")


def asked_by(path, experiment):
    settings = read_settings(path, experiment)
    return Question.of(experiment, **settings.options, **settings.fields)


@pytest.mark.parametrize("budget", ["quick", "full"])
def test_what_is_written_of_any_question_asks_the_same(budget, tmp_path):
    for name in registry.runnable_names():
        experiment = registry.find(name)
        question = Question.of(experiment, budget, 3, 7)
        again = asked_by(write_settings(tmp_path / "settings.toml", question), experiment)
        assert again.as_json() == question.as_json(), name


def test_keys_are_equal_to_the_last_bit_of_every_number(tmp_path):
    experiment = registry.find(NAME)
    question = Question.of(experiment, strength=0.1 + 0.2, until=1e-6 / 3 + 1e-6, depth=(1, 3, float("inf")))
    path = write_settings(tmp_path / "chain.toml", question)
    assert asked_by(path, experiment).key == question.key
    assert tomllib.loads(path.read_text())["strength"] == 0.1 + 0.2


@pytest.mark.full
def test_a_run_from_a_file_is_answered_by_the_run_that_wrote_it(tmp_path, capsys):
    path, store = str(tmp_path / "chain.toml"), str(tmp_path / "runs")
    assert main(["run", NAME, *SMALL, "--strength", "2", "--save-settings", path, "--out", store]) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(["run", NAME, "--settings", path, "--no-figure", "--json", "--out", store]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["from_store"] and again["folder"] == first["folder"] and again["command"] == first["command"]
    assert main(["run", NAME, "--settings", path, "--strength", "4", "--no-figure", "--json", "--out", store]) == 0
    other = json.loads(capsys.readouterr().out)
    assert other["config"]["strength"] == 4 and other["config"]["depth"] == [1, 2] and not other["from_store"]


@pytest.mark.full
def test_flags_win_over_options_of_the_file_and_axes_over_its_fields(tmp_path, capsys):
    path, store = str(tmp_path / "chain.toml"), str(tmp_path / "runs")
    write_settings(path, Question.of(registry.find(NAME), "quick", 1, 3, records=20, depth=2))
    words = ["--settings", path, "--seeds", "2", "--first-seed", "5", "--no-figure", "--json", "--out", store]
    assert main(["run", NAME, *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["seeds"] == [5, 6] and found["budget"] == "quick"
    sweep = ["sweep", NAME, "--settings", path, "--over", "strength=1,2", "--json", "--processes", "1", "--out", store]
    assert main(sweep) == 0
    assert json.loads(capsys.readouterr().out)["sizes"]["strength"] == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("strenght = 2.0", "unknown field of linear/chain in .*settings.toml 'strenght'; did you mean 'strength'"),
        ("[run]\nbudgt = 'quick'", "unknown key under .run. in .* 'budgt'; did you mean 'budget'"),
        ("budget = 'quick'", "`budget` must stand under .run. in .*, but is at the top"),
        ("run = 3", "`run` must be a table in .*, but is 3"),
        ("[run]\nexperiment = 'linear/depth'", "`settings` must be settings of 'linear/chain', but .* 'linear/depth'"),
        ("strength == 2", "settings.toml is no TOML file: "),
        ("strength = 'much'", "`strength` must be a valid number.*, but is 'much'"),
        ("strength = -1", "`strength` must be greater than or equal to 0.001, but is -1"),
        ("[run]\nseeds = 1.5", "`seeds` must be a whole number, but is 1.5"),
        ("[run]\nbudget = 3", "`budget` must be 'quick' or 'full', but is 3"),
    ],
)
def test_a_mistake_in_a_file_is_answered_in_one_line(text, says, tmp_path, capsys):
    (tmp_path / "settings.toml").write_text(text)
    assert main(["run", NAME, "--settings", str(tmp_path / "settings.toml")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert re.search(says, err), err


def test_a_file_that_is_not_there_or_cannot_be_written(tmp_path, capsys):
    assert main(["run", NAME, "--settings", str(tmp_path / "no.toml")]) == 2
    assert "cannot read settings from" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert main(["run", NAME, *SMALL, "--save-settings", str(tmp_path / "file" / "s.toml")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_fields_may_be_spelled_with_hyphens(tmp_path):
    (tmp_path / "s.toml").write_text("input-variance = 2\n")
    assert read_settings(tmp_path / "s.toml", registry.find(NAME)).fields == {"input_variance": 2}
    with pytest.raises(UnknownName):
        read_settings(tmp_path / "s.toml", registry.find("model/two-layer"))
    (tmp_path / "s.toml").write_text("input_variance = -2\n")
    with pytest.raises(ArgumentError):
        asked_by(tmp_path / "s.toml", registry.find(NAME))


@pytest.mark.full
def test_export_is_a_look_unless_asked_for_more(capsys):
    assert main(["export", "--help"]) == 0
    assert "[default quick]" in capsys.readouterr().out
    assert main(["run", "--help"]) == 0
    assert "[default full]" in capsys.readouterr().out
