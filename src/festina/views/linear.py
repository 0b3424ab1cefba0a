"""What to look at in deep linear networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from festina._lazy import np, xr
from festina.views import linear_layers, linear_mice, linear_saddles, linear_semantic
from festina.views.vocabulary import Curves, Mark, Plane, Quantity, Surface

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

PARTS = (linear_semantic, linear_layers, linear_saddles, linear_mice)

VIEWS = {"model/chain": CHAIN} | {name: views for part in PARTS for name, views in part.VIEWS.items()}
HEADLINES = {"model/chain": ("depth", "initial")} | {
    name: fields for part in PARTS for name, fields in part.HEADLINES.items()
}
MATTERS = {name: rules for part in PARTS for name, rules in part.MATTERS.items()}
CRITICAL = {"model/two-layer": {"imbalance": lambda model: (0.0,)}}
