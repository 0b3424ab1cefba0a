"""From sigmoidal to exponential learning as two layers become unequal."""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Equation, Experiment, Preset, Result, named
from festina.experiments._needs import needs, require_case, require_enough
from festina.experiments.linear._common import signed, with_imbalance
from festina.figures.panels import DOTS, Looks, Page, curves, looks_of
from festina.sources import DOMINE_2025, LECTURE
from festina.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, THEORY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGE = 10.0  # an imbalance is large from this multiple of the strength on
EARLY, LATE = 0.1, 0.9
EXPONENTIAL = log(1 / (1 - EARLY)) / log(1 / (1 - LATE))  # t10/t90 = .0458 of 1 − e^(−t)
WEIGHTS, NETWORK = "two-weights", "several-modes"
COLORS = (BLACK, BLUE, SKY, GREEN, ORANGE, VERMILLION, PURPLE)
LINES = ("-", (0, (6, 1)), (0, (3, 1)), (0, (4, 1, 1, 1)), (0, (2, 1)), (0, (1, 0.8)))


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
            "A start of 10⁻⁶ makes balanced layers wait twice as long; very unequal ones are not affected.",
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
        weights = result.sel(network=WEIGHTS, mode=1)
        return np.maximum(result.config.strongest * weights.errors("learned"), weights.errors("loss"))

    @claims.theory(claims.below(1e-8), source=LECTURE.at("Partitioned solution"))
    def exact_network(self, result: Result) -> np.ndarray:
        """The modes of a λ-balanced network, and its loss, follow the exact solution for every λ."""
        return result.sel(network=NETWORK).errors("learned", "loss")

    @claims.paper(LECTURE.at("From exponential to sigmoidal dynamics"), claims.above(5.0))
    def sigmoid(self, result: Result) -> xr.DataArray:
        """At λ = 0 learning is sigmoidal: every mode of a network waits and jumps, with a t10/t90 of more than five
        times (our threshold) that of an exponential from the same start.
        """
        learned = _learned_to(LATE, "90 %", result, 0.0)
        start = learned.isel(time=0)
        require_case((start < EARLY).all(), "modes that begin below a tenth of what they learn")
        return _early_to_late(learned) / _exponential_ratio(start)

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
        require_case(ratios.size > 1, "imbalances of two sizes at least")
        return ratios.diff("size")

    @claims.theory(claims.above(1.5))
    def one_after_another(self, result: Result) -> xr.DataArray:
        """At λ = 0 a network learns its strong modes before its weak ones: half of the weakest takes 1.5 times as long
        as half of the strongest.
        """
        weak = result.config.weakest <= 0.5 * result.config.strongest
        require_case(weak, "a weakest mode of at most half the strongest")
        return _half_time_ratios(result, 0.0)

    @claims.theory(claims.near(1.0, 0.02))
    def together(self, result: Result) -> xr.DataArray:
        """At the largest |λ| a network learns all modes at the same time: half of the weakest when half of the
        strongest (ratio).
        """
        return _half_time_ratios(result, _largest(result))

    def figure(self, result: Result) -> Figure:
        """Two weights: their course, its shape, t10/t90 over λ. Below, the modes of a network."""
        known = sorted(result.config.imbalance, key=lambda imbalance: (abs(imbalance), imbalance))
        looks = looks_of(known, COLORS, LINES)
        with Page(2, 3, height=4.6) as page:
            _draw_weights(page.axes[0], result, looks)
            for axis, imbalance in ((page[3], known[0]), (page[4], known[-1])):
                _draw_modes(axis, result, imbalance)
            _draw_half_times(page[5], result, looks)
            page.legend({f"λ = {signed(x)}": look for x, look in looks.items()})
        return page.figure


def _largest(result: Result) -> float:
    largest = max(result.config.imbalance, key=abs)
    require_case(abs(largest) >= LARGE * result.config.strongest, "an imbalance of at least ten times the strength")
    return largest


def _time_to(level: float, config: Any, imbalance: Any) -> Any:
    """When theory has a(t) = level·s."""
    return np.asarray(fs.theory.imbalanced(config.strongest, config.scale, imbalance).time_to_reach(level))


def _exponential_ratio(start: Any) -> Any:
    """t10/t90 of an exponential that starts at a share of what is learned; .0458 if that is zero."""
    return np.log((1.0 - start) / (1.0 - EARLY)) / np.log((1.0 - start) / (1.0 - LATE))


def _early_to_late(share: xr.DataArray) -> xr.DataArray:
    """Measured t10/t90; NaN for what never gets there."""
    return fs.measures.crossings(share, EARLY) / fs.measures.crossings(share, LATE)


def measured_ratios(result: Result) -> xr.DataArray:
    """t10/t90 of the two weights over the size of λ, rising."""
    share = result["learned"].sel(network=WEIGHTS, mode=1).isel(run=0)
    size, first = np.unique(np.abs(share["imbalance"]), return_index=True)
    ratios = _early_to_late(share).isel(imbalance=first).drop_vars("imbalance")
    return ratios.rename(imbalance="size").assign_coords(size=size)


