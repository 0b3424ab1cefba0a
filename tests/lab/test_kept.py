"""Results that are saved and opened again: whole, to the last bit, or not at all and with a sentence."""

import json
import shutil

import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError, StoreError
from festina.lab.damage import read_sealed, write_sealed
from festina.lab.report import result_section
from narrowing import there
from shared import quick
from toy import Toy

NAME = "linear/chain"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return quick(NAME).save(tmp_path_factory.mktemp("saved") / "chain")


def assert_same(one, other):
    xr.testing.assert_identical(one.data, other.data)
    assert (one.theory is None) == (other.theory is None)
    if one.theory is not None:
        xr.testing.assert_identical(one.theory, other.theory)
    assert one.verdicts == other.verdicts
    assert one.config == other.config


def test_what_is_saved_is_loaded_to_the_last_bit(saved):
    result = fs.load(str(saved))
    assert_same(result, quick(NAME))
    assert result.path == saved and result.from_store
    assert type(result.experiment) is type(quick(NAME).experiment)
    assert result_section(result)


def test_a_folder_of_the_store_is_opened(saved):
    stored = quick(NAME)
    assert_same(fs.load(there(stored.path)), stored)


def test_what_is_loaded_can_be_saved_and_keeps_where_it_comes_from(saved, tmp_path):
    again = fs.load(fs.load(saved).save(tmp_path / "again"))
    assert_same(again, quick(NAME))
    assert again.data.attrs["created"] == quick(NAME).data.attrs["created"]
    cards = [read_sealed(folder / "result.json") for folder in (there(quick(NAME).path), tmp_path / "again")]
    assert cards[0] == cards[1]
    again.save(tmp_path / "again")  # a result may be replaced
    assert [path.name for path in tmp_path.iterdir()] == ["again"]


def test_one_without_a_store_and_without_a_name_can_be_kept(tmp_path):
    result = fs.run(Toy(), budget="quick", units=3, seeds=2)
    folder = result.save(tmp_path / "a" / "toy")
    assert_same(fs.load(folder, experiment=Toy()), result)
    with pytest.raises(StoreError, match=r"of 'toy/decay', which this festina does not know .* experiment="):
        fs.load(folder)
    with pytest.raises(ArgumentError, match=r"`experiment` must be 'toy/decay', which .* is of, but is 'linear/chain'"):
        fs.load(folder, experiment=NAME)


def test_a_failed_run_is_kept_with_its_reason(tmp_path):
    result = fs.run(Toy(), budget="quick", speed=-1.0, explode=True)
    loaded = fs.load(result.save(tmp_path / "failed"), experiment=Toy())
    assert loaded.failures == result.failures and loaded.failures
    assert_same(loaded, result)


def test_a_path_that_is_no_result_says_what_it_is(saved, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "checkpoint.npz").touch()
    swept = fs.sweep(Toy(), "speed=1,2", store=tmp_path / "sweeps", budget="quick").attrs["store"]
    for path, says in {
        tmp_path / "nowhere": "where there is nothing",
        tmp_path / "file": "which is a file",
        tmp_path / "begun": "which is unfinished; ask its question again to go on",
        tmp_path: "which holds none",
        saved.parent: "which holds 1, such as .*chain",
        swept: "which is that of a sweep; `festina.lab.open_sweep` opens it",
    }.items():
        with pytest.raises(ArgumentError, match=f"`path` must be the folder of a result, but is '.*', {says}"):
            fs.load(path)


def test_what_is_damaged_is_named_and_left_where_it_is(saved, tmp_path):
    for number, name in enumerate(["result.json", "data.zarr/simulation/zarr.json"]):
        folder = shutil.copytree(saved, tmp_path / str(number))
        (folder / name).write_text("{}")
        with pytest.raises(StoreError, match=r"is damaged \(.*\); ask its question again"):
            fs.load(folder)
        assert folder.exists()


def test_settings_that_are_no_more_are_named(saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "old")
    card = read_sealed(folder / "result.json")
    write_sealed(folder / "result.json", card | {"config": card["config"] | {"breadth": 3}})
    with pytest.raises(StoreError, match=r"with settings that linear/chain refuses: unknown field .* 'breadth'"):
        fs.load(folder)
    write_sealed(folder / "result.json", card | {"experiment": "linear/chian"})
    with pytest.raises(StoreError, match=r"'linear/chian', which this .* does not know .*did you mean 'linear/chain'"):
        fs.load(folder)


def test_nothing_else_is_written_over(tmp_path):
    (tmp_path / "mine.txt").write_text("words")
    with pytest.raises(ArgumentError, match="`path` must be a new folder, or that of a result to be replaced"):
        quick(NAME).save(tmp_path)
    with pytest.raises(ArgumentError, match="`path` must be a new folder"):
        quick(NAME).save(tmp_path / "mine.txt")
    with pytest.raises(StoreError, match="cannot write"):
        quick(NAME).save(tmp_path / "mine.txt" / "inside")
    assert (tmp_path / "mine.txt").read_text() == "words" and len(list(tmp_path.iterdir())) == 1


def test_a_save_that_is_cut_short_leaves_what_was_there(saved, tmp_path, monkeypatch):
    folder = shutil.copytree(saved, tmp_path / "kept")

    def full(*arguments):
        raise OSError("no space left on device")

    monkeypatch.setattr("festina.lab.store.write_zarr", full)
    with pytest.raises(StoreError, match=r"cannot write .*no space left"):
        quick(NAME).save(folder)
    assert_same(fs.load(folder), quick(NAME))
    assert json.loads((folder / "result.json").read_text())["experiment"] == NAME
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
