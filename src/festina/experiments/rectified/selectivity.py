"""Mixed selectivity: which gated networks have the loss of a ReLU network, and which learn as fast."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from festina import claims, models
from festina._lazy import xr
from festina.experiment import Arms, Equation, Experiment, Preset, Result, named, use
from festina.experiments._needs import require_case
from festina.experiments.rectified import _common as common
from festina.figures.panels import DOTS, Page, groups
from festina.sources import JARVIS_2025
from festina.style import BLACK, BLUE, GREEN, ORANGE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEE = "see the experiment's description"
EARLIER = "an earlier simulation of our own, separate from this one"
SETTLED = 0.1  # share of the initial loss at which networks are compared
LOOKS = {
    "relu": {"color": BLACK, "ls": "-", "lw": 1.6, "label": "ReLU"},
    "all-but-one": {"color": BLUE, "ls": (0, (4, 1.2)), "lw": 1.4, "label": "gated, all but one"},
    "single": {"color": VERMILLION, "ls": (0, (6, 1, 1, 1)), "lw": 1.2, "label": "gated, single"},
    "modular": {"color": ORANGE, "ls": (0, (1, 1)), "lw": 1.4, "label": "gated, modular"},
    "frozen": {"color": GREEN, "ls": (0, (2, 1)), "lw": 1.2, "label": "gates frozen at start"},
}
gated = partial(
    use, models.GatedContexts, counted="in all", seen="objects", target="whole", structures="same", first_layer="none"
)
rectified = partial(use, models.RectifiedContexts, layers=1, structures="same", frozen_at=0.0)


class Selectivity(Experiment):
    """A ReLU network has the loss of a gated one whose units are always on, or on in all contexts but one.

    Eight objects in a hierarchy H are met in C contexts, P = 8C samples. The target is H in a common block and, once
    more, in a block for the context at hand (`festina.worlds.contexts`). Descent on ½Σ|y − f(x)|² from small weights:

    - *relu*: the network itself;
    - *all-but-one*: a gated linear network with half of the units on always and the others on in C − 1 contexts each,
      trained on one joint loss, with nothing fitted;
    - *single*: the same with units on in one context each; *modular*: these alone, without common units;
    - *frozen*: the ReLU network with its gates held at their initial values.

    Sizes of the context's input other than the first are met with the most contexts only.

    In closed form, `festina.theory.rectified.two_phases` adds the sigmoids of the common path and of the C − 1 ones. It
    needs two effective initial strengths, which are fitted to each run (least maximal error).

    That the gated network has the loss of the ReLU network, and that it learns faster than modules, are statements of
    the source; all percentages and ratios below are our own, from an earlier simulation. A loss that matches does not
    identify the gates: those of the ReLU network's units are looked at in `rectified/contexts`. Nor does the network
    find the fastest gates there are, for random ones, frozen at the start, learn faster still.
    """

    name = "rectified/selectivity"
    sources = (JARVIS_2025,)
    arms = Arms(
        contexts=(3, 4, 5),
        context_scale=(1.0, 1.35),
        network=named(
            relu=rectified(gates="learned"),
            all_but_one=gated(paths="all but one", common=True),
            single=gated(paths="single", common=True),
            modular=gated(paths="single", common=False),
            frozen=rectified(gates="frozen"),
        ),
        only=lambda config, arm: (
            arm["context_scale"] == config.context_scale[0] or arm["contexts"] == max(config.contexts)
        ),
    )
    seeds = 10
    quick = {"seeds": 2, "contexts": (3,), "context_scale": (1.0,), "width": 120, "deviation": 0.005 / 120}
    equations = (
        Equation(
            r"\pi(t) = \frac{S/D}{1 - \bigl(1 - \frac{S}{D\,\pi_0}\bigr) e^{-2St}}",
            "Each kind of pathway follows a sigmoid in the time t = steps × rate × samples.",
        ),
        Equation(
            r"(S, D)_{\text{common}} = \Bigl(\frac{\sqrt{C^2 + C}\, \sigma}{P}, \frac18\Bigr), \qquad "
            r"(S, D)_{\text{all but one}} = \Bigl(\sqrt{\frac{C - 1}{C}}\, \frac{\sigma}{P}, \frac{1}{8C}\Bigr)",
            "What units on in all of C contexts see of a mode σ, and what those on in all but one see of the rest.",
        ),
    )
    presets = (
        Preset("three contexts", "Common and all-but-one paths have the loss of the ReLU network; modules are slower."),
        Preset(
            "larger weights",
            "From weights twenty times as large the plateau is short, and sharing units brings little speed.",
            {"deviation": 0.1 / 120},
        ),
        Preset("three to five contexts", "All worlds of the source, with 600 units in each network.", budget="full"),
    )

    @claims.theory(claims.below(0.02), source=JARVIS_2025.at("learning dynamics"))
    def closed_form(self, result: Result) -> xr.DataArray:
        """With two fitted initial strengths the closed form of common and all-but-one paths is the ReLU network's loss
        (largest gap over L(0)).
        """
        return gaps(result, fitted(result, 2)).sel(world=learned(result))

    @claims.reference(EARLIER, claims.between(0.08, 0.18), budget="full")
    def one_start_is_not_enough(self, result: Result) -> xr.DataArray:
        """With one initial strength for both kinds of path the closed form misses the ReLU network's loss by a tenth or
        more of L(0) (largest gap).
        """
        return gaps(result, fitted(result, 1)).sel(world=learned(result))

    @claims.paper(JARVIS_2025.at("proposition 4.2, with the paths of its example"), claims.below(0.045))
    def nothing_fitted(self, result: Result) -> xr.DataArray:
        """A gated network with common and all-but-one paths has the ReLU network's loss, with nothing fitted (largest
        gap over L(0); our threshold).
        """
        return gaps(result, share(result, "all-but-one")).sel(world=learned(result))

    @claims.reference(EARLIER, claims.between(0.07, 0.17))
    def single_contexts_differ(self, result: Result) -> xr.DataArray:
        """A gated network with common and single-context paths does not have the ReLU network's loss (largest gap over
        L(0)).
        """
        return gaps(result, share(result, "single")).sel(world=learned(result))

    @claims.theory(claims.near(1.0, 0.1), source=JARVIS_2025.at("proposition 4.2"))
    def as_fast(self, result: Result) -> xr.DataArray:
        """The ReLU network is as fast as a gated one with common and all-but-one paths (ratio of times to a tenth of
        the loss).
        """
        return slowness(result, "all-but-one")

    @claims.paper(JARVIS_2025.at("why mixed selectivity wins: faster than modular alternatives"), claims.above(1.0))
    def modular_is_slower(self, result: Result) -> xr.DataArray:
        """Modular gates, with or without a common path, learn more slowly than the ReLU network (ratio of times to a
        tenth of the loss).
        """
        return xr.concat([slowness(result, rival) for rival in ("single", "modular")], "rival")

    @claims.reference(EARLIER, claims.near(1.55, 0.1))
    def faster_than_single(self, result: Result) -> xr.DataArray:
        """With three contexts, common and single-context paths take about 1.55 times as long as the ReLU network to a
        tenth of the loss.
        """
        return slowness(result, "single", world="C = 3")

    @claims.reference(EARLIER, claims.near(2.0, 0.15), budget="full")
    def faster_than_modular(self, result: Result) -> xr.DataArray:
        """With three contexts, a purely modular network takes about twice as long as the ReLU network to a tenth of the
        loss.
        """
        return slowness(result, "modular", world="C = 3")

    @claims.paper(
        JARVIS_2025.at("proposition 4.2: the neural race winning strategy"),
        claims.above(1.0),
        reason=f"the source's scope: it wins among gates that depend on the context alone; {SEE}",
    )
    def race_winner(self, result: Result) -> xr.DataArray:
        """No other gates learn faster than the ReLU network's (time of random gates, frozen at the start, to a tenth of
        the loss over its own).
        """
        return slowness(result, "frozen")

    def figure(self, result: Result) -> Figure:
        """Losses, how far apart they are, and how fast they fall."""
        with Page(1, 3, height=2.5) as page:
            _draw_losses(page[0], result, next(iter(worlds(result))))
            _draw_gaps(page[1], result)
            _draw_speeds(page[2], result)
        return page.figure


def worlds(result: Result) -> dict[str, models.RectifiedContexts]:
    """The ReLU network of every world, by the world's name."""
    every: list[Any] = [arm.model for arm in result.arms if arm.labels["network"] == "relu"]
    scales = {scale: "" if scale == 1.0 else f", κ = {scale:g}" for scale in result.config.context_scale}
    return {f"C = {model.contexts}{scales[model.context_scale]}": model for model in every}