def _ratios(result: Result, *imbalances: float) -> xr.DataArray:
    """The same for some λ, if the weights began below a tenth and got to nine tenths."""
    config, found = result.config, measured_ratios(result).sel(size=sorted({abs(it) for it in imbalances}))
    require_case(config.scale < EARLY * config.strongest, "a start below a tenth of the strength")
    if len(missing := found["size"].values[np.isnan(found)]):
        needed = max(float(_time_to(LATE, config, size)) for size in missing)
        raise claims.Undecided(f"|λ| = {missing[0]:g} not learned to 90 %: {needs(config, 'until', needed)}")
    return found


def _learned_to(level: float, named: str, result: Result, imbalance: float) -> xr.DataArray:
    """The share of each mode that the network with one λ has learned; all must reach a level."""
    with_imbalance(result, imbalance)
    config, learned = result.config, result["learned"].sel(network=NETWORK, imbalance=imbalance)
    ahead = 100.0 * config.weakest / config.scale * level / (1.0 - level)  # with a mode that begins at a₀/100
    needed = log(max(ahead, 2.0)) / (2.0 * float(np.hypot(config.weakest, imbalance / 2.0)))
    why = f"modes at λ = {imbalance:g} not learned to {named}"
    require_enough(learned.isel(time=-1) >= level, why, config, "until", needed)
    return learned


def _half_time_ratios(result: Result, imbalance: float) -> xr.DataArray:
    """t½ of the weakest mode over that of the strongest, for each run."""
    require_case(result.data.sizes["mode"] > 1, "two modes at least")
    return _weakest_over_strongest(_learned_to(0.5, "a half", result, imbalance))


def _weakest_over_strongest(learned: xr.DataArray) -> xr.DataArray:
    halves = fs.measures.crossings(learned, 0.5)
    return halves.isel(mode=-1) / halves.isel(mode=0)


def _draw_weights(axes: Iterable[Axes], result: Result, looks: Looks) -> None:
    """The course of the two weights, the same on clocks of their own, and t10/t90 over |λ| on its closed form."""
    (course, shape, ratio), config = axes, result.config
    curves(course, result, "learned", by="imbalance", looks=looks, log=True, network=WEIGHTS, mode=1)
    handles = [*course.plot([], [], color="0.3", **DOTS), *course.plot([], [], color="0.3")]
    course.legend(handles, ["simulation", "closed form"], loc="upper left", fontsize=6.5, ncols=2, columnspacing=1)
    course.set(ylabel="share learned a/s", title="Two weights", ylim=(-0.03, 1.25))
    course.set(xticks=[1e-4, 1e-2, 1], yticks=[0, 0.5, 1])
    for imbalance, look in looks.items():
        share = result["learned"].sel(network=WEIGHTS, mode=1, imbalance=imbalance).isel(run=0)
        shape.plot(share["time"] / _time_to(LATE, config, imbalance), share, **look)
    for level in (EARLY, LATE):
        shape.axhline(level, color="0.75", lw=0.7, zorder=0)
    shape.set(xlim=(0, 1.5), xlabel="time / time to 90 %", ylabel="share learned a/s")
    shape.set_title("From sigmoid to exponential")
    _imbalance_scale(ratio, config)
    fine = np.concatenate([np.linspace(0, 1e-3, 9)[:-1], np.geomspace(1e-3, 1e3, 200)]) * config.strongest
    ratio.plot(fine, _time_to(EARLY, config, fine) / _time_to(LATE, config, fine), color="0.5", lw=1.2)
    ratio.axhline(EXPONENTIAL, **THEORY)
    colors = {abs(imbalance): look["color"] for imbalance, look in looks.items()}
    for size, value in measured_ratios(result).to_series().items():
        ratio.plot(size, value, "o", color=colors[size], ms=4.5, mfc="white", mew=1.1)
    text = {"transform": ratio.get_yaxis_transform(), "fontsize": 7, "va": "top"}
    ratio.text(0.03, EXPONENTIAL - 0.008, f"exponential, {EXPONENTIAL:.4f}", **text)
    ratio.set(ylim=(0, None), ylabel="$t_{10}$ / $t_{90}$", title="Measured and closed form")


def _draw_modes(axis: Axes, result: Result, imbalance: float) -> None:
    """The modes of the network in the first run, exact solution and simulation."""
    learned = result["learned"].sel(network=NETWORK, imbalance=imbalance).isel(run=0)
    strengths = np.linspace(result.config.strongest, result.config.weakest, learned.sizes["mode"])
    names = {mode: f"s = {strength:.2g}" for mode, strength in zip(learned["mode"].values, strengths, strict=True)}
    shown: dict[str, Any] = {"by": "mode", "label": names.__getitem__, "every": max(1, learned["time"].size // 100)}
    curves(axis, result, "learned", network=NETWORK, imbalance=imbalance, **shown)
    until = np.nanmax([*fs.measures.crossings(learned, 0.97), learned["time"][5]])
    axis.set(xlim=(0, 1.3 * until), ylim=(-0.03, 1.07), xlabel="time t / τ", ylabel="share of mode learned")
    axis.set_title(f"Network, λ = {signed(imbalance)}")
    axis.legend(loc="lower right", fontsize=6.5)


def _draw_half_times(axis: Axes, result: Result, looks: Looks) -> None:
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
