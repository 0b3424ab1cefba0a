"""The world turns into its opposite: a saddle that balanced networks cannot pass, unless rounding errors carry them."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Panels, Preset, Result, named, use
from festina.experiments._needs import require_case, require_enough
from festina.figures.panels import DOTS, LINES, Page, curves, graded_looks
from festina.sources import BRAUN_2022, DOMINE_2025
from festina.style import BLUE, GREEN, ORANGE, PALETTE, PURPLE, SKY, THEORY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOUBLE = ["rotated", "expanded", "reordered"]
FINEST = 1e-9  # the smallest λ that float64 tells from zero for as long as a reversal takes
SURELY = 45.0  # st by which rounding errors of float64 have grown to s, ln(1/ε) = 37, and a reserve
DOTTED = (0, (1.2, 1))
LOOKS: dict[str, dict[str, Any]] = {
    "single": {"color": ORANGE, "ls": DOTTED, "label": "rotated, float32 start"},
    "rotated": {"color": BLUE, "label": "rotated"},
    "expanded": {"color": GREEN, "ls": LINES[1], "label": "rotated, expanded"},
    "reordered": {"color": PURPLE, "ls": LINES[2], "label": "rotated, reordered"},
    "nudged": {"color": SKY, "label": "on axes, + 1e-15"},
    "axes": {"color": VERMILLION, "label": "on axes"},
}
SINCE = "time since the reversal t / τ"


class Reversal(Experiment):
    """Asked for the opposite, a balanced network stops half-way for ever, and an unbalanced one waits for ln(1/λ)/2s.

    At t = 0 the network has learned S = U s Vᵀ exactly; from then on −S is asked for. While |a| ≫ λ each mode a falls
    as e^(−2st), so that it crosses zero after about (1/2s) ln(1/λ), and it takes as long again to grow. With λ = 0 it
    never gets there: W ends at the saddle W = 0 with the loss ½|S|², a quarter of the 2|S|² it began with.

    A simulation of λ = 0 tells another story. At the saddle the part g of the weights (see the model `reversal`) grows
    as e^(st), while the rest dies as e^(−st). Exactly, g = 0. Numerically g is as large as one rounding error ε, and
    overtakes the rest after (1/2s) ln(1/ε): about 18/s in float64, and 10/s earlier if the weights have once been kept
    in float32. That time is a property of the arithmetic, not of the network. Here one and the same network, with one
    and the same exact solution, is simulated six times:

    * with its modes along the axes, where both layers happen to be treated alike bit by bit, it stays at the saddle;
    * so written, but with one weight off by a few last bits (1e-15), that mode escapes;
    * rotated at random, every mode escapes; with the gradient written as W₂ᵀS − (W₂ᵀW₂)W₁ instead of W₂ᵀ(S − W₂W₁), or
      with the hidden units in reverse order, at other times; from weights that were kept in float32, much earlier.
    """

    name = "linear/reversal"
    sources = (BRAUN_2022, DOMINE_2025)
    arms = Panels(
        ladder=Arms(models.Reversal, imbalance=tuple(10.0**-power for power in range(2, 9))),
        balanced=Arms(
            use(models.Reversal, imbalance=0.0),
            arithmetic=named(
                axes={"basis": "axes"},
                nudged={"basis": "axes", "nudge": 1e-15},
                rotated={"basis": "random"},
                reordered={"basis": "random", "hidden": "reversed"},
                single={"basis": "random", "kept": "float32"},
                expanded={"basis": "random", "gradient": "expanded"},
            ),
        ),
    )
    seeds = 3
    quick = {"records": 450, "seeds": 2}
    presets = (
        Preset(
            "down to balance", "Each tenth of λ adds the same delay; λ = 0 escapes only where rounding errors let it."
        ),
        Preset(
            "unequal layers",
            "The network with λ = 1 crosses zero almost at once; each tenth of λ adds the same delay.",
            {"imbalance": tuple(10.0**-power for power in range(7))},
        ),
    )

    @claims.theory(claims.below(1e-6), source=DOMINE_2025)
    def exact(self, result: Result) -> np.ndarray:
        """With λ ≠ 0 the reversal of a task follows the closed form, mode by mode."""
        fine = min(result.config.imbalance) >= FINEST
        require_case(fine, f"a smallest λ of {FINEST:g} at least: rounding errors exceed smaller ones")
        return result.part("ladder").errors("strength")

    @claims.theory(claims.near(0.25, 1e-6), source=BRAUN_2022)
    def stuck(self, result: Result) -> xr.DataArray:
        """With λ = 0 the network ends at the saddle W = 0 with a quarter of the initial loss, if rounding errors treat
        both layers alike.
        """
        slowest, config = _slowest(result.config), result.config
        arrived = exp(-2.0 * slowest * config.until) <= 1e-7
        require_enough(arrived, "not at the saddle yet", config, "until", 8.1 / slowest)
        return loss_ratios(result, ["axes"])

    @claims.theory(claims.below(0.02))
    def crossing(self, result: Result) -> xr.DataArray:
        """A mode crosses zero after (1/2s) ln(1/λ): the slope of that time against ln(1/λ), times 2s, is 1 (largest
        deviation over the modes).
        """
        return abs(2 * _slope_of_times(result, 0.0) - 1).max("mode")

    @claims.theory(claims.below(0.02))
    def relearning(self, result: Result) -> xr.DataArray:
        """Half of the opposite task is known after (1/s) ln(1/λ): the slope of that time against ln(1/λ), times s, is 1
        (largest deviation over the modes).
        """
        return abs(_slope_of_times(result, 0.5) - 1).max("mode")

    @claims.theory(claims.below(0.01))
    def spurious(self, result: Result) -> xr.DataArray:
        """Written in rotated coordinates, the network with λ = 0 escapes the saddle by rounding errors: the loss ends
        near zero, not at a quarter (ratio).
        """
        _require_escape(result, DOUBLE)
        return loss_ratios(result, DOUBLE).max("arithmetic")

    @claims.theory(claims.near(1.0, 0.01))
    def nudged(self, result: Result) -> xr.DataArray:
        """One weight off by 1e-15 makes its mode escape the saddle at λ = 0: it ends at −s (as a share of −s)."""
        _require_escape(result, ["nudged"], modes=1)
        return _reversed(result, "balanced").sel(arithmetic="nudged").isel(time=-1, mode=0)

    @claims.theory(claims.above(0.01))
    def arbitrary(self, result: Result) -> xr.DataArray:
        """Escape times from the saddle at λ = 0 (times s) differ by more than .01 between ways of writing one
        computation in float64 (largest difference).
        """
        _require_escape(result, DOUBLE)
        times = escape_times(result, DOUBLE)
        return (times.max("arithmetic", skipna=False) - times.min("arithmetic", skipna=False)).max("mode", skipna=False)

    @claims.theory(claims.near(0.5 * 29 * log(2.0), 2.0))
    def precision(self, result: Result) -> xr.DataArray:
        """Having kept the weights in float32 brings the escape from the saddle at λ = 0 forward by ½ ln 2²⁹ = 10.05, in
        units of 1/s.
        """
        _require_escape(result, ["rotated", "single"])
        rotated, single = (escape_times(result, [name]).isel(arithmetic=0) for name in ("rotated", "single"))
        return (rotated - single).mean("mode", skipna=False)

    def figure(self, result: Result) -> Figure:
        """The reversal for all λ, its times, the spurious escape, and where it comes from."""
        with Page(2, 2, height=4.9) as page:
            _draw_courses(page[0], result)
            _draw_times(page[1], result)
            _draw_escapes(page[2], result)
            _draw_parts(page[3], result)
        return page.figure


def _strengths(config: Any) -> xr.DataArray:
    return xr.DataArray(np.linspace(config.strongest, config.weakest, config.modes), dims="mode")


def _slowest(config: Any, modes: int | None = None) -> float:
    """The smallest singular value, or that of the first few modes."""
    return float(_strengths(config)[:modes].min())


def _reversed(result: Result, panel: str) -> xr.DataArray:
    """The share −a/s of the new task that each mode knows."""
    return -result.panel(panel)["strength"] / _strengths(result.config)


def loss_ratios(result: Result, arithmetics: list[str]) -> xr.DataArray:
    """The last loss over the first, λ = 0."""
    loss = result.panel("balanced")["loss"].sel(arithmetic=arithmetics)
    return loss.isel(time=-1) / loss.isel(time=0)


def escape_times(result: Result, arithmetics: list[str]) -> xr.DataArray:
    """When each mode with λ = 0 crosses zero in simulation, in units of 1/s."""
    known = _reversed(result, "balanced").sel(arithmetic=arithmetics)
    return fs.measures.crossings(known, 0.0) * _strengths(result.config)


def _require_escape(result: Result, arithmetics: list[str], modes: int | None = None) -> None:
    """Whether the networks with λ = 0 have left the saddle and arrived, for which theory gives 37/s in float64."""
    config, slowest = result.config, _slowest(result.config, modes)
    require_case(modes or config.modes > 1, "two modes at least: one alone cannot be rotated")
    known = _reversed(result, "balanced").sel(arithmetic=arithmetics).isel(time=-1, mode=slice(modes))
    arrived = config.until * slowest >= SURELY or float(known.min()) >= 0.99
    require_enough(arrived, "the slowest mode may still be on its way", config, "until", SURELY / slowest)


def _slope_of_times(result: Result, share: float) -> xr.DataArray:
    """The slope of crossing times against ln(1/λ), times s, over all λ ≪ s; (run, mode)."""
    config, slowest = result.config, _slowest(result.config)
    small = [imbalance for imbalance in config.imbalance if 0.0 < imbalance <= 0.02 * slowest]
    require_case(len(small) > 1, "two values of λ at least that are small, λ ≤ s/50")
    times = fs.measures.crossings(_reversed(result, "ladder").sel(imbalance=small), share)
    needed = ((1.0 if share else 0.5) * log(slowest / min(small)) + 2.0) / slowest
    require_enough(times.notnull(), "not every mode is there yet", config, "until", needed)
    steps = -np.log(times["imbalance"])
    centred = steps - steps.mean()
    return (centred * times).sum("imbalance") / (centred**2).sum() * _strengths(config)


def _power(value: float) -> str:
    """10⁻⁴ for 1e-4, and the plain number for others."""
    exponent = np.log10(value) if value > 0 else 0.5
    near = np.isclose(exponent, np.round(exponent))
    return f"$10^{{{int(np.round(exponent))}}}$" if near else f"{value:.1g}"


def _draw_courses(axis: Axes, result: Result) -> None:
    """The strongest mode for each λ, with names for the first, the last and one between, and λ = 0 as theory has it."""
    ladder, strongest = list(result.config.imbalance), result.config.strongest
    part = result.part("ladder").sel(mode=1)
    names = {it: f"λ = {_power(it)}" for it in (ladder[0], ladder[len(ladder) // 2], ladder[-1])}
    every = max(1, result.config.records // 150)
    look: dict[str, Any] = {"by": "imbalance", "looks": graded_looks(ladder, end=0.9), "every": every}
    curves(axis, part, lambda data: data["strength"] / strongest, label=lambda it: names.get(it, ""), **look)
    level = result.part("balanced").solved["strength"].isel(run=0, mode=0, arithmetic=0) / strongest
    axis.plot(level["time"], level, color=VERMILLION, lw=1.6, ls=DOTTED, label="λ = 0, exact")
    axis.plot([], [], color="0.3", **DOTS, label="simulation")
    halves = fs.measures.crossings(-part["strength"].isel(run=0) / strongest, 0.5)
    last = np.nanmax([*1.5 * halves, 0.05 * result.config.until])
    axis.set(xlim=(0, min(last, result.config.until)), ylim=(-1.08, 1.08), xlabel=SINCE)
    axis.set(ylabel="strongest mode a/s", title="The less imbalance, the longer the wait")
    axis.legend(loc="upper right", labelspacing=0.35)


def _draw_times(axis: Axes, result: Result) -> None:
    """Times to zero (filled) and to half of the new task (open), for every run, against λ."""
    known, lines = _reversed(result, "ladder").sortby("imbalance"), ("-", LINES[1], DOTTED, LINES[2])
    for mode, strength in enumerate(_strengths(result.config).values):
        color, marker, line = PALETTE[mode % 7], "osD^v"[mode % 5], lines[mode % 4]
        for share, face, slope in ((0.0, color, 0.5), (0.5, "white", 1.0)):
            times = fs.measures.crossings(known.isel(mode=mode), share).transpose("imbalance", "run")
            guide = times[0].mean() - slope / strength * np.log(times["imbalance"] / times["imbalance"][0])
            axis.plot(times["imbalance"], times, marker, color=color, mfc=face, ms=3.8, mew=0.9)
            axis.plot(times["imbalance"], guide, color=color, lw=0.9, ls=line, zorder=0)
        axis.plot([], [], color=color, marker=marker, ms=3.8, lw=0.9, ls=line, label=f"s = {strength:g}")
    axis.plot([], [], "o", color="0.3", ms=3.8, label="to a = 0; slope 1/2s")
    axis.plot([], [], "o", color="0.3", mfc="white", ms=3.8, label="to a = −s/2; slope 1/s")
    axis.set(xscale="log", xlabel="imbalance λ of the layers", ylabel="time t / τ")
    axis.set(ylim=(0, 1.12 * axis.get_ylim()[1]), title="Waiting times grow as ln(1/λ)")
    axis.legend(loc="upper right", labelspacing=0.35)


def _draw_escapes(axis: Axes, result: Result) -> None:
    """λ = 0: the loss of one network, computed in six ways."""
    balanced = result.part("balanced")
    loss, exact = (data["loss"].isel(run=0) / data["loss"].isel(run=0, time=0) for data in (balanced, balanced.solved))
    for name, look in LOOKS.items():
        axis.plot(loss["time"], loss.sel(arithmetic=name), lw=1.3, **look)
    axis.plot(exact["time"], exact.isel(arithmetic=0), **THEORY, label="exact, all six")
    axis.axhline(0.25, color="0.7", lw=0.7, ls=":", zorder=0)
    place = {"xycoords": ("axes fraction", "data"), "xytext": (3, 0), "textcoords": "offset points"}
    axis.annotate("¼", (1, float(exact.isel(arithmetic=0, time=-1))), va="center", fontsize=7.5, **place)
    axis.set(xlim=(0, result.config.until), ylim=(-0.01, 0.55), xlabel=SINCE)
    axis.set(ylabel="loss / loss at t = 0", title="λ = 0: escapes by rounding errors")
    axis.legend(loc="upper right", ncols=2, fontsize=7, labelspacing=0.35, columnspacing=1.2)


def _draw_parts(axis: Axes, result: Result) -> None:
    """The two parts of the weights in the strongest mode: rounding errors grow, all else dies."""
    growing, dying = (result.panel("balanced")[name].isel(run=0, mode=0) for name in ("growing", "dying"))
    for name, label in (("single", "float32 start"), ("rotated", "float64")):
        look: dict[str, Any] = LOOKS[name] | {"label": f"growing part, {label}"}
        axis.plot(growing["time"], growing.sel(arithmetic=name), **look)
    look = {"color": "0.35", "lw": 1.3, "ls": LINES[1], "label": "dying part, exact and on axes"}
    axis.plot(dying["time"], dying.sel(arithmetic="axes"), **look)
    last = min(result.config.until, 50.0 / result.config.strongest)
    guide = np.linspace(0.0, 0.2 * last, 50)
    line = 30 * float(growing.sel(arithmetic="rotated")[0]) * np.exp(result.config.strongest * guide)
    axis.plot(guide, line, color="0.6", lw=0.8)
    axis.text(guide[-1], line[-1], "$e^{st}$ ", ha="right", va="bottom", fontsize=7.5)
    axis.axhline(2.0**-53, color="0.7", lw=0.7, ls=":", zorder=0)
    axis.text(0.42 * last, 2.0**-53, "rounding error $2^{-53}$", ha="center", va="bottom", fontsize=7, color="0.3")
    axis.set(yscale="log", xlim=(0, last), ylim=(1e-18, 1e7), xlabel=SINCE)
    axis.set(ylabel="size in strongest mode", title="Rounding errors grow, the rest dies")
    axis.legend(loc="upper right", fontsize=7, labelspacing=0.35)