def by_world(result: Result, name: str, network: str | list[str] = "relu") -> xr.DataArray:
    """A variable of one network, or of several, along the worlds there are."""
    own, every = result[name].sel(network=network, drop=True), worlds(result)
    each = [own.sel(contexts=one.contexts, context_scale=one.context_scale, drop=True) for one in every.values()]
    return xr.concat(each, "world").assign_coords(world=list(every))


def share(result: Result, network: str | list[str] = "relu") -> xr.DataArray:
    """L(t)/L(0): runs × worlds × recordings."""
    return common.share_of_loss(by_world(result, "loss", network)).transpose("run", "world", ..., "time")


def gaps(result: Result, other: xr.DataArray) -> xr.DataArray:
    """The largest gap to the ReLU network's loss at any time, as a share of L(0), for each run and world."""
    return abs(other - share(result)).max("time")


def fitted(result: Result, starts: int) -> xr.DataArray:
    """The closed form L(t)/L(0) with one or two fitted initial strengths for each run and world."""
    return common.fitted(share(result), worlds(result).values(), starts)


def learned(result: Result, world: str | None = None, least: int = 3) -> list[str]:
    """One world, or all of so many contexts at least; undecided unless its ReLU networks are at a tenth of their loss.

    With two contexts all but one are a single one, so that claims which set these against each other do not apply.
    """
    every = worlds(result)
    chosen = [name for name in every if world == name or (world is None and every[name].contexts >= least)]
    require_case(chosen, f"the world {world}" if world else "a world of three contexts or more")
    left = share(result).isel(time=-1).max("run")
    if late := [name for name in chosen if left.sel(world=name) > SETTLED]:
        enough = common.steps_to(SETTLED, every[late[0]], result["time"].values[-1])
        raise claims.Undecided(f"a tenth of the loss is not reached with {late[0]}; needs {enough}")
    return chosen


