"""What to look at in rectified networks and the gated ones that stand for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from festina._lazy import np, xr
from festina.views._entries import first_of, some
from festina.views.vocabulary import Bars, Curves, Edge, Graph, Mark, Node, Quantity, Raster


def _units(title: str, panels: tuple[str, ...], note: str, **wanted: Any) -> Raster:
    """Units × contexts, the strongest unit of each moment and panel being 1."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        units = some(data["units"], **wanted)
        return units / units.max(["unit", "context"]).clip(min=1e-30)

    quantity = Quantity("units", "strength × share of objects, over the largest", of=of)
    return Raster(title, quantity, rows="unit", columns="context", panels=panels, low=0.0, high=1.0, note=note)


def _counted(variable: str, **wanted: Any) -> Quantity:
    """Shares by the number of contexts, which says what it counts."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        shares = some(data[variable], **wanted)
        shares = shares.isel(size=slice(1, None))
        shares = shares.isel(size=np.flatnonzero(shares.notnull().any([dim for dim in shares.dims if dim != "size"])))
        return shares.assign_coords(size=[f"on in {size}" for size in shares["size"].values])

    return Quantity(variable, of=of)


def _share_of_loss(data: xr.Dataset, config: Any) -> xr.DataArray:
    """L(t)/L(0)."""
    return data["loss"] / data["loss"].isel(time=0, drop=True)


LOSS = Quantity("loss", "loss, share of the first", of=_share_of_loss)
ON = "A row is a unit, a column a context; it is dark where a strong unit is on for all objects of the context."

RECTIFIED = (
    _units("Which units are on in which contexts", ("layer",), ON),
    Curves("Units that share contexts take over", _counted("strength"), by=("layer", "size")),
    Curves("The loss falls in two steps", LOSS, note="What contexts have in common comes first, then the rest."),
)

SELECTIVITY = (
    _units(
        "Which units are on in which contexts",
        ("network",),
        f"{ON} Learned gates gather in all contexts but one; frozen ones stay as they were drawn.",
        network=("relu", "frozen"),
    ),
    Curves(
        "A rectified network learns as one with all-but-one paths does",
        LOSS,
        by=("network",),
        note="Nothing is fitted: gated networks start from weights of the same size.",
    ),
    Curves("Units that share contexts take over", _counted("strength", network="relu"), by=("size",)),
)

CONTEXTS = (
    _units("Which units are on in which contexts", ("contexts", "context_scale"), ON),
    Bars(
        "Where the strength is",
        _counted("strength"),
        along="size",
        by=("contexts", "context_scale"),
        note="Share of strength in units that are on in so many contexts.",
    ),
    Curves("The loss falls in two steps", LOSS, by=("contexts", "context_scale")),
)


def _of_relu(variable: str) -> Quantity:
    return Quantity(variable, of=lambda data, config: some(data[variable], network="relu"))


DEPTH = (
    _units("The first layer is on everywhere, the second tells contexts apart", ("layer",), ON, network="relu"),
    Curves("The first layer stays nearly linear", _of_relu("linearity"), by=("layer",)),
    Curves("Losses of a rectified network and of gated ones", LOSS, by=("network",)),
)


def _by_freezing(array: xr.DataArray) -> xr.DataArray:
    """Networks whose gates are learned, and those that are frozen at each step, along one dimension."""
    learned, frozen = (some(array, gates=gates) for gates in ("learned", "frozen"))
    learned = first_of(learned, "frozen_at").expand_dims(network=["learned"], axis=-1)
    names = [f"frozen at {step:g}" for step in frozen["frozen_at"].values]
    return xr.concat([learned, frozen.rename(frozen_at="network").assign_coords(network=names)], "network")


def _frozen_loss(data: xr.Dataset, config: Any) -> xr.DataArray:
    return _by_freezing(_share_of_loss(data, config))


def _frozen_gap(data: xr.Dataset, config: Any) -> xr.DataArray:
    loss = _by_freezing(_share_of_loss(data, config))
    return abs(loss.isel(network=slice(1, None)) - loss.isel(network=0, drop=True))


def _kept_gates(data: xr.Dataset, config: Any) -> xr.DataArray:
    return first_of(_by_freezing(data["own_gates"]).isel(network=slice(1, None)), "layer")


def _apart(config: Any) -> Sequence[Mark]:
    return (Mark("told apart", y=0.01),)


FROZEN = (
    Curves(
        "Gates frozen early change the loss, gates frozen late do not",
        Quantity("loss", "loss, share of the first", of=_frozen_loss),
        by=("network",),
    ),
    Curves(
        "Distance of networks with frozen gates from the ReLU network",
        Quantity("loss", "difference of losses, share of the first", of=_frozen_gap),
        by=("network",),
        marks=_apart,
    ),
    Curves(
        "Gates that are still the network's own",
        Quantity("own_gates", "share of gates, by strength", of=_kept_gates),
        by=("network",),
    ),
)


def _race(start: str) -> Quantity:
    """Energies of the fewest contexts: of paths that start together, on one target."""
    counted = _counted("energy", rivals="race", start=start)
    make = counted.of
    assert make is not None

    def of(data: xr.Dataset, config: Any) -> xr.DataArray | None:
        return make(data.isel(contexts=[0]).squeeze("contexts", drop=True), config)

    return Quantity("energy", "share of energy", of=of)


RACE = (
    Curves(
        "Paths of all subsets race: all contexts but one win",
        _race("scratch"),
        by=("size",),
        note="Of the first number of contexts, from scratch.",
    ),
    Curves(
        "Without the head start they have no advantage",
        _race("residual"),
        by=("size",),
        note="The same race on what the path that is always on leaves.",
    ),
    Curves("How fast rivals learn", LOSS, by=("start", "rivals")),
)


STRUCTURES_NAMES = {"same": ("hierarchy",) * 3, "different": ("hierarchy", "ring", "cross-cut")}


def _contextual(structures: str) -> Quantity:
    """Modes of what the common path leaves, named by the structure of their context."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        modes = some(data["contextual_modes"], network="relu", structures=structures)
        names = [f"{name}, context {k + 1}" for k, name in enumerate(STRUCTURES_NAMES[structures])]
        return modes.assign_coords(block=names[: modes.sizes["block"]])

    return Quantity("contextual_modes", "size of modes", of=of)


