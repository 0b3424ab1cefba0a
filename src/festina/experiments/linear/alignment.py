"""Silent alignment: a network from small weights turns its kernel towards the task before the loss shows anything."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Preset, Result, named
from festina.experiments._needs import require_case, require_enough
from festina.figures.panels import Page, runs_beside, shades
from festina.models.single_output import FALLEN
from festina.sources import ATANASOV_2021
from festina.style import BLUE, ORANGE, THEORY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LAZY = (1.0 - sqrt(1.0 - FALLEN)) ** 2
SMALL = 2e-3  # σ²/s up to which weights are small
STARTS = named(random={"mirroring": 0.0}, mirrored={"mirroring": 1.0})
LADDER = tuple(10.0 ** (0.5 * rung) for rung in range(7))  # half a decade apart


class Alignment(Experiment):
    """From small weights the kernel aligns with the task in silence; from large ones it hardly turns at all.

    Along the target ŝ weights grow as e^(st): after t₁ ≈ 1/s they outweigh the kernel K ≈ 2σ²I of the start, the loss
    falls only at t₂ = (1/2s) ln(s/σ²), and K ends as s(ŝŝᵀ + I), with the alignment A = ŝᵀKŝ/|K| = 2/√(Ni + 3). The
    silent share is how much of the alignment is done when the loss has fallen by 10 %. Plain random weights begin with
    an output of size σ², and what is learned beyond σ² ≈ s is mostly to undo it; the share then says little.
    """

    name = "linear/alignment"
    sources = (ATANASOV_2021,)
    arms = Arms(models.SingleOutput, start=STARTS, scale=tuple(3e-3 * factor for factor in LADDER))
    seeds = 3
    quick = {"records": 300, "seeds": 2}
    presets = (
        Preset("small to large", "Small weights align in silence, large ones learn while the kernel hardly turns."),
        Preset(
            "small only",
            "All seven kernels align at the same time, and then wait for the loss, each as long as ln(1/σ) says.",
            {"scale": tuple(1e-5 * factor for factor in LADDER), "until": 25.0},
        ),
        Preset(
            "strong target", "Both the alignment and the loss's fall come about four times as early.", {"strength": 4.0}
        ),
    )

    @claims.paper(ATANASOV_2021.at("Fig. 2"), claims.above(0.99))
    def small(self, result: Result) -> xr.DataArray:
        """Silent alignment: from small weights more than .99 (our threshold) of the kernel's alignment is done when the
        loss has fallen by 10 %.
        """
        small = _smallest(result, at_most=2e-4)
        return _learned(result)["silent"].sel(scale=small).min("start")

    @claims.theory(claims.near(2.0, 0.1))
    def order(self, result: Result) -> xr.DataArray:
        """What the silent share of the alignment lacks to 1 goes as σ²: slope of its logarithm against ln σ, over the
        smallest decade.
        """
        return _slope(xr.ufuncs.log(1.0 - _decade(result)["silent"]))

    @claims.theory(claims.near(LAZY, 0.001))
    def large(self, result: Result) -> xr.DataArray:
        """From large mirrored weights the kernel turns with the loss: the silent share of the alignment is
        (1 − √0.9)² = 0.0026.
        """
        largest = max(result.config.scale)
        require_case(largest**2 >= 5.0 * result.config.strength, "a largest scale with σ² ≥ 5s")
        return _learned(result)["silent"].sel(start="mirrored", scale=largest)

    @claims.theory(claims.below(0.1))
    def large_random(self, result: Result) -> xr.DataArray:
        """From plain random weights with σ² ≈ s, as large as what is learned, the silent share of the alignment is
        below .1.
        """
        like, nearest = result.config.strength**0.5, _nearest_to_strength(result)
        require_case(like / 2 <= nearest <= 2 * like, "a scale σ with σ² ≈ s")
        return _learned(result)["silent"].sel(start="random", scale=nearest)

    @claims.paper(ATANASOV_2021.at("Fig. 2, t₁ ≈ 1/s"), claims.between(0.5, 2.0))
    def alignment_time(self, result: Result) -> xr.DataArray:
        """Half of the kernel's alignment is done by t₁ ≈ 1/s, within a factor of two (our tolerance; times s, mean over
        the smallest decade).
        """
        return _decade(result)["alignment_time"].mean(["start", "scale"]) * result.config.strength

    @claims.theory(claims.below(0.05), source=ATANASOV_2021.at("Fig. 2, t₁ ≈ 1/s"))
    def alignment_constant(self, result: Result) -> xr.DataArray:
        """The time t₁ of the kernel's alignment does not depend on the scale σ: its slope against ln(1/σ), in units of
        1/s, is zero.
        """
        return abs(_slope(_decade(result)["alignment_time"])) * result.config.strength

    @claims.theory(claims.near(1.0, 0.02), source=ATANASOV_2021.at("Fig. 2, t₂ = (1/2s) ln(s/σ²)"))
    def learning_time(self, result: Result) -> xr.DataArray:
        """The loss falls at t₂ = (1/2s) ln(s/σ²): the slope of its half-time against ln(1/σ), times s, is 1."""
        return -_slope(_decade(result)["learning_time"]) * result.config.strength

    @claims.theory(claims.below(1e-3), source=ATANASOV_2021)
    def final_kernel(self, result: Result) -> xr.DataArray:
        """From small weights the tangent kernel ends as s(ŝŝᵀ + I), with alignment 2/√(Ni + 3) (relative
        deviation).
        """
        small = _smallest(result)
        final = _learned(result)["alignment"].sel(scale=small).isel(time=-1)
        return abs(final * sqrt(result.config.inputs + 3.0) / 2.0 - 1.0).max("start")

    @claims.theory(claims.below(1e-3), loosely=claims.below(1e-2))
    def small_weights(self, result: Result) -> xr.DataArray:
        """The small-weight solution gives loss and alignment at all times (largest error, at the smallest scale)."""
        alignment, loss = (abs(result[name] - result.solved[name]) for name in ("alignment", "loss"))
        gap = xr.ufuncs.maximum(alignment, loss / result["loss"].isel(time=0))
        return gap.sel(scale=_smallest(result)).max(["start", "time"], skipna=False)

    def figure(self, result: Result) -> Figure:
        """Two courses, the phase plane of all scales, and the silent share against the scale."""
        with Page(2, 2, height=4.7) as page:
            _draw_course(page[0], result, min(result.config.scale), "Small weights: aligned in silence")
            _draw_course(page[1], result, _nearest_to_strength(result), "Large weights: aligned with the loss")
            _draw_plane(page[2], result)
            _draw_shares(page[3], result)
        return page.figure


def _smallest(result: Result, at_most: float = SMALL, factor: float = 1.0) -> float:
    """The smallest scale, if σ², of it or of a multiple of it, is at most a share of the target."""
    smallest = min(result.config.scale)
    small = (factor * smallest) ** 2 <= at_most * result.config.strength
    require_case(small, "a smaller --scale, or a larger --strength: σ² ≪ s")
    return smallest


def _nearest_to_strength(result: Result) -> float:
    """The scale σ with σ² nearest to s; larger ones look the same on a shorter clock."""
    return min(result.config.scale, key=lambda scale: abs(log(scale / result.config.strength**0.5)))


def _learned(result: Result) -> Result:
    """The result, if every loss has fallen; by theory the smallest weights take longest, (1/2s) ln(s/σ²)."""
    loss, config = result["loss"], result.config
    fallen = loss.isel(time=-1) <= 1e-3 * loss.isel(time=0)
    enough = (0.5 * log(max(config.strength / min(config.scale) ** 2, 1.0)) + 5.0) / config.strength
    require_enough(fallen, "the loss has not fallen yet from every scale", config, "until", enough)
    return result


def _decade(result: Result) -> xr.Dataset:
    """The scales from the smallest to ten times as much, if these are small and have learned."""
    smallest, scales = _smallest(result, factor=10.0), np.sort(result.config.scale)
    seen = scales[scales < 10.01 * smallest]
    require_case(seen[-1] >= 9.99 * smallest, "a scale ten times the smallest")
    return _learned(result).data.sel(scale=seen)


def _slope(values: xr.DataArray) -> xr.DataArray:
    """Slope against ln σ over a decade, both starts together."""
    return (values.isel(scale=-1) - values.isel(scale=0)).mean("start") / log(10.0)


def _draw_course(axis: Axes, result: Result, scale: float, title: str) -> None:
    """Loss and alignment of the mirrored start, simulated and by the small-weight solution."""
    part, time = result.sel(start="mirrored", scale=scale), result["time"].values
    loss, done = (part[name].values[0] for name in ("remaining", "aligned"))
    axis.plot(time, loss, color=VERMILLION, lw=2.0, label="loss, share left")
    axis.plot(time, done, color=BLUE, lw=2.0, ls=(0, (5, 1)), label="alignment, share done")
    if scale == min(result.config.scale):
        known = models.SingleOutput.measure(part.solved[["loss", "alignment"]].isel(run=0))
        axis.plot(time, np.transpose([known["remaining"], known["aligned"]]), **THEORY)
        axis.plot([], [], **THEORY, label="theory, small weights")
    moment, height = (float(fs.measures.at_fall(loss, curve, FALLEN)) for curve in (time, done))
    axis.axvline(moment, color="0.6", lw=0.8, ls=":")
    axis.plot(moment, height, "o", color=BLUE, mfc="white", ms=4.5, mew=1.1, zorder=4)
    axis.text(moment, 1.13, f"  loss fallen by {FALLEN:.0%}", va="center", fontsize=7, color="0.3")
    last = min(2.25 * time[np.argmax(loss < 0.05)] or time[-1], time[-1])
    axis.set(xlim=(0, last), ylim=(-0.03, 1.18), xlabel="time t / τ", ylabel="share", title=title)
    axis.text(0.98, 0.52, f"σ = {float(f'{scale:.1g}'):g}", transform=axis.transAxes, ha="right", fontsize=8)
    axis.legend(loc="center right", bbox_to_anchor=(1.0, 0.3), fontsize=7, labelspacing=0.35)


def _draw_plane(axis: Axes, result: Result) -> None:
    """How much of the alignment is done by the time the loss has fallen so far."""
    scales, gone = sorted(result.config.scale), np.linspace(0, 1, 200)
    colors = shades(scales[0], 1.6 * scales[-1], log=True)
    for scale in scales:
        seen = result.data.sel(start="mirrored", scale=scale).isel(run=0)
        axis.plot(1 - seen["remaining"], seen["aligned"], color=colors.to_rgba(scale))
    axis.plot(gone, (1 - np.sqrt(1 - gone)) ** 2, **THEORY)
    axis.text(0.8, 0.21, "lazy limit", fontsize=7, ha="left", va="top")
    axis.axvline(FALLEN, color="0.6", lw=0.8, ls=":")
    axis.set(xlim=(-0.01, 1.01), ylim=(-0.03, 1.03), xlabel="share of the loss gone", ylabel="share of alignment done")
    axis.set_title("From silent to simultaneous")
    bar = axis.figure.colorbar(colors, ax=axis, label="initial scale σ", pad=0.02, aspect=28)
    bar.ax.set_ylim(scales[0], scales[-1])


def _draw_shares(axis: Axes, result: Result) -> None:
    """The silent share of every network against its initial scale."""
    looks = {"random": {"color": ORANGE, "marker": "s"}, "mirrored": {"color": BLUE, "marker": "o"}}
    runs_beside(axis, result["silent"], "scale", "start", looks=looks, label="{} start".format)
    axis.plot(*_predicted_shares(result), zorder=0, **THEORY, label="theory, small weights")
    axis.axhline(LAZY, color="0.5", lw=0.8, ls=":", label="lazy limit $(1 − \\sqrt{0.9})^2$")
    axis.set(xscale="log", ylim=(-0.06, 1.05), xlabel="initial scale σ", ylabel="silent share")
    axis.set_title("Silence needs small weights")
    axis.legend(loc="lower left", bbox_to_anchor=(0.0, 0.08), labelspacing=0.35)


def _predicted_shares(result: Result) -> tuple[np.ndarray, list[np.ndarray]]:
    """Scales from the smallest on, ten for each decade, and the silent share that theory has for mirrored weights."""
    smallest, half = min(result.config.scale), 0.5 * result.config.strength**0.5
    scales = smallest * 10.0 ** np.arange(0.0, log(max(half / smallest, 1.01), 10), 0.1)
    seed, time, mirrored = int(result["seed"][0]), result["time"].values, result.arms[-1].model
    exact = [mirrored.model_copy(update={"scale": scale}).theory(seed)(time) for scale in scales]
    return scales, [fs.measures.silent_share(one["loss"], one["alignment"], FALLEN) for one in exact]
