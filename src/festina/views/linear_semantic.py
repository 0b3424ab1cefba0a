"""What to look at in networks that learn which items have which features."""

from __future__ import annotations

from typing import Any

from festina._lazy import np, xr
from festina.views._parts import first_run
from festina.views.vocabulary import Curves, Heat, Plane, Quantity

DEEP = {"network": "deep"}  # of the networks that the experiment compares


def _digits(config: Any) -> list[tuple[int, np.ndarray]]:
    """Where each item stands at every level, from broad to fine: (how many branches, the branch of each item)."""
    nested = {"tree": config.branching, "partition": (config.classes, config.members), "ring": (config.items,)}
    branching = nested[config.structure]
    places = np.unravel_index(np.arange(int(np.prod(branching))), branching)
    return list(zip(branching, places, strict=True))


def directions(config: Any) -> np.ndarray:
    """Two directions in the space of items, (items, 2), in which all levels of the world can be told apart.

    They are made of modes of the world, a branch in two to one axis and one in more round a circle, and depend on its
    structure alone: what is shown does not turn with the weights, and theory lies beside simulation.
    """
    if config.structure == "grid":
        row, column = np.divmod(np.arange(config.rows * config.columns), config.columns)
        waves = [np.cos(np.pi * (column + 0.5) / config.columns), np.cos(np.pi * (row + 0.5) / config.rows)]
        return np.stack([wave / np.linalg.norm(wave) for wave in waves], axis=1)
    levels = _digits(config)
    found, used = np.zeros((len(levels[0][1]), 2)), [0, 0]
    for count, branch in levels:
        angle = 2 * np.pi * branch / count
        waves = {0: np.cos(angle), 1: np.sin(angle)} if count > 2 else {int(used[1] < used[0]): 2.0 * branch - 1.0}
        for axis, wave in waves.items():
            found[:, axis] += wave / np.linalg.norm(wave)
            used[axis] += 1
    return found


def _embedding(axis: int, where: dict[str, str]) -> Quantity:
    """Hidden representations of items along one of the directions, from their inner products."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        along = directions(config)[:, axis]
        similarity = first_run(data["similarity"])
        for dim, label in where.items():
            similarity = similarity.sel({dim: label}) if dim in similarity.dims else similarity
        return xr.dot(similarity, xr.DataArray(along, dims="other"), dim="other")

    names = ("broadest distinction", "next distinction")
    return Quantity("similarity", f"hidden representation, {names[axis]}", of=of)


def _views(where: dict[str, str], curves: Curves) -> tuple[Any, ...]:
    return (
        Plane(
            "Items separate, broad classes first",
            _embedding(0, where),
            _embedding(1, where),
            note="All items begin in one place; each level of the world that is learned separates them further.",
        ),
        Heat(
            "Similarity of items",
            Quantity("similarity", "inner product of hidden representations", where=where),
            rows="item",
            columns="other",
            note="Blocks appear within blocks: broad classes first, single items last.",
        ),
        curves,
    )


MODEL = _views(
    {},
    Curves(
        "Levels are learned one after the other, broad ones first",
        "learned",
        by=("level",),
        note="Two layers learn each level in a stage of its own; one layer learns all at one rate.",
    ),
)

SEMANTICS = _views(
    DEEP,
    Curves(
        "Deep networks learn level by level, shallow ones all at once",
        Quantity("learned", where={"network": ("deep", "shallow")}),
        by=("network", "level"),
        note="Two layers learn each level in a stage of its own; one layer learns all at one rate.",
    ),
)

VIEWS = {"linear/semantics": SEMANTICS, "model/semantic": MODEL}
HEADLINES = {
    "linear/semantics": ("structure", "flip", "scale"),
    "model/semantic": ("depth", "structure", "flip", "scale"),
}
MATTERS = {
    "model/semantic": {
        "branching": {"structure": ["tree"]},
        "flip": {"structure": ["tree"]},
        "classes": {"structure": ["partition"]},
        "members": {"structure": ["partition"]},
        "correlation": {"structure": ["partition"]},
        "items": {"structure": ["ring"]},
        "rows": {"structure": ["grid"]},
        "columns": {"structure": ["grid"]},
        "length": {"structure": ["ring", "grid"]},
    }
}
