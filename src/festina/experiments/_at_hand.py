"""Images that may not be there: the digits of scikit-learn stand in for them, and whoever looks is told."""

from __future__ import annotations

import warnings
from typing import TypeVar

import festina as fs
from festina.errors import FestinaWarning
from festina.experiment import ExperimentConfig

Config = TypeVar("Config", bound=ExperimentConfig)


def at_hand(config: Config) -> Config:
    """The configuration if its `images` are there; else, with a warning, the same one with digits `instead_of` them."""
    asked = config.model_dump()["images"]
    return config if there_or_told(asked) else config.model_copy(update={"images": "digits", "instead_of": asked})


def is_there(images: str) -> bool:
    """Whether the images of a pair of tasks are at hand."""
    return fs.worlds.images.has_images(fs.worlds.labellings.PAIRS[images].images)


def there_or_told(images: str) -> bool:
    """Whether the images of a pair of tasks are at hand; if they are not, whoever asked is warned."""
    if is_there(images):
        return True
    wanted, instead = fs.worlds.labellings.PAIRS[images], fs.worlds.labellings.PAIRS["digits"]
    warnings.warn(
        f"{wanted.title} is not in {fs.worlds.images.data_folder() / wanted.images}, so {instead.title} stand "
        f"in for it; `festina data fetch {wanted.images}` gets it",
        FestinaWarning,
        stacklevel=5,
    )
    return False


def what_is_seen(config: ExperimentConfig) -> str:
    """The images of a configuration, and what they stand in for."""
    pairs, chosen = fs.worlds.labellings.PAIRS, config.model_dump()
    title, missing = pairs[chosen["images"]].title, chosen["instead_of"]
    return title if missing == "nothing" else f"{title} (instead of {pairs[missing].title}, not found)"
