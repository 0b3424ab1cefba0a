"""One task after another: what a linear network forgets, on which path, and what interleaving would have saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Preset, Result, Variable, named
from festina.experiments._needs import needs
from festina.experiments.linear._common import signed
from festina.figures.panels import DOTS, Look, Page, curves, looks_of
from festina.sources import BRAUN_2022, DOMINE_2025
from festina.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCHEDULES = named(alternating={}, blocked={"blocks": 2}, interleaved={"mixture": 0.5})
MANY = 600  # blocks after which alternation has settled, or both tasks are learned
LENGTHS = tuple(0.05 * 400.0 ** (k / 24) for k in range(25))  # of alternating blocks, 0.05 to 20 τ
NAMES = {0.25: ("¼", "interleaved", 20.0, "right"), 0.5: ("½", "blocked", 0.05, "left")}
CONFLICT = "½|S₁ − S₂|²"


class Continual(Experiment):
    """What is forgotten in the end depends on the tasks alone, the trajectory on the balance of the layers.

    Networks with W₂ᵀW₂ − W₁W₁ᵀ = λI, for several λ, meet three schedules of equal length in which both tasks are shown
    equally long: blocked (S₁, then S₂), alternating blocks, and interleaved, where the statistics are those of the
    mixture, Σyx = (S₁ + S₂)/2.

    Forgetting is F(t) = L₁(t) − L₁(T₁) after the switch at T₁, and ends at ½|S₁ − S₂|² = |s|²(1 − cos θ) for every λ.
    With Δ = S₁ − S₂, blocking ends with the mean loss |Δ|²/4 over the two tasks, interleaving with |Δ|²/8, the least
    possible; alternation lies between them, ever nearer to interleaving as its blocks get shorter. These three
    values, and the end of forgetting, follow from the sources' dynamics and are derived here. With λ < 0 (the larger
    weights next to the wider layer) the rhythm into which long alternating blocks settle depends on what came before:
    learning the mixture first gives a gentler one than starting with blocks. Shown here is the second.
    """

    name = "linear/continual"
    sources = (BRAUN_2022, DOMINE_2025)
    arms = Arms(models.TaskSequence, schedule=SCHEDULES, imbalance=(-2.0, 0.0, 2.0))
    variables = {"forgetting": Variable(f"forgetting of task 1, as a share of {CONFLICT}", ("imbalance",))}
    seeds = 3
    quick = {"records": 240, "seeds": 2}
    presets = (
        Preset(
            "orthogonal tasks",
            "The second task overwrites the first; networks with other λ end there on other trajectories.",
        ),
        Preset("similar tasks", "At 30° an eighth as much is forgotten as between orthogonal tasks.", {"angle": 30.0}),
        Preset(
            "opposed tasks", "At 150° nearly twice as much is forgotten as between orthogonal tasks.", {"angle": 150.0}
        ),
        Preset(
            "short blocks",
            "In the same time, ten times shorter blocks make alternation nearly as good as interleaving.",
            {"blocks": 120},
        ),
    )

    def measure(self, data: xr.Dataset) -> dict[str, xr.DataArray]:
        """Forgetting of the blocked networks, from the middle on."""
        clock = data["clock"] if "clock" in data else data["time"]
        switch = clock.isel(time=-1) / 2
        loss = data["share"].sel(schedule="blocked", task=1)
        learned = loss.isel(time=abs(clock - switch).argmin("time"))
        share = (loss - learned).where(clock >= switch - 1e-9).drop_vars(["schedule", "task"])
        return {"forgetting": share.assign_attrs(long_name=self.variables["forgetting"].label)}

    @claims.theory(claims.below(1e-8), source=BRAUN_2022)
    def exact(self, result: Result) -> np.ndarray:
        """Restarted at every switch, the exact solution is the simulated trajectory for every schedule and every λ."""
        return result.errors("map")

    @claims.theory(claims.below(0.01))
    def forgetting_end(self, result: Result) -> xr.DataArray:
        """Forgetting of the first task ends at ½|S₁ − S₂|² for every λ (largest relative deviation)."""
        _require_learned(result)
        return abs(result["forgetting"].isel(time=-1) - 1.0).max("imbalance")

    @claims.theory(claims.above(0.1))
    def forgetting_path(self, result: Result) -> xr.DataArray:
        """How forgetting proceeds depends on λ: at some time two networks differ by more than a tenth of what is
        forgotten in the end.
        """
        if np.ptp(result.config.imbalance) < 2.0 * result.config.weakest:
            raise claims.NotApplicable("needs imbalances that differ by twice the weakest mode at least")
        _require_learned(result)
        forgetting = result["forgetting"]
        return (forgetting.max("imbalance") - forgetting.min("imbalance")).max("time")

    @claims.theory(claims.near(0.25, 0.0025))
    def interleaved(self, result: Result) -> xr.DataArray:
        """Interleaving ends with the mean loss |S₁ − S₂|²/8 over both tasks, the least possible (as a share of
        ½|S₁ − S₂|²).
        """
        if result.config.until < (needed := _duration(result, "interleaved")):
            raise claims.Undecided(f"too short for the mixture: {needs(result.config, 'until', needed)}")
        return final_loss(result, "interleaved").mean("imbalance")

    @claims.theory(claims.near(0.5, 0.005))
    def blocked(self, result: Result) -> xr.DataArray:
        """Blocking ends with the mean loss |S₁ − S₂|²/4 over both tasks, twice that of interleaving (as a share of
        ½|S₁ − S₂|²).
        """
        _require_learned(result)
        return final_loss(result, "blocked").mean("imbalance")

    @claims.theory(claims.below(0.01), budget="full")
    def short_blocks(self, result: Result) -> xr.DataArray:
        """Alternating blocks of τ/20 are as good as interleaving: the exact mean loss over both tasks is
        |S₁ − S₂|²/8 up to 1 % of it.
        """
        if _duration(result, "interleaved") > MANY * LENGTHS[0]:
            raise claims.NotApplicable("needs tasks that are learned within 30 τ")
        return abs(4.0 * loss_of_block_lengths(result, LENGTHS[:1], seed=0).isel(length=0) - 1.0)

    def figure(self, result: Result) -> Figure:
        """Both losses, forgetting, the three schedules, and the price of long blocks."""
        looks = looks_of(result.config.imbalance, (VERMILLION, BLACK, BLUE, GREEN, PURPLE))
        with Page(2, 2, height=4.8, width_ratios=(1.25, 1)) as page:
            _draw_losses(page[0], result, looks)
            _draw_forgetting(page[1], result, looks)
            _draw_schedules(page[2], result)
            _draw_lengths(page[3], result, looks)
            lines = {f"λ = {signed(imbalance)}": look for imbalance, look in looks.items()}
            page.legend(lines | {"simulated": {"color": "0.3"} | DOTS})
        return page.figure


def _models(result: Result, schedule: str) -> list[models.TaskSequence]:
    """The networks of one schedule, one for each λ."""
    return [cast("models.TaskSequence", arm.model) for arm in result.arms if arm.labels["schedule"] == schedule]


def _duration(result: Result, schedule: str) -> float:
    return max(model.duration for model in _models(result, schedule))


def final_loss(result: Result, schedule: str) -> xr.DataArray:
    """The mean loss over both tasks at the end, as a share of ½|S₁ − S₂|²; dimensions run, imbalance."""
    return result["share"].sel(schedule=schedule).mean("task").isel(time=-1)


def _require_learned(result: Result) -> None:
    """Whether the blocked networks have learned each task, but for 1 %, when its half of the time is over."""
    loss, ends = result["share"].sel(schedule="blocked"), {1: result["share"].sizes["time"] // 2, 2: -1}
    if max(float(loss.sel(task=task).isel(time=end).max()) for task, end in ends.items()) > 0.01:
        needed = needs(result.config, "until", 2.0 * _duration(result, "blocked"))
        raise claims.Undecided(f"a task is not learned yet: {needed}")


def loss_of_block_lengths(result: Result, lengths: tuple[float, ...], seed: int) -> xr.DataArray:
    """Exact mean loss over both tasks after many blocks of one length, as a share of ½|S₁ − S₂|²."""

    def end(model: models.TaskSequence, length: float) -> float:
        until = MANY * length
        return model.model_copy(update={"blocks": MANY, "until": until}).theory(seed)(until)["share"].mean()

    losses = [[end(model, length) for model in _models(result, "alternating")] for length in lengths]
    return xr.DataArray(losses, [("length", list(lengths)), ("imbalance", list(result.config.imbalance))])


def _draw_losses(axis: Axes, result: Result, looks: Mapping[float, Look]) -> None:
    """Blocked: the loss on either task, exact as lines, simulated as dots on that of the first."""
    until, at = result.config.until, {"schedule": "blocked", "task": 1}
    curves(axis, result, "share", by="imbalance", looks=looks, every=result.config.records // 20, **at)
    for imbalance, look in looks.items():
        second = result["share"].sel(schedule="blocked", imbalance=imbalance, task=2).isel(run=0)
        axis.plot(second["time"], second, alpha=0.45, lw=1.1, **look)
    axis.axvline(until / 2, color="0.6", lw=0.7)
    for half, height, name in ((0.25, 1.04, "task 1"), (0.75, 0.05, "task 2")):
        axis.text(half, 1.0, f"{name} shown", transform=axis.transAxes, ha="center", va="bottom", fontsize=7.5)
        axis.text(0.99 * until, height, name if half < 0.5 else f"{name} (pale)", ha="right", fontsize=7)
    top = float(result["share"].sel(schedule="blocked").isel(run=0).max())
    axis.set(xlim=(0, until), ylim=(-0.03, 1.15 * top), ylabel=f"loss / {CONFLICT}")


def _draw_forgetting(axis: Axes, result: Result, looks: Mapping[float, Look]) -> None:
    """After the switch, in every run."""
    forgetting, until = result["forgetting"], result.config.until
    for imbalance, look in looks.items():
        course = forgetting.sel(imbalance=imbalance).transpose("time", "run")
        axis.plot(course["time"] - until / 2, course, lw=1.2, **look)
    axis.axhline(1.0, color="0.6", lw=0.7, ls=":")
    axis.text(0.49 * until, 1.03, f"{CONFLICT}, for every λ", ha="right", va="bottom", fontsize=7, color="0.3")
    axis.set(xlim=(0, until / 2), ylim=(-0.03, 1.18), xlabel="time since the switch (t − T₁) / τ")
    axis.set(ylabel=f"forgetting F / {CONFLICT}", title="One end, different paths")


def _draw_schedules(axis: Axes, result: Result) -> None:
    """The mean loss over both tasks at the smallest |λ|."""
    imbalance = min(result.config.imbalance, key=abs)
    mean = result["share"].sel(imbalance=imbalance).isel(run=0).mean("task")
    for schedule, look in looks_of(SCHEDULES, (GREEN, PURPLE, ORANGE)).items():
        axis.plot(mean["time"], mean.sel(schedule=schedule), label=schedule, **look)
    for share, (name, *_) in NAMES.items():
        axis.axhline(share, color="0.6", lw=0.7, ls=":", zorder=0)
        axis.text(1.01, share, name, transform=axis.get_yaxis_transform(), va="center", fontsize=7.5)
    axis.set(xlim=(0, result.config.until), ylim=(0, 1.12 * float(mean.max())), xlabel="time t / τ")
    axis.set(ylabel=f"mean loss of both tasks\n/ {CONFLICT}", title=f"Three schedules, λ = {signed(imbalance)}")
    axis.legend(loc="lower center", ncols=3, bbox_to_anchor=(0.5, 0.08))


def _draw_lengths(axis: Axes, result: Result, looks: Mapping[float, Look]) -> None:
    """The exact mean loss at the end of a block against the length of blocks, and the simulated one."""
    exact = loss_of_block_lengths(result, LENGTHS, seed=int(result["seed"][0]))
    simulated, length = final_loss(result, "alternating").isel(run=0), result.config.until / result.config.blocks
    for imbalance, look in looks.items():
        axis.plot(exact["length"], exact.sel(imbalance=imbalance), **look)
        axis.plot(length, simulated.sel(imbalance=imbalance), color=look["color"], marker="o", ms=4, mfc="white")
    for share, (_, name, place, side) in NAMES.items():
        axis.axhline(share, color="0.6", lw=0.7, ls=":", zorder=0)
        axis.text(place, share + 0.004, name, fontsize=7, va="bottom", color="0.3", ha=side)
    axis.set(xscale="log", ylim=(0.23, 0.53), xlabel="length of alternating blocks / τ")
    axis.set(ylabel=f"mean loss at the end\n/ {CONFLICT}", title="Long blocks cost")
    axis.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
