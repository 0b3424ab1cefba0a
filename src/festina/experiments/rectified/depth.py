"""Two hidden layers in a world with contexts: where the nonlinearity goes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from festina import claims, models
from festina._lazy import np
from festina.experiment import Arms, Equation, Experiment, Preset, Result, named, use
from festina.experiments._needs import require_case
from festina.experiments.rectified import _common as common
from festina.figures.panels import DOTS, Page
from festina.sources import JARVIS_2025
from festina.style import BLUE, GREEN, ORANGE, VERMILLION

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEARNED = 0.05  # share of the first loss that may be left once the task is learned
SETTLED, EARLIER = 0.1, 0.2  # shares of the first loss at which networks are compared
SHARED = JARVIS_2025.at("effect of depth: a shared first layer without gates, and gates in the second")
RIVALS = {
    "all-but-one": {"color": BLUE, "ls": "-", "lw": 1.3, "label": "all but one"},
    "single": {"color": VERMILLION, "ls": (0, (6, 1, 1, 1)), "lw": 1.1, "label": "single"},
    "separate": {"color": GREEN, "ls": (0, (2, 1)), "lw": 1.1, "label": "separate first layers"},
    "linear": {"color": ORANGE, "ls": (0, (1, 1)), "lw": 1.3, "label": "linear"},
}
ALL = {"counted": "in all", "seen": "everything", "target": "whole", "common": True, "structures": "same"}
gated = partial(use, models.GatedContexts, **ALL)
LOOKS = {1: {"color": BLUE, "ls": "-"}, 2: {"color": VERMILLION, "ls": (0, (5, 1.2))}}


class Depth(Experiment):
    """With two hidden layers the first stays nearly linear, and contexts are told apart in the second.

    The world of `rectified/selectivity` with three contexts, f(x) = W₃[W₂[W₁x]₊]₊, all weights from N(0, s²) with
    s = .0006, as in the source's published code. Of each layer we record how much of its variance over samples is
    linear in x (R² of the best linear map with a constant, all units together), in how many contexts its units are on,
    and how much of its strength |incoming||outgoing| is in units that treat the objects of a context alike. A unit
    belongs to a context if it is on for most of its objects.

    Its theory is a gated network with a first layer that is shared and has no gates, and a second one of common and
    all-but-one paths (*all-but-one*), trained on one joint loss with nothing fitted. A rectified layer of random
    weights passes half of the energy, so that half of its units stand for it in the first layer; in the second, half
    are always on and half are shared out among the paths, as with one hidden layer. Three gatings that should be wrong
    are beside it: paths of single contexts in the second layer (*single*), a first layer for each path (*separate*),
    and no gates at all (*linear*).

    The source finds a first layer that is shared by all contexts and applies no nonlinearity, and mixed selectivity in
    the second; what counts as such here, R² above .99 and the other bounds, are thresholds of our own. Over ten runs
    the first layer is nearly linear (R² of .986 to .993), with no more than two thirds of its strength in units that
    are on in all contexts. The second layer bends (R² = .91), and no number of contexts dominates it: one, two and
    three contexts have about .3 each. Which one leads depends on the run; units of two contexts do in six of ten.

    From larger weights (quick budget) the gated network has the loss of the ReLU network within 4% of L(0) on average,
    and one with single contexts is closer still. From weights as small as the published ones it has not (7%, two
    runs): both losses have the same plateaus, at .53, .31 and .12 of L(0), but not at the same time. The ReLU network,
    whose units are all on at first, has one more at .69, as the linear network does; the gated one has not, for its
    gates tell contexts apart from the start; and once its units have switched, it is the faster one.
    """

    name = "rectified/depth"
    sources = (JARVIS_2025,)
    arms = Arms(
        network=named(
            relu=use(models.RectifiedContexts, layers=2, gates="learned", frozen_at=0.0, structures="same"),
            all_but_one=gated(paths="all but one", first_layer="shared"),
            single=gated(paths="single", first_layer="shared"),
            separate=gated(paths="all but one", first_layer="of each path"),
            linear=gated(paths="none", first_layer="shared"),
        )
    )
    base = {"width": 420, "deviation": 6e-4, "steps": 30_000, "records": 150}
    seeds = 10
    quick = {"seeds": 2, "width": 60, "deviation": 0.01, "steps": 10_000, "records": 100}
    equations = (
        Equation(
            r"f(x) = \sum_p W_p^{\text{out}}\, g_p(c)\, W_p\, W_1 x, "
            r"\qquad g_\text{common} = 1, \quad g_k(c) = 1 - \delta_{ck}",
            "Theory: a first layer that all paths share, and gates of contexts in the second.",
        ),
    )
    presets = (
        Preset(
            "small network",
            "The second layer bends more than the first; which contexts share units differs between runs.",
        ),
        Preset(
            "larger weights", "From weights five times as large the first layer is less linear.", {"deviation": 0.05}
        ),
        Preset(
            "as published", "Weights as small as in the published code, and 420 units in each layer.", budget="full"
        ),
    )

    @claims.check(claims.below(LEARNED), reason="the run is too short, or its networks are too narrow")
    def solved(self, result: Result) -> xr.DataArray:
        """The network with two hidden layers has learned the task (loss at the end over that at the start)."""
        return _left(result)

    @claims.paper(
        SHARED,
        claims.below(0.05),
        reason="the source's scope: gates that are given tell contexts apart from the start, and a ReLU network whose "
        "units are all on cannot; see the experiment's description",
    )
    def gated_loss(self, result: Result) -> xr.DataArray:
        """A gated network with a shared first layer, and common and all-but-one paths in the second, has the loss of a
        ReLU network with two hidden layers, nothing fitted (mean gap over L(0); our threshold).
        """
        return gap(_learned(result), "all-but-one")

    @claims.theory(claims.near(1.0, 0.15), source=SHARED)
    def as_fast(self, result: Result) -> xr.DataArray:
        """A gated network with a shared first layer, and common and all-but-one paths in the second, is as fast as a
        ReLU network with two hidden layers (ratio of times to a tenth of L(0); our threshold).
        """
        return slowness(result, "all-but-one", SETTLED)

    @claims.paper(
        JARVIS_2025.at("effect of depth: mixed selectivity persists as a learning strategy"),
        claims.above(0.0),
        reason="the source's scope or our measure of it: behind a shared layer single contexts learn nearly as fast as "
        "all but one; see the experiment's description",
    )
    def single_differs(self, result: Result) -> xr.DataArray:
        """Behind a shared first layer, paths of single contexts are further from the ReLU network's loss than paths of
        all contexts but one (mean gap over L(0), difference).
        """
        return gap(_learned(_with_several(result)), "single") - gap(result, "all-but-one")

    @claims.theory(claims.above(1.3), source=SHARED)
    def shared_is_faster(self, result: Result) -> xr.DataArray:
        """A gated network with a first layer for each path is slower than a ReLU network with two hidden layers (ratio
        of times to a fifth of the loss; our threshold).
        """
        return slowness(result, "separate", EARLIER)

    @claims.theory(claims.above(0.99))
    def linear_residual(self, result: Result) -> xr.DataArray:
        """A linear network with two hidden layers does not learn what depends on the context (least loss over that of
        the best linear map).
        """
        model = next(arm.model for arm in result.arms if isinstance(arm.model, models.RectifiedContexts))
        return result["loss"].sel(network="linear").min("time") / model.closed_form.contextual.energy.sum()

    @claims.paper(
        JARVIS_2025.at("effect of depth: no nonlinearity applied in the first layer"),
        claims.above(0.99),
        reason="our threshold: R² lies between .986 and .993 over ten runs; see the experiment's description",
    )
    def linear_first_layer(self, result: Result) -> xr.DataArray:
        """The first of two hidden layers applies no nonlinearity: what it does is linear in the input (R² at the end;
        our threshold).
        """
        return _final(result, "linearity").sel(layer=1)

    @claims.paper(
        JARVIS_2025.at("effect of depth: first layer completely shared"),
        claims.above(0.95),
        reason="the source's scope: a layer that is nearly linear need not be on everywhere; see the experiment's "
        "description",
    )
    def shared_first_layer(self, result: Result) -> xr.DataArray:
        """The first of two hidden layers is shared by all contexts (share of strength in units on in all of them; our
        threshold).
        """
        return _final(result, "strength").sel(layer=1).isel(size=-1)

    @claims.paper(
        JARVIS_2025.at("effect of depth: nonlinearity and gating concentrated in deeper layers"), claims.below(0.95)
    )
    def nonlinear_second_layer(self, result: Result) -> xr.DataArray:
        """Nonlinearity and gating are in the second of two hidden layers (R² of its best linear map of the input, at
        the end; our threshold).
        """
        return _final(result, "linearity").sel(layer=2)

    @claims.paper(
        JARVIS_2025.at("effect of depth: mixed selectivity persists"),
        claims.above(0.5),
        budget="full",
        reason="the source's scope or our measure of it: one, two and three contexts have about .3 each; see the "
        "experiment's description",
    )
    def mixed_persists(self, result: Result) -> xr.DataArray:
        """Mixed selectivity persists: most strength of the second hidden layer is in units of several contexts, not all
        (share; our threshold).
        """
        return _final(_with_several(result), "strength").sel(layer=2).isel(size=slice(2, -1)).sum("size")

    @claims.theory(
        claims.above(0.0),
        budget="full",
        reason="our reading, from networks with one hidden layer: which number of contexts leads depends on the run; "
        "see the experiment's description",
    )
    def all_but_one(self, result: Result) -> xr.DataArray:
        """Units on in all contexts but one lead the second of two hidden layers, as they do in a single one (their
        share of strength less the largest other).
        """
        return lead_of_but_one(_with_several(result))

    def figure(self, result: Result) -> Figure:
        """Losses of all networks; linearity of both layers; contexts of units over time, and by run at the end."""
        with Page(2, 3, height=4.3) as page:
            _draw_losses(page[0], result)
            common.draw_over_steps(page[1], of_relu(result, "linearity"), "layer", looks=LOOKS, lw=1.3)
            page[1].set(ylabel="R² of a linear map of x", ylim=(None, 1.02))
            page[1].legend(loc="lower right")
            common.draw_whole(page[2], of_relu(result, "whole"), "layer", 1.03, looks=LOOKS, lw=1.3)
            page[2].legend(loc="upper right")
            contexts = result.config.contexts
            for layer in LOOKS:
                axis = page[2 + layer]
                common.draw_course(axis, of_relu(result, "strength").sel(layer=layer, size=slice(1, None)), contexts)
                axis.set(ylabel="strength, by contexts", ylim=(0, 1.35), title=f"Layer {layer}")
                axis.legend(loc="upper center", ncols=contexts, fontsize=6.5, columnspacing=0.8, handlelength=1.4)
            _draw_runs(page[5], of_relu(result, "strength").sel(layer=2).isel(time=-1))
        return page.figure


def of_relu(result: Result, name: str) -> xr.DataArray:
    """A variable of the ReLU network."""
    return result[name].sel(network="relu", drop=True)


def gap(result: Result, network: str) -> xr.DataArray:
    """The mean distance over time of a network's loss from that of the ReLU network, over L(0), for each run."""
    other = common.share_of_loss(result["loss"].sel(network=network, drop=True))
    return abs(other - common.share_of_loss(of_relu(result, "loss"))).mean("time")


