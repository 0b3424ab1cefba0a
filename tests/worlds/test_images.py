"""Images: files are read, checked and fetched as they were published, or refused by name."""

import gzip
import hashlib
import struct

import numpy as np
import pytest

from festina.errors import ArgumentError, UnknownName
from festina.worlds import images, labellings

SHAPES = ((6, 5, 4), (6,), (3, 5, 4), (3,))


def idx(values: np.ndarray) -> bytes:
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


@pytest.fixture
def published(monkeypatch):
    """A tiny set in the place of MNIST: its arrays, and its files' contents."""
    random = np.random.default_rng(0)
    arrays = [random.integers(0, 256, shape, np.uint8) for shape in SHAPES]
    contents = [idx(array) for array in arrays]
    monkeypatch.setitem(images.CHECKSUMS, "mnist", tuple(hashlib.sha256(one).hexdigest() for one in contents))
    return arrays, contents


def write(folder, contents, compress):
    folder.mkdir(parents=True, exist_ok=True)
    for part, content in zip(images.PARTS, contents, strict=True):
        if compress:
            (folder / f"{part}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / part).write_bytes(content)


@pytest.mark.parametrize("compress", [True, False])
def test_files_are_read_compressed_or_not(published, tmp_path, monkeypatch, compress):
    arrays, contents = published
    monkeypatch.setenv("FESTINA_DATA", str(tmp_path))
    assert not images.has_images("mnist")
    write(tmp_path / "mnist", contents, compress)
    assert images.has_images("mnist")
    found = images.load_images("mnist")
    for have, want in zip((found.images, found.labels, found.test_images, found.test_labels), arrays, strict=True):
        np.testing.assert_array_equal(have, want)


def test_a_damaged_file_is_named_with_both_hashes(published, tmp_path):
    _, contents = published
    broken = contents[1][:-1] + bytes([contents[1][-1] ^ 1])
    write(tmp_path, [contents[0], broken, *contents[2:]], compress=False)
    with pytest.raises(images.DamagedImages) as error:
        images.load_images("mnist", tmp_path)
    for part in (images.PARTS[1], hashlib.sha256(broken).hexdigest(), images.CHECKSUMS["mnist"][1]):
        assert part in str(error.value)
    cut = tmp_path / f"{images.PARTS[0]}.gz"
    (tmp_path / images.PARTS[0]).unlink()
    cut.write_bytes(gzip.compress(contents[0])[:-9])
    with pytest.raises(images.DamagedImages, match="cannot be uncompressed"):
        images.load_images("mnist", tmp_path)


def test_missing_and_unknown_sets_say_so(tmp_path):
    with pytest.raises(images.MissingImages, match=r"train-images.* of fashion is not in .*festina data fetch fashion"):
        images.load_images("fashion", tmp_path)
    with pytest.raises(UnknownName, match="mnist"):
        images.load_images("mnits", tmp_path)
    with pytest.raises(ArgumentError, match="digits"):
        images.fetch("digits")


@pytest.mark.parametrize("content", [b"", b"\0\0\x08", b"\0\0\x0d\x01\0\0\0\0", idx(np.zeros(3, np.uint8))[:-1]])
def test_what_is_no_idx_file_is_refused(content):
    with pytest.raises(images.DamagedImages):
        images.parse_idx(content)


def test_mirrors_are_tried_in_order_and_not_trusted(published, tmp_path, monkeypatch):
    _, contents = published
    write(tmp_path / "liar", [b"nonsense"] * 4, compress=True)
    write(tmp_path / "honest", contents, compress=True)
    mirrors = [f"{(tmp_path / name).as_uri()}/" for name in ("nowhere", "liar", "honest")]
    monkeypatch.setitem(images.MIRRORS, "mnist", tuple(mirrors[:2]))
    with pytest.raises(images.MissingImages, match=r"nowhere.*liar.*is damaged"):
        images.fetch("mnist", tmp_path / "got")
    assert not (tmp_path / "got").exists() or not list((tmp_path / "got").iterdir())
    monkeypatch.setitem(images.MIRRORS, "mnist", tuple(mirrors))
    assert images.fetch("mnist", tmp_path / "got") == tmp_path / "got"
    monkeypatch.setitem(images.MIRRORS, "mnist", ())
    images.fetch("mnist", tmp_path / "got")  # all is there: nobody is asked
    assert images.load_images("mnist", tmp_path / "got").images.shape == SHAPES[0]


def test_digits_are_always_there():
    found = images.load_images("digits")
    assert found.images.shape == (1437, 8, 8) and found.test_images.shape == (360, 8, 8)
    assert found.images.max() == 255 and set(found.labels) == set(found.test_labels) == set(range(10))


def test_labels_of_the_second_task():
    assert images.parity_labels().tolist() == [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]
    clothes = images.labels_in_order(images.WARM_COLD)
    sandal, pullover, coat = 5, 2, 4
    assert (clothes[sandal], clothes[pullover], clothes[coat]) == (2, 6, 7)  # third, seventh and eighth in the list
    np.testing.assert_array_equal(images.labels_in_order(images.UPPER_LOWER), images.parity_labels())
    with pytest.raises(ArgumentError, match="every class once"):
        images.labels_in_order((0, 1, 1))


def test_the_two_orders_of_clothes_share_more_or_fewer_labels():
    pairs = labellings.PAIRS
    assert pairs["fashion_upper_lower"].kept == 0.2 and pairs["fashion_warm_cold"].kept == 0.5
    assert pairs["mnist"].codes[1].tolist() == [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]
    assert np.array_equal(pairs["mnist"].codes, pairs["fashion_upper_lower"].codes)
