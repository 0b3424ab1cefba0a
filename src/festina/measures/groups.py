"""Units of a layer that are on in the same contexts, and for the same items."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from festina.errors import require
from festina.measures.activity import set_sizes
from festina.measures.layers import Marks


@dataclass(frozen=True)
class Group:
    """Units with the same gates.

    Attributes:
        contexts: in which they are on.
        items: for which they are on, or None if they are on for all items alike or items were not asked for.
        units: their numbers; ``found.units[number]`` is a unit's name.
        share: of the layer's strength.
    """

    contexts: tuple[Any, ...]
    items: tuple[Any, ...] | None
    units: Int[np.ndarray, " members"]
    share: float

    @property
    def name(self) -> str:
        """Such as ``{a b}`` or, where items matter, ``{a b | 1 2}``; names with blanks are quoted."""
        of_items = "" if self.items is None else " | " + " ".join(map(_plain, self.items))
        return "{" + " ".join(map(_plain, self.contexts)) + of_items + "}"


def _plain(name: Any) -> str:
    """A name that can stand beside others: quoted, if it holds what separates them."""
    text = str(name)
    return repr(text) if not text or any(sign in text for sign in " |{}'\"") else text


@dataclass(frozen=True)
class Samples:
    """Context and item of every sample, by name, and the number of its context."""

    contexts: np.ndarray
    items: np.ndarray | None
    numbers: Int[np.ndarray, " n"]

    def gate(self, group: Group) -> Float[np.ndarray, " n"]:
        """1 on the samples of a group's contexts and items."""
        on = np.isin(self.contexts, group.contexts)
        if group.items is not None and self.items is not None:
            on = on & np.isin(self.items, group.items)
        return on.astype(float)


def grouped(
    on: np.ndarray, sets: np.ndarray, strength: np.ndarray, samples: Samples, contexts: Marks, most: float
) -> tuple[Group, ...]:
    """Units by their contexts and, where they are not on for all of them alike, by the items they are on for.

    Args:
        on: whether each unit is on in each sample.
        sets: whether each unit belongs to each context.
        strength: of each unit; one without any is in no group.
        samples: context and item of each sample.
        contexts: names of the contexts, in the order of ``sets``.
        most: a unit is on for an item if it is on in more than this share of its samples.
    """
    found: dict[tuple[Any, Any], list[int]] = {}
    belongs = set_sizes(sets)
    for unit in np.flatnonzero(strength > 0):
        if belongs[unit]:
            own = tuple(contexts.names[number] for number in np.flatnonzero(sets[:, unit]))
            found.setdefault((own, _items_of(on[:, unit], samples, own, most)), []).append(int(unit))
    total = strength.sum()
    groups = [
        Group(own, of_items, np.array(units), float(strength[units].sum() / total))
        for (own, of_items), units in found.items()
    ]
    must = "hold a unit that is on (larger than `above`) in most of some context's samples"
    require(len(groups) > 0, "activations", must, "without any; a lower `above` or `most` may find some")
    return tuple(sorted(groups, key=lambda group: -group.share))


def _items_of(on: np.ndarray, samples: Samples, contexts: tuple[Any, ...], most: float) -> tuple[Any, ...] | None:
    """The items a unit is on for within its contexts; None if for all."""
    if samples.items is None:
        return None
    here = np.isin(samples.contexts, contexts)
    kinds = np.unique(samples.items[here])
    chosen = [kind for kind in kinds.tolist() if np.mean(on[here & (samples.items == kind)]) > most]
    return None if len(chosen) in (0, len(kinds)) else tuple(chosen)