def slowness(result: Result, network: str, share: float) -> xr.DataArray:
    """How long a network takes to a share of its loss, over how long the ReLU network does."""
    ratio = common.slowness(share, result["loss"].sel(network=network, drop=True), of_relu(result, "loss"))
    common.require_steps(
        ratio.notnull(), f"{share:.0%} of the loss is not reached by {network.replace('-', ' ')}", result
    )
    return ratio


def _left(result: Result) -> xr.DataArray:
    return common.share_of_loss(of_relu(result, "loss")).isel(time=-1)


def _learned(result: Result) -> Result:
    """The result, if its ReLU networks have learned the task."""
    late = _left(result) > LEARNED
    why = f"{int(late.sum())} of {late.size} networks have more than {LEARNED:.0%} of the loss left"
    common.require_steps(~late, why, result)
    return result


def _final(result: Result, name: str) -> xr.DataArray:
    """A variable at the end of runs that have learned the task."""
    return of_relu(_learned(result), name).isel(time=-1)


def _with_several(result: Result) -> Result:
    """The result, if all contexts but one are more than one."""
    require_case(result.config.contexts >= 3, "three contexts or more")
    return result


def lead_of_but_one(result: Result) -> xr.DataArray:
    """The second layer's share of strength on exactly C − 1 contexts, less the largest share of any other number."""
    return common.lead_of(result.config.contexts - 1, _final(result, "strength").sel(layer=2))


