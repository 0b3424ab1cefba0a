"""Why specialised students survive a switch: the reduced model, its conserved quantity, and where it is exact."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, ExperimentConfig, Panels, Preset, Result, continuous, named, over, use
from festina.experiments._needs import require_case
from festina.experiments.abstraction._common import block_edges, need_blocks
from festina.experiments.abstraction._panels import draw_adaptation_speeds, draw_gate_drive, draw_plane, draw_students
from festina.figures.panels import Page, curves, graded_looks, if_known
from festina.models._in_blocks import unbounded
from festina.models.reduced_abstraction import NO_TWINS
from festina.ranges import Timescale
from festina.sources import SANDBRINK_2024
from festina.style import THEORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MODEL = models.ReducedAbstraction
GATES = "adapting_gate_timescale"
LABELS = (
    *(r"specialisation $\bar{w}$", r"co-specialisation $\bar{\bar{w}}$", "loss on task B"),
    *("components of the error", "components of the error", "asymmetry", "asymmetry"),
)
THICK = "asymmetry", "second_error"  # the second of two variables in one panel
ADAPTED = 1e-2  # the loss below which the caption of fig. 4E calls an adaptation complete
WATCHED = 5.0  # how long after a switch: the length of a block in the published code
LONGER_BLOCK = "likely the source: its code has a block of 5, its table one of 1, see the experiment's description"
STRAYING = (
    "the scope of the closed form: bounds as tabulated let the sum of slow gates deviate from 1, see the description"
)
ONE_RUN = "the scope of the source: it shows one run, and some starts do not specialise in time, see the description"
TOO_SLOW = "likely the source: its tabulated timescales leave every network unspecialised, see the description"
NOTEBOOK = SANDBRINK_2024.at("repository aproca/neural_task_abstraction, fig4_mechanism.ipynb")


class Mechanism(Experiment):
    """After a switch fast gates move before weights can, so that what the students know is hardly touched.

    *Adaptation*: from complete specialisation, w^p_m = δ_pm and c = (1, 0), the second task is shown. If specialisation
    is the same on both teachers, w̄_1 = w̄_2, then τ_c c̄² − 2τ_w w̄² is conserved, and specialisation w̄ is a function
    of the gates' separation c̄ alone: w̄ = √(1 − ½(τ_c/τ_w)(1 − c̄²)) (eq. 10). As in the published code τ_w = 1 and
    dt = 10⁻⁴ (the tables have 5 and 10⁻³; with τ_w = 1 steps of 10⁻³ are themselves off the curve by 4.6·10⁻⁴, more
    than is claimed here). The regulariser is that of the tables; the code's is weaker, .05/.025. The caption's
    statement that the loss falls below 10⁻² for every τ_c is true of the code's block of 5, and false of two in the
    tables' block of 1.

    *Courses*: two tasks alternate, from small random weights. In the flexible network students stay where they are when
    the task changes and gates switch, in the forgetful one (no bounds on the gates) both students move from teacher to
    teacher and no gate closes. Timescales are those of the reduced model in fig. A.1, 1.3 and .06. Not every start is
    specialised after 17 blocks: 3 of 100 seeds are not, among them one of the first ten, and so what is claimed of
    every flexible network (`students-stay`, `gates-switch`) is not reproduced, though it is true of the nine others;
    the paper shows one run. Those tabulated for fig. 4, 5 and .7, leave every network unspecialised (the third course).

    *Outside*: besides w̄ both students learn the new task together, by co-specialisation w̿ (fig. A.11). If the sum of
    gates is 1, dw̿/dc̄ = τ_c/2τ_w w̄, which gives w̿ as a function of c̄ as well (`fs.theory.abstraction.co_specialized`),
    and an adaptation ends where w̿ + c̄w̄ = −1: the slower the gates, the sooner they stop on the curve of eq. 10. (The
    tabulated bounds hold the sum of the slowest gates less tightly, so that w̿ is off by up to .05 there.)

    *Kernel*: at a switch the loss falls through gates that move, Σ(w^p·ε)², and through weights that move, |ε|² Σ(c^p)²
    (eq. 20 with both timescales 1; fig. A.8): students that are aligned raise the first, selective gates the second.
    """

    name = "abstraction/mechanism"
    sources = (SANDBRINK_2024,)
    arms = Panels(
        adapting=Arms(
            use(MODEL, **NO_TWINS, begin="specialised", shown=(1,), weight_timescale=lambda c: c.adapting_timescale),
            adapting_gate_timescale=over("gate_timescale", 0.1, 0.18, 0.32, 0.56, 1.0),
        ),
        learning=Arms(
            use(MODEL, **NO_TWINS, begin="random", shown=(0, 1)),
            course=named(flexible={}, forgetful=unbounded, tabulated={"weight_timescale": 5.0, "gate_timescale": 0.7}),
        ),
    )
    base = {"until": 17.0, "step_size": 0.0001, "steps_per_record": 100}
    seeds = 10
    quick = {"seeds": 2, "step_size": 0.0005, "steps_per_record": 20}

    class Config(ExperimentConfig):
        adapting_timescale: Timescale = continuous(1.0, scale="log", unit="t", help="τ_w of students that adapt")

    presets = (
        Preset(
            "Figure 4",
            "Gates move first and protect what the students know; the forgetful network's students move instead.",
        ),
        Preset(
            "slow weights", "Weights ten times slower lose next to nothing in a switch.", {"adapting_timescale": 10.0}
        ),
        Preset(
            "weak bounds",
            "With the weaker bounds of the published code a switch follows the same curve.",
            {"nonnegativity": 0.05, "normalization": 0.025},
        ),
    )

    @claims.theory(claims.below(4e-4), source=SANDBRINK_2024.at("eq. 10, fig. 4E"))
    def one_curve(self, result: Result) -> xr.DataArray:
        """After a switch specialisation is the stated function of the gates' separation, with the regulariser on
        (largest distance from it).
        """
        seen = adapting(result)
        if result.config.step_size > 5.001e-4:
            raise claims.Undecided("a distance that is not one of the steps' length needs --step-size 0.0005")
        return abs(seen["overall"] - _said(result, seen["separation"])).max(["run", "time"])

    @claims.paper(SANDBRINK_2024.at("section 5.3"), claims.below(0.0))
    def protected(self, result: Result) -> xr.DataArray:
        """The faster the gates, the less specialisation is lost (steps of the least w̄ from fast to slow gates)."""
        require_case(len(result.config.adapting_gate_timescale) > 1, "at least two gate timescales")
        return adapting(result)["overall"].min(["run", "time"]).diff(GATES).rename({GATES: "step"})

    @claims.paper(SANDBRINK_2024.at("fig. 4E, table 2"), claims.below(ADAPTED), reason=LONGER_BLOCK)
    def adapted(self, result: Result) -> xr.DataArray:
        """At the end of a block of the tabulated length, 1, the loss is below .01 for every gate timescale."""
        return adapting(result, 1.0)["loss"].isel(run=0).sel(time=1.0, method="nearest")

    @claims.code(NOTEBOOK, claims.below(ADAPTED))
    def adapted_in_five(self, result: Result) -> xr.DataArray:
        """At the end of a block of 5, as in the published notebook, the loss is below .01 for every gate timescale."""
        return adapting(result, 5.0)["loss"].isel(run=0).sel(time=5.0, method="nearest")

    @claims.paper(SANDBRINK_2024.at("section 5.3, fig. A.10"), claims.below(0.05))
    def symmetric(self, result: Result) -> xr.DataArray:
        """During an adaptation specialisation on both teachers falls by approximately the same (largest |w̄_1 − w̄_2|;
        our threshold).
        """
        return abs(adapting(result)["asymmetry"]).max(["run", "time"])

    @claims.paper(SANDBRINK_2024.at("section 5.2.1, fig. A.11A, B"), claims.below(0.0))
    def opposite_errors(self, result: Result) -> xr.DataArray:
        """After a switch the two components of the error have opposite signs (largest ε_1 ε_2/|ε|² until the loss is
        below .01).
        """
        seen = adapting(result)
        product, size = seen["error"].prod("teacher"), (seen["error"] ** 2).sum("teacher")
        return (product / size).where(seen["loss"] > ADAPTED).max(["run", "time"])

    @claims.theory(claims.below(0.02), source=SANDBRINK_2024.at("eq. 24, fig. A.11D"), reason=STRAYING)
    def outside(self, result: Result) -> xr.DataArray:
        """Co-specialisation, too, is a function of the gates' separation (largest distance from the closed form for
        gates of sum 1; our threshold).
        """
        seen = adapting(result)
        return abs(seen["shared"] - _said(result, seen["separation"], "co_specialized")).max(["run", "time"])

    @claims.theory(claims.near(0.0, 0.02), source=SANDBRINK_2024.at("app. A.7.3, fig. 4E"))
    def stops_short(self, result: Result) -> xr.DataArray:
        """An adaptation ends before gates have switched completely, where co-specialisation makes up for the rest
        (separation of gates in the end less that of the closed form; our tolerance).
        """
        seen = adapting(result, WATCHED)["separation"].isel(run=0).sel(time=WATCHED, method="nearest")
        return seen - fs.theory.abstraction.adapted_separation(seen[GATES].values, result.config.adapting_timescale)

    @claims.paper(SANDBRINK_2024.at("section 5.3, app. A.7.3"), claims.below(0.0))
    def outside_matters(self, result: Result) -> xr.DataArray:
        """Learning outside of the specialisation space becomes more important for fast gates (steps from fast to slow
        gates of the largest |w̿| over the largest loss of w̄).
        """
        require_case(len(result.config.adapting_gate_timescale) > 1, "at least two gate timescales")
        seen = adapting(result, WATCHED)
        lost = 1.0 - seen["overall"].min(["run", "time"])
        return (abs(seen["shared"]).max(["run", "time"]) / lost).diff(GATES).rename({GATES: "step"})

    @claims.paper(SANDBRINK_2024.at("app. A.5, fig. A.8B"), claims.above(2.0))
    def aligned_students(self, result: Result) -> xr.DataArray:
        """Aligned students make gates move the loss (Σ(w^p·ε)² of the flexible network at the last switch over that at
        the first, median of runs; our threshold).
        """
        through = at_switches(result)["through_gates"]
        return (through.isel(time=-1) / through.isel(time=0)).median("run")

    @claims.paper(SANDBRINK_2024.at("app. A.5, fig. A.8C"), claims.above(1.5))
    def selective_gates(self, result: Result) -> xr.DataArray:
        """Selective gates make weights move the loss (Σ(c^p)² over (Σ|c^p|)² of the flexible network at the last switch
        over that at the first, 2 at most, median of runs; our threshold).
        """
        sparse = at_switches(result)["sparseness"]
        return (sparse.isel(time=-1) / sparse.isel(time=0)).median("run")

    @claims.paper(SANDBRINK_2024.at("fig. 4B"), claims.below(0.1), reason=ONE_RUN)
    def students_stay(self, result: Result) -> xr.DataArray:
        """Students of the flexible network hardly move in a late block (how far they move, over their norm; our
        threshold).
        """
        return in_last_block(result, "flexible")["way"]

    @claims.paper(SANDBRINK_2024.at("fig. 4C"), claims.above(1.0))
    def students_travel(self, result: Result) -> xr.DataArray:
        """Students of the forgetful network are remapped entirely in a late block (how far they move, over their norm,
        √2 from one teacher to the other; our threshold).
        """
        return in_last_block(result, "forgetful")["way"]

    @claims.paper(SANDBRINK_2024.at("fig. 4B"), claims.below(0.05), reason=ONE_RUN)
    def gates_switch(self, result: Result) -> xr.DataArray:
        """At the end of a late block the flexible network's smaller gate is closed (over the larger one; our
        threshold).
        """
        return in_last_block(result, "flexible")["gate"]

    @claims.paper(SANDBRINK_2024.at("fig. 4C"), claims.above(0.5))
    def gates_stay(self, result: Result) -> xr.DataArray:
        """No gate of the forgetful network turns off (the smaller over the larger one; our threshold)."""
        return in_last_block(result, "forgetful")["gate"]

    @claims.paper(SANDBRINK_2024.at("fig. 4B, table 2"), claims.above(0.8), reason=TOO_SLOW)
    def tabulated(self, result: Result) -> xr.DataArray:
        """With the tabulated timescales (5 and .7) 17 blocks lead to the flexible regime (|w̄| at the end; our
        threshold).
        """
        return abs(in_last_block(result, "tabulated")["overall"])

    def figure(self, result: Result) -> Figure:
        """Students in the plane of their teachers; an adaptation, and what eq. 10 says of it; what makes it fast."""
        looks, seen = graded_looks(sorted(result.config.adapting_gate_timescale)), adapting(result, 0.0)
        thick = {timescale: look | {"lw": 2.2, "alpha": 0.5} for timescale, look in looks.items()}
        with Page(4, 3, height=9.0) as page:
            for axis, course in ((page[0], "flexible"), (page[1], "forgetful")):
                with if_known(axis):
                    _draw_course(axis, result, course)
            page[0].legend(loc="upper right", fontsize=6.5)
            draw_gate_drive(page[2])
            _draw_curve(page[3], result, looks)
            names = ("overall", "shared", "loss", "first_error", "second_error", "errors", "asymmetry")
            apart = seen.assign(first_error=seen["error"].isel(teacher=0), second_error=seen["error"].isel(teacher=1))
            for axis, name, label in zip(page.axes.ravel()[[4, 5, 6, 7, 7, 8, 8]], names, LABELS, strict=True):
                curves(axis, replace(result, data=apart), name, by=GATES, looks=thick if name in THICK else looks)
                axis.set(xlabel="time after the switch", ylabel=label, xlim=(0, seen["time"].values[-1]))
            last = seen["time"].values[-1]
            page[5].hlines(_ends(result)[2], 0.6 * last, last, color="k", ls="--", lw=1.0, label="end", zorder=5)
            page[5].legend(handles=page[5].collections[-1:], loc="lower left", fontsize=6.5)
            page[6].axhline(ADAPTED, color="0.5", lw=0.8, label="adapted")
            page[6].axvline(1.0, color="0.5", lw=0.8, ls=":", label="τ$_B$ of the tables")
            page[6].set(yscale="log", ylim=(1e-8, 30))
            page[6].legend(handles=page[6].lines[-2:], loc="upper right", fontsize=6.5)
            page[7].axhline(0, color="0.75", lw=0.7, zorder=0)
            pairs = (
                (r"$\varepsilon_1$", r"$\varepsilon_2$"),
                (r"$\varepsilon_1+\varepsilon_2$", r"$\bar{w}_1-\bar{w}_2$"),
            )
            for axis, both in zip((page[7], page[8]), pairs, strict=True):
                axis.legend([axis.lines[0], axis.lines[len(looks)]], both, loc="lower right")
            with if_known(page[9]):
                at = at_switches(result).isel(run=0)
                draw_adaptation_speeds(
                    page.axes.ravel()[9:12].tolist(), abs(at["separation"]).values, abs(at["overall"]).values
                )
            page.legend({f"$τ_c$ = {value:g}": look for value, look in looks.items()}, loc="outside lower center")
        return page.figure


def adapting(result: Result, needed: float = 1.0) -> xr.Dataset:
    """Networks that adapt, gates from fast to slow, with w̄_1 − w̄_2 (`asymmetry`), ε (`error`), ε_1 + ε_2 (`errors`)."""
    if result["time"].values[-1] < needed - 1e-9:
        raise claims.Undecided(f"adaptation in a block of {needed:g} needs --until {needed:g}")
    seen = result.panel("adapting").sel(time=slice(WATCHED + 1e-9)).sortby(GATES).transpose("run", "time", GATES, ...)
    error = xr.DataArray([0.0, 1.0], dims="teacher") - (seen["gates"] * seen["weights"]).sum("path")
    return seen.assign(asymmetry=seen["first"] - seen["second"], error=error, errors=error.sum("teacher"))


def _ends(result: Result) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """c̄, w̄ and w̿ where an adaptation ends by theory, gates from fast to slow; only of those below 2τ_w."""
    weights, gates = result.config.adapting_timescale, np.sort(result.config.adapting_gate_timescale)
    theory, gates = fs.theory.abstraction, gates[gates < 2 * weights]
    ends = theory.adapted_separation(gates, weights)
    return ends, theory.protected(ends, gates, weights), theory.co_specialized(ends, gates, weights)


def at_switches(result: Result) -> xr.Dataset:
    """The flexible network's learning at every switch but the start: besides all that is recorded Σ(w·ε)² of its paths
    (`through_gates`) and Σc²/(Σ|c|)² (`sparseness`).
    """
    need_blocks(result, 2, "a switch")
    edges = block_edges(result.config)[1:-1]
    seen = result.panel("learning").sel(course="flexible").sel(time=edges, method="nearest")
    shown = xr.DataArray(np.eye(2)[np.arange(1, len(edges) + 1) % 2], dims=("time", "teacher"))  # from now on
    error = shown - (seen["gates"] * seen["weights"]).sum("path")
    through = (((seen["weights"] * error).sum("teacher")) ** 2).sum("path")
    sparse = (seen["gates"] ** 2).sum("path") / abs(seen["gates"]).sum("path") ** 2
    return seen.assign(through_gates=through, sparseness=sparse)


def _said(result: Result, separation: xr.DataArray, what: str = "protected") -> np.ndarray:
    """w̄ by eq. 10, or w̿, for separations of gates whose last dimension is that of their timescales."""
    separations, gates = np.broadcast_arrays(separation.values, np.sort(result.config.adapting_gate_timescale))
    return np.asarray(getattr(fs.theory.abstraction, what)(separations, gates, result.config.adapting_timescale))


def in_last_block(result: Result, course: str, blocks: int = 17) -> xr.Dataset:  # that the source shows
    """The end of the last whole block: how far students went in it over their size (`way`), smaller/larger `gate`."""
    need_blocks(result, blocks, "the settled state")
    ends = np.searchsorted(result["time"].values, block_edges(result.config)[-2:] + 1e-9) - 1  # none of the next block
    before, after = (result.panel("learning").sel(course=course).isel(time=end) for end in ends)
    moved = ((after["weights"] - before["weights"]) ** 2).sum(["path", "teacher"])
    way = (moved / (after["weights"] ** 2).sum(["path", "teacher"])) ** 0.5
    return after.assign(way=way, gate=after["gates"].min("path") / after["gates"].max("path"))


def _draw_course(axis: Axes, result: Result, course: str) -> None:
    """Both students of the first run until the last block begins, and in it, with dots as large as their gates."""
    need_blocks(result, 1, "a course")
    seen, edges = result.panel("learning").isel(run=0).sel(course=course), block_edges(result.config)
    draw_students(axis, seen["weights"].sel(time=slice(edges[-2] + 1e-9)), lw=0.5, alpha=0.35, ls="-")
    late = seen.sel(time=slice(edges[-2] - 1e-9, edges[-1] + 1e-9))
    draw_students(axis, late["weights"], late["gates"], lw=1.6, ls="-")
    draw_plane(axis, f"{course}, block {len(edges) - 1}")


def _draw_curve(axis: Axes, result: Result, looks: dict[float, dict[str, Any]]) -> None:
    """Simulations in the plane of separation and specialisation, on the curves of eq. 10."""
    seen, fine = adapting(result, 0.0).isel(run=0), xr.DataArray(np.linspace(-1, 1, 201)[:, None])
    for timescale, look in looks.items():
        one = seen.sel({GATES: timescale})
        axis.plot(one["separation"], one["overall"], color=look["color"], lw=3.2, alpha=0.75, label="simulation")
    lines = axis.plot(fine, _said(result, fine), **THEORY, label="eq. 10")
    axis.set(xlabel=r"separation of gates $\bar{c}$", ylabel=r"specialisation $\bar{w}$", title="adaptation")
    axis.plot(*_ends(result)[:2], "x", color="k", ms=4, mew=1.2, zorder=5, label="end")
    axis.set(xlim=(1.05, -1.05), ylim=(None, 1.14), yticks=[0.7, 0.8, 0.9, 1.0])
    look: dict[str, Any] = {"ncols": 3, "columnspacing": 0.5, "handlelength": 0.9, "handletextpad": 0.3}
    axis.legend(handles=[axis.lines[0], lines[0], axis.lines[-1]], loc="upper center", fontsize=6, **look)
