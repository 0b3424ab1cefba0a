"""Damage to any file of what is stored is answered in festina's own sentence, and mended when one asks again."""

import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import pytest
import xarray as xr

import festina as fs
from festina.errors import FestinaWarning, StoreError
from festina.lab import open_sweep
from festina.lab import store as stores
from festina.lab.sweeps.folder import prepare, status
from festina.lab.sweeps.plan import Tile
from festina.lab.sweeps.sweep import planned, resume
from festina.lab.sweeps.worker import compute
from toy import Toy

QUESTION: dict[str, Any] = {
    "over": {"units": [1, 2], "speed": [-1.0, 1.0, 2.0]},
    "tile": 2,
    "explode": True,  # at speed −1
    "records": 4,
    "variables": ["level"],
}


def _garbled(content: bytes, by: int) -> bytes:
    return bytes(byte ^ by for byte in content)


def _one_byte_changed(content: bytes) -> bytes:
    """Often so that JSON is still JSON."""
    middle = len(content) // 2
    return content[:middle] + _garbled(content[middle : middle + 1], 1) + content[middle + 1 :]


HARMS: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda content: b"",
    "halved": lambda content: content[: len(content) // 2],
    "garbled": lambda content: _garbled(content, 0x55),
    "changed": _one_byte_changed,
}
every_harm = pytest.mark.parametrize("harm", [*HARMS, "removed"])


def do(harm: str, path: Path) -> None:
    if harm != "removed":
        path.write_bytes(HARMS[harm](path.read_bytes()))
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


@contextmanager
def harmed(path: Path, harm: str, aside: Path) -> Iterator[None]:
    """Within, a file or folder is damaged; afterwards it is as it was."""
    path.rename(aside)
    if harm != "removed":
        path.write_bytes(HARMS[harm](aside.read_bytes()))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        aside.rename(path)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """A finished sweep in two groups of two tiles, with a failure in each group."""
    with jax.enable_x64(True):
        return fs.sweep(Toy(), store=tmp_path_factory.mktemp("sound"), **QUESTION).load()


@pytest.fixture
def folder(sound: xr.Dataset, tmp_path: Path) -> Path:
    """A copy of the sweep, in a store of its own."""
    original = Path(sound.attrs["store"])
    return Path(shutil.copytree(original, tmp_path / "store" / original.relative_to(original.parents[2])))


def ask_again(folder: Path) -> xr.Dataset:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FestinaWarning)
        return fs.sweep(Toy(), store=folder.parents[2], **QUESTION).load()


def is_same(data: xr.Dataset, sound: xr.Dataset) -> bool:
    """Whether two data sets agree in all but where they are and when they were made."""
    here = {"store": "", "created": ""}
    return data.assign_attrs(here).identical(sound.assign_attrs(here))


def is_same_as_far_as_done(data: xr.Dataset, sound: xr.Dataset) -> bool:
    """Whether runs that are done are the same, and the others are said not to be and have no values."""
    done = data["done"]
    nothing = bool(data["level"].where(~done).isnull().all())
    return not done.all() and nothing and data.where(done).equals(sound.where(done))


@pytest.mark.full
@every_harm
def test_damage_to_any_file_is_named_or_makes_no_difference(sound, folder, tmp_path, harm):
    """Opening and loading give the very data, or a sentence that names the folder; never another error."""
    for path in sorted(path for path in folder.rglob("*") if harm == "removed" or (path.is_file() and size(path))):
        with harmed(path, harm, tmp_path / "aside"):
            try:
                data = open_sweep(folder, Toy()).load()
            except StoreError as error:
                assert str(folder) in str(error) and "ask the sweep again to mend it" in str(error), path
                continue
        is_mark = harm == "removed" and "done/c" in path.as_posix()  # without it, a tile is not done
        assert is_same_as_far_as_done(data, sound) if is_mark else is_same(data, sound), path


def size(path: Path) -> int:
    return path.stat().st_size


ROUNDS = [
    ["sweep.json", "tiles/0-0.json", "data.zarr/group-0/config_speed/c/1", "data.zarr/group-1/level/c/1/0/0"],
    ["failures/0-0.json", "data.zarr/group-0/done/c/1", "data.zarr/group-1/zarr.json"],
    ["data.zarr/group-0/failed/c/0", "data.zarr/group-1/clock/c/1/0", "failures/1-0.json"],
    ["tiles/group-0.json", "data.zarr/group-1/unit/c/0"],
    ["data.zarr/group-0/level/zarr.json", "data.zarr/group-1/done/zarr.json"],
]


