"""Two tasks in alternation: fast and bounded gates let students specialise, free and slow ones do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Preset, Result, named
from festina.experiments.abstraction._common import (
    SEPARATE,
    block_edges,
    ends_of_blocks,
    final_alignment,
    need_blocks,
    times_in_blocks,
)
from festina.experiments.abstraction._panels import (
    LOOKS,
    draw_arms,
    draw_by_task,
    draw_gates,
    draw_in_blocks,
    shade_blocks,
)
from festina.figures.panels import Page
from festina.models._in_blocks import forgetful
from festina.sources import SANDBRINK_2024
from festina.style import GREEN, draw_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEVEL = 0.1  # the loss at which a task counts as adapted to
ROUNDS = 10  # of all tasks, which the source shows
LAST = 4  # blocks at the end over which the settled state is averaged


class Specialization(Experiment):
    """Fast, bounded gates turn relearning into switching: each student keeps one task, and gates choose among them.

    A network y = Σ_p c^p W^p x learns M linear tasks in blocks that are never announced, by joint descent
    τ_w Ẇ = −∂L/∂W, τ_c ċ = −∂L/∂c on L = ½⟨|y* − y|²⟩ + λ₁ Σ max(0, −c) + λ₂ (‖c‖₁ − 1)².

    The *flexible* arm has fast gates (τ_c ≪ τ_w) with bounds. Its students come to agree with one teacher each, and a
    switch of tasks is answered by the gates alone. The *forgetful* arm has no bounds and gates as slow as its weights:
    both students follow the current task, and everything is learned anew in every block.

    The paper prints neither losses nor times of its figure; those expected here are of a separate simulation of the
    published settings.
    """

    name = "abstraction/specialization"
    sources = (SANDBRINK_2024,)
    arms = Arms(models.TaskAbstraction, arm=named(flexible={}, forgetful=forgetful))
    seeds = 10
    quick = {"seeds": 4}
    presets = (
        Preset("Figure 2", "Students of the flexible network keep one task each, and its gates answer every switch."),
        Preset(
            "slow gates",
            "Bounds alone do not help: with gates as slow as weights nothing specialises.",
            {"gate_timescale": 1.3},
        ),
        Preset(
            "free gates",
            "Speed alone does not help: fast gates without bounds leave students alike.",
            {"nonnegativity": 0.0, "normalization": 0.0},
        ),
        Preset(
            "short blocks",
            "Blocks of a fifth are too short: in the same time nothing specialises.",
            {"block_length": 0.2},
        ),
    )

    @claims.paper(SANDBRINK_2024.at("section 4, fig. 2C"), claims.above(0.99))
    def specialised(self, result: Result) -> xr.DataArray:
        """In the flexible network every student agrees with one teacher (total alignment at the end; our threshold)."""
        need_rounds(result)
        return final_alignment(result, "flexible")

    @claims.paper(SANDBRINK_2024.at("section 4"), claims.below(0.8))
    def unspecialised(self, result: Result) -> xr.DataArray:
        """In the forgetful network students never do better than share the teachers (largest total alignment at any
        time, .71 for two equal students; our threshold).
        """
        need_rounds(result)
        return result["total_alignment"].sel(arm="forgetful").max("time")

    @claims.reference(SEPARATE, claims.below(1e-4))
    def solved(self, result: Result) -> xr.DataArray:
        """At the end of the last block the flexible network has solved the task (mean loss)."""
        need_rounds(result)
        return ends_of_blocks(result, "loss").sel(arm="flexible").isel(block=-1).mean()

    @claims.reference(SEPARATE, claims.near(0.06, 0.01))
    def unsolved(self, result: Result) -> xr.DataArray:
        """The forgetful network runs out of time in every block (loss at the ends of late blocks)."""
        ends = ends_of_blocks(result, "loss").sel(arm="forgetful")
        need_rounds(result)
        return _late(ends)

    @claims.paper(SANDBRINK_2024.at("section 5.2, fig. 2B"), claims.near(1.0, 0.05))
    def gates_open(self, result: Result) -> xr.DataArray:
        """The gate of the current task approaches 1 in the flexible network (at the ends of late blocks; our
        tolerance).
        """
        gates, current = _gates_at_ends(result)
        return _late(gates.where(current).sum("student"))

    @claims.paper(SANDBRINK_2024.at("section 5.2, fig. 2B"), claims.near(0.0, 0.05))
    def gates_closed(self, result: Result) -> xr.DataArray:
        """All gates but that of the current task are closed in the flexible network (at the ends of late blocks; our
        tolerance).
        """
        gates, current = _gates_at_ends(result)
        return _late(gates.where(~current).mean("student"))

    @claims.reference(SEPARATE, claims.near(18.0, 4.0), loosely=claims.above(5.0))
    def accelerating(self, result: Result) -> xr.DataArray:
        """Adaptation of the flexible network becomes 18 times faster with practice (time to L = .1 in the first block
        over that in late ones).
        """
        times = _adaptation(result, "flexible")
        return times.isel(block=0) / _late(times)

    @claims.reference(SEPARATE, claims.near(0.57, 0.1))
    def not_accelerating(self, result: Result) -> xr.DataArray:
        """Adaptation of the forgetful network stays slow (time to L = .1 in late blocks)."""
        return _late(_adaptation(result, "forgetful"))

    def figure(self, result: Result) -> Figure:
        """Loss, gates, alignment; how fast weights and gates change; how fast a task is adapted to."""
        with Page(2, 3, height=4.2) as page:
            draw_arms(page[0], result, "loss", lw=0.9)
            page[0].set(ylabel="loss on the task shown")
            page[0].set_ylim(0, 1.35 * page[0].get_ylim()[1])
            page[0].legend(loc="upper right", ncols=2, columnspacing=0.8)
            draw_gates(page[1], result)
            page[1].legend(loc="center right", frameon=True, framealpha=0.9, edgecolor="none")
            draw_by_task(page[2], result["sorted_alignment"].isel(student=0), "teacher", "with teacher")
            page[2].set(ylabel="alignment, student 1", ylim=(-0.1, 1.6), yticks=[0, 0.5, 1])
            for axis, of in ((page[3], "weights"), (page[4], "gates")):
                _draw_speed(axis, result, of)
            draw_in_blocks(page[5], times_in_blocks(result, LEVEL) / result.config.block_length)
            page[5].set(ylabel=f"time to L = {LEVEL:g} (blocks)", ylim=(0, 1.05))
            for axis in page.axes.ravel()[:5]:
                shade_blocks(axis, block_edges(result.config), range(result.config.tasks))
                axis.set(xlabel="time t", xlim=(0, result.config.until))
        return page.figure


def need_rounds(result: Result) -> None:
    """What is claimed takes as many rounds of all tasks as the source shows."""
    need_blocks(result, ROUNDS * result.config.tasks, "the settled state")


def _late(values: xr.DataArray) -> xr.DataArray:
    return values.isel(block=slice(-LAST, None)).mean("block")


def _gates_at_ends(result: Result) -> tuple[xr.DataArray, xr.DataArray]:
    """Gates of the flexible network at the ends of blocks, and which of them is that of the current task."""
    gates = ends_of_blocks(result, "sorted_gates").sel(arm="flexible")
    need_rounds(result)
    task = xr.DataArray(np.arange(gates.sizes["block"]) % result.config.tasks, dims="block")
    return gates, xr.DataArray(np.arange(result.config.tasks), dims="student") == task


def _adaptation(result: Result, arm: str) -> xr.DataArray:
    """Times to the level, all of a block where the loss does not get there."""
    need_rounds(result)
    return times_in_blocks(result, LEVEL).sel(arm=arm).fillna(result.config.block_length)


def _draw_speed(axis: Axes, result: Result, of: str) -> None:
    speed = result["speeds"].sel(of=of).transpose("arm", "run", "time")
    for arm, look in LOOKS.items():
        draw_band(axis, result["time"].values, speed.sel(arm=arm).values, lw=0.9, **look)
    axis.set(ylabel="|dW/dt|" if of == "weights" else "|dc/dt|", ylim=(0, None))
    if of == "gates":
        norm = (result["norms"].sel(arm="flexible") ** 2).sum("path") ** 0.5
        twin = axis.twinx()
        draw_band(
            twin, result["time"].values, norm.transpose("run", "time").values, color=GREEN, ls=(0, (5, 1.5)), lw=1.0
        )
        twin.set_ylabel("norm of students |W|", color=GREEN)
        twin.set_ylim(0, None)
        twin.spines["right"].set_visible(True)
