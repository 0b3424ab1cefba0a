"""Many domains through one hidden layer: what is shared is learned fast, and wins the race."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, ExperimentConfig, Panels, Preset, Result, named, over, structural, use
from festina.experiments._needs import require_case
from festina.experiments.race._settled import longer, theory_of
from festina.figures.panels import Page, curves, looks_of, map_of, marks_of
from festina.sources import LECTURE, SAXE_2022
from festina.style import PALETTE, THEORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

M, K, RACING = (2, 4, 7), (1, 2, 4, 7), attrgetter("race_domains")  # domains, and trained outputs of each
SMALL = 1e-3  # product of the layers up to which a start of the race is called small
DENSE = 100  # recordings between which curves may be taken for straight lines
OVER = 1e-7  # share of a mode that may be left to learn when a race is over


class Routing(Experiment):
    """A hidden layer shared by many domains learns faster than a network for every pair, and wins a race against them.

    M input and M output domains are joined by one shared matrix, as translations between many languages by a common
    representation, and each input is trained on K of the M outputs (`model/routing`; its formulas were derived here,
    the lecture shows the network, the domains, and that race dynamics favor shared structure). The normalisation
    matters: with the loss averaged over *trained* pairs all dependence on K is gone. In the race there is a shared
    pathway u and a private one v for every pair. Both see the same error, and what they conserve says where it ends,
    u + v = s; that its loss is averaged over trained pairs sets the clock and not the outcome. What random weights do,
    and what becomes of pairs that are never trained, is in `race/systematic`.
    """

    name = "race/routing"
    sources = (SAXE_2022, LECTURE)

    class Config(ExperimentConfig):
        race_domains: int = structural(4, ge=1, le=20, help="domains of the network whose pathways race")

    arms = Panels(
        shared=Arms(
            use(models.Routing, pathways="shared", average="all pairs"),
            only=lambda config, arm: arm["trained"] <= arm["domains"],
            start=named(equal={"balance": 0.0}, balanced={"balance": 1.0}),
            domains=M,
            trained=K,
        ),
        separate=Arms(use(models.Routing, pathways="private", average="all pairs", trained=1, balance=0), domains=M),
        race=Arms(
            use(models.Routing, pathways="both", average="trained pairs", balance=1.0, domains=RACING),
            only=lambda config, arm: arm["trained"] <= config.race_domains,
            trained=K,
            race_initial=over("initial", 1e-3, 1e-2, 0.1, 0.5),
        ),
    )
    quick = {"domains": (2, 7), "trained": (1, 2, 7), "race_initial": (1e-3, 0.5), "records": 150}
    presets = (
        Preset("sharing is faster", "The more pairs are trained, the further the shared network is ahead."),
        Preset("small start", "From a product of 0.02 all wait longer, alike.", {"initial": 0.02, "until": 200.0}),
        Preset("large start", "From a product of 1 there is no wait.", {"initial": 1.0}),
    )

    @claims.theory(claims.below(1e-8), source=LECTURE.at("reduction and (occasionally) exact solutions"))
    def reduction(self, result: Result) -> np.ndarray:
        """A routing network of decoupled weights follows the reduction to three numbers a mode, for every number M of
        domains and K of trained outputs (largest error).
        """
        return np.maximum(*(result.part(panel).errors("strength", "loss") for panel in ("shared", "separate")))

    @claims.theory(claims.below(1e-8))
    def balanced(self, result: Result) -> xr.DataArray:
        """From a balanced start a routing network follows τu̇ = 3K M^(−5/3) u^(4/3) (s − u), a chain of depth 3 (largest
        error for each M and K).
        """
        balanced = _conditions(result.panel("shared")["strength"].isel(run=0).sel(start="balanced"))
        timescale = balanced["domains"].values ** (5 / 3) / balanced["trained"].values
        chain = fs.theory.chain(3, _strengths(result).values, result.config.initial, timescale=timescale[:, None])
        exact = chain(result["time"].values)["product"]
        return abs(balanced.transpose("time", "condition", "mode") - exact).max(["time", "mode"])

    @claims.theory(claims.below(0.01))
    def speed_up(self, result: Result) -> xr.DataArray:
        """A shared network learns faster than a network per pair by K·M^(1/3) (largest relative error over M, K and
        modes).
        """
        (ratios, first), time = speed_ups(result), result["time"].values
        if first < time[1] or len(time) <= DENSE:
            shorter = f" and an --until below {result.config.until:g}" if first < time[1] else ""
            raise claims.Undecided(f"recordings are too few for half-times; needs --records {DENSE}{shorter}")
        if not np.all(np.isfinite(ratios)):
            enough = longer(result, theory_of(result, "learned", panel="separate"), lambda *seen: seen[-1] > 0.5)
            raise claims.Undecided(f"a network per pair has not learned half of every mode at the end; {enough}")
        return abs(ratios / fs.theory.routing.speed_up(ratios["domains"], ratios["trained"]) - 1.0).max()

    @claims.theory(claims.below(1e-6))
    def race_law(self, result: Result) -> xr.DataArray:
        """What shared and private pathways end with is given by the conserved u^(−1/3) − K M^(1/3) v^(−1/3) (largest
        error of the shared pathway's share).
        """
        final = _final_shares(result)
        return abs(final - _law(result, final["race_initial"], final["trained"])).max()

    @claims.paper(LECTURE.at("race dynamics favor shared structure"), claims.above(0.9))
    def race_won(self, result: Result) -> xr.DataArray:
        """Race dynamics favor shared structure: from a small start the shared pathway takes nearly all of every mode,
        for every K (its share; our threshold).
        """
        smallest = min(result.config.race_initial)
        require_case(smallest <= SMALL, f"a race from a start of {SMALL:g} or smaller")
        require_case(result.config.race_domains >= 2, "two race domains or more: with one, nothing is shared")
        return _final_shares(result).sel(race_initial=smallest).rename(trained="race")

    def figure(self, result: Result) -> Figure:
        """What is trained; how the loss and its modes go; how much sharing gains; a race and what decides it."""
        config, time, shared, race = result.config, result["time"].values, result.part("shared"), result.part("race")
        domains, size, starts = max(config.domains), _strengths(result), sorted(config.race_initial)
        trained = sorted(number for number in config.trained if number <= domains)
        some, racing = (int(values[min(1, len(values) - 1)]) for values in (trained, race["trained"].values))
        looks, often = looks_of([1, 2, 3]), {"log": True, "every": 10}
        here: dict[str, Any] = {"start": "equal", "domains": domains, **often}
        with Page(2, 3, height=4.4) as page:
            map_of(page[0], _pairs(domains, trained), "input", "output", numbers="{:.0f}", cmap="Blues_r", vmin=-2)
            share_of_loss = lambda data: data["loss"] / data["loss"].isel(time=0)  # noqa: E731
            curves(page[1], shared, share_of_loss, by="trained", label="K = {}".format, trained=trained, **here)
            modes = {"mode": list(looks), "label": lambda mode: f"s = {size.sel(mode=mode):.3g}", "trained": some}
            curves(page[2], shared, "learned", by="mode", looks=looks, **modes, **here)
            for mode, look in looks.items():
                alone = result.panel("separate")["learned"].isel(run=0).sel(domains=domains, mode=mode)
                page[2].plot(time[1:], alone[1:], color=look["color"], lw=0.8, alpha=0.5)
            page[2].plot([], [], color="0.5", lw=0.8, label="per pair")
            _draw_speed_ups(page[3], result)
            for name, line in (("shared", "-"), ("private", (0, (2, 1)))):
                looks = {starts[end]: {"color": PALETTE[-end], "ls": line} for end in (0, -1)}
                at: dict[str, Any] = {"race_initial": list(looks), "looks": looks, "trained": racing, "mode": 4} | often
                curves(page[4], race, name, by="race_initial", label=partial("{}, from {:g}".format, name), **at)
            _draw_outcomes(page[5], result)
            page[0].set(xlabel="input domain", ylabel="output domain", title="Trained from K = … on")
            page[1].set(ylabel="loss L / L(0)", title=f"M = {domains}")
            page[2].set(ylabel="mode learned $b_1b_2b_3/s$", title=f"M = {domains}, K = {some}", ylim=(-0.03, 1.05))
            page[4].set(ylabel=f"share of s = {size[-1]:.3g}", ylim=(-0.03, 1.6), yticks=[0, 0.5, 1])
            page[4].set(title=f"Race, M = {config.race_domains}, K = {racing}")
            for place, corner in enumerate((1, 2, 2, 2, 3), 1):  # upper right, upper left, lower left
                page[place].legend(loc=corner, fontsize=6.5, handlelength=2.2)
            for place in (1, 2, 4):
                page[place].set(xlim=(time[1], time[-1]))
        return page.figure


def _strengths(result: Result) -> xr.DataArray:
    """s of each mode."""
    return xr.DataArray(result.arms[0].model.modes.strengths, {"mode": result["mode"]})  # pyright: ignore


def _conditions(values: xr.DataArray) -> xr.DataArray:
    """All pairs of M and K that there are, along one dimension."""
    stacked = values.stack(condition=["domains", "trained"])
    return stacked.isel(condition=np.flatnonzero(stacked["trained"] <= stacked["domains"]))


def speed_ups(result: Result) -> tuple[xr.DataArray, float]:
    """Half-time of a network per pair over that of the balanced shared network, (condition, mode), and the first."""
    panels = (result.panel(name)["learned"].isel(run=0) for name in ("separate", "shared"))
    alone, shared = (fs.measures.crossings(learned, 0.5) for learned in panels)
    balanced = shared.sel(start="balanced")
    return _conditions(alone / balanced), float(balanced.min())


def _law(result: Result, start: xr.DataArray, trained: xr.DataArray) -> xr.DataArray:
    """What the conserved quantity says of the shared pathway's final share of each mode."""
    share = partial(fs.theory.routing.race_share, domains=result.config.race_domains)
    return xr.apply_ufunc(share, _strengths(result), start, trained)


def _final_shares(result: Result) -> xr.DataArray:
    """What the shared pathway has of each mode when a race is over."""
    final = result.panel("race").isel(time=-1, run=0)
    if bool((abs(final["learned"] - 1.0) > OVER).any()):
        enough = longer(result, theory_of(result, "learned", panel="race"), lambda *seen: seen[-1] > 1.0 - OVER)
        raise claims.Undecided(f"the race of shared and private pathways is not over at the end; {enough}")
    return final["shared"]


def _pairs(domains: int, trained: list[int]) -> xr.DataArray:
    """The smallest K with which each pair is trained."""
    pairs = [fs.worlds.routing.trained_pairs(domains, count) > 0 for count in trained]
    numbers = np.arange(1, domains + 1)
    return xr.DataArray(np.select(pairs, trained, np.nan), {"output": numbers, "input": numbers})


def _draw_speed_ups(axis: Axes, result: Result) -> None:
    measured = speed_ups(result)[0].mean("mode", skipna=False)
    predicted = fs.theory.routing.speed_up(measured["domains"], measured["trained"])
    ends = np.array([0.8 * predicted.min(), 1.25 * predicted.max()])
    axis.loglog(ends, ends, **THEORY, label="$K M^{1/3}$")
    for domains, look in marks_of(result.config.domains, ms=4).items():
        own = measured["domains"].values == domains
        axis.plot(predicted[own], measured[own], ls="", label=f"M = {domains}", **look)
    axis.set(xlabel="predicted speed-up $K M^{1/3}$", ylabel="half-time ratio", title="One per pair over shared")


def _draw_outcomes(axis: Axes, result: Result) -> None:
    """The shared pathway's share of the weakest mode, over the start: the law as lines, networks as marks."""
    final = result.panel("race")["shared"].isel(run=0, time=-1, mode=-1)
    most = 0.466 * _strengths(result)[-1]  # from half of s on there is nothing left to race for
    starts = xr.DataArray(np.geomspace(0.5 * final["race_initial"].min(), most, 60), dims="start")
    ends = _law(result, starts, final["trained"]).isel(mode=-1)
    looks = looks_of(final["trained"].values)
    for trained, mark in marks_of(looks, ms=4).items():
        axis.plot(starts, ends.sel(trained=trained), label=f"K = {trained}", **looks[trained])
        axis.plot(final["race_initial"], final.sel(trained=trained), ls="", **mark)
    axis.set(xscale="log", xlabel="product at the start", ylabel="final share of the shared", ylim=(0.4, 1.02))
    axis.set_title(f"Outcome, M = {result.config.race_domains}")