def _draw_losses(axis: Axes, result: Result) -> None:
    """The ReLU network as dots, gated networks as lines."""
    shares = common.share_of_loss(result["loss"])
    common.draw_over_steps(axis, shares, "network", looks=RIVALS)
    mean = shares.sel(network="relu").mean("run")
    axis.plot(common.steps_of(mean), mean, markevery=mean.sizes["time"] // 40 or 1, color="0.2", label="ReLU", **DOTS)
    axis.set(xlabel="steps (thousands)", ylabel="loss, share of L(0)", ylim=(0, 1.05))
    axis.legend(loc="upper right", fontsize=6, labelspacing=0.25)


def _draw_runs(axis: Axes, last: xr.DataArray) -> None:
    """Each run's second layer at the end as a stacked bar."""
    values = last.transpose("size", "run").values
    contexts, place, bottom = len(values) - 1, np.arange(1, last.sizes["run"] + 1), np.cumsum(values, axis=0) - values
    hatches = ("", "|||", "", "///", "xxx", "\\\\\\", "+++", "ooo", "---")
    for size, (share, below) in enumerate(zip(values, bottom, strict=True)):
        color = common.look_of_size(size)["color"] if size else "0.75"
        look = {"color": color, "edgecolor": "white", "linewidth": 0.3, "hatch": hatches[size], "alpha": 0.85}
        axis.bar(place, share, 0.85, bottom=below, label=f"{size} of {contexts}", **look)
    axis.set(xlabel="run", ylabel="strength at the end", ylim=(0, 1.45), yticks=[0, 0.5, 1], xticks=place)
    axis.set_title("Layer 2, run by run")
    axis.legend(loc="upper center", ncols=(contexts + 2) // 2, fontsize=6.5, columnspacing=0.8, handlelength=1.4)
