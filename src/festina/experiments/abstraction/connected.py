"""A fully connected network without paths: bounds on a fast second layer let gates emerge in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from festina import claims, models
from festina._lazy import np, plt, xr
from festina.experiment import Arms, Experiment, Preset, Result, named
from festina.experiments.abstraction import _common as common
from festina.experiments.abstraction._panels import draw_arms, draw_by_task, draw_in_blocks, shade_blocks
from festina.figures.panels import matrices
from festina.models._in_blocks import unbounded
from festina.sources import SANDBRINK_2024
from festina.style import BLACK, VERMILLION, letter, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 0.1  # the loss at which a task counts as adapted to
BLOCKS = 30  # that the source shows
LAST = 4  # blocks at the end over which the settled state is averaged
APPENDIX = SANDBRINK_2024.at("app. A.4, fig. A.5")
STILL_CLOSING = (
    "likely the scope of the source: after its 30 blocks gates still close, see the experiment's description"
)
BY_SORTING = (
    "likely the sorting: no unit of the forgetful network belongs to any row, so that its diagonal depends on how "
    "units are sorted, see the experiment's description"
)


class Connected(Experiment):
    """Without any paths, bounds on a fast second layer are enough for single hidden units to become gates.

    In a network y = C W x every entry of the second layer is bounded like a gate; the *forgetful* arm has the same
    timescales and no bounds. There are as many hidden units as rows in both teachers. Sorted by these rows, C of the
    flexible network is nearly diagonal in the half that belongs to the current task: ten equal entries of norm one
    would be 1/√10 = .316. (The gate of a task is the mean of that diagonal; in the paper, of all entries of the half.)

    The paper shows no numbers. Values expected here are those of a separate simulation of its settings, bounds are
    ours. Two things do not reproduce. After 30 blocks gates are not quite closed: the diagonal of the other task is at
    .04, a seventh of the open one, and still falling, so that the second layers of the two tasks overlap by .28. And
    what is found on the diagonal of the forgetful network depends on how its units are sorted, since none of them
    belongs to any row: with the sorting used here it is .16, not .06, and the total alignment .27 at the end, not
    .34 (which it reaches in the course of each block). The flexible network does not depend on it. (The forgetful
    network also ends each block with the smaller loss: what it lacks is speed, and memory.)
    """

    name = "abstraction/connected"
    sources = (SANDBRINK_2024,)
    arms = Arms(models.ConnectedAbstraction, arm=named(flexible={}, forgetful=unbounded))
    seeds = 10
    quick = {"seeds": 4}
    presets = (
        Preset(
            "Figures 6, A.4 to A.6",
            "Bounded units of the second layer become gates; the forgetful network learns anew in every block.",
        ),
        Preset("slow second layer", "A second layer as slow as the first makes no gates.", {"gate_timescale": 0.06}),
        Preset("free second layer", "Without bounds both networks are forgetful.", {"strength": 0.0}),
    )

    @claims.reference(common.SEPARATE, claims.near(0.83, 0.05), loosely=claims.above(0.7))
    def specialised(self, result: Result) -> xr.DataArray:
        """The rows of the flexible first layer agree with the rows of both teachers (total alignment at the end)."""
        return settled(result, common.final_alignment(result, "flexible"))

    @claims.reference(common.SEPARATE, claims.near(0.34, 0.05), loosely=claims.below(0.5))
    def unspecialised(self, result: Result) -> xr.DataArray:
        """The rows of the forgetful first layer do not agree with the teachers', even under the best sorting (total
        alignment at the end).
        """
        return settled(result, common.final_alignment(result, "forgetful"))

    @claims.reference(common.SEPARATE, claims.near(0.276, 0.03), loosely=claims.above(0.2))
    def gates_open(self, result: Result) -> xr.DataArray:
        """The sorted second layer of the flexible network is diagonal where the current task is (mean diagonal in late
        blocks of task A, 1/√10 at most).
        """
        return late(result, "sorted_gates", "flexible").sel(task=0, student=0)

    @claims.paper(SANDBRINK_2024.at("section 7, figs 6 and A.6"), claims.near(0.0, 0.03), reason=STILL_CLOSING)
    def gates_closed(self, result: Result) -> xr.DataArray:
        """The sorted second layer of the flexible network is zero on the diagonal of the task that is not shown (mean
        diagonal; our tolerance).
        """
        gates = late(result, "sorted_gates", "flexible")
        return gates.where(gates["student"] != gates["task"]).sum("student")

    @claims.reference(common.SEPARATE, claims.near(0.06, 0.03), reason=BY_SORTING)
    def no_gates(self, result: Result) -> xr.DataArray:
        """In the forgetful network hardly anything stands out on the diagonal of the sorted second layer (mean diagonal
        in late blocks of task A).
        """
        return late(result, "sorted_gates", "forgetful").sel(task=0, student=0)

    @claims.paper(APPENDIX, claims.below(0.2), reason=STILL_CLOSING)
    def task_specific(self, result: Result) -> xr.DataArray:
        """The flexible second layer is another one in each task (cosine between the ends of an A and a B block; our
        threshold).
        """
        return overlap(result, "flexible")

    @claims.paper(APPENDIX, claims.above(0.9), loosely=claims.above(0.7))
    def task_unspecific(self, result: Result) -> xr.DataArray:
        """The forgetful second layer does not change with the task (cosine between the ends of an A and a B block; our
        threshold).
        """
        return overlap(result, "forgetful")

    @claims.paper(APPENDIX, claims.above(0.7), loosely=claims.above(0.5))
    def single_units(self, result: Result) -> xr.DataArray:
        """Every output depends mainly on one hidden unit in the flexible network (share of its largest weight in the
        sum of their squares; our threshold).
        """
        return largest_share(result, "flexible")

    @claims.paper(APPENDIX, claims.below(0.5))
    def many_units(self, result: Result) -> xr.DataArray:
        """Every output depends on several hidden units in the forgetful network (share of its largest weight in the sum
        of their squares; our threshold).
        """
        return largest_share(result, "forgetful")

    @claims.paper(SANDBRINK_2024.at("section 7, fig. A.4A"), claims.above(2.0), loosely=claims.above(1.2))
    def accelerating(self, result: Result) -> xr.DataArray:
        """The flexible network adapts faster with practice (time to L = .1 after the first switch over that after late
        ones; our threshold).
        """
        times = common.times_in_blocks(result, LEVEL).sel(arm="flexible").fillna(result.config.block_length)
        return settled(result, times).isel(block=1) / times.isel(block=slice(-LAST, None)).mean("block")

    @claims.paper(SANDBRINK_2024.at("section 7, fig. A.4E"), claims.above(1.0))
    def second_layer_adapts(self, result: Result) -> xr.DataArray:
        """In late blocks adaptation is mostly in the flexible network's second layer (mean norm of its gradient over
        that of the first layer).
        """
        begin = settled(result, common.block_edges(result.config))[-1 - LAST]
        mean = gradients(result).sel(arm="flexible", time=slice(begin, None)).mean("time")
        return mean.sel(of="second") / mean.sel(of="first")

    def figure(self, result: Result) -> Figure:
        """Learning over time, and the second layer at the ends of the last blocks, sorted and as it is."""
        with style():
            figure = plt.figure(figsize=(7.2, 6.6))
            parts: Any = figure.subfigures(2, 1, height_ratios=(1.75, 1))
            axes = parts[0].subplots(2, 3).ravel()
            draw_arms(axes[0], result, "loss", lw=0.9)
            axes[0].set(ylabel="loss on task shown", yscale="log", ylim=(None, 50.0))
            axes[0].legend(loc="upper right", ncols=2, columnspacing=0.8)
            draw_by_task(axes[1], result["sorted_gates"], "student", "rows of")
            axes[1].set(ylabel="gates: diagonal of C", ylim=(None, 1.6 * axes[1].get_ylim()[1]))
            draw_by_task(axes[2], result["sorted_alignment"].isel(student=0), "teacher", "with teacher")
            axes[2].set(ylabel="alignment, units of A", ylim=(-0.2, 1.6), yticks=[0, 0.5, 1])
            draw_arms(axes[3], result, "total_alignment", lw=1.0)
            axes[3].set(ylabel="total alignment", ylim=(-0.1, 1))
            for layer, color in (("first", BLACK), ("second", VERMILLION)):
                means = common.means_in_blocks(result, gradients(result).sel(of=layer))
                draw_in_blocks(axes[4], means, f"{layer} layer, ", color=color, lw=1.0)
            axes[4].set(ylabel="norm of gradient", yscale="log", ylim=(None, 15 * axes[4].get_ylim()[1]))
            axes[4].legend(loc="upper right", fontsize=6.5)
            draw_in_blocks(axes[5], common.times_in_blocks(result, LEVEL))
            axes[5].set(ylabel=f"time to L = {LEVEL:g}", ylim=(0, None))
            for axis in axes[:4]:
                shade_blocks(axis, common.block_edges(result.config), range(2))
                axis.set(xlabel="time t", xlim=(0, result.config.until))
            layers = _draw_layers(parts[1], result)
            letter(*axes, layers[0, 0], layers[1, 0])
        return figure


def settled(result: Result, values: Any) -> Any:
    """Values of the settled state, which takes as many blocks as the source shows."""
    common.need_blocks(result, BLOCKS, "the settled state")
    return values


def late(result: Result, name: str, arm: str) -> xr.DataArray:
    """A variable of an arm at the ends of late blocks of each task, averaged over them."""
    return settled(result, common.late_ends(result, name, LAST).sel(arm=arm))


def overlap(result: Result, arm: str) -> xr.DataArray:
    """The cosine between the second layer at the end of A blocks and at that of B blocks, by run."""
    layer, entries = late(result, "second_layer", arm), ["output", "hidden"]
    return layer.prod("task").sum(entries) / ((layer**2).sum(entries) ** 0.5).prod("task")


def largest_share(result: Result, arm: str) -> xr.DataArray:
    """The share of the largest entry in the sum of squares of a row of the second layer, on average, by run."""
    squares = late(result, "second_layer", arm) ** 2
    return (squares.max("hidden") / squares.sum("hidden")).mean(["output", "task"])


def gradients(result: Result) -> xr.DataArray:
    """Norms of ∂L/∂W (`first`) and ∂L/∂C (`second`) over time."""
    timescales = [result.config.weight_timescale, result.config.gate_timescale]
    return result["speeds"] * xr.DataArray(timescales, {"of": ["first", "second"]})


def _draw_layers(figure: Any, result: Result) -> np.ndarray:
    """The second layer at the ends of the last blocks of A and of B: mean of runs when sorted, one run when not."""
    ends = common.block_edges(result.config)[1:]
    moments = xr.DataArray([max(ends[task::2], default=result.config.until) for task in (0, 1)], dims="task")
    both = result.data.sel(time=moments, method="nearest").stack(end=("arm", "task"))
    layers = both["sorted_second_layer"].mean("run"), both["second_layer"].isel(run=0)
    words = ("sorted,\nmean of runs", "units of A | units of B"), ("unsorted,\none run", "hidden unit")
    limit = max(float(abs(layer).max()) for layer in layers)
    axes = figure.subplots(2, 4, sharex="row", sharey=True)
    for row, layer, (name, along) in zip(axes, layers, words, strict=True):
        matrices(row, layer.transpose("end", "output", ...), cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
        row[0].set_ylabel(name, fontsize=7.5)
        for axis in row:
            axis.set_xlabel(along, fontsize=7)
    for axis, (arm, task) in zip(axes[0], both["end"].values, strict=True):
        axis.set_title(f"{arm}, end of {'AB'[task]}", fontsize=8)
        axis.axvline(both.sizes["row"] / 2 - 0.5, color="0.3", lw=0.6, ls=":")
    figure.colorbar(axes[0, 0].images[0], ax=axes, label="weight C", shrink=0.8, pad=0.01)
    return axes
