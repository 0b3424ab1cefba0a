"""What to look at in exclusive-or, with and without a margin, and in decisions that depend on a context."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import sqrt
from typing import Any

from festina._lazy import np, xr
from festina.views._parts import at, beside, few, first_run, panel, smallest, some
from festina.views.vocabulary import Curves, Heat, Mark, Plane, Quantity, Surface

SIDE = tuple(round(0.2 * place - 1.5, 1) for place in range(16))  # an even number: none lies on the edge of a gate
FRAMES = 24
CROSSING = sqrt(2.0 / 3.0)
SHEET = {"z2": list(SIDE[::-1]), "z1": list(SIDE)}  # the largest z₂ on top
SURFACE: dict[str, Any] = {"rows": "z2", "columns": "z1", "diverging": True, "low": -1.5, "high": 1.5}
WITHOUT = "Red and blue are the two answers; the third input, which holds the margin, is taken away (x₃ = 0)."


def _shown(array: xr.DataArray) -> xr.DataArray:
    """What a heat map has room for: some moments of the first run."""
    return first_run(few(array, FRAMES))


def _sheet(values: np.ndarray) -> xr.DataArray:
    return xr.DataArray(values, SHEET, ("z2", "z1"))


def _places() -> np.ndarray:
    """z of every cell: (rows, columns, 2)."""
    first, second = np.meshgrid(SIDE, SIDE[::-1])
    return np.stack([first, second], axis=-1)


def _rectified_sheet(separation: float = 0.0) -> xr.DataArray:
    """What four units along the examples, of strength 1 each, answer to (z₁, z₂, 0)."""
    from festina.worlds.logic import ANSWERS, CORNERS

    seen = np.maximum(_places() @ CORNERS.T, 0.0) / sqrt(2.0 + separation**2)
    return _sheet(seen @ ANSWERS)


@lru_cache(maxsize=32)
def _gated_sheets(gating: str, separation: float) -> np.ndarray:
    """What each pathway, of strength 1, answers to (z₁, z₂, 0): its gate is that of the nearest example."""
    from festina.models import GatedMargin
    from festina.worlds.logic import ANSWERS, CORNERS

    model = GatedMargin(gating=gating, separation=separation)  # pyright: ignore[reportArgumentType]
    inputs = np.concatenate([CORNERS, separation * ANSWERS[:, None]], axis=1)
    gates = np.stack(list(model.gates.values()))
    seen = (gates * ANSWERS) @ inputs
    size = np.linalg.norm(seen, axis=1, keepdims=True)
    directions = np.where(size > 1e-12, seen / np.maximum(size, 1e-12), model.blind)
    nearest = (_places() @ CORNERS.T).argmax(axis=-1)
    return gates[:, nearest] * np.einsum("pi,rci->prc", directions[:, :2], _places())


def _gated_answer(strength: xr.DataArray, gating: str, separation: float) -> xr.DataArray:
    sheets = _gated_sheets(gating, separation)
    own = strength.isel(pathway=slice(len(sheets))).transpose(..., "pathway")
    kept = {name: part for name, part in own.coords.items() if "pathway" not in part.dims}
    cells = np.einsum("...p,prc->...rc", own.values, sheets)  # plain arrays: labelled ones take longer than the sum
    return xr.DataArray(cells, kept | SHEET, (*own.dims[:-1], "z2", "z1"))


def _from_loss(loss: xr.DataArray) -> xr.DataArray:
    """The strength π of four pathways that have this loss, ½(1 − √2π)²."""
    return (1.0 - (2.0 * loss.clip(min=0.0)) ** 0.5) / sqrt(2.0)


def _xor_strength(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Mean strength of the pathways of each gating."""
    return panel(data, config, "race/xor", "gated", "strength").mean("pathway")


