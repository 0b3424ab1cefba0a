"""`festina sweep` and its own commands, as they are typed."""

import json

import pytest

from festina.cli import main
from festina.lab import open_sweep
from festina.lab.sweeps.folder import sweeps_in
from festina.lab.sweeps.sweep import resume
from festina.lab.sweeps.worker import work

WORDS = ["linear/chain", "--over", "strength=lin:1:2:6", "--budget", "quick", "--tile", "2"]


def said(capsys, *words):
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.full
def test_a_dry_run_tells_what_it_would_take_and_stores_nothing(tmp_path, capsys):
    code, out, _ = said(capsys, "sweep", *WORDS, "--dry-run", "--out", tmp_path / "none", "--processes", 3)
    assert code == 0 and not (tmp_path / "none").exists()
    for word in (
        "6, each with 1 seed: 6 runs",
        "compiles  1,",
        "batches   3, of 2 runs",
        "3 processes",
        "time      about",
    ):
        assert word in out, out
    numbers = json.loads(said(capsys, "sweep", *WORDS, "--dry-run", "--json", "--out", tmp_path / "none")[1])
    assert numbers["runs"] == 6 and numbers["first_seconds"] >= numbers["warm_seconds"] > 0
    assert numbers["memory"] > 10**8 and numbers["disk"] > 6 * 501 * 8 and numbers["seconds"] > 0


@pytest.mark.full
def test_status_resume_and_one_more_worker(tmp_path, capsys, monkeypatch):
    assert said(capsys, "sweep", "slurm", *WORDS, "--out", tmp_path, "--shards", 2)[0] == 0
    (folder,) = sweeps_in(tmp_path)
    assert (folder / "slurm.sh").exists()
    assert "linear/chain: 0 of 6 runs done (0%)" in said(capsys, "sweep", "status", tmp_path)[1]
    monkeypatch.setattr("festina.lab.sweeps.cores.take_core", lambda: None)  # this process has other work to do
    _, out, _ = said(capsys, "sweep", "work", folder, "--shard", "1/2")
    assert out == "linear/chain: 2 runs computed in 1 batches\n"
    state = json.loads(said(capsys, "sweep", "status", folder, "--json")[1])
    assert [(each["done"], each["runs"], each["at_work"]) for each in state] == [(2, 6, 0)]
    code, out, _ = said(capsys, "sweep", "resume", tmp_path, "--processes", 1)
    assert code == 0 and "6 runs done (seed 1 × strength 6)" in out
    assert "All sweeps in" in said(capsys, "sweep", "resume", tmp_path)[1]
    assert resume(folder)["done"].all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["status", "{tmp}"], "holds no sweep: name a store, or the folder of a sweep"),
        (["resume", "{tmp}/nothing"], "holds no sweep"),
        (["work", "{tmp}"], "holds no readable sweep"),
        (["work", "{tmp}", "--shard", "x"], "`shard` must look like i/n, as 0/10, but is 'x'"),
        (["work", "{tmp}", "--shard", "3/3"], "`shard` must be i/n with i from 0 to 2"),
        (["slurm", *WORDS, "--shards", "0", "--out", "{tmp}"], "`tasks` must be at least 1"),
        (["slurm", "linear/chain"], "sweep slurm needs at least one axis"),
        ([*WORDS, "--processes", "2", "--workers", "2"], "`processes` must be given without `workers`, but both are"),
        ([*WORDS, "--processes", "0", "--out", "{tmp}"], "`processes` must be at least 1, but is 0"),
        ([*WORDS, "--workers", "many"], "`workers` must be a whole number, but is 'many'"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(tmp_path, capsys, words, message, monkeypatch):
    monkeypatch.setattr("festina.lab.sweeps.cores.take_core", lambda: None)
    code, out, err = said(capsys, "sweep", *(word.format(tmp=tmp_path) for word in words))
    assert code != 0 and message in err and err.count("\n") == 1 and out == ""


def test_a_half_done_sweep_has_its_share_told(tmp_path, capsys):
    said(capsys, "sweep", "slurm", *WORDS, "--out", tmp_path)
    (folder,) = sweeps_in(tmp_path)
    from festina.lab.sweeps.folder import stored_plan

    work(folder, stored_plan(folder), tell=lambda tile, outcome: True)
    assert "2 of 6 runs done (33%)" in said(capsys, "sweep", "status", folder)[1]


@pytest.mark.full
def test_one_unusable_sweep_does_not_keep_the_others_waiting(tmp_path, capsys):
    said(capsys, "sweep", "slurm", *WORDS, "--out", tmp_path)
    said(capsys, "sweep", "slurm", *WORDS, "--tile", "3", "--out", tmp_path)
    bad, good = sweeps_in(tmp_path)
    (bad / "sweep.json").write_text("{")
    code, out, err = said(capsys, "sweep", "status", tmp_path)
    assert code == 1 and "0 of 6 runs done" in out and "sweep.json is damaged" in err
    code, out, err = said(capsys, "sweep", "resume", tmp_path, "--processes", "1")
    assert code == 1 and "6 runs done" in out and str(good) in out and "sweep.json is damaged" in err


@pytest.mark.full
def test_a_finished_sweep_that_is_damaged_is_named_and_mended(tmp_path, capsys):
    words = ["sweep", *WORDS, "--out", tmp_path, "--processes", 1]
    assert said(capsys, *words)[0] == 0
    (folder,) = sweeps_in(tmp_path)
    sound = open_sweep(folder).load()
    (folder / "data.zarr" / "group-0" / "loss" / "c" / "1" / "0" / "0").write_bytes(b"")
    code, out, err = said(capsys, "sweep", "resume", tmp_path, "--processes", 1)
    assert code == 0 and "6 runs done" in out and "runs 3–4" in err and "computed again" in err
    assert open_sweep(folder).identical(sound)
    assert "All sweeps in" in said(capsys, "sweep", "resume", tmp_path)[1]
    (folder / "sweep.json").unlink()
    for command in ("status", "resume"):
        code, out, err = said(capsys, "sweep", command, tmp_path)
        assert code == 1 and out == "" and f"{folder}/sweep.json is damaged (it is missing); ask the sweep again" in err
    assert said(capsys, *words)[0] == 0 and said(capsys, "sweep", "status", tmp_path)[0] == 0
