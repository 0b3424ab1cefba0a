"""Exclusive-or in gated and in rectified networks."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Equation, Experiment, Panels, Preset, Result, use
from festina.experiments._needs import require_case
from festina.experiments.race._settled import longer, require_settled
from festina.figures.panels import DOTS, LINES, Page, bands, looks_of, marks_of, note
from festina.sources import LECTURE, SAXE_2022
from festina.style import BLUE, THEORY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXAMPLE = "one example"
GATINGS = (EXAMPLE, "half-planes", "classes", "always on")
CHANCE = 0.5  # the loss of answering 0
TINY = 1e-3  # strength of pathways that is as good as none
SMALL = 1e-2  # up to this standard deviation of its weights the start of a network is called small
OCCUPIED = 0.156  # π₀/(Hσ²), an earlier estimate; the free growth of single units (`theory.margin.captured`) has .165


class Xor(Experiment):
    """A small rectified network learns exclusive-or as four linear pathways would, one for each example.

    Inputs z = (±1, ±1) ask for y = z₁z₂. A pathway that is on for one example alone sees s = √2/4 and the input
    variance d = ½, and grows as π(t) = (s/d)/(1 − (1 − s/(dπ₀))e^{−2st/τ}); the loss is ½(1 − √2π)². A gated linear
    network does exactly that. So does a rectified network from small random weights, once its start is expressed as one
    number π₀ ≈ .16 Hσ² (H units, standard deviation σ), which shifts the curve in time and does nothing else. What is
    left, some thousandths, comes from units that are not spread evenly over the four examples.

    *Which gating wins?* A pathway that is always on, or on for one class, sees no correlation at all, and is stuck. The
    lecture says that the gating that learns fastest dominates. Taken literally this does not hold: two pathways, one
    for each side of z₁ = 0, see s = ½ and learn faster than four pathways for one example each. But a rectified unit
    that is on for z₁ > 0 grows the weights (0, 1), with which it is on for z₂ > 0 instead: it cannot keep this gating.
    Among all 15 gatings, those for one example are the only ones a rectified unit can keep
    (`festina.theory.margin.self_consistent_sets`), and they are the ones the network finds. It reaches them in a
    sliding motion: at the diagonal, two neighbouring examples push a unit back from either side. For this reason
    rectified networks learn in small steps here; the gated ones follow gradient flow.
    """

    name = "race/xor"
    sources = (SAXE_2022, LECTURE)
    arms = Panels(
        gated=Arms(use(models.GatedMargin, separation=0.0), gating=GATINGS),
        rectified=Arms(use(models.Margin, inputs=2, separation=0.0), scale=(1e-3, 1e-2, 5e-2)),
    )
    base = {"width": 150, "until": 30.0, "step_size": 0.005, "records": 300}
    seeds = 10
    quick = {"seeds": 3, "records": 200, "step_size": 0.01}
    equations = (
        *models.GatedMargin.equations,
        Equation(
            r"L = \tfrac12 \bigl(1 - \sqrt 2\, \pi\bigr)^2, \qquad \pi_0 \approx 0.16\, H \sigma^2",
            "A rectified network of H small units follows the same loss, as if its pathways had started at this π₀.",
        ),
    )
    presets = (
        Preset(
            "three starts", "Rectified networks follow the gated one, shifted in time by the size of their weights."
        ),
        Preset(
            "small pathways", "Gated networks that start a hundred times smaller learn 6.5 τ later.", {"initial": 1e-5}
        ),
        Preset("large pathways", "Gated networks that start at a tenth wait less than 3 τ.", {"initial": 0.1}),
    )

    @claims.theory(claims.below(1e-8), source=LECTURE.at("XoR dynamics"))
    def exact(self, result: Result) -> np.ndarray:
        """A gated linear network follows the closed form under every gating (losses, and strengths of pathways for one
        example).
        """
        gated = result.part("gated")
        gap = abs(gated["strength"] - gated.solved["strength"])
        strength = gap.where(gap["gating"] == EXAMPLE, 0.0).max(["time", "gating", "pathway"]).values
        return np.maximum(strength, gated.errors("loss"))

    @claims.paper(
        LECTURE.at("assumptions & caveats: can approximate ReLU networks with small random weights"),
        claims.below(0.005),
    )
    def rectified(self, result: Result) -> xr.DataArray:
        """A small rectified network follows the closed form of four pathways, one for each example, shifted in time by
        one fitted number (largest |ΔL|; our threshold, a hundredth of the loss).
        """
        return fits(result, _learned(result))[1]

    @claims.reference("an earlier simulation of our own, separate from this one", claims.near(OCCUPIED, 0.02))
    def start(self, result: Result) -> xr.DataArray:
        """The time shift of a small rectified network is that of an effective start π₀ ≈ .156 Hσ² (fitted π₀ over Hσ²;
        free growth of single units gives .165).
        """
        smallest = _learned(result)
        return fits(result, smallest)[0] / (result.config.width * smallest**2)

    @claims.theory(claims.above(0.99), source=LECTURE.at("gated DLN on XoR"))
    def aligned(self, result: Result) -> xr.DataArray:
        """Units of a small rectified network end up with the weights of pathways for one example (mean cosine, weighted
        by strength).
        """
        return result.panel("rectified")["alignment"].sel(scale=_learned(result)).isel(time=-1)

    @claims.theory(claims.near(CHANCE, 1e-6))
    def stuck(self, result: Result) -> xr.DataArray:
        """A pathway that is always on, or on for one class, sees no correlation and learns nothing (loss at the end;
        answering 0 has ½).
        """
        tiny = result.config.initial <= TINY
        require_case(tiny, f"--initial {TINY:g} or smaller, for the loss to be that of answering 0")
        stuck = [gating for gating in ("classes", "always on") if gating in result.config.gating]
        require_case(stuck, "the gating `classes` or `always on`")
        return result.panel("gated")["loss"].sel(gating=stuck).isel(time=-1, run=0)

    @claims.paper(
        LECTURE.at("neural race reduction: the one which learns fastest dominates the solution"),
        claims.above(1.0),
        reason="the lecture's scope: its gates are given, and rectified units cannot keep those of half-planes; see "
        "the experiment's description",
    )
    def fastest(self, result: Result) -> float:
        """The gating that a rectified network ends with, one pathway for each example, learns fastest (half-time of a
        network with half-planes over that of one with examples).
        """
        return _half_time(result, "half-planes") / _half_time(result, EXAMPLE)

    def figure(self, result: Result) -> Figure:
        """Gated networks under every gating, rectified ones beside the closed form, and which gatings can be kept."""
        with Page(2, 3, height=4.6) as page:
            _draw_gated(page[0], result)
            _draw_rectified(page[1], result)
            _draw_shifted(page[2], result)
            _draw_starts(page[3], result)
            _draw_alignment(page[4], result)
            _draw_sets(page[5])
        return page.figure


def _losses(result: Result, scale: float) -> xr.DataArray:
    """Of rectified networks from one start: (run, time)."""
    return result.panel("rectified")["loss"].sel(scale=scale).transpose("run", "time")


def fits(result: Result, scale: float) -> tuple[xr.DataArray, xr.DataArray]:
    """The start π₀ whose closed form lies nearest to each rectified run, and the largest |ΔL| that is left."""
    time, runs = result["time"].values, _losses(result, scale).values.T
    starts = fs.theory.margin.xor_start(time, runs, OCCUPIED * result.config.width * scale**2)
    gaps = np.abs(fs.theory.margin.xor(starts)(time)["loss"] - runs).max(axis=0)
    return xr.DataArray(starts, dims="run"), xr.DataArray(gaps, dims="run")


def _half_time(result: Result, gating: str) -> float:
    """When half the loss of a gated network is gone."""
    require_case(gating in result.config.gating, f"the gating `{gating}`")
    loss = result.panel("gated")["loss"].sel(gating=gating).isel(run=0).values
    above = loss[0] > CHANCE / 2
    require_case(above, f"a smaller --initial: half of the loss with {gating} is gone at the start")
    time = fs.measures.crossing_time(result["time"].values, -loss, -CHANCE / 2)
    if not np.isfinite(time):
        exact = next(arm.model for arm in result.arms if arm.labels.get("gating") == gating).theory()
        enough = longer(result, lambda times: exact(times)["loss"], lambda *seen: seen[-1] < CHANCE / 2)
        raise claims.Undecided(f"half of the loss with {gating} is not gone at the end; {enough}")
    return float(time)


def _learned(result: Result) -> float:
    """The smallest start, from which all has been learned."""
    smallest = min(result.config.scale)
    require_case(smallest <= SMALL, f"a start of at most σ = {SMALL:g} among the scales")
    predicted = fs.theory.margin.xor(OCCUPIED * result.config.width * smallest**2)
    require_settled(result, curve=lambda time: predicted(time)["loss"], panel="rectified", scale=smallest)
    return smallest


def _draw_gated(axis: Axes, result: Result) -> None:
    """Closed forms as lines, gated networks as marks."""
    gated = result.part("gated")
    simulated, exact = (data["loss"].isel(run=0) for data in (gated.data, gated.solved))
    time, every = result["time"].values, max(1, result["time"].size // 22)
    for number, (gating, look) in enumerate(marks_of(result.config.gating, ms=3).items()):
        line = {"color": look["color"], "ls": LINES[number % len(LINES)]}
        places = slice(0 if number < 3 else max(1, every // 2), None, every)  # the two that are stuck share a line
        axis.plot(time, exact.sel(gating=gating), **line)
        axis.plot(time[places], simulated.sel(gating=gating)[places], ls="", **look)
        axis.plot([], [], label=gating, **look, ls=line["ls"])
    _frame(axis, result, "Gated networks", loc="center right", bbox_to_anchor=(1.0, 0.48), handlelength=2)


def _frame(axis: Axes, result: Result, title: str, **legend: Any) -> None:
    """The axes of a loss over time."""
    axis.set(xlabel="time t / τ", ylabel="loss", title=title, ylim=(-0.02, 0.56), xlim=(0, result["time"].values[-1]))
    axis.legend(fontsize=6.5, **{"loc": "upper right", "borderaxespad": 0.1} | legend)


def _draw_rectified(axis: Axes, result: Result) -> None:
    """Rectified networks as bands, the closed form from the fitted start (its geometric mean) dashed."""
    time = result["time"].values
    bands(axis, result.panel("rectified")["loss"], "scale", label="σ = {:g}".format)
    for scale in result.config.scale:
        start = np.exp(np.log(fits(result, scale)[0]).mean().item())
        axis.plot(time, fs.theory.margin.xor(start)(time)["loss"], **THEORY)
    axis.plot([], [], **THEORY, label="closed form")
    _frame(axis, result, "Rectified networks")


def _draw_shifted(axis: Axes, result: Result) -> None:
    """Every run on the clock of its own fitted start: all are one curve."""
    rate = np.sqrt(2.0) / 2.0
    for scale, look in looks_of(result.config.scale).items():
        shifts = np.log(1.0 / np.sqrt(2.0) / fits(result, scale)[0] - 1.0) / rate
        axis.plot(result["time"] - shifts, _losses(result, scale).T, lw=0.9, alpha=0.7, **look)
        axis.plot([], [], label=f"σ = {scale:g}", **look)
    inside = np.linspace(-8, 8, 200)
    start = 1.0 / np.sqrt(2.0) / (1.0 + np.exp(rate * 8.0))
    axis.plot(inside, fs.theory.margin.xor(start)(inside + 8.0)["loss"], **THEORY, label="closed form")
    _frame(axis, result, "Every run, shifted once")
    axis.set(xlim=(-8, 8), xlabel="(t − half-time of π) / τ")


def _draw_starts(axis: Axes, result: Result) -> None:
    """The fitted start over Hσ², and in the colour of errors what the shift leaves unexplained."""
    errors = axis.twinx()
    for scale in result.config.scale:
        start, left = fits(result, scale)
        spread = np.geomspace(0.88, 1.14, len(start)) if len(start) > 1 else np.ones(1)
        axis.plot(scale * spread / 1.25, start / (result.config.width * scale**2), color=BLUE, **DOTS)
        errors.plot(scale * spread * 1.25, left, "x", color=VERMILLION, ms=3.5, mew=0.9)
    axis.axhline(OCCUPIED, **THEORY)
    place = {"transform": axis.get_yaxis_transform(), "va": "top", "ha": "center"}
    axis.text(0.32, OCCUPIED - 0.006, f"{OCCUPIED:g}", fontsize=7, **place)
    axis.set(xscale="log", xlabel="initial s.d. σ", title="One number for the start", ylim=(0, 0.3))
    axis.set_ylabel("fitted $π_0 / Hσ^2$  (○)", color=BLUE)
    errors.set(yscale="log")
    errors.set_ylabel("largest |ΔL|  (×)", color=VERMILLION)
    errors.spines["right"].set_visible(True)


def _draw_alignment(axis: Axes, result: Result) -> None:
    """How far units have turned towards single examples."""
    bands(axis, result.panel("rectified")["alignment"], "scale", label="σ = {:g}".format)
    axis.set(xlabel="time t / τ", ylabel="cosine with example", title="Units turn to one example")
    axis.set(xlim=(0, result["time"].values[-1]), ylim=(0.88, 1.005))
    axis.legend(loc="lower right", fontsize=6.5)


def _draw_sets(axis: Axes) -> None:
    """Every set of examples a pathway could be on for: how strong it is, and whether a unit can keep it."""
    world = fs.worlds.logic.xor()
    every = np.asarray(list(product((False, True), repeat=4))[1:])
    strength = np.round(np.linalg.norm((every * world.targets[:, 0]) @ world.inputs, axis=1) / 4, 6)
    kept = {tuple(row) for row in fs.theory.margin.self_consistent_sets(world.inputs, world.targets[:, 0])}
    size = every.sum(axis=1)
    for number, value in sorted(set(zip(size, strength, strict=True))):
        same = every[(size == number) & (strength == value)]
        axis.plot(number, value, "o", color=BLUE, ms=6, mfc=BLUE if tuple(same[0]) in kept else "white")
        note(axis, f"×{len(same)}", (number, value), (6, 3))
    for label, face in (("can be kept", BLUE), ("cannot", "white")):
        axis.plot([], [], "o", color=BLUE, ms=5, mfc=face, label=label)
    axis.set(xlim=(0.6, 4.8), ylim=(-0.04, 0.74), xticks=[1, 2, 3, 4], xlabel="examples it is on for")
    axis.set(ylabel="strength s", title="All 15 gatings of a unit", yticks=[0, 0.25, CHANCE])
    axis.legend(loc="upper right", fontsize=6.5, ncols=2, columnspacing=0.8, handletextpad=0.2)