def time_ratio(result: Result, rival: str | list[str]) -> xr.DataArray:
    """The time a rival takes to a tenth of its initial loss, over that of the ReLU network; NaN if one never does."""
    ratio = common.slowness(SETTLED, by_world(result, "loss", rival), by_world(result, "loss"))
    return ratio.transpose("run", "world", ...)


def slowness(result: Result, rival: str, world: str | None = None) -> xr.DataArray:
    """The same for claims, of all worlds or of one."""
    ratio = time_ratio(result, rival).sel(world=learned(result, world))
    common.require_steps(ratio.notnull(), f"a tenth of the loss is not reached by {rival.replace('-', ' ')}", result)
    return ratio


def _draw_losses(axis: Axes, result: Result, world: str) -> None:
    """Losses of all networks in one world, and the closed form."""
    common.draw_over_steps(axis, share(result, list(LOOKS)).sel(world=world), "network", looks=LOOKS)
    closed = fitted(result, 2).sel(world=world).mean("run")
    every = max(1, closed.sizes["time"] // 30)
    axis.plot(common.steps_of(closed), closed, markevery=every, color="0.2", label="closed form", **DOTS)
    axis.set(ylabel="loss, share of L(0)", ylim=(0, 1.04), title=world)
    axis.legend(fontsize=5.8, loc="upper right", labelspacing=0.25)


def _draw_gaps(axis: Axes, result: Result) -> None:
    rows = {
        "closed form,\ntwo starts": fitted(result, 2),
        "closed form,\none start": fitted(result, 1),
        "gated,\nall but one": share(result, "all-but-one"),
        "gated,\nsingle": share(result, "single"),
    }
    each = xr.concat([gaps(result, other) for other in rows.values()], "row").assign_coords(row=list(rows))
    groups(axis, each, "row", "world", step=0.18, across=True)
    axis.set(xlim=(0, 1.1 * axis.get_xlim()[1]), ylim=(len(rows) - 0.4, -1.9))
    axis.set_xlabel("largest gap to ReLU, share of L(0)", fontsize=7.5)
    axis.legend(fontsize=6, loc="upper right", ncols=2, columnspacing=0.6, handletextpad=0.1)


def _draw_speeds(axis: Axes, result: Result) -> None:
    """How long rivals take, over the ReLU network."""
    marks = {"all-but-one": "o", "single": "s", "modular": "D", "frozen": "v"}
    looks = {rival: LOOKS[rival] | {"marker": mark, "ms": 4, "ls": "none"} for rival, mark in marks.items()}
    groups(axis, time_ratio(result, list(marks)), "world", "network", looks=looks, step=0.08)
    axis.axhline(1.0, color="0.5", lw=0.8, ls=":")
    axis.set_xticks(axis.get_xticks(), [name.replace(", ", "\n") for name in worlds(result)], fontsize=6.8)
    axis.set(xlim=(-0.6, len(worlds(result)) - 0.4), ylim=(0, 1.55 * axis.get_ylim()[1]))
    axis.set_ylabel(f"time to {SETTLED:g} L(0),\nover that of ReLU")
    axis.legend(fontsize=6, loc="upper left", labelspacing=0.3)
