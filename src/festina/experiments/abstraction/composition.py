"""New tasks made of old ones: gates that have learned tasks recombine them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, ExperimentConfig, Preset, Result, continuous, named, structural, use
from festina.experiments.abstraction._common import SEPARATE, block_edges, ends_of_blocks, need_blocks, times_in_blocks
from festina.experiments.abstraction._latent import PAIRS, TEACHERS, gates_of_pairs
from festina.experiments.abstraction._panels import draw_arms, draw_gates, shade_mixtures
from festina.figures.panels import Page
from festina.models._in_blocks import unbounded
from festina.ranges import Coefficient, StepSize, Timescale
from festina.sources import SANDBRINK_2024
from festina.style import ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {"task": "task composition", "task-unit": "the same, unit teachers", "subtask": "subtask composition"}
LABELS = ("loss on the task", "gates (flexible)", "total alignment")
TRAINED = 14  # blocks of single teachers after which students can be expected to know them
SOON = 0.1  # time into a block at which the loss of fig. 3 is read
BEFORE, AFTER = 3, 4  # blocks around the first new task that are shown
NOTEBOOK = SANDBRINK_2024.at("repository aproca/neural_task_abstraction, figA12_comp_generalization.ipynb")
OTHER_SCALE = (
    "likely the source: its figure was evidently made with unit rows and a mean over outputs, see the experiment's "
    "description"
)


def subtasks(config: Any) -> dict[str, Any]:
    """Rows that have gates of their own, with the settings that are the source's for them."""
    names = ("gate_timescale", "nonnegativity", "normalization", "step_size")
    own = {name: getattr(config, f"subtask_{name}") for name in names}
    return own | {"composed": "subtasks", "gated": "rows", "order": 2}


