"""Views of the model in the plane of two teachers, and of gates that follow their bounds alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from festina._lazy import np, xr
from festina.views import _gated as gated
from festina.views._entries import some
from festina.views._parts import panel_of
from festina.views.vocabulary import Curves, Mark, Plane, Quantity, Surface

Selected = Callable[[xr.DataArray, Any], xr.DataArray]
MOST_SURFACE = 41  # points along a side
PLANE = "A student at a teacher knows its task; students in between follow the current task."


def _students(title: str, by: tuple[str, ...], note: str, select: Selected) -> Plane:
    """Weights of both paths along both teachers."""

    def along(teacher: int) -> Quantity:
        def of(data: xr.Dataset, config: Any) -> xr.DataArray | None:
            weights = _weights(data, config)
            return None if weights is None else gated.student_names(select(weights.isel(teacher=teacher), config))

        return Quantity("", f"share of teacher {'AB'[teacher]}", of=of)

    return Plane(title, along(0), along(1), by=by, marks=gated.teachers, equal=True, note=note)


def _weights(data: xr.Dataset, config: Any) -> xr.DataArray | None:
    """Weights along teachers; where only lengths along them are known, these over the teachers' norm: the same."""
    if "weights" in data:
        return data["weights"]
    return data["components"] / gated.teacher_norm(config) if "components" in data else None


def _gates(title: str, by: tuple[str, ...], select: Selected, marks: Any = gated.beginnings) -> Curves:
    quantity = Quantity("gates", "gate c", of=lambda data, config: gated.student_names(select(data["gates"], config)))
    return Curves(title, quantity, by=by, marks=marks)


def _all(array: xr.DataArray, config: Any) -> xr.DataArray:
    return array


MODEL = (
    _students("Students in the plane of their teachers", ("path",), PLANE, _all),
    _gates("Gates come to choose among students", ("path",), _all),
    gated.loss("Loss on the task shown", ()),
)


def total_alignment(data: xr.Dataset, config: Any) -> xr.DataArray:
    """The cosine of both students with both unit teachers, matched anew at every moment."""
    weights = data["weights"]
    norms = (weights**2).sum("teacher", skipna=False) ** 0.5
    return gated.total_alignment(xr.Dataset({"components": weights, "norms": norms}), config)


def _from_random(array: xr.DataArray, config: Any) -> xr.DataArray:
    return some(array, start="random")


BLOCKS = (
    Curves(
        "Long blocks specialise faster than short ones",
        Quantity(
            "weights",
            "total alignment",
            of=lambda data, config: some(total_alignment(data[["weights"]], config), start="random"),
        ),
        by=("block_length",),
        note="From small random weights.",
    ),
    _students("Students in the plane of their teachers", ("block_length",), PLANE, _from_random),
    Curves(
        "Started where both students know half of both tasks",
        Quantity(
            "weights",
            "total alignment",
            of=lambda data, config: some(total_alignment(data[["weights"]], config), start="orbit"),
        ),
        by=("block_length",),
    ),
)


def _learning(array: xr.DataArray, config: Any) -> xr.DataArray:
    own = panel_of(array, config, "abstraction/mechanism", "learning")
    return some(own, course=("flexible", "forgetful"))