def _xor_answers(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Of every gating, and of four pathways with the loss of the rectified network from the smallest weights."""
    strength = _shown(panel(data, config, "race/xor", "gated", "strength"))
    parts = {name: _gated_answer(strength.sel(gating=name, drop=True), name, 0.0) for name in config.gating}
    loss = _shown(panel(data, config, "race/xor", "rectified", "loss"))
    parts["rectified"] = _from_loss(at(loss, "scale", smallest)) * _rectified_sheet()
    return beside("network", parts)


def _xor_loss(data: xr.Dataset, config: Any) -> xr.DataArray:
    return panel(data, config, "race/xor", "rectified", "loss")


XOR = (
    Curves(
        "Which gatings see a correlation",
        Quantity("strength", "strength π of a pathway", of=_xor_strength),
        by=("gating",),
        note="Pathways for one example, or for a half-plane, learn; those for a class, or always on, see no "
        "correlation.",
    ),
    Heat(
        "What is answered in the plane of both inputs",
        Quantity("strength", "answer", of=_xor_answers),
        panels=("network",),
        note="Each gate is that of the nearest example; the rectified network is drawn as four pathways with its loss.",
        **SURFACE,
    ),
    Curves(
        "Rectified networks learn as four pathways would",
        Quantity("loss", "loss of a rectified network", of=_xor_loss),
        by=("scale",),
        note="The size of the first weights shifts the curve in time, and does nothing else.",
    ),
)


def _model_answer(data: xr.Dataset, config: Any) -> xr.DataArray:
    return _gated_answer(_shown(data["strength"]), config.gating, config.separation)


GATED = (
    Curves("Strengths of the pathways", "strength", by=("pathway",)),
    Heat(
        "What is answered in the plane of both inputs",
        Quantity("strength", "answer", of=_model_answer),
        note=WITHOUT,
        **SURFACE,
    ),
    Curves("Loss", "loss"),
)


def _shares(data: xr.Dataset, config: Any) -> tuple[xr.DataArray, xr.DataArray]:
    """What pathways for one class, and those for one example, answer: ρΔ and π√(2 + Δ²), which go to 1 together."""
    separation = _separation(data, config)
    linear, nonlinear = at(data["linear"], "scale", smallest), _for_one_example(data, config)
    return xr.where(separation > 0, linear * separation, 0.0 * nonlinear), nonlinear * (2.0 + separation**2) ** 0.5


def _separation(data: xr.Dataset, config: Any) -> xr.DataArray:
    return data["separation"] if "separation" in data["linear"].dims else xr.DataArray(float(config.separation))


def _for_one_example(data: xr.Dataset, config: Any) -> xr.DataArray:
    """π from the smallest start; without a margin units end on the edges of their sets, and the loss has to tell it."""
    nonlinear, loss = (at(data[name], "scale", smallest) for name in ("nonlinear", "loss"))
    return xr.where(_separation(data, config) > 0, nonlinear, _from_loss(loss))


def _share(kind: int) -> Quantity:
    label = ("answered by pathways for one class", "answered by pathways for one example")[kind]
    return Quantity("linear", label, of=lambda data, config: _shares(data, config)[kind])


def _both_kinds(data: xr.Dataset, config: Any) -> xr.DataArray:
    linear, nonlinear = _shares(data, config)
    return beside("pathways", {"for one example": nonlinear, "for one class": linear})


def _race_surface(config: Any) -> Surface:
    """½(1 − x − y)²: both kinds share one error."""
    side = np.linspace(0.0, 1.2, 25)
    return Surface(side, side, 0.5 * (1.0 - side[None] - side[:, None]) ** 2, "loss")


def _race_marks(config: Any) -> Sequence[Mark]:
    return (Mark("nonlinear", 0.0, 1.0, "minimum"), Mark("linear", 1.0, 0.0, "minimum"))


def _margin_answers(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Of units along the examples with the strength that is recorded, in the plane of the first two inputs."""
    nonlinear = _shown(_for_one_example(data, config))
    if "separation" not in nonlinear.dims:
        return nonlinear * _rectified_sheet(config.separation)
    chosen = some(nonlinear, "separation", (0.4, CROSSING, 1.2))
    sheets = [_rectified_sheet(float(value)) for value in chosen["separation"]]
    return chosen * xr.concat(sheets, chosen["separation"])


def _decision(panels: tuple[str, ...]) -> Heat:
    return Heat(
        "What is left of the answer without the margin",
        Quantity("nonlinear", "answer at x₃ = 0", of=_margin_answers),
        panels=panels,
        note=f"{WITHOUT} Drawn as units along the examples with their strength: a linear solution leaves nothing.",
        **SURFACE,
    )


RACE_OF_KINDS = Plane(
    "The race of two kinds of pathway",
    _share(0),
    _share(1),
    by=("separation",),
    surface=_race_surface,
    marks=_race_marks,
    equal=True,
    note="Both grow on one error until together they answer all; narrow margins end on top, wide ones on the right.",
)

MARGIN = (
    Curves(
        "Nonlinear solutions emerge before they are needed",
        "single_share",
        by=("scale",),
        along="separation",
        marks=lambda config: (Mark("Δ* = √(2/3)", x=CROSSING),),
        note="Curves of all starts cross at Δ*; the smaller the start, the sharper the passage.",
    ),
    RACE_OF_KINDS,
    _decision(("separation",)),
)

MARGIN_MODEL = (
    Curves(
        "Who answers: units for one example, or for one class",
        Quantity("linear", "share of the answer", of=_both_kinds),
        by=("pathways",),
        note="Below Δ* = √(2/3) units for one example win, though a linear map would do.",
    ),
    _decision(()),
    Curves("Loss", "loss"),
)

STALLED = 0.25  # the loss of the best answer that ignores the context


def _stalled(config: Any) -> Sequence[Mark]:
    return (Mark("context ignored", y=STALLED),)


def _racing(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Pathways in the network that has all of them."""
    return panel(data, config, "race/context", "gated", "strength").sel(gating="race", drop=True)


def _gated_losses(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Of gated networks, and of rectified ones with each cue."""
    gated = panel(data, config, "race/context", "gated", "loss")
    rectified = panel(data, config, "race/context", "rectified", "loss")
    parts = {f"gated, {name}": gated.sel(gating=name, drop=True) for name in gated["gating"].values.tolist()}
    cues = rectified["cue"].values.tolist()
    return beside("network", parts | {f"rectified, κ = {cue:g}": rectified.sel(cue=cue, drop=True) for cue in cues})


def _gates(data: xr.Dataset, config: Any) -> xr.DataArray:
    return panel(data, config, "race/context", "rectified", "gates")


GATES: dict[str, Any] = {
    "rows": "on_colour",
    "columns": "on_motion",
    "low": 0.0,
    "note": "Share of strength by how many of four examples a unit is on for in either context: off the diagonal its "
    "gate depends on the context.",
}

CONTEXT = (
    Curves(
        "The linear pathway is first, and learns half",
        Quantity("strength", "strength of a pathway", of=_racing),
        by=("pathway",),
        note="The pathway that is always on is fastest, but what it cannot explain is left to those for one context.",
    ),
    Curves(
        "Without a cue learning stalls",
        Quantity("loss", "loss", of=_gated_losses),
        by=("network",),
        marks=_stalled,
        note="A rectified network has to get the context from a cue κ; without one it stays where a linear one does.",
    ),
    Heat(
        "Gates come to depend on the context",
        Quantity("gates", "share of strength", of=_gates),
        panels=("cue",),
        **GATES,
    ),
)

GATED_DECISION = (
    Curves(
        "The linear pathway is first, and learns half",
        "strength",
        by=("pathway",),
        note="The pathway that is always on is fastest, but what it cannot explain is left to those for one context.",
    ),
    Curves("Loss", "loss", marks=_stalled),
)

DECISION = (
    Curves("Without a cue learning stalls", "loss", marks=_stalled),
    Heat("Gates come to depend on the context", "gates", **GATES),
    Curves("Gates that depend on the context", "contextual"),
)

VIEWS = {
    "race/xor": XOR,
    "race/margin": MARGIN,
    "race/context": CONTEXT,
    "model/gated-margin": GATED,
    "model/margin": MARGIN_MODEL,
    "model/gated-decision": GATED_DECISION,
    "model/decision": DECISION,
}
HEADLINES = {
    "race/xor": ("initial", "scale"),
    "race/margin": ("separation", "scale"),
    "race/context": ("cue", "initial"),
    "model/gated-margin": ("gating", "separation", "initial"),
    "model/margin": ("separation", "scale"),
    "model/gated-decision": ("advantage", "gating"),
    "model/decision": ("cue", "scale"),
}
MATTERS = {
    "model/margin": {"separation": {"inputs": [3]}},
    "model/gated-decision": {"advantage": {"gating": ["contexts", "all"]}},
}
