"""Pairs of tasks on one set of images: which images, and which label each class has in either task."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from festina.worlds.images import UPPER_LOWER, WARM_COLD, labels_in_order, parity_labels

DIGITS = tuple("0123456789")
CLOTHES = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")


@dataclass(frozen=True)
class Pair:
    """Two tasks on one set of images: to name the classes as usual, and in another order.

    Of digits, even ones come before odd ones (label ⌊y/2⌋ + 5(y mod 2)). A list of clothes names the classes in order:
    the label of a class is its place in the list, as in the published code. Read so, the order upper–lower and the
    permutation of the digits are the same; digits of which half keep their labels are permuted as warm–cold clothes.

    Example:
        >>> pair = fs.worlds.labellings.PAIRS["digits"]
        >>> pair.codes[1].tolist(), pair.kept  # 0 and 9 have one label in both tasks
        ([0, 5, 1, 6, 2, 7, 3, 8, 4, 9], 0.2)
    """

    images: str  # as `load_images` knows them
    order: str  # of the classes in the second task
    title: str
    classes: tuple[str, ...]
    norm: int  # order of the norm that bounds the gates, by the paper's tables
    pretraining: int  # steps after which the network that gives the features is right about 90 % of the time

    @property
    def codes(self) -> Int[np.ndarray, "2 classes"]:
        """The label of each class in each task."""
        second = {
            "even–odd": parity_labels(),
            "upper–lower": labels_in_order(UPPER_LOWER),
            "warm–cold": labels_in_order(WARM_COLD),
            "half kept": labels_in_order(WARM_COLD),
        }[self.order]
        return np.stack([np.arange(len(second)), second])

    @property
    def kept(self) -> float:
        """The share of classes that have the same label in both tasks."""
        first, second = self.codes
        return float((first == second).mean())


PAIRS = {
    "digits": Pair("digits", "even–odd", "8×8 digits of scikit-learn", DIGITS, 1, 250),
    "digits_half_kept": Pair("digits", "half kept", "8×8 digits of scikit-learn", DIGITS, 1, 250),
    "mnist": Pair("mnist", "even–odd", "MNIST", DIGITS, 1, 75),
    "fashion_upper_lower": Pair("fashion", "upper–lower", "Fashion-MNIST", CLOTHES, 2, 1000),
    "fashion_warm_cold": Pair("fashion", "warm–cold", "Fashion-MNIST", CLOTHES, 2, 1000),
}
