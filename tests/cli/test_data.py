"""`festina data`: what is there, and what is wrong with it."""

import json

import pytest

from festina.cli import main
from festina.worlds import images


def test_the_list_says_what_is_there_and_where(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FESTINA_DATA", str(tmp_path))
    assert main(["data", "list", "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert [found[name]["there"] for name in ("digits", "mnist", "fashion")] == [True, False, False]
    assert found["mnist"]["folder"] == str(tmp_path / "mnist")
    assert main(["data", "list"]) == 0
    assert "/fashion" in "".join(capsys.readouterr().out.split())  # a long path may be broken


def test_a_damaged_file_is_an_error_of_one_line(tmp_path, capsys):
    (tmp_path / "mnist").mkdir()
    for part in images.PARTS:
        (tmp_path / "mnist" / part).write_bytes(b"nonsense")
    assert main(["data", "fetch", "mnist", "--folder", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and images.PARTS[0] in said and images.CHECKSUMS["mnist"][0] in said


def test_a_set_that_was_fetched_is_found(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(images, "_download", lambda part, folder, name, digest: None)
    assert main(["data", "fetch", "fashion", "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"fashion is in {tmp_path / 'fashion'}, as it was published.\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["fetch"], "needs the name"),
        (["fetch", "mnits"], "did you mean 'mnist'"),
        (["get", "mnist"], "did you mean 'fetch'"),
        (["fetch", "digits"], "come with scikit-learn"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(words, says, capsys):
    assert main(["data", *words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and says in said