STRUCTURES = (
    Curves("A linear network stops where the common path does", LOSS, by=("structures", "network")),
    Curves(
        "What is common is learned mode by mode",
        Quantity("common_modes", "size of modes", of=lambda data, config: some(data["common_modes"], network="relu")),
        by=("structures",),
    ),
    Curves("Then what each context has of its own", _contextual("different"), by=("block",)),
)


def _drawn_paths(config: Any) -> tuple[Sequence[Node], Sequence[Edge]]:
    """A path for every number of contexts, from all contexts above to single ones below."""
    sizes = range(1, config.contexts + 1)
    height: Mapping[int, float] = {size: (size - 0.5) / config.contexts for size in sizes}
    nodes = [Node("input", "object, context", 0.0, 0.5), Node("output", "features", 1.0, 0.5)]
    nodes += [Node(f"{size}", f"on in {size}", 0.5, height[size]) for size in sizes]
    ends = [(("input", f"{size}"), (f"{size}", "output")) for size in sizes]
    return nodes, [
        Edge(*pair, f"on in {size}", {"size": size}) for size, both in zip(sizes, ends, strict=True) for pair in both
    ]


GATED = (
    Curves("Which paths do the work", _counted("energy"), by=("size",)),
    Graph("Paths by the number of contexts in which they are on", "energy", _drawn_paths),
    Curves("The loss falls in two steps", LOSS),
)

VIEWS = {
    "model/rectified-contexts": RECTIFIED,
    "model/gated-contexts": GATED,
    "rectified/selectivity": SELECTIVITY,
    "rectified/contexts": CONTEXTS,
    "rectified/depth": DEPTH,
    "rectified/frozen": FROZEN,
    "rectified/race": RACE,
    "rectified/structures": STRUCTURES,
}
HEADLINES = {
    "model/rectified-contexts": ("deviation", "contexts", "gates"),
    "model/gated-contexts": ("deviation", "paths", "contexts"),
    "rectified/selectivity": ("deviation", "contexts"),
    "rectified/contexts": ("contexts", "context_scale", "deviation"),
    "rectified/depth": ("deviation", "width"),
    "rectified/frozen": ("frozen_at", "deviation"),
    "rectified/race": ("deviation", "contexts"),
    "rectified/structures": ("deviation", "structures"),
}
MATTERS = {
    "model/rectified-contexts": {"frozen_at": {"gates": ["frozen"]}},
    "model/gated-contexts": {"seen": {"paths": ["all but one", "single", "all subsets"]}},
}