def _adapting(variable: str, make: Callable[[xr.DataArray, xr.DataArray, Any], xr.DataArray]) -> Quantity:
    """A number of gates and weights of networks that adapt, and that of eq. 10 for the gates that they have."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        gates, weights = (
            panel_of(data[name], config, "abstraction/mechanism", "adapting") for name in ("gates", "weights")
        )
        separation = gates.isel(path=0, drop=True) - gates.isel(path=1, drop=True)
        return make(separation, weights, config)

    return Quantity("gates", variable, of=of)


def _two(network: xr.DataArray, law: xr.DataArray) -> xr.DataArray:
    return xr.concat([network, law], "law").assign_coords(law=["network", "eq. 10"])


def _separation(separation: xr.DataArray, weights: xr.DataArray, config: Any) -> xr.DataArray:
    return _two(separation, separation)


def _specialisation(separation: xr.DataArray, weights: xr.DataArray, config: Any) -> xr.DataArray:
    """½(w¹₁ − w²₁ − w¹₂ + w²₂), and √(1 − ½(τ_c/τ_w)(1 − c̄²))."""
    a, b, c, d = (weights.isel(path=p, teacher=m, drop=True) for p in (0, 1) for m in (0, 1))
    ratio = separation["adapting_gate_timescale"] / config.adapting_timescale
    return _two(0.5 * (a - b - c + d), (1 - 0.5 * ratio * (1 - separation**2)).clip(min=0.0) ** 0.5)


MECHANISM = (
    _students("Flexible students stay, forgetful ones follow the current task", ("course", "path"), PLANE, _learning),
    Plane(
        "Gates that move first protect what students know",
        _adapting("separation of gates c̄", _separation),
        _adapting("specialisation w̄", _specialisation),
        by=("law", "adapting_gate_timescale"),
        note="A switch goes from the right to the left; the slower the gates, the more specialisation is lost.",
    ),
    _gates("Gates", ("course", "path"), _learning),
)

SHOWN_MODELS = ("full", "reduced", "published")


def _models(array: xr.DataArray, config: Any) -> xr.DataArray:
    return some(array, model=SHOWN_MODELS)


REDUCTION = (
    _students(
        "The whole network, and two vectors in a plane",
        ("model", "path"),
        "Students in the plane of their teachers, of the whole network and of its reduced models.",
        _models,
    ),
    _gates("Gates of the whole network and of its reduced models", ("model", "path"), _models),
    Curves("Loss of all models", "share", by=("model",), marks=gated.beginnings),
)


def _landscape(config: Any, order: int) -> Surface:
    """√R over both gates, R = λ₁ Σ max(0, −c) + λ₂ (‖c‖ − 1)²."""
    ends = [value for name in ("first", "second") for value in np.atleast_1d(getattr(config, name))]
    side = np.linspace(min(-1.3, *ends), max(1.3, *ends), MOST_SURFACE)
    first, second = np.meshgrid(side, side)
    size = abs(first) + abs(second) if order == 1 else np.hypot(first, second)
    negative = np.maximum(-first, 0.0) + np.maximum(-second, 0.0)
    penalty = config.nonnegativity * negative + config.normalization * (size - 1.0) ** 2
    return Surface(side, side, np.sqrt(penalty), "√R")


def _solutions(order: int) -> Sequence[Mark]:
    middle = 0.5 if order == 1 else 0.5**0.5
    return (
        Mark("first alone", 1.0, 0.0, "minimum"),
        Mark("second alone", 0.0, 1.0, "minimum"),
        Mark("both", middle, middle, "point"),
    )


def _ways(title: str, order: Callable[[Any], int], norm: str, note: str) -> Plane:
    """Ways down to the bounds, from every start."""

    def along(gate: int) -> Quantity:
        def of(data: xr.Dataset, config: Any) -> xr.DataArray:
            return some(data["gates"], norm=norm).isel(gate=gate, drop=True)

        return Quantity("gates", f"{('first', 'second')[gate]} gate", of=of)

    return Plane(
        title,
        along(0),
        along(1),
        surface=lambda config: _landscape(config, order(config)),
        marks=lambda config: _solutions(order(config)),
        equal=True,
        note=note,
    )


COMPETE = "Bounds alone leave a line of solutions, from one open gate to both half open: nothing favours its ends."
REGULARIZER = (
    _ways("Descent to ‖c‖₁ = 1", lambda config: 1, "L1", COMPETE),
    _ways("Descent to ‖c‖₂ = 1", lambda config: 2, "L2", COMPETE),
)
GATES = (
    _ways("Gates descend to their bounds", lambda config: config.order, "L1", COMPETE),
    Curves("Both gates", Quantity("gates", "gate c"), by=("gate",)),
    Curves("Cost of violating the bounds", "penalty", y="log"),
)
