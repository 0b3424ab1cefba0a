"""Tasks that share teachers: students find the teachers, which are never shown alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Preset, Result, named, use
from festina.experiments.abstraction._common import SEPARATE, block_edges, ends_of_blocks, final_alignment, need_blocks
from festina.experiments.abstraction._latent import PAIRS, TEACHERS, gates_of_pairs
from festina.experiments.abstraction._panels import draw_arms, draw_gates, shade_mixtures, task_color, task_look
from festina.figures.panels import MARKS, Page, all_runs, curves
from festina.models._in_blocks import unbounded
from festina.sources import SANDBRINK_2024
from festina.style import BLUE, GREEN, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLAIN = {"composed": "tasks", "gated": "paths", "recorded": "courses"}  # means of teachers, and a gate for each path
LAST = 6  # blocks at the end over which the settled state is averaged, and that are shown: each task twice
SNAPSHOT = (
    "likely the source: any rotation of the teachers' triangle solves the tasks, and its figure is a snapshot of "
    "students that turn on slowly, see the experiment's description"
)


class Mixtures(Experiment):
    """Three tasks that overlap, each the mean of two teachers: students come near the teachers, but do not stay there.

    Teachers A, B, C are orthogonal and never shown; the tasks (A + B)/2, (B + C)/2 and (C + A)/2 have cosines of ½ with
    one another. The source trains for 50 blocks and finds one student at each teacher, with two gates half open.

    So do most runs here, and there is more to it. Nonnegative gates with Σ c = 1 reach every point of the triangle of
    students. The tasks are the midpoints of the sides of the triangle of teachers; they lie on its inscribed circle,
    which stays inside however the triangle is turned about its centre. Students may therefore stand anywhere on a
    circle, at teachers (0 degrees), nearest to tasks (60) or between them: loss and bounds do not tell. Where they
    arrive depends on the start, and from there they turn on, all together, by half a degree and more in every block,
    for hundreds of blocks. The rate does not change with the step size or without noise, and falls tenfold if gates
    are ten times faster (τ_c = .003), which leaves students where they happen to be, as often as not nearer to tasks.
    After 50 blocks of the source's settings most runs are within 15 degrees of the teachers, which is a total alignment
    of .97 and more; some have passed them. So the claims `always` and `settled` are not reproduced, and `gate-off`, an
    average over all runs, is not by a hair.

    All this is under the convention `mean`, with which the figure was evidently made. Under `sum`, the scale of the
    published code, gates stay at ⅓ and no student specialises (total alignment .46 to .48, as without bounds).
    """

    name = "abstraction/mixtures"
    sources = (SANDBRINK_2024,)
    arms = Arms(
        use(models.Composition, tasks=TEACHERS, training_blocks=0, novel_blocks=TEACHERS, **PLAIN),
        arm=named(flexible={}, forgetful=unbounded),
    )
    base = {"weight_timescale": 0.05, "nonnegativity": 1 / 3, "normalization": 5 / 6, "convention": "mean"}
    base |= {"until": 50.0, "records": 2500}
    seeds = 10
    quick = {"seeds": 3, "step_size": 0.002, "data": "population"}
    presets = (
        Preset(
            "Figure A.14", "Students come near the teachers and turn on slowly; two gates are half open in each task."
        ),
        Preset(
            "fast gates",
            "With gates ten times faster students hardly turn, and stay where they happen to be.",
            {"gate_timescale": 0.003},
        ),
    )

    @claims.reference(SEPARATE, claims.between(0.975, 0.999), loosely=claims.above(0.9))
    def specialised(self, result: Result) -> float:
        """In the flexible network every student agrees with one teacher (total alignment at the end, median run)."""
        return np.median(final_alignment(whole(result), "flexible"))

    @claims.paper(
        SANDBRINK_2024.at("app. A.9, fig. A.14D"),
        claims.above(0.97),
        loosely=claims.above(0.9),
        budget="full",
        reason=SNAPSHOT,
    )
    def always(self, result: Result) -> xr.DataArray:
        """In every run students of the flexible network specialise on the teachers behind the tasks (total alignment at
        the end; our threshold).
        """
        return final_alignment(whole(result), "flexible")

    @claims.paper(SANDBRINK_2024.at("fig. A.14D"), claims.near(0.0, 0.05), budget="full", reason=SNAPSHOT)
    def settled(self, result: Result) -> xr.DataArray:
        """Students that have found the teachers stay there (degrees by which they turn on, per block; our
        tolerance).
        """
        return turning(whole(result))

    @claims.paper(SANDBRINK_2024.at("app. A.9"), claims.above(0.0))
    def not_the_tasks(self, result: Result) -> float:
        """Students agree with a teacher better than with any task (difference of cosines, .29 at most; median run)."""
        return np.median(fs.measures.preference(_alignment(whole(result))[:, -1], PAIRS))

    @claims.theory(claims.below(0.65))
    def unspecialised(self, result: Result) -> xr.DataArray:
        """Without bounds students share the teachers (total alignment at the end, at most 1/√3 = .58 for equal
        students; our threshold).
        """
        return final_alignment(whole(result), "forgetful")

    @claims.theory(claims.near(0.5, 0.05), source=SANDBRINK_2024.at("fig. A.14C"))
    def gates_on(self, result: Result) -> xr.DataArray:
        """The gates of a task's two teachers are half open in the flexible network."""
        return late_gates(result, 0)

    @claims.paper(SANDBRINK_2024.at("fig. A.14C"), claims.near(0.0, 0.05), reason=SNAPSHOT)
    def gate_off(self, result: Result) -> xr.DataArray:
        """The gate of the teacher that is not in a task is closed in the flexible network (our tolerance)."""
        return late_gates(result, 1)

    @claims.paper(SANDBRINK_2024.at("app. A.9, fig. A.14B"), claims.below(1e-3))
    def solved(self, result: Result) -> xr.DataArray:
        """The flexible network solves the tasks (mean loss at the end of late blocks; it begins at 1/4; our
        threshold).
        """
        return ends_of_blocks(whole(result), "loss").sel(arm="flexible").isel(block=slice(-LAST, None)).mean()

    def figure(self, result: Result) -> Figure:
        """Loss and gates at the end; how students come to the teachers, and how they turn away."""
        edges, shown = block_edges(result.config)[-LAST - 1 :], range(len(block_edges(result.config)) - 1)[-LAST:]
        late = replace(result, data=result.data.sel(time=slice(edges[0], edges[-1] - 1e-9)))
        with Page(2, 3, height=4.4) as page:
            draw_arms(page[0], late, "loss", lw=1.0)
            page[0].set(ylabel="loss on the task shown", ylim=(0, 1.45 * float(late["loss"].mean("run").max())))
            draw_gates(page[1], late)
            page[1].set(ylim=(-0.05, 0.85))
            for axis in page.axes[0, :2]:
                shade_mixtures(axis, edges, [PAIRS[block % TEACHERS] for block in shown])
                axis.set(xlim=(edges[0], edges[-1]), xlabel="time t")
                axis.legend(loc="upper right", ncols=3, columnspacing=0.7, handlelength=1.3)
            looks = {teacher: task_look(teacher) for teacher in range(TEACHERS)}
            how: dict[str, Any] = {"arm": "flexible", "student": 0, "run": None, "label": "ABC".__getitem__}
            curves(page[2], result, "sorted_alignment", by="teacher", looks=looks, **how)
            page[2].set(ylabel="alignment, student of A", ylim=(-0.3, 1.05))
            look = {"ncols": 3, "columnspacing": 0.8, "title": "with teacher", "title_fontsize": 7.5}
            page[2].legend(loc="upper right", bbox_to_anchor=(1.0, 0.85), **look)
            draw_arms(page[3], result, "total_alignment", lw=1.1)
            median = result["total_alignment"].sel(arm="flexible").median("run")
            page[3].plot(result["time"], median, color=BLUE, lw=0.9, ls=":", label="flexible, median")
            page[3].set(ylabel="total alignment", ylim=(-0.05, 1.08))
            page[3].legend(handles=page[3].lines[-1:], loc="center right", bbox_to_anchor=(1.0, 0.25))
            _draw_turn(page[4], result)
            for axis in page.axes.ravel()[2:5]:
                axis.set(xlabel="time t", xlim=(0, result.config.until))
            _draw_triangle(page[5], result)
        return page.figure


