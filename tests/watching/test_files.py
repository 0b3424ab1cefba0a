"""Checkpoints: files are read as they were written, or refused in a sentence; nothing in them is ever run."""

import io
import json
import pickle
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from festina.errors import FestinaError
from festina.watching.files import Checkpoint, CheckpointError, list_checkpoints, read_checkpoint, read_checkpoints
from festina.watching.formats import KINDS

ARRAYS = {
    "layer.0.weight": np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2),
    "layer.0.bias": np.linspace(0, 1, 3),
    "steps": np.asarray(7),
    "nothing": np.zeros((0, 4), np.float16),
    "mask": np.array([True, False, True]),
}
HEADER = {
    "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
    "b": {"dtype": "U8", "shape": [4], "data_offsets": [8, 12]},
}


def safetensors(header: Any, content: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


def as_safetensors(arrays: dict[str, np.ndarray]) -> bytes:
    kinds = {np.dtype(kind): name for name, kind in KINDS.items()}
    header: dict[str, Any] = {"__metadata__": {"format": "np"}}
    content = b""
    for name, array in arrays.items():
        place = [len(content), len(content) + array.nbytes]
        header[name] = {"dtype": kinds[array.dtype], "shape": array.shape, "data_offsets": place}
        content += array.tobytes()
    return safetensors(header, content)


def as_npz(arrays: dict[str, Any], compress: bool = False) -> bytes:
    stream = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(stream, **arrays)
    return stream.getvalue()


def equal(have: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> bool:
    return set(have) == set(want) and all(
        have[name].dtype == want[name].dtype
        and have[name].shape == want[name].shape
        and have[name].tobytes() == want[name].tobytes()
        for name in want
    )


def refused(content: bytes, path: Path, *words: str) -> None:
    """Whether a file is refused in one line that names it and has these words."""
    path.write_bytes(content)
    with pytest.raises(CheckpointError) as error:
        read_checkpoint(path)
    for word in (str(path), *words):
        assert word in str(error.value)
    assert "\n" not in str(error.value)


class Runs:
    """What leaves a file behind if it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return (open, (str(self.mark), "w"))


@pytest.fixture
def random():
    return np.random.default_rng(0)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.mark.parametrize("compress", [False, True])
def test_files_of_numpy_are_read_as_written(tmp_path, compress):
    path = tmp_path / "model.NPZ"  # an ending is an ending in capitals, too
    path.write_bytes(as_npz(ARRAYS, compress))
    assert equal(read_checkpoint(path), ARRAYS)
    assert equal(read_checkpoint(str(path)), ARRAYS)


def test_files_of_safetensors_are_read_as_written(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(as_safetensors(ARRAYS))
    assert equal(read_checkpoint(path), ARRAYS)
    arrays = read_checkpoint(path)
    arrays["mask"][0] = False  # they can be changed, and are not parts of one another
    assert equal({**arrays, "mask": ARRAYS["mask"]}, ARRAYS)


@pytest.mark.parametrize("kind", KINDS)
def test_each_type_of_safetensors_is_read(tmp_path, kind, random):
    values = random.integers(0, 2, (2, 3)).astype(KINDS[kind])
    (tmp_path / "model.safetensors").write_bytes(as_safetensors({"values": values, "one": values[0, 0].reshape(())}))
    found = read_checkpoint(tmp_path / "model.safetensors")
    assert equal(found, {"values": values, "one": values[0, 0].reshape(())})


def test_a_file_by_another_writer_is_read(tmp_path):
    """Bytes as the specification has them: a padded header, arrays in another order than they are listed."""
    text = b'{"b":{"dtype":"I16","shape":[],"data_offsets":[4,6]},'
    text += b'"a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}}  '
    content = bytes.fromhex("803f00c0") + struct.pack("<h", -3)
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + content)
    found = read_checkpoint(tmp_path / "model.safetensors")
    assert found["a"].dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(found["a"].astype(float), [[1.0, -2.0]])
    assert found["b"] == -3
    assert found["b"].shape == ()


@pytest.mark.parametrize("end", ["npz", "safetensors"])
def test_a_file_cut_short_anywhere_is_refused(tmp_path, end, random):
    whole = as_npz(ARRAYS) if end == "npz" else as_safetensors(ARRAYS)
    for length in {0, 1, 7, 8, 9, len(whole) - 1, *random.integers(0, len(whole), 200).tolist()}:
        refused(whole[:length], tmp_path / f"model.{end}")


@pytest.mark.parametrize("end", ["npz", "compressed.npz", "safetensors"])
def test_whatever_byte_is_damaged_nothing_else_comes_out(tmp_path, end, random):
    whole = as_safetensors(ARRAYS) if end == "safetensors" else as_npz(ARRAYS, end.startswith("compressed"))
    path = tmp_path / f"model.{end}"
    for place in random.integers(0, len(whole), 300):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(random.integers(8))
        path.write_bytes(damaged)
        try:
            found = read_checkpoint(path)
        except CheckpointError:
            continue
        # Safetensors has no checksums, and names in a directory have none: numbers in files of NumPy do.
        if end != "safetensors":
            assert {array.tobytes() for array in found.values()} <= {array.tobytes() for array in ARRAYS.values()}


@pytest.mark.parametrize("end", ["npz", "safetensors"])
def test_what_is_no_checkpoint_is_refused(tmp_path, end, random):
    path = tmp_path / f"model.{end}"
    refused(b"", path, "is empty")
    refused(b"this is a text, and a text is no checkpoint", path, f"{end} file")
    for length in range(1, 200):
        refused(random.bytes(length), path)


@pytest.mark.parametrize(
    ("header", "content", "words"),
    [
        ({}, b"", "no arrays"),
        ([], b"", "safetensors file"),
        (b"{", b"", "safetensors file"),
        (b"[" * 100_000, b"", "safetensors file"),
        (b'{"\xff": 1}', b"", "safetensors file"),
        (b'{"a": 1, "a": 2}', b"", "twice"),
        (HEADER, bytes(13), "take 12 bytes, but it has 13"),
        (HEADER, bytes(11), "take 12 bytes, but it has 11"),
        ({"a": HEADER["a"], "b": {**HEADER["b"], "data_offsets": [4, 8]}}, bytes(8), "overlaps"),
        ({"a": HEADER["a"], "b": {**HEADER["b"], "data_offsets": [9, 13]}}, bytes(13), "gap"),
        ({"a": {**HEADER["a"], "shape": [3]}}, bytes(8), "`a`"),
        ({"a": {**HEADER["a"], "shape": [-1, -2]}}, bytes(8), "`a`"),
        ({"a": {**HEADER["a"], "shape": [2.0]}}, bytes(8), "`a`"),
        ({"a": {**HEADER["a"], "shape": [True, 2]}}, bytes(8), "`a`"),
        ({"a": {**HEADER["a"], "shape": 2}}, bytes(8), "`a`"),
        ({"a": {**HEADER["a"], "shape": [2] + [1] * 100}}, bytes(8), "safetensors file"),
        ({"a": {**HEADER["a"], "shape": [0, 2**70], "data_offsets": [0, 0]}}, b"", "safetensors file"),
        ({"a": {**HEADER["a"], "data_offsets": [8, 0]}}, bytes(8), "`a`"),
        ({"a": {**HEADER["a"], "data_offsets": [0, 8, 16]}}, bytes(8), "`a`"),
        ({"a": {"dtype": "F32", "shape": [2]}}, bytes(8), "`a`"),
        ({"a": "F32"}, bytes(8), "`a`"),
        ({"a": {**HEADER["a"], "dtype": "F4"}}, bytes(8), "but is F4"),
        ({"a": {**HEADER["a"], "dtype": "BOOL", "shape": [8]}}, bytes(7) + b"\2", "true or false"),
    ],
)
def test_a_header_that_contradicts_itself_is_refused(tmp_path, header, content, words):
    refused(safetensors(header, content), tmp_path / "model.safetensors", words)


def test_a_header_longer_than_its_file_is_refused(tmp_path):
    for length in (9, 2**40, 2**64 - 1):
        refused(struct.pack("<Q", length) + b"{}", tmp_path / "model.safetensors", f"{length} bytes of header")


def npy(shape: str, content: bytes = b"", kind: str = "<f8") -> bytes:
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({}, "no arrays"),
        ({"a.npy": npy("(1000000000000,)")}, "another size"),
        ({"a.npy": npy("(1,)", bytes(16))}, "another size"),
        ({"a.npy": npy("(-1, -2)", bytes(16))}, "npz file"),
        ({"a.npy": npy("(1,)", bytes(8)), "a": npy("(1,)", bytes(8))}, "one name"),
        ({"a.npy": b"no array"}, "npz file"),
        ({"a.txt": b""}, "npz file"),
        ({"a.npy": npy("(1,)", bytes(8), "<U2")}, "must be numbers, but is <U2"),
        ({"a.npy": npy("(4,)", bytes(8), "|V2")}, "must be numbers"),
    ],
)
def test_an_archive_that_is_none_of_arrays_is_refused(tmp_path, members, words):
    refused(zipped(members), tmp_path / "model.npz", words)


def test_objects_in_files_of_numpy_are_not_loaded(tmp_path):
    mark = tmp_path / "ran"
    refused(as_npz({"a": np.array([Runs(mark)], object)}), tmp_path / "model.npz", "`a`", "executing code")
    stream = io.BytesIO()
    np.save(stream, np.array([Runs(mark)], object))
    lying = stream.getvalue().replace(b"'|O'", b"'|u1'").replace(b" \n", b"\n", 1)
    refused(zipped({"a.npy": lying}), tmp_path / "model.npz")
    refused(pickle.dumps(Runs(mark)), tmp_path / "model.npz")
    assert not mark.exists()


@pytest.mark.parametrize("end", ["npz", "safetensors"])
def test_a_file_may_take_so_many_bytes_and_no_more(tmp_path, end):
    array = {"a": np.zeros((100, 1000)), "b": np.zeros(1, np.uint8)}
    path = tmp_path / f"model_1.{end}"
    path.write_bytes(as_npz(array, compress=True) if end == "npz" else as_safetensors(array))
    assert equal(read_checkpoint(path, most_bytes=800_001), array)
    for read in (read_checkpoint, read_checkpoints):
        with pytest.raises(CheckpointError, match=r"800001 bytes, but may take 800000.*most_bytes"):
            read(path, most_bytes=800_000)


def test_room_is_made_only_for_what_may_be_loaded(tmp_path, monkeypatch):
    (tmp_path / "model.npz").write_bytes(as_npz({"a": np.zeros(1000)}, compress=True))
    monkeypatch.setattr(np, "load", lambda *arguments, **options: pytest.fail("it was loaded"))
    with pytest.raises(CheckpointError, match="most_bytes"):
        read_checkpoint(tmp_path / "model.npz", most_bytes=7999)


def test_what_is_not_there_is_said(tmp_path):
    for path, words in (
        (tmp_path / "none.npz", "No such file"),
        (tmp_path, "is a folder"),
        (tmp_path / ("x" * 300 + ".npz"), "cannot be read"),
    ):
        with pytest.raises(CheckpointError, match=words):
            read_checkpoint(path)
    (tmp_path / "notes.txt").write_text("a text")
    with pytest.raises(CheckpointError, match=r"notes.txt is not a checkpoint: its name must end in .npz, .safeten"):
        read_checkpoint(tmp_path / "notes.txt")
    for read in (list_checkpoints, read_checkpoints):
        with pytest.raises(CheckpointError, match="holds no checkpoints"):
            read(tmp_path)
        with pytest.raises(CheckpointError, match=r"nowhere must be a folder.*No such file"):
            read(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="Not a directory"):
        list_checkpoints(tmp_path / "notes.txt")
    with pytest.raises(CheckpointError, match="none is given"):
        read_checkpoints([])
    assert issubclass(CheckpointError, FestinaError)


def test_without_pytorch_its_files_are_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for end in ("pt", "pth", "bin", "ckpt"):
        refused(b"PK", tmp_path / f"model.{end}", "PyTorch", "not installed", ".safetensors")


def steps(folder: Path, *names: str) -> list[tuple[int, str]]:
    for name in names:
        (folder / name).write_bytes(b"x")
    return [(each.step, each.path.name) for each in list_checkpoints(folder)]


@pytest.mark.parametrize(
    "named",
    [
        {"model_000100.npz": 100, "model_000020.npz": 20},
        {"step=100.safetensors": 100},
        {"epoch3.pt": 3, "epoch10.pth": 10, "epoch0.ckpt": 0},
        {"net2-layer3-7.bin": 7},  # of one file alone the last number
        {"5_of_90.npz": 5, "10_of_90.npz": 10},  # the one that differs
        {"v1_20_seed4.npz": 20, "v1_3_seed4.npz": 3},
        {"epoch=0-step=100.ckpt": 100, "epoch=1-step=200.ckpt": 200},
        {"init.npz": 0, "model_5.npz": 5},
        {"resnet18_start.npz": 0, "resnet18_50.npz": 50, "resnet18_9.npz": 9},
        {"at-INIT.npz": 0},
        {"init5.npz": 5, "init6.npz": 6},
    ],
)
def test_the_step_is_read_from_the_name(tmp_path, named):
    assert steps(tmp_path, *named) == sorted((step, name) for name, step in named.items())


def test_only_checkpoints_are_listed(tmp_path):
    (tmp_path / "folder_3.npz").mkdir()
    assert steps(tmp_path, "a_1.npz", "config_2.json", "._a_1.npz", "README") == [(1, "a_1.npz")]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a_1.npz", "a_01.npz"], "both of step 1"),
        (["a_1.npz", "a_1.safetensors"], "both of step 1"),
        (["init.npz", "a_0.npz"], "both of step 0"),
        (["init.npz", "start.npz"], "both of step 0"),
        (["a_1.npz", "best.npz"], "best.npz must have the training step"),
        (["a_1.npz", "restarted.npz"], "restarted.npz must have the training step"),
        (["a1_b2.npz", "a2_b3.npz"], "a1_b2.npz"),
        (["a1_b2.npz", "a2_b3.npz"], "differ in one number"),
        (["step1_step2.npz", "step3_step4.npz"], "differ in one number"),
        (["a_1.npz", "a_2.npz", "a_1_2.npz"], "a_1_2.npz must have equally many numbers"),
        ([f"a{n}_b{n}.npz" for n in range(9)], "and 5 more"),
    ],
)
def test_names_that_tell_no_one_step_are_refused(tmp_path, names, words):
    with pytest.raises(CheckpointError, match=words):
        steps(tmp_path, *names)


def course(folder: Path, **changed: Any) -> Path:
    """Three checkpoints; of the last one these arrays are others."""
    for step in (0, 20, 100):
        arrays = {"w": np.full((2, 3), step, np.float32), "b": np.full(3, step, float), "n": np.asarray(step)}
        arrays |= changed if step == 100 else {}
        kept = {name: array for name, array in arrays.items() if array is not None}
        (folder / f"model_{step}.npz").write_bytes(as_npz(kept))
    return folder


def test_checkpoints_are_read_in_the_order_of_steps(tmp_path):
    paths = [course(tmp_path) / f"model_{step}.npz" for step in (100, 0, 20)]
    for given in (tmp_path, str(tmp_path), paths, [str(path) for path in paths], list_checkpoints(tmp_path)[::-1]):
        found, arrays = read_checkpoints(given)
        assert found == [0, 20, 100]
        assert [each["b"][0] for each in arrays] == [0.0, 20.0, 100.0]
        assert [each["w"].dtype for each in arrays] == [np.float32] * 3
        assert arrays[0]["b"].dtype == np.float64
        assert arrays[0]["n"].dtype.kind == "i"
    assert read_checkpoints(paths[0])[0] == [100]
    assert read_checkpoints([Checkpoint(7, paths[0]), Checkpoint(3, paths[1])])[0] == [3, 7]
    with pytest.raises(CheckpointError, match="both of step 7"):
        read_checkpoints([Checkpoint(7, paths[0]), Checkpoint(7, paths[1])])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"w": np.zeros((3, 2))}, r"array `w` of .*model_100.npz has shape \(3, 2\), but \(2, 3\) in .*model_0.npz"),
        ({"w": None}, r"model_100.npz has no array `w`, but must have all that .*model_0.npz"),
        ({"extra": np.ones(2)}, r"model_100.npz has an array `extra`, but must have none that .*model_0.npz"),
        ({"b": np.array([1, np.nan, -np.inf])}, r"array `b` of .*model_100.npz must be finite.*2 non-finite"),
        ({"b": np.array([1, 2, np.inf], np.float16)}, r"array `b` of .*model_100.npz must be finite.*1 non-finite"),
    ],
)
def test_checkpoints_that_are_not_of_one_network_are_refused(tmp_path, changed, words):
    with pytest.raises(CheckpointError, match=words):
        read_checkpoints(course(tmp_path, **changed))


@pytest.mark.parametrize("kind", ["F16", "BF16", "F8_E4M3", "F8_E5M2"])
def test_short_floats_become_float32(tmp_path, kind):
    (tmp_path / "model_1.safetensors").write_bytes(as_safetensors({"a": np.array([0.5, -2]).astype(KINDS[kind])}))
    (array,) = read_checkpoints(tmp_path)[1]
    assert array["a"].dtype == np.float32
    assert array["a"].tolist() == [0.5, -2.0]


def test_numbers_of_another_machine_become_numbers_of_this_one(tmp_path):
    (tmp_path / "model_1.npz").write_bytes(as_npz({"a": np.arange(3, dtype=">f8")}))
    (array,) = read_checkpoints(tmp_path)[1]
    assert array["a"].dtype == np.dtype("=f8")
    assert array["a"].tolist() == [0, 1, 2]


def as_tensors(torch):
    return {name: torch.tensor(array) for name, array in ARRAYS.items()}


@pytest.mark.full
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("end", ["pt", "pth", "bin", "ckpt"])
def test_files_of_pytorch_are_read_as_written(tmp_path, torch, zipped, end):
    tensors = as_tensors(torch)
    beside = {"epoch": 3, "optimizer": {"state": {0: torch.ones(2)}}, "name": "net"}
    path = tmp_path / f"model.{end}"
    for content in (
        tensors,
        {"state_dict": tensors, **beside},
        {"model": tensors, **beside},
        {"model_state_dict": tensors, **beside},
        {"model": {"state_dict": tensors}, **beside},
        {"layer": [{"weight": tensors["layer.0.weight"], "bias": tensors["layer.0.bias"]}], "epoch": 3}
        | {name: tensor for name, tensor in tensors.items() if "." not in name},
    ):
        torch.save(content, path, _use_new_zipfile_serialization=zipped)
        assert equal(read_checkpoint(path), ARRAYS)


@pytest.mark.full
def test_a_module_is_read_by_its_state(tmp_path, torch):
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).to(torch.bfloat16)
    torch.save(net.state_dict(), tmp_path / "epoch1.pt")
    found = read_checkpoint(tmp_path / "epoch1.pt")
    assert list(found) == list(net.state_dict())
    assert found["0.weight"].dtype == ml_dtypes.bfloat16
    want = net[0].weight.detach().float().numpy()
    np.testing.assert_array_equal(read_checkpoints(tmp_path)[1][0]["0.weight"], want)
    torch.save({"a": torch.ones(2, 3).to(torch.float8_e4m3fn).T, "b": torch.ones(2, 3).T}, tmp_path / "epoch1.pt")
    assert read_checkpoint(tmp_path / "epoch1.pt")["a"].astype(float).tolist() == np.ones((3, 2)).tolist()


@pytest.mark.full
@pytest.mark.parametrize("zipped", [True, False])
def test_a_file_of_pytorch_cut_short_is_refused(tmp_path, torch, zipped, random):
    path = tmp_path / "model.pt"
    torch.save(as_tensors(torch), path, _use_new_zipfile_serialization=zipped)
    whole = path.read_bytes()
    for length in sorted({1, 2, 4, 10, len(whole) - 1, *random.integers(1, len(whole), 150).tolist()}):
        refused(whole[:length], path, "damaged or no .pt file")
    for place in random.integers(0, len(whole), 150):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(random.integers(8))
        path.write_bytes(damaged)
        try:
            assert all(isinstance(array, np.ndarray) for array in read_checkpoint(path).values())
        except CheckpointError as error:
            assert str(path) in str(error)


@pytest.mark.full
def test_a_pickle_that_would_execute_code_does_not(tmp_path, torch, monkeypatch):
    mark, path = tmp_path / "ran", tmp_path / "model.pt"
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")  # what a user allows elsewhere is not allowed here
    for zipped in (True, False):
        for content in ({"w": torch.ones(2), "x": Runs(mark)}, Runs(mark), torch.nn.Linear(2, 2)):
            stream = io.BytesIO()
            torch.save(content, stream, _use_new_zipfile_serialization=zipped)
            refused(stream.getvalue(), path, "would execute code", "state_dict")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        refused(pickle.dumps(Runs(mark), protocol), path, "would execute code")
    assert not mark.exists()


@pytest.mark.full
def test_what_is_no_file_of_pytorch_is_refused(tmp_path, torch, random):
    path = tmp_path / "model.pt"
    for content in (b"this is a text", as_npz(ARRAYS), as_safetensors(ARRAYS), *map(random.bytes, range(1, 40))):
        refused(content, path, "damaged or no .pt file")
    for content, words in (
        (torch.ones(2), "holds one Tensor"),
        ([torch.ones(2)], "holds one list"),
        ({"epoch": 3}, "holds no arrays"),
        ({"a.b": torch.ones(2), "a": {"b": torch.ones(2)}}, "two arrays called `a.b`"),
        ({"a": torch.ones(2, 2).to_sparse()}, "array `a`"),
        ({"a": torch.ones(2, device="meta")}, "array `a`"),
    ):
        stream = io.BytesIO()
        torch.save(content, stream)
        refused(stream.getvalue(), path, words)
    endless: dict[str, Any] = {}
    for key in ("model", "other"):
        endless[key] = endless
        stream = io.BytesIO()
        torch.save(endless, stream)
        refused(stream.getvalue(), path)


@pytest.mark.full
def test_a_file_of_pytorch_may_take_so_many_bytes_and_no_more(tmp_path, torch):
    path = tmp_path / "model.pt"
    for zipped in (True, False):
        torch.save({"a": torch.zeros(1000)}, path, _use_new_zipfile_serialization=zipped)
        assert read_checkpoint(path, most_bytes=10_000)["a"].shape == (1000,)
        with pytest.raises(CheckpointError, match="most_bytes"):
            read_checkpoint(path, most_bytes=3999)
    torch.save({"a": torch.zeros(1).expand(2**50)}, path)  # one number, said to be there very often
    with pytest.raises(CheckpointError, match="most_bytes"):
        read_checkpoint(path)
