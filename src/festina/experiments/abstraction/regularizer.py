"""What the bounds on gates do by themselves: they make gates compete, but never say which of them should win."""

from __future__ import annotations

from typing import TYPE_CHECKING

from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Preset, Result, named
from festina.figures.panels import Page
from festina.sources import SANDBRINK_2024
from festina.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STARTS = ("first", "second")  # dimensions of the grid of gates at the start
NONNEGATIVE = -0.01  # a gate above this counts as not negative: the rounding of its steps at zero
FINE = 1e-3  # length of a step by which gates may tremble at zero
FOLDS = 15  # times by which a distance falls by 1/e until it counts as gone
LOWEST = -1.05  # shown of either gate
EVERYWHERE, POSITIVE = (  # twelve gates at the start, evenly spaced
    tuple(low + (1.4 - low) * place / 11 for place in range(12)) for low in (-0.6, 0.05)
)
EVERY = 2  # of the starts along each side, one in so many is drawn
LEFT_BEHIND = (
    "likely the source: for k = 1 gates that all start negative are held at local minima, see the experiment's "
    "description"
)


class RegularizerFlow(Experiment):
    """The bounds on gates alone leave a whole curve of solutions, from one open gate to two that are equally open.

    Two gates descend on R(c) = λ₁ Σ max(0, −c) + λ₂ (‖c‖_k − 1)² alone, τ_c ċ = −∂R/∂c, from a grid of starts, for
    k = 1 and k = 2. R is zero on the part of the unit sphere of the norm where no gate is negative: a segment or an arc
    that holds the specialised solutions (1, 0) and (0, 1) as well as the unspecialised one in the middle. On it one
    gate can only rise if the other falls, which is competition; but nothing pulls towards its ends. From gates that
    are not negative the flow is solved in closed form (`model/bounded-gates`).

    The bound against negative gates is soft. For k = 1 and λ₁ < 2λ₂, gates that all start below zero stay there: the
    norm pushes them outwards, and the segment ‖c‖₁ = 1 − λ₁/2λ₂ =: q with all c < 0 is made of local minima. For k = 2
    such gates come to an axis, at (−q, 0), where the one that reached zero feels no force; any disturbance to the
    positive side (here, the length of a step) grows, but only as e^(λ₁t/q). Equal negative gates go to another saddle,
    with ‖c‖₂ = 1 − λ₁/(√2 λ₂). That gates are confined to the positive quadrant is thus true of k = 2 after a long
    time, and of k = 1 only if they do not all begin outside it.
    """

    name = "abstraction/regularizer"
    sources = (SANDBRINK_2024,)
    arms = Arms(models.BoundedGates, norm=named(L1={"order": 1}, L2={"order": 2}), first=EVERYWHERE, second=EVERYWHERE)
    quick = {"records": 200}
    presets = (
        Preset("Figure B.1", "Most gates come to the positive segment or arc; some negative ones are left behind."),
        Preset("firm bounds", "With λ₁ above 2λ₂ no start is left among the negative gates.", {"nonnegativity": 1.0}),
        Preset(
            "positive starts", "Gates that start positive follow the closed forms.", dict.fromkeys(STARTS, POSITIVE)
        ),
    )

    @claims.theory(claims.below(2e-3))
    def exact(self, result: Result) -> xr.DataArray:
        """Gates that start positive follow the closed form (largest error of any of them at any time)."""
        if not starts_of(result)["positive"].any():
            raise claims.NotApplicable("needs positive starts")
        if result.config.until / result.config.steps > FINE * (1 + 1e-9):
            steps = int(np.ceil(result.config.until / FINE))
            raise claims.Undecided(f"an error that is not that of the steps needs --steps {steps}")
        return abs(result["gates"] - result.solved["gates"]).max()

    @claims.theory(claims.below(1e-3), source=SANDBRINK_2024.at("fig. B.1"))
    def zero(self, result: Result) -> xr.DataArray:
        """The regulariser can be satisfied without residue (largest R at the end from starts that are not all
        negative).
        """
        some = ~starts_of(result)["negative"]
        return settled(result, some, "starts that are not all negative", climb=climbing(result))["penalty"].max(STARTS)

    @claims.paper(SANDBRINK_2024.at("app. B.3, fig. B.1"), claims.below(1e-6))
    def unspecialised_solution(self, result: Result) -> xr.DataArray:
        """Equal gates are a solution (largest regulariser R at the end from starts that are positive and equal; our
        threshold).
        """
        starts = starts_of(result)
        return settled(result, starts["positive"] & (abs(starts["apart"]) < 1e-12))["penalty"].max(STARTS)

    @claims.paper(SANDBRINK_2024.at("app. B.3, fig. B.1"), claims.below(1e-3))
    def not_forced(self, result: Result) -> xr.DataArray:
        """Unequal gates are not forced to specialise: positive starts with |c₁ − c₂| < 1 keep that difference for k = 1
        (largest change; our threshold).
        """
        starts = starts_of(result)
        end = settled(result, starts["positive"] & (abs(starts["apart"]) < 1.0))["apart"]
        return abs(end.sel(norm="L1") - starts["apart"]).max()

    @claims.paper(SANDBRINK_2024.at("app. B.3"), claims.below(-0.9))
    def competition(self, result: Result) -> xr.DataArray:
        """Among solutions a more open gate means a less open other one (correlation of the two gates at the end; our
        threshold).
        """
        gates = settled(result, starts_of(result)["positive"], count=3)["gates"]
        return xr.corr(gates.sel(gate=0), gates.sel(gate=1), STARTS)

    @claims.paper(SANDBRINK_2024.at("app. B.3"), claims.near(1.0, 0.05), reason=LEFT_BEHIND)
    def nonnegative_l1(self, result: Result) -> xr.DataArray:
        """For k = 1 gates are constrained to the positive quadrant (share of all starts that end there; our
        tolerance).
        """
        return share_nonnegative(result, "L1")

    @claims.paper(SANDBRINK_2024.at("app. B.3"), claims.near(1.0, 0.05))
    def nonnegative_l2(self, result: Result) -> xr.DataArray:
        """For k = 2 gates are constrained to the positive quadrant (share of all starts that end there; our
        tolerance).
        """
        return share_nonnegative(result, "L2")

    @claims.theory(claims.below(1e-3))
    def negative_minima(self, result: Result) -> xr.DataArray:
        """For k = 1 gates that are all negative end at ‖c‖₁ = 1 − λ₁/2λ₂ (largest deviation)."""
        trapped = starts_of(result)["negative"] & (reach_of(result) > 0)
        gates = settled(result, trapped, "negative starts, and λ₁ < 2λ₂")["gates"].sel(norm="L1")
        return abs(abs(gates).sum("gate", skipna=False) - reach_of(result)).max()

    def figure(self, result: Result) -> Figure:
        """R over both gates with the descent of gates, for each norm; and how far apart gates are in the end."""
        with Page(1, 3, height=2.75) as page:
            for order in (1, 2):
                _draw_landscape(page[order - 1], result, order)
            _draw_differences(page[2], result)
            handles, labels = page[1].get_legend_handles_labels()
            page.figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), columnspacing=1.2)
        return page.figure


