"""From sigmoidal to exponential learning as two layers become unequal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import log
from typing import TYPE_CHECKING, Any

from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Equation, Experiment, Preset, Result, named
from festina.experiments._needs import needs
from festina.experiments.linear._common import crossing, signed, with_imbalance
from festina.figures.panels import DOTS, Look, Page, curves
from festina.figures.style import BLACK, BLUE, GREEN, ORANGE, PALETTE, PURPLE, SKY, THEORY, VERMILLION
from festina.sources import DOMINE_2025, LECTURE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGE = 10.0  # an imbalance is large from this multiple of the strength on
EARLY, LATE = 0.1, 0.9
EXPONENTIAL = log(1 / (1 - EARLY)) / log(1 / (1 - LATE))  # t10/t90 = .0458 of 1 − e^(−t)
WEIGHTS, NETWORK = "two-weights", "several-modes"


class Transition(Experiment):
    """Balanced layers wait and then jump; the more unequal they are, the more learning is a plain exponential.

    Two weights a = w₂w₁ learn s from white inputs. Gradient flow conserves λ = w₂² − w₁² and turns into one equation,
    τȧ = √(λ² + 4a²)(s − a), solved by `festina.theory.imbalanced`. At λ = 0 it is the sigmoid τȧ = 2a(s − a), which
    spends most of its time near the saddle at a = 0; for |λ| ≫ 2s it is τȧ = |λ|(s − a), whose rate depends neither on
    a nor on s. The ratio t10/t90 of the times at which a tenth and nine tenths are learned tells the two apart: .517 at
    λ = 0 (with s = 1, a₀ = 10⁻³; it goes to 1 with a₀), ln(10/9)/ln(10) = .0458 for an exponential from zero.

    The same holds for a whole network with W₂ᵀW₂ − W₁W₁ᵀ = λI and a random initial map of size a₀, for which theory is
    the exact solution of `festina.theory.balanced`: at λ = 0 each mode of the task is learned in a stage of its own,
    strong ones first, while at large |λ| all are learned at the same time, at the rate |λ|.
    """

    name = "linear/transition"
    sources = (DOMINE_2025, LECTURE)
    arms = Arms(
        models.TwoLayer,
        network=named(two_weights={"inputs": 1, "outputs": 1, "initial": "aligned"}, several_modes={}),
        imbalance=(0.0, 0.01, 0.1, 1.0, 10.0, 100.0),
    )
    base = {"inputs": 3, "outputs": 3, "strongest": 1.0, "weakest": 0.4, "scale": 1e-3}
    base |= {"first": 1e-4, "until": 40.0, "records": 800}
    seeds = 5
    quick = {"seeds": 2, "records": 400}
    equations = (
        Equation(
            r"\tau \dot a = \sqrt{\lambda^2 + 4a^2}\; (s - a), \qquad \lambda = w_2^2 - w_1^2",
            "The product a of two weights has a saddle at zero if they are equal, and a constant rate if they are very "
            "unequal.",
        ),
        Equation(
            r"p(t) = \frac{p_+ (p_0 - p_-) - p_- (p_0 - p_+)\, E}{(p_0 - p_-) - (p_0 - p_+)\, E}, "
            r"\qquad a = \tfrac12 \Bigl(p - \frac{\lambda^2}{4p}\Bigr)",
            "This solves it for every λ, with r = √(s² + λ²/4), p± = s ± r and E = exp(−2rt/τ).",
        ),
    )
    presets = (
        Preset(
            "sigmoid to exponential", "Balanced layers wait and jump; from λ = 10 on learning is a plain exponential."
        ),
        Preset(
            "small start",
            "A start of 10⁻⁶ makes balanced layers wait twice as long; very unequal ones do not care.",
            {"scale": 1e-6},
        ),
        Preset("large start", "From a start of 0.05 little is left of the wait.", {"scale": 0.05}),
        Preset(
            "equal modes",
            "With equal modes a balanced network learns all of them at about the same time.",
            {"weakest": 1.0},
        ),
    )

    @claims.theory(claims.below(1e-8), source=DOMINE_2025)
    def exact(self, result: Result) -> np.ndarray:
        """The product of two weights, and the loss, follow the closed form for every imbalance λ."""
        weights = _part(result, network=WEIGHTS, mode=1)
        return np.maximum(result.config.strongest * weights.errors("learned"), weights.errors("loss"))

    @claims.theory(claims.below(1e-8), source=LECTURE.at("Partitioned solution"))
    def exact_network(self, result: Result) -> np.ndarray:
        """The modes of a λ-balanced network, and its loss, follow the exact solution for every λ."""
        return _part(result, network=NETWORK).errors("learned", "loss")

    @claims.paper(LECTURE.at("From exponential to sigmoidal dynamics"), claims.above(5.0))
    def sigmoid(self, result: Result) -> xr.DataArray:
        """At λ = 0 learning is sigmoidal: every mode of a network waits and jumps, with a t10/t90 of more than five
        times (our threshold) that of an exponential from the same start.
        """
        learned = _learned_to(LATE, "90 %", result, _balanced(result))
        start = learned.isel(time=0)
        if bool((start >= EARLY).any()):
            raise claims.NotApplicable("needs modes that begin below a tenth of what they learn")
        return crossing(learned, EARLY) / crossing(learned, LATE) / _exponential_ratio(start)

    @claims.paper(LECTURE.at("From exponential to sigmoidal dynamics"), claims.near(1.0, 0.02))
    def exponential(self, result: Result) -> xr.DataArray:
        """At the largest |λ| learning is exponential: t10/t90 is that of an exponential from the same start (ratio;
        the tolerance is ours).
        """
        return _ratios(result, _largest(result)) / _exponential_ratio(result.config.scale / result.config.strongest)

    @claims.theory(claims.below(0.0))
    def gradual(self, result: Result) -> xr.DataArray:
        """From sigmoidal to exponential there is no threshold: every increase of |λ| lowers t10/t90 (its steps)."""
        ratios = _ratios(result, *result.config.imbalance)
        if ratios.size < 2:
            raise claims.NotApplicable("needs imbalances of two sizes at least")
        return ratios.diff("size")

    @claims.theory(claims.above(1.5))
    def one_after_another(self, result: Result) -> xr.DataArray:
        """At λ = 0 a network learns its strong modes before its weak ones: half of the weakest takes 1.5 times as long
        as half of the strongest.
        """
        if result.config.weakest > 0.5 * result.config.strongest:
            raise claims.NotApplicable("needs a weakest mode of at most half the strongest")
        return _half_time_ratios(result, _balanced(result))

    @claims.theory(claims.near(1.0, 0.02))
    def together(self, result: Result) -> xr.DataArray:
        """At the largest |λ| a network learns all modes at the same time: half of the weakest when half of the
        strongest (ratio).
        """
        return _half_time_ratios(result, _largest(result))

    def figure(self, result: Result) -> Figure:
        """Two weights: their course, its shape, t10/t90 over λ. Below, the modes of a network."""
        looks = _looks(result.config.imbalance)
        with Page(2, 3, height=4.6) as page:
            _draw_weights(page.axes[0], result, looks)
            _draw_modes(page[3], result, min(result.config.imbalance, key=abs))
            _draw_modes(page[4], result, max(result.config.imbalance, key=abs))
            _draw_half_times(page[5], result, looks)
            page.legend({f"λ = {signed(x)}": look for x, look in looks.items()})
        return page.figure


def _part(result: Result, **at: Any) -> Result:
    theory = None if result.theory is None else result.theory.sel(at)
    return replace(result, data=result.data.sel(at), theory=theory)


def _balanced(result: Result) -> float:
    with_imbalance(result, 0.0)
    return 0.0


def _largest(result: Result) -> float:
    largest = max(result.config.imbalance, key=abs)
    if abs(largest) < LARGE * result.config.strongest:
        raise claims.NotApplicable("needs an imbalance of at least ten times the strength")
    return largest


def level_time(config: Any, imbalance: Any, level: float) -> Any:
    """When a(t) = level·s: the closed form p(t) of `festina.theory.imbalanced`, solved for t.

    t = ln[(p − p₋)(p₊ − p₀)/((p₀ − p₋)(p₊ − p))]/2R with p = a + √(a² + λ²/4), p± = s ± R, R = √(s² + λ²/4).
    """
    strength, half = config.strongest, np.asarray(imbalance) / 2
    root = np.hypot(strength, half)
    begin, then = (a + np.hypot(a, half) for a in (config.scale, level * strength))
    grown = (then - (strength - root)) / (begin - (strength - root))
    return np.log(grown * (strength + root - begin) / (strength + root - then)) / (2 * root)


def _exponential_ratio(start: Any) -> Any:
    """t10/t90 of an exponential that starts at a share of what is learned; .0458 if that is zero."""
    return np.log((1.0 - start) / (1.0 - EARLY)) / np.log((1.0 - start) / (1.0 - LATE))


def measured_ratios(result: Result) -> xr.DataArray:
    """t10/t90 of the two weights over the size of λ, rising; NaN for those that never get there."""
    share = result["learned"].sel(network=WEIGHTS, mode=1).isel(run=0)
    size, first = np.unique(np.abs(share["imbalance"]), return_index=True)
    ratios = (crossing(share, EARLY) / crossing(share, LATE)).isel(imbalance=first).drop_vars("imbalance")
    return ratios.rename(imbalance="size").assign_coords(size=size)


def _ratios(result: Result, *imbalances: float) -> xr.DataArray:
    """The same for some λ, if the weights began below a tenth and got to nine tenths."""
    config, found = result.config, measured_ratios(result).sel(size=sorted({abs(it) for it in imbalances}))
    if config.scale >= EARLY * config.strongest:
        raise claims.NotApplicable("needs a start below a tenth of the strength")
    if len(missing := found["size"].values[np.isnan(found)]):
        needed = max(float(level_time(config, size, LATE)) for size in missing)
        raise claims.Undecided(f"|λ| = {missing[0]:g} not learned to 90 %: {needs(config, 'until', needed)}")
    return found


def _learned_to(level: float, named: str, result: Result, imbalance: float) -> xr.DataArray:
    """The share of each mode that the network with one λ has learned; all must reach a level."""
    config, learned = result.config, result["learned"].sel(network=NETWORK, imbalance=imbalance)
    if bool((learned.isel(time=-1) < level).any()):
        rate = 2.0 * float(np.hypot(config.weakest, imbalance / 2.0))
        ahead = 100.0 * config.weakest / config.scale * level / (1.0 - level)  # with a mode that begins at a₀/100
        needed = needs(config, "until", log(max(ahead, 2.0)) / rate)
        raise claims.Undecided(f"modes at λ = {imbalance:g} not learned to {named}: {needed}")
    return learned


def _half_time_ratios(result: Result, imbalance: float) -> xr.DataArray:
    """t½ of the weakest mode over that of the strongest, for each run."""
    if result.data.sizes["mode"] < 2:
        raise claims.NotApplicable("needs two modes at least")
    return _weakest_over_strongest(_learned_to(0.5, "a half", result, imbalance))


def _weakest_over_strongest(learned: xr.DataArray) -> xr.DataArray:
    halves = crossing(learned, 0.5)
    return halves.isel(mode=-1) / halves.isel(mode=0)


def _looks(imbalances: Iterable[float]) -> dict[float, Look]:
    """Colour and line of each imbalance, from small to large."""
    colors = (BLACK, BLUE, SKY, GREEN, ORANGE, VERMILLION, PURPLE)
    lines = ("-", (0, (6, 1)), (0, (3, 1)), (0, (4, 1, 1, 1)), (0, (2, 1)), (0, (1, 0.8)))
    known = sorted(imbalances, key=lambda imbalance: (abs(imbalance), imbalance))
    return {x: {"color": colors[rank % len(colors)], "ls": lines[rank % len(lines)]} for rank, x in enumerate(known)}


def _draw_weights(axes: Iterable[Axes], result: Result, looks: dict[float, Look]) -> None:
    """The course of the two weights, the same on clocks of their own, and t10/t90 over |λ| on its closed form."""
    (course, shape, ratio), config = axes, result.config
    curves(course, result, "learned", by="imbalance", looks=looks, log=True, network=WEIGHTS, mode=1)
    course.plot([], [], color="0.3", **DOTS, label="simulation")
    course.plot([], [], color="0.3", label="closed form")
    handles = course.get_legend_handles_labels()[0][-2:]
    course.legend(handles=handles, loc="upper left", fontsize=6.5, ncols=2, columnspacing=1)
    course.set(ylabel="share learned a/s", title="Two weights", ylim=(-0.03, 1.25))
    course.set(xticks=[1e-4, 1e-2, 1], yticks=[0, 0.5, 1])
    for imbalance, look in looks.items():
        share = result["learned"].sel(network=WEIGHTS, mode=1, imbalance=imbalance).isel(run=0)
        shape.plot(share["time"] / level_time(config, imbalance, LATE), share, **look)
    for level in (EARLY, LATE):
        shape.axhline(level, color="0.75", lw=0.7, zorder=0)
    shape.set(xlim=(0, 1.5), xlabel="time / time to 90 %", ylabel="share learned a/s")
    shape.set_title("From sigmoid to exponential")
    _imbalance_scale(ratio, config)
    fine = np.concatenate([np.linspace(0, 1e-3, 9)[:-1], np.geomspace(1e-3, 1e3, 200)]) * config.strongest
    ratio.plot(fine, level_time(config, fine, EARLY) / level_time(config, fine, LATE), color="0.5", lw=1.2)
    ratio.axhline(EXPONENTIAL, **THEORY)
    colors = {abs(imbalance): look["color"] for imbalance, look in looks.items()}
    for size, value in measured_ratios(result).to_series().items():
        ratio.plot(size, value, "o", color=colors[size], ms=4.5, mfc="white", mew=1.1)
    text = {"transform": ratio.get_yaxis_transform(), "fontsize": 7, "va": "top"}
    ratio.text(0.03, EXPONENTIAL - 0.008, f"exponential, {EXPONENTIAL:.4f}", **text)
    ratio.set(ylim=(0, None), ylabel="$t_{10}$ / $t_{90}$", title="Measured and closed form")


def _draw_modes(axis: Axes, result: Result, imbalance: float) -> None:
    """The modes of the network in the first run, exact solution over simulation."""
    config, at = result.config, {"network": NETWORK, "imbalance": imbalance}
    learned, exact = (curve.sel(at).isel(run=0) for curve in (result["learned"], result.solved["learned"]))
    strengths = np.linspace(config.strongest, config.weakest, learned.sizes["mode"])
    for mode, strength in enumerate(strengths):
        width = max(4.5 - 1.4 * mode, 1.4)  # where modes are learned together, all can be seen
        look = {"color": PALETTE[mode % len(PALETTE)], "lw": width, "label": f"s = {strength:.2g}"}
        axis.plot(learned["time"], learned.isel(mode=mode), **look)
        axis.plot(exact["time"], exact.isel(mode=mode), **THEORY)
    axis.plot([], [], **THEORY, label="exact")
    until = np.nanmax([*crossing(learned, 0.97), learned["time"][5]])
    axis.set(xlim=(0, 1.3 * until), ylim=(-0.03, 1.07), xlabel="time t / τ", ylabel="share of mode learned")
    axis.set_title(f"Network, λ = {signed(imbalance)}")
    axis.legend(loc="lower right", fontsize=6.5)


def _draw_half_times(axis: Axes, result: Result, looks: dict[float, Look]) -> None:
    """How much later the weakest mode is learned than the strongest, in every run."""
    _imbalance_scale(axis, result.config)
    for imbalance, look in looks.items():
        values = _weakest_over_strongest(result["learned"].sel(network=NETWORK, imbalance=imbalance))
        axis.plot(np.full(values.size, abs(imbalance)), values, "o", color=look["color"], ms=4, mfc="none", mew=0.9)
    axis.axhline(1.0, **THEORY)
    axis.text(0.03, 1.04, "together", transform=axis.get_yaxis_transform(), fontsize=7, va="bottom")
    axis.set(ylabel="weakest / strongest", title="Half-times of the modes", ylim=(0, None))


def _imbalance_scale(axis: Axes, config: Any) -> None:
    threshold = 1e-3 * config.strongest
    axis.set_xscale("symlog", linthresh=threshold, linscale=0.4)
    axis.set(xlim=(-0.5 * threshold, 5e5 * threshold), xlabel="imbalance |λ|")
    ticks = [0.0, *(threshold * 10.0**power for power in (1, 3, 5))]
    axis.set_xticks(ticks, ["0", *(f"{tick:g}" for tick in ticks[1:])])