@every_harm
@pytest.mark.full
def test_asked_again_a_damaged_sweep_is_mended_to_the_last_bit(sound, folder, harm):
    for places in ROUNDS:
        for place in places:
            do(harm, folder / place)
        assert is_same(ask_again(folder), sound), places


@pytest.mark.mostly_full
@pytest.mark.parametrize("place", ["tiles", "failures", "data.zarr", "data.zarr/group-0", "data.zarr/group-1/level"])
def test_a_missing_folder_is_mended_too(sound, folder, place):
    do("removed", folder / place)
    assert is_same(ask_again(folder), sound)


def test_what_is_damaged_after_opening_is_noticed_when_it_is_read(sound, folder):
    data = open_sweep(folder, Toy())
    do("removed", folder / "data.zarr/group-1/level/c/1/0/0")  # zarr would read it as NaN
    other = {"units": 1, "speed": slice(0, 2)}
    assert data["level"].isel(other).equals(sound["level"].isel(other))
    for read in (lambda: data["level"].values, lambda: data["level"].isel(speed=2, time=-1).load(), data.load):
        with pytest.raises(StoreError, match=r"group-1 is damaged \(data.zarr/.*level/c/1/0/0 is missing or changed\)"):
            read()


def test_the_status_of_a_damaged_sweep_is_told_or_refused(folder, tmp_path):
    assert (status(folder, Toy()).done, status(folder, Toy()).failed) == (6, 2)
    for harm in (*HARMS, "removed"):
        for place in ("sweep.json", "failures/1-0.json", "failures"):
            if harm == "removed" or (folder / place).is_file():
                with harmed(folder / place, harm, tmp_path / "aside"), pytest.raises(StoreError, match="is damaged"):
                    status(folder, Toy())


def test_a_sweep_is_resumed_from_its_folder_unless_its_own_card_is_damaged(sound, folder):
    do("changed", folder / "data.zarr/group-0/level/c/0/0/0")
    with pytest.warns(FestinaWarning, match=r"runs 1–2 in .*group-0 are damaged .* computed again"):
        assert is_same(resume(folder, experiment=Toy()), sound)
    do("changed", folder / "sweep.json")
    with pytest.raises(StoreError, match=r"sweep.json is damaged .*; ask the sweep again to mend it"):
        resume(folder, experiment=Toy())


def test_a_worker_writes_nothing_into_a_damaged_group(folder):
    plan = planned(Toy(), **QUESTION)
    do("removed", folder / "tiles/group-0.json")
    with pytest.raises(StoreError, match=r"group-0 is damaged \(tiles/group-0.json is missing\)"):
        compute(folder, plan, Tile(0, 2, 3))
    assert (folder / "data.zarr/group-0/done/c/0").exists()


def test_a_folder_is_not_taken_for_the_sweep_of_another_name(folder):
    other: dict[str, Any] = QUESTION | {"records": 5}
    plan = planned(Toy(), **other)
    elsewhere = folder.with_name("sweep-of-another-name")
    folder.rename(elsewhere)
    with pytest.raises(StoreError, match="holds another sweep than its name says"):
        prepare(elsewhere, plan)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a stored result."""
    with jax.enable_x64(True):
        path = fs.run(Toy(), budget="quick", store=tmp_path_factory.mktemp("result")).path
    assert path is not None and stores.load(path, Toy()) is not None
    return path


@pytest.mark.full
@every_harm
def test_a_damaged_result_is_never_loaded(result, tmp_path, harm):
    folder = tmp_path / "copy"
    for path in sorted(path for path in result.rglob("*") if path.is_file()):
        shutil.copytree(result, folder, dirs_exist_ok=True)
        do(harm, folder / path.relative_to(result))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", FestinaWarning)
            assert stores.load(folder, Toy()) is None, path
        said = [str(warning.message) for warning in caught]
        unfinished = harm == "removed" and path.name == stores.CARD
        assert unfinished or (len(said) == 1 and f"{folder} is damaged" in said[0] and path.name in said[0])