def whole(result: Result) -> Result:
    """A result that has as many blocks as the source shows, after which the state is taken to be settled."""
    need_blocks(result, 50, "the settled state")
    return result


def late_gates(result: Result, which: int) -> xr.DataArray:
    """One of the three numbers of `gates_of_pairs`, of the flexible network at the ends of late blocks, by run."""
    ends = ends_of_blocks(whole(result), "sorted_gates").sel(arm="flexible").isel(block=slice(-LAST, None))
    pairs = [PAIRS[block % TEACHERS] for block in ends["block"].values]
    return xr.DataArray(gates_of_pairs(ends.transpose("run", "student", "block").values, pairs)[which], dims="run")


def _alignment(result: Result) -> np.ndarray:
    """Of the flexible network, with students in the order of their teachers: (run, time, teacher, student)."""
    return result["sorted_alignment"].sel(arm="flexible").transpose("run", "time", "teacher", "student").values


def turn(result: Result) -> xr.DataArray:
    """How far flexible students have turned from one teacher towards the next, in degrees: (run, time)."""
    return xr.DataArray(fs.measures.joint_turn(_alignment(result)), {"time": result["time"].values}, ("run", "time"))


def turning(result: Result) -> xr.DataArray:
    """The slope of `turn` over the second half of the time, in degrees per block, for each run."""
    late = turn(result).sel(time=slice(result["time"].values[-1] / 2, None))
    return late.polyfit("time", 1)["polyfit_coefficients"].sel(degree=1, drop=True) * result.config.block_length


