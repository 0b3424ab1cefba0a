"""Mixed selectivity: in which contexts the units of a ReLU network are on, and whether more contexts mix more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from festina import claims, models
from festina._lazy import xr
from festina.experiment import Arms, Equation, Experiment, Preset, Result, use
from festina.experiments._needs import require_case
from festina.experiments.rectified import _common as common
from festina.figures.panels import HATCHES, Page, groups, marks_of
from festina.sources import JARVIS_2025

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEE = "see the experiment's description"
EARLIER = "an earlier simulation of our own, separate from this one"
MORE_CONTEXTS = JARVIS_2025.at("effect of more contexts: pathways active for C − 1 contexts")
SCALED_CONTEXTS = JARVIS_2025.at("effect of more contexts, with the context inputs of the published code")
INTENSIFIES = JARVIS_2025.at("effect of more contexts: mixed selectivity intensifies from C = 3 to C = 5")
STABLE = JARVIS_2025.at("assumption that gates stabilize for the neural race reduction to apply")
LEARNED = 0.1  # share of the initial loss that may be left when units are looked at
EARLY, LATER = 500, 1000  # steps: before and after units begin to switch off
RATE = 1e-3  # with which they do
SCALES = (1.0, 1.35)
FEW, MANY = 3, 5  # contexts between which mixing should intensify


class Contexts(Experiment):
    """A ReLU network shares units among contexts, most of them on in all but one, if contexts are few or clear.

    The ReLU networks of `rectified/selectivity` with three to five contexts, each with context inputs of size κ = 1, as
    the source's text has them, and κ = 1.35, as its published code has them with five contexts without saying so (and
    1.1 with four). A unit belongs to a context if it is on for most of its objects, and has the strength
    |incoming||outgoing|.

    That units are on in C − 1 contexts and that mixing intensifies with C are statements of the source; how much is
    our own, from an earlier simulation. For mixing there are two measures, both over all strength: the mean *number* of
    contexts in which a unit is on, and the mean *share* of all contexts, which would be (C − 1)/C if all units were on
    in all but one.

    Four things do not hold as the source has them. With five contexts, three of five lead; four do only with κ = 1.35.
    The mean number of contexts grows from three contexts to five, but their share does not: it falls with κ = 1, and
    gains .02 with κ = 1.35, though not in every run. If all units were on in all contexts but one it would gain .13.
    The gates are no function of the context: nearly all strength lies in units that are on for some objects of a
    context and off for others. And they do not keep: first nearly every unit is on everywhere, after about 600 steps
    they switch.
    """

    name = "rectified/contexts"
    sources = (JARVIS_2025,)
    arms = Arms(
        use(models.RectifiedContexts, layers=1, gates="learned", frozen_at=0.0, structures="same"),
        contexts=(3, 4, 5),
        context_scale=SCALES,
    )
    seeds = 10
    quick = {"seeds": 2, "contexts": (FEW, MANY), "width": 120, "deviation": 0.005 / 120}
    equations = (
        Equation(
            r"\bar k = \frac{\sum_i |w_i^\text{in}|\,|w_i^\text{out}|\, k_i}{\sum_i |w_i^\text{in}|\,|w_i^\text{out}|}",
            "The mean number of contexts in which units are on, weighted with their strength; its share is k̄/C.",
        ),
    )
    presets = (
        Preset("three and five contexts", "Units on in two of three contexts, and in three or four of five."),
        Preset(
            "larger weights",
            "From weights twenty times as large units keep more of the contexts that they had at the start.",
            {"deviation": 0.1 / 120},
        ),
        Preset("three to five contexts", "All worlds of the source, with 600 units in each network.", budget="full"),
    )

    @claims.paper(MORE_CONTEXTS, claims.above(0.0), each={"contexts": (3, 4)})
    def lead(self, result: Result, contexts: int) -> xr.DataArray:
        """With {contexts} contexts, units on in all contexts but one lead (their share of strength less the largest
        other, at the end).
        """
        return common.lead_of(-1, strength_at_end(result, contexts, 1.0))

    @claims.reference(EARLIER, claims.near(0.88, 0.05), loosely=claims.above(0.5))
    def mixed_three(self, result: Result) -> xr.DataArray:
        """With three contexts .88 of the strength is in units on in two of them."""
        return strength_at_end(result, 3, 1.0).sel(size=-1, drop=True)

    @claims.reference(EARLIER, claims.near(0.79, 0.05), loosely=claims.above(0.5))
    def mixed_four(self, result: Result) -> xr.DataArray:
        """With four contexts .79 of the strength is in units on in three of them."""
        return strength_at_end(result, 4, 1.0).sel(size=-1, drop=True)

    @claims.paper(
        MORE_CONTEXTS,
        claims.above(0.0),
        reason=f"the published code has context inputs of size 1.35 there, with which it holds; {SEE}",
    )
    def mixed_five(self, result: Result) -> xr.DataArray:
        """With five contexts, units on in four lead (their share of strength less the largest other, at the end)."""
        return common.lead_of(-1, strength_at_end(result, 5, 1.0))

    @claims.paper(SCALED_CONTEXTS, claims.above(0.0), budget="full")
    def mixed_five_scaled(self, result: Result) -> xr.DataArray:
        """With five contexts and context inputs of size 1.35, units on in four lead (their share of strength less the
        largest other, at the end).
        """
        return common.lead_of(-1, strength_at_end(result, 5, 1.35))

    @claims.paper(INTENSIFIES, claims.above(0.0), each={"context_scale": SCALES})
    def more_contexts(self, result: Result, context_scale: float) -> xr.DataArray:
        """With context inputs of size {context_scale}, units are on in more contexts if there are five of them than if
        there are three (mean number by strength at the end, difference).
        """
        return number(result, MANY, context_scale) - number(result, FEW, context_scale)

    @claims.paper(
        INTENSIFIES,
        claims.above(0.0),
        each={"context_scale": SCALES},
        reason=f"our measure of it: units serve more contexts, but no larger share of them; {SEE}",
    )
    def larger_share(self, result: Result, context_scale: float) -> xr.DataArray:
        """With context inputs of size {context_scale}, units are on in a larger share of five contexts than of three
        (mean share by strength at the end, difference).
        """
        return number(result, MANY, context_scale) / MANY - number(result, FEW, context_scale) / FEW

    @claims.reference(EARLIER, claims.near(0.9, 0.05), budget="full")
    def on_everywhere(self, result: Result) -> xr.DataArray:
        """Early, at step 500 with three contexts, nine of ten units are on in every context."""
        return everywhere_at(result, EARLY)

    @claims.paper(STABLE, claims.above(0.9), reason=f"units switch after about 600 steps, while the loss falls; {SEE}")
    def constant_gates(self, result: Result) -> xr.DataArray:
        """Gates keep while the network learns (share of units on everywhere at step 1000 over that at step 500, three
        contexts; our threshold).
        """
        return everywhere_at(result, LATER) / everywhere_at(result, EARLY)

    @claims.paper(
        JARVIS_2025.at("structured mixed selectivity: pathways active in some contexts"),
        claims.above(0.9),
        reason=f"the source's inference: a loss that matches does not identify the gates; {SEE}",
    )
    def gates_of_contexts(self, result: Result) -> xr.DataArray:
        """Gates depend on the context alone (share of strength in units that treat its objects alike, at the end; our
        threshold).
        """
        whole = [of(result, "whole", *world).isel(time=-1) for world in worlds(result)]
        for world in worlds(result):
            require_learned(result, *world)
        return xr.concat(whole, "world", coords="minimal", compat="override")

    def figure(self, result: Result) -> Figure:
        """Contexts of units over time and at the end, mixing by the number of contexts, gates of whole contexts."""
        few, scale = result.config.contexts[0], result.config.context_scale[0]
        named = {name_of(result, *world): world for world in worlds(result)}
        with Page(2, 2, height=4.4) as page:
            common.draw_course(page[0], of(result, "strength", few, scale).sel(size=slice(1, few)), few)
            units = of(result, "everywhere", few, scale).expand_dims(kind=["units"])
            look = {"color": "0.5", "ls": ":", "lw": 1.2, "label": f"{few} of {few}, units"}
            common.draw_over_steps(page[0], units, "kind", looks={"units": look})
            page[0].set(ylabel="strength, by contexts", ylim=(0, 1.45), title=name_of(result, few, scale))
            ends = {name: of(result, "strength", *world).isel(time=-1) for name, world in named.items()}
            common.draw_ends(page[1], {name: end.sel(size=slice(1, None)) for name, end in ends.items()}, bars(result))
            page[1].set(ylim=(0, 1.45), xlabel="contexts of a unit", ylabel="strength at the end")
            draw_mixing(page[2], result)
            whole = [of(result, "whole", *world) for world in named.values()]
            every = xr.concat(whole, "world", coords="minimal", compat="override").assign_coords(world=list(named))
            common.draw_whole(page[3], every, "world", 1.02, lw=1.2)
            page[0].legend(fontsize=6.5, loc="upper center", ncols=2, columnspacing=0.9)
            page[1].legend(fontsize=6, loc="upper left", ncols=2, columnspacing=0.9)
            page[3].legend(fontsize=6, loc="upper right")
        return page.figure


def worlds(result: Result) -> list[tuple[int, float]]:
    """Contexts C and the size κ of their inputs, of every world."""
    return [(contexts, scale) for scale in result.config.context_scale for contexts in result.config.contexts]


def name_of(result: Result, contexts: int, scale: float) -> str:
    """`C = 5`, or `C = 5, κ = 1.35`."""
    return f"C = {contexts}" + (f", κ = {scale:g}" if scale != 1.0 else "")


def of(result: Result, name: str, contexts: int, scale: float) -> xr.DataArray:
    """A variable of the hidden layer in one world."""
    require_case((contexts, scale) in worlds(result), f"the world {name_of(result, contexts, scale)}")
    here = result[name].sel(contexts=contexts, context_scale=scale, drop=True)
    return here.sel(layer=1, drop=True) if "layer" in here.dims else here


def require_learned(result: Result, contexts: int, scale: float) -> None:
    """Undecided unless the networks of a world have come to a tenth of their loss."""
    left = common.share_of_loss(of(result, "loss", contexts, scale)).isel(time=-1)
    if bool((left > LEARNED).any()):
        model: Any = next(arm.model for arm in result.arms if tuple(arm.labels.values()) == (contexts, scale))
        enough = common.steps_to(LEARNED, model, result["time"].values[-1])
        where = name_of(result, contexts, scale)
        raise claims.Undecided(f"a tenth of the loss is not reached with {where}; needs {enough}")


def strength_at_end(result: Result, contexts: int, scale: float) -> xr.DataArray:
    """Shares of strength in one world by the number of contexts, counted from all of them down: −1 is all but one."""
    last = of(result, "strength", contexts, scale).isel(time=-1)
    require_learned(result, contexts, scale)
    last = last.sel(size=slice(0, contexts))
    return last.assign_coords(size=last["size"] - contexts)


def number(result: Result, contexts: int, scale: float) -> xr.DataArray:
    """The mean number of contexts in which units are on at the end, weighted with their strength."""
    shares = strength_at_end(result, contexts, scale)
    return (shares * (shares["size"] + contexts)).sum("size")


def everywhere_at(result: Result, step: int) -> xr.DataArray:
    """The share of units that are on in all of three contexts at a step."""
    seen = of(result, "everywhere", 3, 1.0)
    switching = f"--rate {RATE:g}, with which units switch between steps {EARLY} and {LATER}"
    require_case(result.config.rate == RATE, switching)
    return common.at_step(seen, step, f"units have not had the time to switch; needs --steps {LATER} or more")


def bars(result: Result) -> list[dict[str, str]]:
    """How worlds look as bars: the darker the more contexts, and filled in another way for each size κ."""
    counts, scales = (list(values) for values in (result.config.contexts, result.config.context_scale))
    return [
        {"color": common.GREYS[counts.index(count) % 3], "hatch": HATCHES[scales.index(scale) % len(HATCHES)]}
        for count, scale in worlds(result)
    ]


def draw_mixing(axis: Axes, result: Result) -> None:
    """The mean share of contexts in which units are on, beside that of all but one."""
    counts, scales = result.config.contexts, result.config.context_scale
    last = result["strength"].sel(layer=1).isel(time=-1)
    mean = (last * last["size"]).sum("size") / last["contexts"]
    for count, place in zip(counts, range(len(counts)), strict=True):
        label = "all but one, (C − 1)/C" if place == 0 else None
        axis.plot([place - 0.35, place + 0.35], [1 - 1 / count] * 2, color="0.4", lw=1.0, label=label)
    looks = marks_of(scales, ms=4.5, ls="none")
    groups(
        axis,
        mean,
        "contexts",
        "context_scale",
        looks={k: v | {"label": f"κ = {k:g}"} for k, v in looks.items()},
        runs=True,
    )
    axis.set(xlabel="contexts C", ylabel="share of contexts in\nwhich units are on", ylim=(0.4, 1.0))
    axis.legend(fontsize=6.5, loc="upper left")
