"""The gates of a network of one's own: which units are on in which contexts, and what that explains.

The activations of a hidden layer are all that is needed, from whatever library trained it. A unit is *on* in a sample
where its activation lies above a threshold, and belongs to a context if it is on in most of the context's samples.
Units that belong to the same contexts (and, where they tell items apart, to the same items) form a group: a pathway of
an effective gated linear network, y ≈ Σ_p g_p W_p x, which is then fitted to see how much of the function it holds.

Source: D. Jarvis, R. Klein, B. Rosman, A. M. Saxe, "Make haste slowly: a theory of emergent structured mixed
selectivity in feature learning ReLU networks" (2025), for mixed selectivity as the gates of pathways.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from festina.errors import require
from festina.measures.activity import MOST, active_sets, set_sizes, strength_by_size, whole_context_share
from festina.measures.arrays import as_numpy, as_real
from festina.measures.effective import EffectiveNetwork, effective_network

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Group:
    """Units with the same gates.

    Attributes:
        contexts: in which they are on.
        items: for which they are on, or None if they are on for all items alike.
        units: their numbers.
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


@dataclass(frozen=True, repr=False)
class Gates:
    """What `gates` found.

    Attributes:
        groups: units with the same gates, the strongest first; silent units are in no group.
        by_size: share of strength in units that belong to exactly 0, 1, …, C contexts.
        null: the same with every unit's activations shuffled over samples, one row a shuffle.
        contextual: share of strength in units that treat all samples of each context alike.
        contextual_null: the same, shuffled.
        contexts: names of the contexts.
        items: names of the items, if they were given.
        strength: of each unit.
        sets: whether each unit belongs to each context.
        on: whether each unit is on in each sample.
        samples: context and item of each sample.
    """

    groups: tuple[Group, ...]
    by_size: Float[np.ndarray, " sizes"]
    null: Float[np.ndarray, "shuffles sizes"]
    contextual: float
    contextual_null: Float[np.ndarray, " shuffles"]
    contexts: tuple[Any, ...]
    items: tuple[Any, ...] | None
    strength: Float[np.ndarray, " units"]
    sets: Bool[np.ndarray, "contexts units"]
    on: Bool[np.ndarray, "n units"]
    samples: "Samples"

    @property
    def mixed(self) -> float:
        """Share of strength in units on in several contexts, but not in all."""
        return float(self.by_size[2:-1].sum())

    @property
    def chances(self) -> Float[np.ndarray, " sizes"]:
        """How often a shuffle puts at least as much strength on a number of contexts as was found (one-sided)."""
        return (1 + np.sum(self.null >= self.by_size[None] - 1e-12, axis=0)) / (1 + len(self.null))

    @cached_property
    def group_gates(self) -> dict[str, Float[np.ndarray, " n"]]:
        """The gate of every group on every sample, by the group's name: gates for a `GatedDataset`."""
        return {group.name: self.samples.gate(group) for group in self.groups}

    def effective(self, inputs: Any, targets: Any, cover: float = 0.95) -> EffectiveNetwork:
        """The gated linear network whose pathways are the strongest groups, fitted to samples.

        Args:
            inputs: what the network was shown on each sample, one a row.
            targets: what it was to answer (or what it did answer: then the fit explains the network itself).
            cover: take the strongest groups until they hold this share of the strength.
        """
        require(0 < cover <= 1, "cover", "lie above 0 and up to 1", cover)
        held = np.cumsum([group.share for group in self.groups])
        count = int(np.searchsorted(held, cover * held[-1] - 1e-12)) + 1
        chosen = [group.name for group in self.groups[:count]]
        return effective_network(inputs, targets, {name: self.group_gates[name] for name in chosen})

    def figure(self, inputs: Any = None, targets: Any = None) -> "Figure":
        """One page: gates, shares against the null, groups and, with inputs and targets, the effective network."""
        from festina.measures.gates_figure import draw

        return draw(self, None if inputs is None or targets is None else self.effective(inputs, targets, cover=1.0))

    def __repr__(self) -> str:
        silent = int(np.sum(self.strength == 0))
        lines = [
            f"gates of {len(self.strength)} units ({silent} silent) in {len(self.contexts)} contexts: "
            f"{len(self.groups)} groups, {self.mixed:.1%} of the strength mixed (several contexts, not all)",
            "  contexts   share   shuffled (95 %)      chance",
        ]
        low, high = np.percentile(self.null, [2.5, 97.5], axis=0)
        for size, share in enumerate(self.by_size):
            lines.append(
                f"  {size:8d}  {share:6.1%}   {low[size]:5.1%} … {high[size]:5.1%}    {self.chances[size]:8.3g}"
            )
        lines.append(
            f"  purely contextual: {self.contextual:.1%} of the strength (shuffled {self.contextual_null.mean():.1%})"
        )
        shown = ", ".join(f"{group.name} {group.share:.1%}" for group in self.groups[:6])
        lines.append(f"  strongest groups: {shown}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Samples:
    """Context and item of every sample, by name."""

    contexts: np.ndarray
    items: np.ndarray | None

    def gate(self, group: Group) -> Float[np.ndarray, " n"]:
        """1 on the samples of a group's contexts and items."""
        on = np.isin(self.contexts, group.contexts)
        if group.items is not None and self.items is not None:
            on = on & np.isin(self.items, group.items)
        return on.astype(float)


def gates(
    activations: Any,
    contexts: Any = None,
    items: Any = None,
    *,
    readout: Any = None,
    above: float = 0.0,
    most: float = MOST,
    shuffles: int = 200,
    seed: int = 0,
) -> Gates:
    """Which units of a layer are on in which contexts, weighed by strength, against a null of shuffled units.

    The strength of a unit is the root mean square of its activation, times the norm of its weights in the readout where
    one is given. The null shuffles each unit's activations over the samples on its own: it keeps how often a unit is
    on, and breaks when.

    Args:
        activations: of a hidden layer, (samples, units), or (contexts, items, units), which needs no labels; NumPy,
            PyTorch, JAX or lists.
        contexts: the context of each sample, by any name.
        items: the item (object, stimulus) of each sample, by any name; without, groups are told apart by contexts only.
        readout: weights from the layer to the output, (outputs, units).
        above: a unit is on where its activation is larger; 0 for rectified units.
        most: a unit belongs to a context if it is on in more than this share of its samples.
        shuffles: how many shuffles make the null.
        seed: of the shuffles.
    """
    values, contexts, items = _samples(activations, contexts, items)
    require(shuffles >= 1, "shuffles", "be at least 1", shuffles)
    names, labels = np.unique(contexts, return_inverse=True)
    require(len(names) >= 2, "contexts", "name at least 2 contexts", names.tolist())
    on = values > above
    strength = np.sqrt(np.mean(values**2, axis=0)) * _readout_norms(readout, values.shape[1])
    require(bool(np.any(strength > 0)), "activations", "hold a unit that is not silent", "all of them silent")
    sets = active_sets(on, labels, most)
    null, contextual_null = _null(on, labels, strength, most, shuffles, seed)
    samples = Samples(contexts, items)
    return Gates(
        groups=_groups(on, sets, strength, samples, names, most),
        by_size=strength_by_size(sets, strength),
        null=null,
        contextual=float(whole_context_share(on, labels, strength)),
        contextual_null=contextual_null,
        contexts=tuple(names.tolist()),
        items=None if items is None else tuple(np.unique(items).tolist()),
        strength=strength,
        sets=sets,
        on=on,
        samples=samples,
    )


def _samples(activations: Any, contexts: Any, items: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Activations as (samples, units) in float64, with the labels of the samples."""
    values = as_real("activations", activations)
    if values.ndim == 3:
        require(contexts is None and items is None, "contexts", "be left out for (contexts, items, units)", "given")
        count, kinds, units = values.shape
        grid = np.meshgrid(np.arange(count), np.arange(kinds), indexing="ij")
        contexts, items = grid[0].ravel(), grid[1].ravel()
        values = values.reshape(count * kinds, units)
    fits = values.ndim == 2 and min(values.shape) >= 1
    require(fits, "activations", "be (samples, units) or (contexts, items, units)", f"of shape {values.shape}")
    require(contexts is not None, "contexts", "name the context of each sample", None)
    return (
        values,
        _labels("contexts", contexts, len(values)),
        None if items is None else _labels("items", items, len(values)),
    )


def _labels(name: str, labels: Any, count: int) -> np.ndarray:
    array = as_numpy(name, labels)
    require(array.shape == (count,), name, f"have one label for each of the {count} samples", f"of shape {array.shape}")
    missing = array.dtype.kind == "f" and bool(np.any(np.isnan(array)))
    require(not missing, name, "name every sample", "NaN for some of them")
    return array


def _readout_norms(readout: Any, units: int) -> Any:
    if readout is None:
        return np.ones(units)
    weights = as_real("readout", readout)
    fits = weights.ndim == 2 and weights.shape[1] == units
    require(fits, "readout", f"be (outputs, {units} units)", f"of shape {weights.shape}")
    return np.linalg.norm(weights, axis=0)


def _null(
    on: np.ndarray, labels: np.ndarray, strength: np.ndarray, most: float, shuffles: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Shares by number of contexts, and the contextual share, of layers whose units are shuffled over samples."""
    random = np.random.default_rng(seed)
    shares, contextual = [], []
    for _ in range(shuffles):
        shuffled = random.permuted(on, axis=0)
        shares.append(strength_by_size(active_sets(shuffled, labels, most), strength))
        contextual.append(float(whole_context_share(shuffled, labels, strength)))
    return np.stack(shares), np.array(contextual)


def _groups(
    on: np.ndarray, sets: np.ndarray, strength: np.ndarray, samples: Samples, names: np.ndarray, most: float
) -> tuple[Group, ...]:
    """Units by their contexts and, where they are not on for all of them alike, by the items they are on for."""
    found: dict[tuple[Any, Any], list[int]] = {}
    belongs = set_sizes(sets)
    for unit in np.flatnonzero(strength > 0):
        if belongs[unit]:
            own = tuple(names[sets[:, unit]].tolist())
            found.setdefault((own, _items_of(on[:, unit], samples, own, most)), []).append(int(unit))
    total = strength.sum()
    groups = [
        Group(own, of_items, np.array(units), float(strength[units].sum() / total))
        for (own, of_items), units in found.items()
    ]
    require(len(groups) > 0, "activations", "hold a unit that is on in most of some context's samples", "none")
    return tuple(sorted(groups, key=lambda group: -group.share))


def _items_of(on: np.ndarray, samples: Samples, contexts: tuple[Any, ...], most: float) -> tuple[Any, ...] | None:
    """The items a unit is on for within its contexts; None if for all."""
    if samples.items is None:
        return None
    here = np.isin(samples.contexts, contexts)
    kinds = np.unique(samples.items[here])
    chosen = [kind for kind in kinds.tolist() if np.mean(on[here & (samples.items == kind)]) > most]
    return None if len(chosen) in (0, len(kinds)) else tuple(chosen)