class Composition(Experiment):
    """Gates that have learned three tasks solve combinations of them almost at once; gates without bounds do not.

    Three teachers A, B, C are shown in turn, then pairs of them (CA, AB, BC, in turn), see `model/composition`: means
    of two teachers and a gate for each path in *task composition*, rows of two teachers and a gate for every row in
    *subtask composition*. The *forgetful* arm differs in nothing but its gates, which are not bounded.

    The source shows task composition twice, by all signs under two conventions of scale (`worlds.tasks`): the loss of
    fig. 3 as the published code has it (`sum`), gates and alignments of fig. A.12 with unit teachers and a mean over
    outputs (`mean`). Here `task` has the field `convention`, and `task-unit` always `mean`, under which all but a few
    runs specialise (37 of 40 with a total alignment above .99). Under `sum` the loss falls just as fast, but students
    specialise only in part (.53 to .97 in 40 runs, median .76) and the gate of the absent teacher stays open at .2:
    `specialised-sum` and `gate-off-sum` are not reproduced. Rows of the forgetful network agree a little more with
    teachers (.45) than the reference value has it (.35 to .41). (The paper prints no numbers.)

    "A+B" of the source is (A + B)/2 in its code. There, 30 blocks are followed by a stub, and new tasks begin with the
    24th; here there are 30 whole blocks, and `training_blocks` of them (23) come first. The source sorts each row to
    the teacher row it resembles most, which need not be one to one; here it is.
    """

    name = "abstraction/composition"
    sources = (SANDBRINK_2024,)
    arms = Arms(
        use(models.Composition, tasks=TEACHERS, composed="tasks", gated="paths", recorded="courses"),
        setting=named(task={}, task_unit={"convention": "mean"}, subtask=subtasks),
        arm=named(flexible={}, forgetful=unbounded),
    )
    seeds = 10
    quick = {"seeds": 3, "training_blocks": 14, "novel_blocks": 4, "until": 18.0, "records": 1800}

    class Config(ExperimentConfig):
        subtask_gate_timescale: Timescale = continuous(0.005, scale="log", unit="t", help="τ_c, subtask composition")
        subtask_nonnegativity: Coefficient = continuous(1 / 44, help="coefficient of Σ max(0, −c), subtask composition")
        subtask_normalization: Coefficient = continuous(1 / 88, help="coefficient of (‖c‖₂ − 1)², subtask composition")
        subtask_step_size: StepSize = structural(0.01, unit="t", help="length dt of steps, subtask composition")

    presets = (
        Preset("Figures 3 and A.12", "Bounded gates solve new combinations of known tasks almost at once."),
        Preset("slow gates", "With gates as slow as students new tasks take long.", {"gate_timescale": 0.2}),
    )

    @claims.reference(SEPARATE, claims.near(0.0013, 0.001), loosely=claims.below(0.01), budget="full")
    def new_task_soon(self, result: Result) -> xr.DataArray:
        """The flexible network has all but solved the first new task at t = .1 (mean loss, `sum`)."""
        return loss_soon(result, "flexible")

    @claims.reference(SEPARATE, claims.near(0.05, 0.01))
    def new_task_late(self, result: Result) -> xr.DataArray:
        """The forgetful network has not solved the first new task at t = .1 (mean loss, `sum`)."""
        return loss_soon(result, "forgetful")

    @claims.paper(SANDBRINK_2024.at("section 4, fig. 3C"), claims.above(2.0))
    def task_faster(self, result: Result) -> xr.DataArray:
        """New tasks are reached much faster by the flexible network (time to L = .02, forgetful over flexible; our
        threshold).
        """
        return adaptation(result, "task", "forgetful", 0.02) / adaptation(result, "task", "flexible", 0.02)

    @claims.paper(SANDBRINK_2024.at("app. A.8, fig. A.12G"), claims.above(0.99), loosely=claims.above(0.9))
    def specialised(self, result: Result) -> xr.DataArray:
        """In task composition every student agrees with one teacher (total alignment at the end, `mean`; our
        threshold).
        """
        return alignment(result, "task-unit", "flexible").isel(time=-1)

    @claims.code(NOTEBOOK, claims.above(0.99), budget="full", reason=OTHER_SCALE)
    def specialised_sum(self, result: Result) -> xr.DataArray:
        """In task composition every student agrees with one teacher at the scale of the published code, too (total
        alignment at the end, `sum`; our threshold).
        """
        return alignment(result, "task", "flexible", "sum").isel(time=-1)

    @claims.theory(claims.below(0.65))
    def unspecialised(self, result: Result) -> xr.DataArray:
        """Without bounds students share the teachers (total alignment at the end, at most 1/√3 = .58 for equal
        students; our threshold).
        """
        return alignment(result, "task-unit", "forgetful").isel(time=-1)

    @claims.theory(claims.near(0.5, 0.05), source=SANDBRINK_2024.at("app. A.8"))
    def gates_on(self, result: Result) -> xr.DataArray:
        """A mean of two teachers opens both their gates by one half in the flexible network (`mean`)."""
        return gates(result, "task-unit", "on")

    @claims.paper(SANDBRINK_2024.at("app. A.8, fig. A.12E"), claims.near(0.0, 0.05))
    def gate_off(self, result: Result) -> xr.DataArray:
        """A mean of two teachers turns off the gate of the third in the flexible network (`mean`; our tolerance)."""
        return gates(result, "task-unit", "off")

    @claims.code(NOTEBOOK, claims.near(0.0, 0.05), budget="full", reason=OTHER_SCALE)
    def gate_off_sum(self, result: Result) -> xr.DataArray:
        """A mean of two teachers turns off the gate of the third at the scale of the published code, too (`sum`; our
        tolerance).
        """
        return gates(result, "task", "off", "sum")

    @claims.paper(SANDBRINK_2024.at("app. A.8, fig. A.12H"), claims.above(0.95))
    def subtask_specialised(self, result: Result) -> xr.DataArray:
        """In subtask composition rows stay aligned with their teachers throughout the new tasks (mean total alignment;
        our threshold).
        """
        return alignment(result, "subtask", "flexible", "sum").mean("time")

    @claims.reference(SEPARATE, claims.between(0.35, 0.41), loosely=claims.below(0.65), budget="full")
    def subtask_unspecialised(self, result: Result) -> xr.DataArray:
        """In subtask composition rows of the forgetful network are aligned with no teacher (mean total alignment during
        new tasks).
        """
        return alignment(result, "subtask", "forgetful", "sum").mean("time")

    @claims.reference(SEPARATE, claims.near(0.01, 0.005), budget="full")
    def subtask_soon(self, result: Result) -> xr.DataArray:
        """New subtasks take the flexible network one step or so (time to L = .1 in new blocks, `sum`)."""
        return adaptation(result, "subtask", "flexible", 0.1)

    @claims.reference(SEPARATE, claims.between(0.12, 0.16), budget="full")
    def subtask_late(self, result: Result) -> xr.DataArray:
        """New subtasks take the forgetful network more than ten times as long as the flexible one (time to L = .1 in
        new blocks, `sum`).
        """
        return adaptation(result, "subtask", "forgetful", 0.1)

    @claims.paper(SANDBRINK_2024.at("app. A.8"), claims.near(1.0, 0.2))
    def subtask_gates(self, result: Result) -> xr.DataArray:
        """The two teachers of a new subtask have equal gates (smaller over larger, averaged over rows; our
        tolerance).
        """
        return gates(result, "subtask", "ratio")

    @claims.paper(SANDBRINK_2024.at("app. A.8"), claims.near(0.0, 0.02))
    def kept(self, result: Result) -> xr.DataArray:
        """New tasks leave specialisation as it was (change of total alignment in the flexible networks of both
        settings; our tolerance).
        """
        total = alignment(result, ["task-unit", "subtask"], "flexible")
        return (total.isel(time=-1) - total.isel(time=0)).transpose("setting", "run")

    def figure(self, result: Result) -> Figure:
        """A column for each setting: loss and gates around the first new task, total alignment throughout."""
        with Page(3, 3, height=5.6) as page:
            for column, (setting, title) in zip(page.axes.T, TITLES.items(), strict=True):
                _draw_column(column, replace(result, data=result.data.sel(setting=setting)))
                column[0].set_title(title, pad=16)
            for axis, label in zip(page.axes[:, 0], LABELS, strict=True):
                axis.set_ylabel(label)
            page[0].legend(loc="upper right", borderaxespad=0.1)
            clear = {"frameon": True, "framealpha": 1.0, "edgecolor": "none", "borderpad": 0.1, "fontsize": 6.5}
            names = [f"of {chr(65 + teacher)}" for teacher in range(TEACHERS)]
            page[5].legend(page[5].lines[:TEACHERS], names, ncols=3, columnspacing=0.7, handlelength=1.3, **clear)
        return page.figure


