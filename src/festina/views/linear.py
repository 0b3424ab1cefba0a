"""What to look at in deep linear networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from festina._lazy import np, xr
from festina.views.vocabulary import Curves, Heat, Mark, Plane, Quantity, Surface

MOST_SURFACE = 41  # points along a side


def _goal(config: Any) -> float:
    return config.strength / config.input_variance


def _first_weight(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Equal weights of a chain of two with the same product: w₁ = w₂ = √a."""
    return data["product"].clip(min=0.0) ** 0.5


def _chain_surface(config: Any) -> Surface:
    """The loss ½λ(w₂w₁ − s/λ)² of a chain of two weights."""
    most = 1.6 * np.sqrt(_goal(config))
    side = np.linspace(-most, most, MOST_SURFACE)
    values = 0.5 * config.input_variance * (np.outer(side, side) - _goal(config)) ** 2
    return Surface(side, side, values, "loss")


def _chain_marks(config: Any) -> Sequence[Mark]:
    at = float(np.sqrt(_goal(config)))
    return (
        Mark("saddle", 0.0, 0.0, "saddle"),
        Mark("solution", at, at, "minimum"),
        Mark("solution", -at, -at, "minimum"),
    )


def _goal_mark(config: Any) -> Sequence[Mark]:
    return (Mark("s/λ", y=float(_goal(config))),)


CHAIN = (
    Curves(
        "The wait before the jump",
        "product",
        by=("depth",),
        x="log",
        marks=_goal_mark,
        note="One layer learns at once; deeper chains wait near the saddle at zero, and then jump.",
    ),
    Plane(
        "The error surface of two layers",
        Quantity("product", "first weight w₁", of=_first_weight),
        Quantity("product", "second weight w₂", of=_first_weight),
        by=("depth",),
        surface=_chain_surface,
        marks=_chain_marks,
        equal=True,
        note="Each chain is drawn as the two equal weights with its product.",
    ),
)


def _embedding(axis: int) -> Quantity:
    """Coordinates of items in the plane of the first two principal directions that the network ends with."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        similarity = data["similarity"].transpose(..., "item", "other")
        last = similarity.isel(time=-1)
        values, vectors = np.linalg.eigh(np.nan_to_num(last.values))
        direction = vectors[..., -1 - axis]  # of the largest eigenvalues, which come last
        scale = np.sqrt(np.maximum(values[..., -1 - axis], 1e-12))
        along = xr.DataArray(direction / scale[..., None], dims=(*last.dims[:-2], "other"))
        return xr.dot(similarity, along, dim="other")

    return Quantity("similarity", f"direction {axis + 1} of what is learned", of=of)


SEMANTIC = (
    Curves("Levels are learned one after the other, broad ones first", "learned", by=("depth", "level")),
    Plane(
        "Items part, broad classes first",
        _embedding(0),
        _embedding(1),
        points="item",
        note="Hidden representations of the items in the plane in which they differ most in the end.",
    ),
    Heat("Similarity of items", "similarity", rows="item", columns="other"),
)

VIEWS = {"model/chain": CHAIN, "model/semantic": SEMANTIC}
HEADLINES = {"model/chain": ("depth", "initial"), "model/semantic": ("depth", "scale", "flip")}
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

CRITICAL = {"model/two-layer": {"imbalance": lambda model: (0.0,)}}