def _draw_turn(axis: Axes, result: Result) -> None:
    """Every run, once students have a direction."""
    angles = turn(result).sel(time=slice(0.1 * result.config.until, None))
    all_runs(axis, angles, "time", marker="", ls="-", color="k", lw=0.6, alpha=0.7)
    low, high = min(-75.0, float(angles.min()) - 5), max(75.0, float(angles.max()) + 5)
    places = np.arange(np.ceil(low / 60), np.floor(high / 60) + 1)
    for multiple in places:
        name, color, line = ("tasks", ORANGE, (0, (4, 1.2))) if multiple % 2 else ("teachers", GREEN, "-")
        axis.axhline(60 * multiple, color=color, lw=0.9, ls=line, zorder=0)
        axis.text(1.01, 60 * multiple, name, transform=axis.get_yaxis_transform(), fontsize=6.5, va="center")
    axis.set(ylabel="turn of students (degrees)", ylim=(low, high), yticks=60 * places)


def _draw_triangle(axis: Axes, result: Result) -> None:
    """All students at the end, seen along A + B + C, with teachers at the corners and tasks at the midpoints."""
    around = 2 * np.pi * np.linspace(0.25, 1.25, 241)  # A at the top
    circle = np.stack([np.cos(around), np.sin(around)])
    corners = circle[:, :240:80]
    for points, line in ((corners[:, [0, 1, 2, 0]], "-"), (circle, (0, (1, 1.5))), (0.5 * circle, (0, (4, 1.5)))):
        axis.plot(*points, color="0.6", lw=0.8, ls=line)
    places = np.einsum("rms,xm->sxr", _alignment(result)[:, -1], corners)
    for teacher, (corner, place) in enumerate(zip(corners.T, places, strict=True)):
        (x, y), color, label = 1.22 * corner, task_color(teacher), "" if teacher else "students"
        axis.text(x, y, "ABC"[teacher], color=color, weight="bold", ha="center", va="center")
        axis.plot(*place, MARKS[teacher], color=color, label=label, ms=4, alpha=0.6, mew=0)
    axis.plot(*corners[:, np.asarray(PAIRS)].mean(axis=-1), "xk", ms=4.5, label="tasks")
    axis.legend(loc="upper right", bbox_to_anchor=(1.12, 1.08), handlelength=0.8, fontsize=6.5)
    axis.set(xlim=(-1.35, 1.35), ylim=(-1.1, 1.4), aspect="equal", xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