def of_new(result: Result, values: xr.DataArray, convention: str = "") -> xr.DataArray:
    """Values over time, or at blocks, while new tasks are shown; of runs that are long enough, under the convention."""
    first, last = result.config.training_blocks, result.config.training_blocks + result.config.novel_blocks
    need_blocks(result, last, "learning of old and new tasks")
    if first < TRAINED:
        raise claims.Undecided(f"what old tasks are good for needs --training-blocks {TRAINED}")
    if convention and result.config.convention != convention:
        raise claims.NotApplicable(f"needs the convention `{convention}`")
    if "block" in values.dims:
        return values.isel(block=slice(first, last))
    start, end = block_edges(result.config)[[first, last]]
    return values.sel(time=slice(start - 1e-9, end + 1e-9))


def alignment(result: Result, setting: Any, arm: str, convention: str = "") -> xr.DataArray:
    """The total alignment while new tasks are shown."""
    return of_new(result, result["total_alignment"].sel(setting=setting, arm=arm), convention)


def loss_soon(result: Result, arm: str) -> xr.DataArray:
    """The loss of task composition soon after the first new task begins, averaged over runs."""
    loss = of_new(result, result["loss"].sel(setting="task", arm=arm), "sum")
    return loss.interp(time=loss["time"][0] + SOON).mean()


def adaptation(result: Result, setting: str, arm: str, level: float) -> xr.DataArray:
    """The mean time that the loss takes to a level in new blocks, of every run."""
    times = times_in_blocks(result, level).sel(setting=setting, arm=arm)
    return of_new(result, times, "sum").mean("block", skipna=False)


def gates(result: Result, setting: str, which: str, convention: str = "") -> xr.DataArray:
    """One of the three numbers of `gates_of_pairs`, of the flexible network at the ends of new blocks, by run."""
    ends = ends_of_blocks(result, "sorted_gates").sel(setting=setting, arm="flexible")
    ends = of_new(result, ends, convention).transpose("run", "student", "block")
    if not np.isfinite(ends).all():
        raise claims.NotApplicable("needs several recordings in each block")
    found = gates_of_pairs(ends.values, [PAIRS[block % TEACHERS] for block in ends["block"].values])
    return xr.DataArray(found[("on", "off", "ratio").index(which)], dims="run")


def _draw_column(axes: Sequence[Axes], result: Result) -> None:
    """One setting; a strip above its panels has the colours of the teachers of every block."""
    known, edges = result.config.training_blocks, block_edges(result.config)
    last = min(len(edges) - 1, known + min(AFTER, result.config.novel_blocks))
    first, onset = max(0, min(known, last) - BEFORE), known * result.config.block_length
    groups = [PAIRS[block % TEACHERS] if block >= known else (block % TEACHERS,) for block in range(first, last)]
    part = replace(result, data=result.data.sel(time=slice(edges[first], edges[last])))
    draw_arms(axes[0], part, "loss", lw=1.0)
    draw_gates(axes[1], part)
    draw_arms(axes[2], result, "total_alignment", lw=1.0)
    for axis in axes[:2]:
        shade_mixtures(axis, edges[first : last + 1], groups)
        axis.set(xlim=(edges[first], edges[last]), ylabel="")
    axes[0].set_ylim(0, 1.1 * float(part["loss"].mean("run").max()))
    axes[1].set_ylim(-0.08, max(1.1, 1.1 * float(part["sorted_gates"].sel(arm="flexible").max())))
    axes[2].set(xlabel="time t", xlim=(0, result.config.until), ylim=(-0.05, 1.08), yticks=[0, 0.5, 1])
    axes[2].axhline(TEACHERS**-0.5, color=ORANGE, lw=0.8, ls=(0, (1, 1)), zorder=0)
    axes[2].text(0.6 * result.config.until, 0.6, r"$1/\sqrt{3}$", fontsize=6.5, color=ORANGE)
    axes[2].text(onset, 1.1, "new tasks", ha="center", fontsize=6.5, color="0.3")
    for axis in axes:
        axis.axvline(onset, color="0.35", lw=0.8, ls=(0, (2, 1.5)), zorder=0)