def ends(data: xr.Dataset) -> xr.Dataset:
    """The end of the only run, and how far apart its gates are."""
    end = data.isel(run=0, time=-1)
    return end.assign(apart=end["gates"].isel(gate=0, drop=True) - end["gates"].isel(gate=1, drop=True))


def starts_of(result: Result) -> xr.Dataset:
    """Which starts have no gate below zero, or none above it, and how far apart their gates are: (first, second)."""
    first, second = result["first"], result["second"]
    lower, upper = np.minimum(first, second), np.maximum(first, second)
    return xr.Dataset({"positive": lower >= 0, "negative": upper <= 0, "apart": first - second})


def reach_of(result: Result) -> float:
    """q, the norm of gates that are all negative, where they are held (k = 1), and of the saddles on axes (k = 2)."""
    return 1.0 - result.config.nonnegativity / (2.0 * result.config.normalization)


def settled(
    result: Result, starts: xr.DataArray, needs: str = "positive starts", count: int = 1, climb: float = 0.0
) -> xr.Dataset:
    """The end from some starts, if there are as many as are needed, and if it is one: the norm relaxes at the rate 2λ₂.

    ``climb`` is the time that a gate takes until it is above zero.
    """
    if starts.sum() < count:
        raise claims.NotApplicable(f"needs {needs}")
    needed = FOLDS / (2 * result.config.normalization) + climb
    if result.config.until < needed:
        raise claims.Undecided(f"the end of the flow needs --until {np.ceil(needed):g}")
    return ends(result.data).where(starts)


def climbing(result: Result, norm: str = "L1") -> float:
    """The time that gates take to be above zero: the lowest one climbs at about λ₁/2.

    For k = 2 it leaves the saddle at (−q, 0) from a distance of about one step, at the rate λ₁/q.
    """
    config, lowest = result.config, min(*result.config.first, *result.config.second)
    away = max(reach_of(result), 0.0) * max(np.log(config.steps / config.until), 0.0) if norm == "L2" else 0.0
    return 2 * (max(-lowest, 0.0) + away) / config.nonnegativity if config.nonnegativity > 0 else 0.0


