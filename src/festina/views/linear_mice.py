"""What to look at in animals that learn a decision: single trajectories among the saddles of the expected update."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from festina._lazy import xr
from festina.views._parts import named
from festina.views.vocabulary import Curves, Mark, Plane, Quantity

EARLY = slice(4, 9)  # sessions of the early window
UNBIASED = 0.1  # |P(right) − ½| up to which an animal has no side
SIDES = ("early bias left", "no early bias", "early bias right")
OPENED = (("const",), ("right", "const"), ("left", "const"), ("left", "right", "const"))
SHOWN = ("tutor-executor", "shallow")


def _right(data: xr.Dataset, network: str) -> xr.DataArray:
    """P(right) by contrast, of one of the networks where several are compared."""
    right = data["right"]
    return right.sel(network=network, drop=True) if "network" in right.dims else right


def _slope(side: int) -> Quantity:
    """How much the strongest grating of one side changes the choice: p₀ − p(left), or p(right) − p₀."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        right = _right(data, "tutor-executor")
        ends = [right.isel(contrast=place, drop=True) for place in (0, right.sizes["contrast"] // 2, -1)]
        return ends[side + 1] - ends[side]

    return Quantity("right", ("left slope p₀ − p(left)", "right slope p(right) − p₀")[side], of=of)


def _side(data: xr.Dataset, config: Any) -> xr.DataArray:
    """0, 1 or 2 for an early bias to the left, none, and to the right; none as long as it is not known."""
    right = _right(data, "tutor-executor")
    none = right.isel(contrast=right.sizes["contrast"] // 2, drop=True)
    bias = (none.isel(time=EARLY) if none.sizes["time"] > EARLY.start else none.isel(time=[0])).mean("time") - 0.5
    return 1.0 + (bias > UNBIASED) - (bias < -UNBIASED)


def _saddles(config: Any) -> Sequence[Mark]:
    fields = (config.blank, config.inverse_temperature, tuple(config.contrasts), config.grading)
    return [
        Mark(name, x, y, "minimum" if name == "all open" else "saddle") for name, x, y in _places_of_saddles(*fields)
    ]


@lru_cache(maxsize=64)
def _places_of_saddles(
    blank: float, inverse_temperature: float, contrasts: tuple[float, ...], grading: float
) -> list[tuple[str, float, float]]:
    """Names of the rest points, and where they lie in the plane of left and right slope."""
    from festina.errors import FestinaError
    from festina.models import TutorExecutor

    fields = {"blank": blank, "inverse_temperature": inverse_temperature, "contrasts": contrasts, "grading": grading}
    model, found = TutorExecutor(**fields), []
    for opened in OPENED:
        try:
            left, right = model.saddle_slopes(*opened)
        except FestinaError:  # at extreme temperatures no rest point is found
            continue
        name = "all open" if len(opened) == 3 else "{" + ", ".join(opened) + "}"
        found.append((name, float(left), float(right)))
    return found


def _accuracy(data: xr.Dataset, config: Any) -> xr.DataArray:
    return named(data["accuracy"], "network", SHOWN)


def _curve(data: xr.Dataset, config: Any) -> xr.DataArray:
    return named(data["right"], "network", ("tutor-executor", "graded", "shallow"))


def _views(by: tuple[str, ...]) -> tuple[Any, ...]:
    return (
        Plane(
            "Single animals among saddles",
            _slope(0),
            _slope(1),
            colour=Quantity("right", of=_side),
            colours=SIDES,
            marks=_saddles,
            equal=True,
            note="Every animal begins at {const}, where gratings do not matter; which side it learns first follows its "
            "early bias.",
        ),
        Curves(
            "Learning curves",
            Quantity("accuracy", "share of correct choices", of=_accuracy),
            by=by,
            marks=lambda config: (Mark("chance", y=0.5),),
            note="The band spans all animals: deep networks differ from one another, shallow ones hardly do.",
        ),
        Curves(
            "Psychometric curve",
            Quantity("right", "P(right)", of=_curve),
            by=by,
            along="contrast",
            marks=lambda config: (Mark("chance", y=0.5),),
            note="Mean over animals, session by session; gratings on the left have negative contrast.",
        ),
    )


VIEWS = {"linear/mice": _views(("network",)), "model/tutor-executor": _views(())}
HEADLINES = {
    "linear/mice": ("inverse_temperature", "learning_rate", "initial_spread"),
    "model/tutor-executor": ("layers", "inverse_temperature", "crosstalk"),
}
MATTERS = {"model/tutor-executor": {"tutor_speed": {"layers": [2]}}}
