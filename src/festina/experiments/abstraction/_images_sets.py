"""The pairs of tasks of `abstraction/images`: which images, and which label each class has in either task."""

import warnings
from dataclasses import dataclass
from typing import Any

import festina as fs
from festina._lazy import np
from festina.errors import FestinaWarning

DIGITS = tuple("0123456789")
CLOTHES = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")


@dataclass(frozen=True)
class Pair:
    """Two tasks on one set of images."""

    images: str  # as `worlds.load_images` knows them
    order: str  # of the classes in the second task
    title: str
    classes: tuple[str, ...]
    norm: int  # order of the norm that bounds the gates, by the paper's tables
    pretraining: int  # steps after which the network that gives the features is right about 90 % of the time

    @property
    def codes(self) -> Any:
        """The label of each class in each task."""
        images = fs.worlds.images
        second = {
            "even–odd": images.parity_labels(),
            "upper–lower": images.labels_in_order(images.UPPER_LOWER),
            "warm–cold": images.labels_in_order(images.WARM_COLD),
        }[self.order]
        return np.stack([np.arange(len(second)), second])

    @property
    def kept(self) -> float:
        """The share of classes that have the same label in both tasks."""
        first, second = self.codes
        return float((first == second).mean())


PAIRS = {
    "digits": Pair("digits", "even–odd", "8×8 digits of scikit-learn", DIGITS, 1, 250),
    "mnist": Pair("mnist", "even–odd", "MNIST", DIGITS, 1, 75),
    "fashion_upper_lower": Pair("fashion", "upper–lower", "Fashion-MNIST", CLOTHES, 2, 1000),
    "fashion_warm_cold": Pair("fashion", "warm–cold", "Fashion-MNIST", CLOTHES, 2, 1000),
}


def at_hand(config: Any) -> Any:
    """The configuration if its images are there; else, with a warning, the same one with digits."""
    wanted = PAIRS[config.images]
    if config.images == "digits" or fs.worlds.images.has_images(wanted.images):
        return config
    warnings.warn(
        f"{wanted.title} is not in {fs.worlds.images.data_folder() / wanted.images}, so {PAIRS['digits'].title} stand "
        f"in for it; `festina data fetch {wanted.images}` gets it",
        FestinaWarning,
        stacklevel=4,
    )
    return config.model_copy(update={"images": "digits", "instead_of": config.images})


def title(config: Any) -> str:
    """What was really seen, and what it stands in for."""
    pair = PAIRS[config.images]
    missing = "" if config.instead_of == "nothing" else f" (instead of {PAIRS[config.instead_of].title}, not found)"
    return f"{pair.title}{missing}: usual labels (A) and {pair.order} (B)"