def share_nonnegative(result: Result, norm: str) -> xr.DataArray:
    """The share of starts that end without a negative gate."""
    costly = xr.DataArray(result.config.nonnegativity > 0)
    end = settled(result, costly, "a cost of negative gates, λ₁ > 0", climb=climbing(result, norm))
    return (end["gates"].sel(norm=norm).min("gate") > NONNEGATIVE).mean()


def _draw_landscape(axis: Axes, result: Result, order: int) -> None:
    config = result.config
    low, high = min(LOWEST, *config.first, *config.second), max(*config.first, *config.second)
    first, second = np.meshgrid(*[np.linspace(low, high, 251)] * 2, indexing="ij")
    size = np.abs(first) + np.abs(second) if order == 1 else np.hypot(first, second)
    negative = np.maximum(-first, 0.0) + np.maximum(-second, 0.0)
    penalty = config.nonnegativity * negative + config.normalization * (size - 1.0) ** 2
    axis.contourf(first, second, np.sqrt(penalty), 24, cmap="Blues", alpha=0.8)
    _draw_ways(axis, result, f"L{order}")
    turn = np.linspace(0.0, np.pi / 2, 101)
    ray = np.stack([np.cos(turn), np.sin(turn)])
    axis.plot(*ray / (ray.sum(axis=0) if order == 1 else 1.0), color=BLACK, lw=2.0, label="R = 0")
    middle = 0.5 if order == 1 else 0.5**0.5
    axis.plot([0, 1], [1, 0], "o", color=GREEN, mec="white", ms=6, label="specialised")
    axis.plot([middle], [middle], "X", color=VERMILLION, mec="white", ms=7, label="unspecialised")
    axis.set(xlabel="gate $c_1$", ylabel="gate $c_2$", aspect="equal", title=f"$\\|c\\|_{order}$")
    axis.set(xlim=(low, high), ylim=(low, high), xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    _draw_traps(axis, result, order)


def _draw_traps(axis: Axes, result: Result, order: int) -> None:
    """Where gates that are all negative end: a segment of minima for k = 1, saddles for k = 2."""
    if (reach := reach_of(result)) <= 0:
        return
    segment = ([-reach, 0], [0, -reach]) if order == 1 else ([], [])
    axis.plot(*segment, color=PURPLE, lw=2.0, ls=(0, (2, 1)), label="other minima")
    if order == 2:
        middle = (1.0 - result.config.nonnegativity / (2.0**0.5 * result.config.normalization)) / 2.0**0.5
        places = [-reach, 0.0, -middle], [0.0, -reach, -middle]
        axis.plot(*places, "D", color=PURPLE, mec="white", ms=5, label="saddle")


def _draw_ways(axis: Axes, result: Result, norm: str) -> None:
    gates = result["gates"].isel(run=0).sel(norm=norm).transpose("first", "second", "gate", "time").values
    negative, chosen = starts_of(result)["negative"].values, np.zeros(gates.shape[:2], bool)
    chosen[::EVERY, ::EVERY] = chosen[1::EVERY, 1::EVERY] = True
    for part, color in ((chosen & ~negative, "0.35"), (chosen & negative, PURPLE)):
        first, second = np.moveaxis(gates[part], 1, 0)
        axis.plot(first.T, second.T, color=color, lw=0.6)
        axis.plot(first[:, 0], second[:, 0], ".", color=color, ms=2)
        axis.plot(first[:, -1], second[:, -1], "s", color=color, ms=2)


def _draw_differences(axis: Axes, result: Result) -> None:
    """c₁ − c₂ at the end over that at the start, for starts without a negative gate."""
    starts = starts_of(result)
    positive, begin = starts["positive"].values, starts["apart"].values
    marks = {"L2": {"color": ORANGE, "marker": "s", "ms": 3}, "L1": {"color": BLUE, "marker": "o", "mfc": "none"}}
    for norm, look in marks.items():
        end = ends(result.data)["apart"].sel(norm=norm).values
        axis.plot(begin[positive], end[positive], **{"ms": 5, "ls": "none", "label": f"$\\|c\\|_{norm[1]}$"} | look)
        if result.theory is not None:
            end, name = ends(result.theory)["apart"].sel(norm=norm).values, "theory" if norm == "L1" else ""
            axis.plot(begin[positive], end[positive], "+", color="black", ms=4, mew=0.5, label=name)
    axis.set(xlabel="$c_1 - c_2$ at the start", ylabel="$c_1 - c_2$ at the end")
    axis.legend(loc="upper left")
