"""Images with labels: digits that come with scikit-learn, and MNIST and Fashion-MNIST from their published files.

The published files are not part of festina. `fetch` downloads them into a folder, or a user puts them there, compressed
or not; whatever is read is first compared, uncompressed, with the SHA-256 of the originals.
"""

import gzip
import hashlib
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPException
from importlib.util import find_spec
from math import prod
from pathlib import Path
from urllib.request import urlopen

import numpy as np
from jaxtyping import Int, UInt8

from festina.errors import FestinaError, UnknownName, require

CLASSES = 10
COMPRESSED = b"\x1f\x8b"  # how a gzip file begins
PATIENCE = 30  # seconds to wait for a mirror
DIGITS = "datasets/data/digits.csv.gz"  # in the folder of scikit-learn

PARTS = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
"""What the four files of a published set are called, in festina's order of them."""

CHECKSUMS = {
    "mnist": (
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    "fashion": (
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
}
"""SHA-256 of the uncompressed files of each set, in the order of `PARTS`."""

MIRRORS = {
    "mnist": (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    "fashion": (
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
    ),
}
"""Where each set is published, tried in this order; a mirror need not be trusted, for all it gives is checked."""

SYSTEM = {"fashion": (Path("/usr/share/dataset-fashion-mnist"), Path("/usr/share/datasets/fashion-mnist"))}
"""Where packages of an operating system, as Debian's `dataset-fashion-mnist`, put the files of a set."""

UPPER_LOWER = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
"""The classes of Fashion-MNIST, from what is worn high to what is worn low."""

WARM_COLD = (0, 1, 5, 3, 7, 6, 2, 4, 8, 9)
"""The classes of Fashion-MNIST, from what is worn in warm weather to what is worn in cold."""


class MissingImages(FestinaError):
    """A set of images that is nowhere to be found."""


class DamagedImages(FestinaError):
    """A file that is not the one that was published."""


@dataclass(frozen=True)
class ImageSet:
    """Images in grey (0 to 255) and their classes, for learning and for testing.

    Example:
        >>> digits = fs.worlds.load_images("digits")
        >>> digits.images.shape, digits.test_images.shape, digits.labels[:5].tolist()
        ((1437, 8, 8), (360, 8, 8), [1, 2, 3, 4, 6])
    """

    name: str
    images: UInt8[np.ndarray, "n h w"]
    labels: Int[np.ndarray, " n"]
    test_images: UInt8[np.ndarray, "m h w"]
    test_labels: Int[np.ndarray, " m"]


def parity_labels(classes: int = CLASSES) -> Int[np.ndarray, " classes"]:
    """The label ⌊y/2⌋ + 5(y mod 2) of each class y: even digits first, then odd ones.

    Args:
        classes: how many; for another number of them, ⌈classes/2⌉ stands for 5.

    Example:
        >>> fs.worlds.images.parity_labels().tolist()
        [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]
    """
    y = np.arange(classes)
    return y // 2 + (classes + 1) // 2 * (y % 2)


def labels_in_order(order: Sequence[int]) -> Int[np.ndarray, " classes"]:
    """The label of each class if ``order`` lists the classes from label 0 on: a class's label is its place in the list.

    (The other reading, in which entry y of the list is the label of class y, is the inverse permutation.)

    Args:
        order: every class once, counted from 0.

    Example:
        >>> fs.worlds.images.labels_in_order((2, 0, 1)).tolist()  # class 2 has the label 0
        [1, 2, 0]
    """
    require(sorted(order) == list(range(len(order))), "order", "list every class once, counted from 0", tuple(order))
    return np.argsort(np.asarray(order))


def data_folder() -> Path:
    """Where data are kept: $FESTINA_DATA, or `festina/data` in the user's cache folder.

    Example:
        >>> fs.worlds.images.data_folder().is_absolute()
        True
    """
    chosen = os.environ.get("FESTINA_DATA")
    if chosen:
        return Path(chosen).expanduser()
    import pooch

    return Path(pooch.os_cache("festina")) / "data"


def folder_of(name: str, folder: str | Path | None = None) -> Path:
    """Where the files of a set are looked for: in a folder of its name, or where the user says.

    If they are not in the user's folder, and all of them in one of `SYSTEM`, it is that one.

    Args:
        name: `mnist` or `fashion`.
        folder: another than that of the set's name in `data_folder`.

    Example:
        >>> fs.worlds.images.folder_of("mnist").name
        'mnist'
    """
    require(name != "digits", "name", "be a set with files of its own (digits come with scikit-learn)", name)
    if name not in CHECKSUMS:
        raise UnknownName("set of images", name, ["digits", *CHECKSUMS])
    if folder is not None:
        return Path(folder)
    own = data_folder() / name
    return next((place for place in SYSTEM.get(name, ()) if not _complete(own) and _complete(place)), own)


def has_images(name: str, folder: str | Path | None = None) -> bool:
    """Whether all files of a set are there; what is in them is only checked when they are read.

    Args:
        name: `digits`, `mnist` or `fashion`.
        folder: where to look; see `folder_of`.

    Example:
        >>> fs.worlds.images.has_images("digits")
        True
    """
    if name == "digits":
        return True
    return _complete(folder_of(name, folder))


def load_images(name: str, folder: str | Path | None = None) -> ImageSet:
    """A set of images: `digits`, `mnist` or `fashion`.

    Args:
        name: `digits` are 1797 images of 8×8 pixels, of which every fifth is for testing; the others have 60000 images
            of 28×28 pixels, and 10000 more for testing.
        folder: where the four files of the set lie, `.gz` or not; unless given, that of `fetch`.

    Returns:
        An `ImageSet`; grey values are 0 to 255. A set that is not there, or is damaged, is refused.

    Example:
        >>> digits = fs.worlds.load_images("digits")
        >>> world = fs.worlds.Dataset.labelled(digits.images.reshape(-1, 64) / 255, digits.labels)
        >>> world.inputs.shape, world.classes
        ((1437, 64), 10)
    """
    if name == "digits":
        return _digits()
    place = folder_of(name, folder)
    arrays = [_read(part, place, name, digest) for part, digest in zip(PARTS, CHECKSUMS[name], strict=True)]
    images, labels, test_images, test_labels = arrays
    return ImageSet(name, images, labels.astype(np.int32), test_images, test_labels.astype(np.int32))


def fetch(name: str, folder: str | Path | None = None) -> Path:
    """Download what is missing of a set into a folder, and say where it is; a file that is there is only checked.

    Args:
        name: `mnist` or `fashion`.
        folder: where to; that of `folder_of` unless given.

    Returns:
        The folder.

    Example:
        >>> fs.worlds.images.fetch("mnist").name  # doctest: +SKIP
        'mnist'
    """
    place = folder_of(name, folder)
    for part, digest in zip(PARTS, CHECKSUMS[name], strict=True):
        if _find(part, place) is None:
            _download(part, place, name, digest)
        else:
            _read(part, place, name, digest)
    return place


def _download(part: str, folder: Path, name: str, digest: str) -> None:
    """One file from the first mirror that has it; nothing is written unless it is the published one."""
    from festina.files import write_atomically

    reasons = []
    for mirror in MIRRORS[name]:
        address = f"{mirror}{part}.gz"
        try:
            with urlopen(address, timeout=PATIENCE) as answer:
                content = answer.read()
            _checked(content, address, digest)
        except (OSError, HTTPException, DamagedImages) as error:
            reasons.append(f"{address}: {_first_line(error)}")
            continue
        write_atomically(folder / f"{part}.gz", lambda temporary, content=content: _write(temporary, content))
        return
    raise MissingImages(f"{part} of {name} cannot be fetched ({'; '.join(reasons)})")


def parse_idx(content: bytes, source: str = "idx") -> UInt8[np.ndarray, "..."]:
    """An array of bytes in the idx format: 0, 0, 8, the number of axes, their lengths (big-endian), the values.

    Args:
        content: of a file, uncompressed.
        source: what to call it if it is damaged.

    Example:
        >>> fs.worlds.images.parse_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9])).tolist()
        [7, 8, 9]
    """
    axes = content[3] if len(content) > 3 else 0
    begin = 4 + 4 * axes
    if content[:3] != b"\0\0\x08" or axes == 0 or len(content) < begin:
        raise DamagedImages(f"{source} is not an idx file of bytes")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", count=axes, offset=4))
    if len(content) - begin != prod(shape):
        raise DamagedImages(f"{source} holds {len(content) - begin} values, but its shape is {shape}")
    return np.frombuffer(content, np.uint8, offset=begin).reshape(shape)


@lru_cache
def _digits() -> ImageSet:
    """The file that comes with scikit-learn, read as it reads it: importing all of scikit-learn would take a second."""
    places = getattr(find_spec("sklearn"), "submodule_search_locations", None) or ()
    path = next((file for place in places if (file := Path(place) / DIGITS).is_file()), None)
    if path is None:
        raise MissingImages(f"{DIGITS} is not where scikit-learn keeps it; an installation of scikit-learn has it")
    found = np.loadtxt(gzip.decompress(path.read_bytes()).decode().splitlines(), delimiter=",")
    images = np.round(found[:, :-1].reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    labels = found[:, -1].astype(np.int32)
    test = np.arange(len(labels)) % 5 == 0
    return ImageSet("digits", images[~test], labels[~test], images[test], labels[test])


def _complete(folder: Path) -> bool:
    return all(_find(part, folder) is not None for part in PARTS)


def _find(part: str, folder: Path) -> Path | None:
    candidates = (folder / part, folder / f"{part}.gz")
    return next((path for path in candidates if path.is_file()), None)


def _read(part: str, folder: Path, name: str, digest: str) -> UInt8[np.ndarray, "..."]:
    """One file as an array, if it is the published one."""
    path = _find(part, folder)
    if path is None:
        raise MissingImages(f"{part} of {name} is not in {folder}; `festina data fetch {name}` gets it")
    return parse_idx(_checked(path.read_bytes(), str(path), digest), str(path))


def _checked(content: bytes, source: str, digest: str) -> bytes:
    """What a file holds, uncompressed, if it is the published one."""
    if content.startswith(COMPRESSED):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DamagedImages(f"{source} is damaged and cannot be uncompressed: {_first_line(error)}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise DamagedImages(f"{source} is damaged: its SHA-256, uncompressed, is {found}, but must be {digest}")
    return content


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
