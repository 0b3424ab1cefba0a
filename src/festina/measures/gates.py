"""The gates of a network of one's own: which units are on in which contexts, and what that explains.

The activations of a hidden layer are all that is needed, from whatever library trained it. A unit is *on* in a sample
where its activation lies above a threshold, and belongs to a context if it is on in most of the context's samples.
Units that belong to the same contexts (and, if items are asked for and they tell them apart, to the same items) form a
group: a pathway of an effective gated linear network, y ≈ Σ_p g_p W_p x, which is then fitted to see how much of the
function it holds. Which shapes of activations there may be, `festina.measures.layers` says; which threshold is taken,
`festina.measures.thresholds`.

Source: D. Jarvis, R. Klein, B. Rosman, A. M. Saxe, "Make haste slowly: a theory of emergent structured mixed
selectivity in feature learning ReLU networks" (2025), for mixed selectivity as the gates of pathways.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float

from festina.errors import require
from festina.measures.activity import MOST, active_sets, strength_by_size, whole_context_share
from festina.measures.arrays import as_real
from festina.measures.effective import EffectiveNetwork, effective_network
from festina.measures.groups import Group, Samples, grouped
from festina.measures.layers import Layer, read_layer
from festina.measures.thresholds import Threshold, by_threshold, threshold, thresholds_around, thresholds_given
from festina.notebook import table, told

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST = 40  # letters of a group's name in a line of several


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
        items: names of the items, if they were asked for.
        units: names of the units.
        strength: of each unit.
        sets: whether each unit belongs to each context.
        on: whether each unit is on in each sample.
        above: the threshold of each unit, and in words how it was chosen.
        samples: context and item of each sample.
        layer: what was analysed, as (samples, units).
        most: a unit belongs to a context if it is on in more than this share of its samples.
    """

    groups: tuple[Group, ...]
    by_size: Float[np.ndarray, " sizes"]
    null: Float[np.ndarray, "shuffles sizes"]
    contextual: float
    contextual_null: Float[np.ndarray, " shuffles"]
    contexts: tuple[Any, ...]
    items: tuple[Any, ...] | None
    units: tuple[Any, ...]
    strength: Float[np.ndarray, " units"]
    sets: Bool[np.ndarray, "contexts units"]
    on: Bool[np.ndarray, "n units"]
    above: Threshold
    samples: Samples
    layer: Layer
    most: float

    @property
    def mixed(self) -> float:
        """Share of strength in units on in several contexts, but not in all."""
        return float(self.by_size[2:-1].sum())

    @property
    def chances(self) -> Float[np.ndarray, " sizes"]:
        """How often a shuffle puts at least as much strength on a number of contexts as was found (one-sided)."""
        return (1 + np.sum(self.null >= self.by_size[None] - 1e-12, axis=0)) / (1 + len(self.null))

    @property
    def belongs(self) -> xr.DataArray:
        """Whether each unit belongs to each context, by name; ``strength`` and ``above`` are coordinates of units."""
        context, unit = self.layer.grid_dimensions[0], self.layer.unit_dimension
        units = {unit: list(self.units), "strength": (unit, self.strength), "above": (unit, self.above.of_units)}
        return xr.DataArray(self.sets, dims=(context, unit), coords={context: list(self.contexts), **units})

    def by_threshold(self, thresholds: Any = None, *, shuffles: int = 20, seed: int = 0) -> xr.Dataset:
        """How the answer depends on the threshold above which a unit is on.

        Args:
            thresholds: numbers, each one threshold for all units, or rows of numbers, one a unit. Unless given: from
                the lowest activation to high ones (the 95th percentile) if all units have one threshold, and otherwise
                from the low (0) to the high (1) responses of each unit.
            shuffles: how many shuffles make the null at each threshold.
            seed: of the shuffles.

        Returns:
            ``share`` (threshold, contexts) of the strength in units that belong to 0, 1, … contexts, ``contextual``
            (threshold), and the means of both over shuffles, ``null`` and ``contextual_null``.

        Example:
            >>> import numpy as np
            >>> import festina as fs
            >>> layer = np.array([[3.0, 1.0], [3.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
            >>> found = fs.measures.gates(layer, ["a", "a", "b", "b"])
            >>> found.by_threshold([0.0, 2.0])["share"].sel(contexts=2).round(2).values
            array([0.32, 0.  ])
        """
        require(shuffles >= 1, "shuffles", "be at least 1", shuffles)
        values = self.layer.values
        around = thresholds is None
        tried = thresholds_around(self.above, values) if around else thresholds_given(thresholds, values.shape[1])
        return by_threshold(values, self.samples.numbers, self.strength, tried, self.most, shuffles, seed)

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

    def threshold_figure(self, thresholds: Any = None) -> "Figure":
        """Shares over thresholds (`by_threshold`), those of shuffled units dashed."""
        from festina.measures.gates_figure import draw_thresholds

        return draw_thresholds(self, self.by_threshold(thresholds))

    def __repr__(self) -> str:
        head = "  contexts   share   shuffled (95 %)      chance"
        rows = (
            f"  {size:>8}  {share:>6}   {shuffled}    {chance:>8}" for size, share, shuffled, chance in self._shares()
        )
        return "\n".join([*self._about(), head, *rows, *self._strongest()])

    def _repr_html_(self) -> str:
        head = ("contexts", "share", "shuffled (95 %)", "chance")
        return told("\n".join(self._about())) + table(head, self._shares()) + told("\n".join(self._strongest()))

    def _about(self) -> list[str]:
        """What was found, and how: lines of text."""
        silent = int(np.sum(self.strength == 0))
        return [
            f"gates of {len(self.strength)} units ({silent} silent) in {len(self.contexts)} contexts: "
            f"{len(self.groups)} groups, {self.mixed:.1%} of the strength mixed (several contexts, not all)",
            f"  a unit is on {self.above.words}, and in a context if on in more than {self.most:.0%} of its samples",
            *(f"  ({reason})" for reason in self.above.reasons),
        ]

    def _shares(self) -> list[tuple[str, str, str, str]]:
        """A row for each number of contexts: the share of units in so many, beside that of shuffled ones."""
        low, high = np.percentile(self.null, [2.5, 97.5], axis=0)
        return [
            (str(size), f"{share:.1%}", f"{low[size]:5.1%} … {high[size]:5.1%}", f"{self.chances[size]:.3g}")
            for size, share in enumerate(self.by_size)
        ]

    def _strongest(self) -> list[str]:
        shown = ", ".join(f"{_short(group.name)} {group.share:.1%}" for group in self.groups[:6])
        return [
            f"  purely contextual: {self.contextual:.1%} of the strength (shuffled {self.contextual_null.mean():.1%})",
            f"  strongest groups: {shown}",
        ]


