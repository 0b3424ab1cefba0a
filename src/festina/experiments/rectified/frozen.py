"""A ReLU network is a gated one: freeze its gates at a time, go on as a gated network, and see how long they agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Equation, Experiment, Preset, Result, named, use
from festina.experiments._needs import require_case
from festina.experiments.rectified import _common as common
from festina.figures.panels import DOTS, Page, graded_looks, means
from festina.sources import JARVIS_2025
from festina.style import BLUE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEE = "see the experiment's description"
STABLE = JARVIS_2025.at("assumption that gates stabilize for the neural race reduction to apply")
APART = 0.01  # of the first loss, from which on two losses are called apart
LEARNED = 0.1  # share of the first loss that may be left at the end
OWN = 1.0 - 1e-6  # share of gates from which on all are the network's own, up to rounding
PLATEAU, LATE = 400, 3000  # steps: all units are on everywhere; most of them have switched
RATE = 1e-3  # with which they do so at these steps
SHOWN = (0, 400, 1000, 3000)


class Frozen(Experiment):
    """With the gates that a ReLU network had at some time, a gated network goes on to learn as it does, or differs.

    With its activity pattern as gates a ReLU network *is* a gated linear network, at every moment. For that to be a
    theory, gates must keep. So a ReLU network (one hidden layer, three contexts, as in `rectified/selectivity`) has its
    gates frozen at a step t, and goes on as a gated network from there. The two are the same for as long as all units
    would have these gates by themselves (*own gates*), and to be told apart by their losses some time after that: when
    they first differ by 1% of the loss at the start, which is our threshold.

    What we expected before the first full run, having seen networks of 120 units. If gates stabilise, the two agree for
    ever after from some time on. Gates of random weights tell nothing of later ones, so that networks frozen at the
    start differ at once. On the first plateau, where all units that matter are on everywhere, the gated network is a
    linear one; its loss has to differ once units switch, at some 800 steps, however long before that it was frozen.
    From 3000 steps on, when the common path is done, losses agree to the end. But gates go on to change: not all of
    those of step 3000 are the network's own at the end, and relative to the loss that is left at t, and not to the
    first one, networks still differ.

    What was found with 600 units (three runs). Losses with gates frozen anywhere between steps 200 and 600 differ from
    step 830 to 860 on; those of the plateau learn more slowly, but in the end nearly all, by the few units that are not
    on everywhere. From step 3000 losses differ by 1.04% of L(0), just above our threshold, and from 4000 by .55%. Gates
    never settle: a fifth of those of step 4000 are not the network's own at the end, and over the loss that is left at
    t the gap is .08 to .14 for all t from 400 to 6000. Losses agree late because little is left to learn, not because
    gates keep.
    """

    name = "rectified/frozen"
    sources = (JARVIS_2025,)
    arms = Arms(
        use(models.RectifiedContexts, layers=1, structures="same"),
        gates=named(learned={"gates": "learned"}, frozen={"gates": "frozen"}),
        frozen_at=(0.0, 200.0, 400.0, 600.0, 800.0, 1000.0, 1500.0, 2000.0, 3000.0, 4000.0, 6000.0),
        only=lambda config, arm: arm["gates"] == "frozen" or arm["frozen_at"] == config.frozen_at[0],
    )
    seeds = 10
    quick = {
        "seeds": 2,
        "width": 120,
        "deviation": 0.005 / 120,
        "frozen_at": (0.0, 400.0, 600.0, 1000.0, 2000.0, 3000.0, 6000.0),
    }
    equations = (
        Equation(
            r"f(x) = W_2\, D(x)\, W_1 x, \qquad D(x) = \operatorname{diag}\bigl(\mathbb 1[W_1(t)\, x > 0]\bigr)",
            "A ReLU network with the gates of the time t; after t the gates stay, and the weights go on.",
        ),
    )
    presets = (
        Preset("gates of several times", "Gates of later times agree for longer, and in the end for ever."),
        Preset(
            "larger weights",
            "From weights twenty times as large there is no plateau on which all units are on.",
            {"deviation": 0.1 / 120},
        ),
        Preset("wide networks", "Eleven times, with 600 units in each network.", budget="full"),
    )

    @claims.theory(claims.below(1e-4), source=JARVIS_2025.at("a ReLU network is a gated one: D(x) = diag(1[h > 0])"))
    def identity(self, result: Result) -> xr.DataArray:
        """As long as its gates are its own a gated network is the ReLU network (largest gap of losses over L(0), up to
        the first gate that is not).
        """
        own = frozen(result, "own_gates").sel(layer=1, drop=True) > OWN
        first = own.cumprod("time").astype(bool)  # up to the first recording at which one is not
        return gaps(result).where(first).max("time").rename(frozen_at="step")

    @claims.theory(claims.below(600.0))
    def random_gates_part_at_once(self, result: Result) -> xr.DataArray:
        """The loss of a gated network with the gates of the random start departs from the ReLU network's before units
        switch (step at which losses differ by 1% of L(0); our threshold).
        """
        return departures(result, 0)

    @claims.theory(claims.near(800.0, 150.0), source=STABLE)
    def parting_when_units_switch(self, result: Result) -> xr.DataArray:
        """With gates frozen on the first plateau, at step 400, the loss departs from the ReLU network's when units
        switch, at about step 800 (step at which losses differ by 1% of L(0)).
        """
        return departures(result, PLATEAU)

    @claims.theory(
        claims.above(3.0),
        reason=f"our expectation: the few units that are not on everywhere learn the rest in time; {SEE}",
    )
    def linear_plateau(self, result: Result) -> xr.DataArray:
        """A gated network with gates of the first plateau, where all units that matter are on everywhere, learns less
        than the ReLU network (loss at the end over that of the ReLU network; our threshold).
        """
        ends = frozen(result, "loss").sel(frozen_at=at(result, PLATEAU), drop=True).isel(time=-1)
        return ends / learned(result).isel(time=-1)

    @claims.paper(
        STABLE,
        claims.below(APART),
        reason=f"our threshold: wide networks differ by 1.04% of L(0) from step 3000, by .55% from step 4000; {SEE}",
    )
    def ever_after(self, result: Result) -> xr.DataArray:
        """Frozen at step 3000 or later, the gated network has the loss of the ReLU network for ever after (largest gap
        over L(0); our threshold).
        """
        return gaps(result).max("time").sel(frozen_at=late(result)).rename(frozen_at="step")

    @claims.paper(STABLE, claims.above(0.95), reason=f"gates go on to change while losses agree; {SEE}")
    def settled_gates(self, result: Result) -> xr.DataArray:
        """Gates have stabilised at step 3000: nearly all of them are the network's own at the end (share by strength;
        our threshold).
        """
        learned(result)  # or there is no end to speak of
        ends = frozen(result, "own_gates").sel(layer=1, drop=True).isel(time=-1)
        return ends.sel(frozen_at=at(result, LATE), drop=True)

    @claims.theory(claims.above(0.03))
    def apart_by_what_is_left(self, result: Result) -> xr.DataArray:
        """Relative to the loss that is left at step 3000, the gated network still differs from the ReLU network by some
        per cent (largest gap over L(3000); our threshold).
        """
        return relative_gaps(result).sel(frozen_at=at(result, LATE), drop=True)

    def figure(self, result: Result) -> Figure:
        """Losses of some networks; how long they agree, how far they differ, and how many gates keep, over t."""
        with Page(2, 2, height=4.5) as page:
            draw_losses(page[0], result)
            draw_agreement(page[1], result)
            times = result["frozen_at"].values / 1000
            kept = {"ls": "-", "lw": 1.0, "ms": 4, "mfc": "white", "mew": 0.9}
            means(page[2], times, gaps(result).max("time"), color=BLUE, marker="o", label="over L(0)", **kept)
            means(page[2], times, relative_gaps(result), color=VERMILLION, marker="s", label="over L(t)", **kept)
            page[2].axhline(APART, color="0.5", lw=0.8, ls=":")
            page[2].set(ylabel="largest gap after t", yscale="log")
            page[2].legend(fontsize=6.5, loc="lower left")
            own = frozen(result, "own_gates").sel(layer=1).isel(time=-1)
            means(page[3], times, own, color=BLUE, marker="o", **kept)
            page[3].set(ylabel="gates of t that are the\nnetwork's own at the end", ylim=(0.4, 1.0))
            for axis in (page[1], page[2], page[3]):
                axis.set(xlabel="gates frozen at step t (thousands)")
        return page.figure


def learned(result: Result) -> xr.DataArray:
    """The loss of the ReLU network; undecided unless it has come to a tenth."""
    loss = result["loss"].sel(gates="learned").isel(frozen_at=0, drop=True).drop_vars("gates")
    left = common.share_of_loss(loss).isel(time=-1)
    common.require_steps(left < LEARNED, "a tenth of the loss is not reached", result)
    return loss


def frozen(result: Result, name: str) -> xr.DataArray:
    """A variable of the networks whose gates were frozen, over the steps at which they were."""
    return result[name].sel(gates="frozen", drop=True)


def gaps(result: Result) -> xr.DataArray:
    """How far the loss with frozen gates is from that of the ReLU network, over L(0)."""
    loss = learned(result)
    return (abs(frozen(result, "loss") - loss) / loss.isel(time=0)).transpose("run", "frozen_at", "time")


def relative_gaps(result: Result) -> xr.DataArray:
    """The largest gap over the loss that was left when gates were frozen."""
    left = common.share_of_loss(learned(result)).interp(time=result["frozen_at"], kwargs={"fill_value": "extrapolate"})
    return gaps(result).max("time") / left


def departures(result: Result, step: float) -> xr.DataArray:
    """When losses are first apart, for gates frozen at a step; infinite if they never are."""
    return common.time_past(APART, gaps(result).sel(frozen_at=at(result, step), drop=True)).fillna(np.inf)


def at(result: Result, step: float) -> float:
    """A step at which gates are frozen, if they are, and if networks learn as fast as claims have it."""
    require_case(step in result["frozen_at"].values, f"--frozen-at {step:g} among others")
    require_case(result.config.rate == RATE, f"--rate {RATE:g}, with which units switch at about step 800")
    return step


def late(result: Result) -> list[float]:
    """The steps from which on losses should agree."""
    steps = [step for step in result["frozen_at"].values if step >= LATE]
    require_case(steps, f"gates frozen at step {LATE} or later")
    return [at(result, step) for step in steps]


def draw_losses(axis: Axes, result: Result) -> None:
    """The ReLU network as dots, and some of the gated ones as lines from the step at which they begin."""
    shares, steps = common.share_of_loss(result["loss"]), common.steps_of(result["loss"])
    there = [step for step in SHOWN if step in result["frozen_at"].values] or [*result["frozen_at"].values[:4]]
    for step, look in graded_looks(there).items():
        own = shares.sel(gates="frozen", frozen_at=step).mean("run").where(result["time"] >= step)
        axis.plot(steps, own, lw=1.2, label=f"gates of step {step:g}", **look)
    relu = shares.sel(gates="learned").isel(frozen_at=0).mean("run")
    axis.plot(steps, relu, markevery=len(steps) // 40 or 1, color="0.2", label="ReLU", **DOTS)
    axis.set(xlabel="steps (thousands)", ylabel="loss, share of L(0)", ylim=(0, 1.04))
    axis.legend(fontsize=6.5, loc="upper right")


def draw_agreement(axis: Axes, result: Result) -> None:
    """When losses part, above the step at which gates were frozen; at the end of the run if they never do."""
    steps, end = result["frozen_at"].values, result["time"].values[-1]
    apart = common.time_past(APART, gaps(result)).transpose("run", "frozen_at")
    ever, runs = apart.isnull().all("run").values, apart.fillna(end) / 1000
    kept = {"ls": "none", "ms": 4.5, "mfc": "white", "mew": 0.9}
    means(axis, steps[~ever] / 1000, runs.isel(frozen_at=~ever), color=BLUE, marker="o", label="differ from", **kept)
    means(
        axis, steps[ever] / 1000, runs.isel(frozen_at=ever), color=VERMILLION, marker="^", label="never differ", **kept
    )
    axis.plot([0, end / 1000], [0, end / 1000], color="0.5", lw=0.8, ls=":", label="frozen at")
    axis.set(ylabel="losses differ from step\n(thousands)", ylim=(0, 1.05 * end / 1000))
    axis.legend(fontsize=6.5, loc="lower right")
