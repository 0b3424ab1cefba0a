"""Two hidden layers in a world with contexts: where the nonlinearity goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from festina import claims, models
from festina._lazy import np
from festina.experiment import Arms, Experiment, Preset, Result, use
from festina.experiments._needs import require_case
from festina.experiments.rectified import _common as common
from festina.figures.panels import Page
from festina.sources import JARVIS_2025
from festina.style import BLUE, VERMILLION

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEARNED = 0.05  # share of the first loss that may be left once the task is learned
LOOKS = {1: {"color": BLUE, "ls": "-"}, 2: {"color": VERMILLION, "ls": (0, (5, 1.2))}}


class Depth(Experiment):
    """With two hidden layers the first stays nearly linear, and contexts are told apart in the second.

    The world of `rectified/selectivity` with three contexts, f(x) = W₃[W₂[W₁x]₊]₊, all weights from N(0, s²) with
    s = .0006, as in the source's published code. Of each layer we record how much of its variance over samples is
    linear in x (R² of the best linear map with a constant, all units together), in how many contexts its units are on,
    and how much of its strength |incoming||outgoing| is in units that treat the objects of a context alike. A unit
    belongs to a context if it is on for most of its objects.

    The source finds a first layer that is shared by all contexts and applies no nonlinearity, and mixed selectivity in
    the second; what counts as such here, R² above .99 and the other bounds, are thresholds of our own. Over ten runs
    the first layer is nearly linear (R² of .986 to .993), with no more than two thirds of its strength in units that
    are on in all contexts. The second layer bends (R² = .91), and no number of contexts dominates it: one, two and
    three contexts have about .3 each. Which one leads depends on the run; units of two contexts do in six of ten.
    """

    name = "rectified/depth"
    sources = (JARVIS_2025,)
    arms = Arms(use(models.RectifiedContexts, layers=2, gates="learned"))
    base = {"width": 420, "deviation": 6e-4, "steps": 30_000, "records": 150}
    seeds = 10
    quick = {"seeds": 2, "width": 60, "deviation": 0.01, "steps": 10_000, "records": 100}
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
        """Loss of every run; linearity of both layers; contexts of their units over time, and by run at the end."""
        with Page(2, 3, height=4.3) as page:
            loss = common.share_of_loss(result["loss"]).transpose("run", "time")
            page[0].plot(common.steps_of(loss), loss.values.T, color="0.55", lw=0.7)
            page[0].plot([], [], color="0.55", lw=0.7, label="each run")
            page[0].plot(common.steps_of(loss), loss.mean("run"), color="k", lw=1.5, label="mean")
            page[0].set(xlabel="steps (thousands)", ylabel="loss, share of L(0)", ylim=(0, 1.05))
            page[0].legend(loc="upper right")
            common.draw_over_steps(page[1], result["linearity"], "layer", looks=LOOKS, lw=1.3)
            page[1].set(ylabel="R² of a linear map of x", ylim=(None, 1.02))
            page[1].legend(loc="lower right")
            common.draw_whole(page[2], result["whole"], "layer", 1.03, looks=LOOKS, lw=1.3)
            page[2].legend(loc="upper right")
            contexts = result.config.contexts
            for layer in LOOKS:
                axis = page[2 + layer]
                common.draw_course(axis, result["strength"].sel(layer=layer, size=slice(1, None)), contexts)
                axis.set(ylabel="strength, by contexts", ylim=(0, 1.35), title=f"Layer {layer}")
                axis.legend(loc="upper center", ncols=contexts, fontsize=6.5, columnspacing=0.8, handlelength=1.4)
            _draw_runs(page[5], result["strength"].sel(layer=2).isel(time=-1))
        return page.figure


def _left(result: Result) -> xr.DataArray:
    return common.share_of_loss(result["loss"]).isel(time=-1)


def _final(result: Result, name: str) -> xr.DataArray:
    """A variable at the end of runs that have learned the task."""
    late = _left(result) > LEARNED
    why = f"{int(late.sum())} of {late.size} networks have more than {LEARNED:.0%} of the loss left"
    common.require_steps(~late, why, result)
    return result[name].isel(time=-1)


def _with_several(result: Result) -> Result:
    """The result, if all contexts but one are more than one."""
    require_case(result.config.contexts >= 3, "three contexts or more")
    return result


def lead_of_but_one(result: Result) -> xr.DataArray:
    """The second layer's share of strength on exactly C − 1 contexts, less the largest share of any other number."""
    return common.lead_of(result.config.contexts - 1, _final(result, "strength").sel(layer=2))


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