def gates(
    activations: Any,
    contexts: Any = None,
    items: Any = None,
    *,
    readout: Any = None,
    above: Any = None,
    most: float = MOST,
    shuffles: int = 200,
    seed: int = 0,
) -> Gates:
    """Which units of a layer are on in which contexts, weighed by strength, against a null of shuffled units.

    The strength of a unit is the root mean square of its activation, times the norm of its weights in the readout where
    one is given. The null shuffles each unit's activations over the samples on its own: it keeps how often a unit is
    on, and breaks when.

    Args:
        activations: of a hidden layer, (samples, units), or (contexts, items, units), which needs no labels, or
            (samples, channels, height, width), of which the mean over positions is taken (`channel_maxima` and
            `positions_as_samples` are other ways); NumPy, xarray, PyTorch, JAX or lists. Names that an xarray has for
            its contexts, items and units are kept.
        contexts: the context of each sample, by any name; the names of the contexts for (contexts, items, units).
        items: the item (object, stimulus) of each sample, by any name, or the names of the items of (contexts, items,
            units). Groups are told apart by contexts only unless items are given.
        readout: weights from the layer to the output, (outputs, units).
        above: a unit is on where its activation is larger: one number for all units, or one for each. Unless given, 0,
            as for rectified units; but if hardly any activation is at or below 0, `half_way` between the low and the
            high responses of each unit. What was taken is in ``found.above`` and in what it prints.
        most: a unit belongs to a context if it is on in more than this share of its samples.
        shuffles: how many shuffles make the null.
        seed: of the shuffles.

    Returns:
        Groups of units with the same gates, shares of strength and their null; ``found.figure()`` draws them, and
        ``found.by_threshold()`` says how they depend on the threshold.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> layer = np.array([[1.0, 0.0, 2.0], [2.0, 0.0, 1.0], [0.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
        >>> found = fs.measures.gates(layer, ["red", "red", "blue", "blue"])
        >>> for group in found.groups:
        ...     print(group.name, group.units, round(group.share, 2))
        {blue} [1] 0.37
        {blue red} [2] 0.37
        {red} [0] 0.26
    """
    layer = read_layer(activations)
    values = layer.values
    of_contexts, of_items = layer.contexts("contexts", contexts), layer.items("items", items)
    require(shuffles >= 1, "shuffles", "be at least 1", shuffles)
    names, labels = of_contexts.names, of_contexts.numbers
    require(len(names) >= 2, "contexts", "name at least 2 contexts", list(names))
    limit = threshold(above, values)
    on = values > limit.of_units
    strength = np.sqrt(np.mean(values**2, axis=0)) * _readout_norms(readout, values.shape[1])
    require(bool(np.any(strength > 0)), "activations", "hold a unit that is not silent", "all of them silent")
    sets = active_sets(on, labels, most)
    null, contextual_null = _null(on, labels, strength, most, shuffles, seed)
    samples = Samples(of_contexts.of_samples, None if of_items is None else of_items.of_samples, labels)
    return Gates(
        groups=grouped(on, sets, strength, samples, of_contexts, most),
        by_size=strength_by_size(sets, strength),
        null=null,
        contextual=float(whole_context_share(on, labels, strength)),
        contextual_null=contextual_null,
        contexts=names,
        items=None if of_items is None else of_items.names,
        units=layer.units,
        strength=strength,
        sets=sets,
        on=on,
        above=limit,
        samples=samples,
        layer=layer,
        most=most,
    )


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 2]} …"


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
