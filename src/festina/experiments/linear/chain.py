"""A chain of scalar weights: the smallest deep network."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import integrate, np
from festina.experiment import Arms, Experiment, Preset, Result
from festina.experiments._needs import needs, require_case, require_enough
from festina.figures.panels import DOTS, Page, curves, label_of, looks_of
from festina.sources import LECTURE, SAXE_2013
from festina.style import PALETTE

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VISIBLE = 0.01  # share of the final value by which a curve visibly misses another


class Chain(Experiment):
    """Depth adds a saddle at zero to a chain of D weights, and with it a plateau before learning.

    The lecture's slide prints two exponents incompletely. D = 1 has exp(−t/τ) for exp(−λt/τ), and D = ∞ has −t/τ for
    −(s²/λ)t/τ. With λ = 1 the first is right as it is printed, with s² = λ the second.
    """

    name = "linear/chain"
    sources = (SAXE_2013, LECTURE)
    arms = Arms(models.Chain, depth=(1.0, 2.0, 4.0, math.inf))
    quick = {"records": 500}
    presets = (
        Preset(
            "one to infinitely many",
            "One layer learns at once; the deeper the chain, the longer the wait before the jump.",
        ),
        Preset(
            "small start",
            "From a product of 10⁻⁴ the infinitely deep chain waits about a hundred times as long.",
            {"initial": 1e-4, "until": 1e4},
        ),
        Preset("large start", "Away from the saddle depth makes no plateau, and no chain waits.", {"initial": 0.5}),
        Preset(
            "unit statistics",
            "With s = λ = 1 the two formulas that the lecture misprints are right as they are printed.",
            {"strength": 1.0, "input_variance": 1.0, "until": 200.0},
        ),
    )

    @claims.theory(claims.below(1e-8), source=LECTURE.at("Analytic learning trajectory"))
    def exact(self, result: Result) -> xr.DataArray:
        """The closed form of every depth, corrected where the lecture misprints it, is the simulated curve."""
        gap = abs(result["product"] - result.solved["product"]).max(["run", "time"], skipna=False)
        return gap / max(_final(result), result.config.initial)  # relative to the largest value that is passed

    @claims.paper(LECTURE.at("Depth introduces stage-like transitions"), claims.below(0.2))
    def plateau(self, result: Result) -> xr.DataArray:
        """A chain of two and more layers learns in a stage-like transition: (t90 − t10)/t10 is less than a fifth
        (our threshold) of that of one layer.
        """
        product = _one_run(result)
        shallow, deep = _at_depth(product, 1.0), product.sel(depth=product["depth"] >= 2)
        require_case(deep.sizes["depth"], "a depth of two or more")
        return _stage_indices(result, deep) / _stage_indices(result, shallow.expand_dims("depth")).item()

    @claims.theory(claims.below(0.0))
    def sharper(self, result: Result) -> xr.DataArray:
        """The deeper the chain, the more stage-like its transition: (t90 − t10)/t10 falls from each depth to the
        next.
        """
        product = _one_run(result)
        require_case(product.sizes["depth"] > 1, "two depths at least")
        indices = _stage_indices(result, product)
        _require_resolved(result, indices)
        return indices.diff("depth")

    @claims.misprint(LECTURE.at("Analytic learning trajectory, D = 1"), claims.above(VISIBLE))
    def misprint_shallow(self, result: Result) -> xr.DataArray:
        """The printed formula of D = 1, without λ in its exponent, misses the simulation by a visible share of s/λ
        (ours: 1 %) more than the corrected one does.
        """
        return _misprint(result, 1.0, result.config.input_variance, _printed_shallow)

    @claims.misprint(LECTURE.at("Analytic learning trajectory, D → ∞"), claims.above(VISIBLE))
    def misprint_infinite(self, result: Result) -> xr.DataArray:
        """The printed formula of D = ∞, without s²/λ in its exponent, misses the simulation by a visible share of
        s/λ (ours: 1 %) more than the corrected one does.
        """
        rate = result.config.strength**2 / result.config.input_variance
        return _misprint(result, math.inf, rate, _printed_infinite)

    def figure(self, result: Result) -> Figure:
        """The curves, the curves on their own clocks, and the error surface of two layers."""
        looks = looks_of(result["depth"].values)
        with Page(1, 3, height=2.5, width_ratios=(1.15, 1, 1)) as page:
            named = partial(label_of, "D =")
            curves(page[0], result, "product", by="depth", looks=looks, label=named, every=25, log=True)
            page[0].axhline(_final(result), color="0.6", lw=0.7, ls=":")
            page[0].plot([], [], color="0.3", label="simulation", **DOTS)
            page[0].set(ylabel="product of weights a", title="Exact and simulated")
            page[0].legend(loc="upper left", fontsize=6.5, handlelength=1.3)
            for depth, look in looks.items():
                share = _one_run(result).sel(depth=depth) / _final(result)
                page[1].plot(share["time"] / fs.measures.crossings(share, 0.5), share, **look)
            page[1].set(xlim=(0, 3), xlabel="time / half-time", ylabel="share learned aλ/s", title="Wait, then jump")
            _draw_surface(page[2], result)
        return page.figure


def _final(result: Result) -> float:
    return result.config.strength / result.config.input_variance


def _one_run(result: Result) -> xr.DataArray:
    """The curves, in the order of depth; there is no chance in them, so that one run is like any other."""
    return result["product"].isel(run=0).sortby("depth").transpose("depth", "time")


def _at_depth(curves: Any, depth: float) -> xr.DataArray:
    require_case(depth in curves["depth"], f"the depth {depth:g} among the depths")
    return curves.sel(depth=depth)


def _time_to_reach(config: Any, depth: float, share: float) -> float:
    """When theory has the product at a share of its final value."""
    statistics = {"input_variance": config.input_variance}
    return float(fs.theory.time_to_reach(depth, config.strength, config.initial, share, **statistics))


def _stage_indices(result: Result, product: Any) -> xr.DataArray:
    """Measured (t90 − t10)/t10 of each depth."""
    config, depths, final = result.config, product["depth"].values, _final(result)
    require_case(config.initial < 0.1 * final, "a start below a tenth of the final value s/λ")
    late = {depth: _time_to_reach(config, depth, 0.9) for depth in depths[product.isel(time=-1).values < 0.9 * final]}
    why = f"90 % not reached at {', '.join(f'D = {depth:g}' for depth in late)}"
    require_enough(not late, why, config, "until", lambda: max(late.values()))
    indices = fs.measures.stage_index(product["time"].values, product.values, np.full(len(depths), final))
    return product.isel(time=-1, drop=True).copy(data=indices)


def _require_resolved(result: Result, indices: Any) -> None:
    """Jumps that are shorter than the time between two recordings cannot be compared with each other."""
    config, time = result.config, result["time"].values[1:]
    apart = math.log(time[-1] / time[0]) / (len(time) - 1)  # recordings are evenly spaced in the logarithm of time
    for depth, index, gap in zip(indices["depth"].values[1:], indices.values[1:], np.diff(indices), strict=True):
        if index < 3.0 * apart and abs(gap) < 2.0 * apart:
            early, late = (_time_to_reach(config, depth, share) for share in (0.1, 0.9))
            needed = 3.0 * math.log(time[-1] / time[0]) / math.log(late / early)
            raise claims.Undecided(f"D = {depth:g} jumps between recordings: {needs(config, 'records', needed)}")


def _misprint(result: Result, depth: float, rate: float, printed: Any) -> xr.DataArray:
    """By how much more than the corrected curve the printed one misses the simulation, as a share of s/λ.

    Both curves are one and the same function, of the time and of ``rate`` times the time.
    """
    config, final = result.config, _final(result)
    simulated = _at_depth(result["product"].isel(run=0), depth)
    require_case(rate != 1.0, "other statistics: with these the print is right")
    as_printed = printed(config, simulated["time"].values)
    corrected = _at_depth(result.solved["product"].isel(run=0), depth).values
    visible = np.max(np.abs(as_printed - corrected)) > VISIBLE * final
    arrival = min(rate, 1.0) * _time_to_reach(config, depth, 0.9)  # of the faster of the two
    moved = visible or config.until >= arrival
    require_enough(moved, f"D = {depth:g} has hardly moved", config, "until", arrival)
    require_case(visible, "other statistics, or another start: with these the printed formula is right but for 1 %")
    missed, left = (np.max(np.abs(simulated.values - curve)) / final for curve in (as_printed, corrected))
    return missed - left


def _printed_shallow(config: Any, time: Any) -> xr.DataArray:
    decay = np.exp(-time)
    return config.strength / config.input_variance * (1 - decay) + config.initial * decay


def _printed_infinite(config: Any, time: Any) -> xr.DataArray:
    from scipy.special import lambertw, wrightomega

    start = config.strength / (config.input_variance * config.initial) - 1.0
    if start <= 0:
        return config.strength / config.input_variance / (1.0 + lambertw(start * np.exp(start - time)).real)
    # ω(L) is W(e^L), and does not overflow.
    return config.strength / config.input_variance / (1.0 + wrightomega(start + np.log(start) - time).real)


def _draw_surface(axis: Axes, result: Result) -> None:
    """The error surface of D = 2 with its saddle, its valley of solutions, and the way down."""
    final = _final(result)
    reach = 1.6 * math.sqrt(final)
    first, second = np.meshgrid(np.linspace(-reach, reach, 121), np.linspace(-reach, reach, 121))
    axis.contourf(first, second, np.abs(first * second - final), 14, cmap="Greys", alpha=0.75)
    branch = np.linspace(final / reach, reach, 200)
    for sign in (1, -1):
        axis.plot(sign * branch, sign * final / branch, color=PALETTE[0], lw=1.4)
    _draw_paths(axis, result.config, reach)
    axis.plot(0, 0, "X", color=PALETTE[1], ms=6, mec="white", mew=0.7)
    axis.text(0.07 * reach, -0.09 * reach, "saddle", va="top", fontsize=7)
    axis.text(0.97 * reach, 0.76 * reach, "minima", ha="right", va="bottom", fontsize=7)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title="Error surface, D = 2")
    axis.set(xlabel="weight $w_1$", ylabel="weight $w_2$")


def _draw_paths(axis: Axes, config: Any, reach: float) -> None:
    """The flow of two weights, ẇ₁ = w₂(s − λw₁w₂) and the same for w₂, from five starts."""

    def rate(_: float, weights: np.ndarray) -> np.ndarray:
        return weights[::-1] * (config.strength - config.input_variance * weights[0] * weights[1])

    for start in ((0.9, -0.75), (-0.2, 0.35), (0.12, 0.1), (-0.9, 0.7), (-0.12, -0.1)):
        first, second = integrate.solve_ivp(rate, (0.0, 5.0), np.multiply(start, reach), max_step=0.05, rtol=1e-6).y
        axis.plot(first, second, color=PALETTE[2], lw=1.1)
        axis.plot(first[0], second[0], "o", color=PALETTE[2], ms=2.5)
