"""What the experiments on contexts share: how fast losses fall, what claims need, how numbers of contexts are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import festina as fs
from festina._lazy import np, xr
from festina.claims import Undecided
from festina.experiments._needs import most_of, require_case
from festina.figures.panels import bands, beside
from festina.style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from festina.experiment import Result
    from festina.models import RectifiedContexts
    from festina.models._context_descent import ContextDescent

GREYS = ("0.95", "0.7", "0.45", "0.2", "0.0")
COLORS = (VERMILLION, BLUE, GREEN, PURPLE, ORANGE, SKY)
LINES = ((0, (1, 1)), "-", (0, (5, 1.2)), (0, (6, 1, 1, 1)), (0, (2, 1)), (0, (3, 1, 1, 1, 1, 1)))


def look_of_size(size: int) -> dict[str, Any]:
    """How units or paths of so many contexts look."""
    return {"color": COLORS[(size - 1) % 6], "ls": LINES[(size - 1) % 6], "lw": 1.4 if size == 2 else 1.3}


def share_of_loss(loss: xr.DataArray) -> xr.DataArray:
    """L(t)/L(0)."""
    return loss / loss.isel(time=0)


def time_past(level: float, values: xr.DataArray) -> xr.DataArray:
    """When numbers first come to a level from below; NaN if they have not."""
    rising = values.transpose(..., "time")
    times = fs.measures.crossing_time(values["time"].values, rising.values, level)
    return rising.isel(time=0, drop=True).copy(data=times)


def time_to(share: float, loss: xr.DataArray) -> xr.DataArray:
    """When a loss has come down to a share of what it was; NaN if it has not."""
    return time_past(-share, -share_of_loss(loss))


def slowness(share: float, loss: xr.DataArray, other: xr.DataArray) -> xr.DataArray:
    """How long a loss takes to a share of what it was, over how long another one does; NaN if one never gets there."""
    return time_to(share, loss) / time_to(share, other)


def fitted_starts(measured: xr.DataArray, networks: Iterable[ContextDescent], starts: int) -> xr.DataArray:
    """Logarithms of one or two initial strengths fitted to each run's L(t)/L(0), runs × networks × recordings: the
    recordings are replaced by `start`.
    """
    forms = [(model.closed_form, model.clock(measured["time"].values), model.initial_loss) for model in networks]

    def of_run(run: np.ndarray) -> list[np.ndarray]:
        pairs = zip(forms, run, strict=True)
        return [
            fs.theory.phases.fitted_starts(form, clock, whole * curve, starts) for (form, clock, whole), curve in pairs
        ]

    found = np.array([of_run(run) for run in measured.values])
    return xr.DataArray(found, dims=(*measured.dims[:-1], "start"), coords=measured.isel(time=0, drop=True).coords)


def fitted(measured: xr.DataArray, networks: Iterable[ContextDescent], starts: int) -> xr.DataArray:
    """The closed form of L(t)/L(0) of networks, with one or two initial strengths fitted to each run: as ``measured``,
    runs × networks × recordings.
    """
    networks = list(networks)
    logs = fitted_starts(measured, networks, starts).values
    losses = [fs.theory.phases.loss_of(model.closed_form, model.clock(measured["time"].values)) for model in networks]
    shares = [
        [loss(own) / model.initial_loss for loss, model, own in zip(losses, networks, run, strict=True)] for run in logs
    ]
    return measured.copy(data=np.array(shares))


def steps_to(share: float, model: RectifiedContexts, last: float) -> str:
    """Steps after the last by which the closed form has come down to a share of the loss, as a claim asks for them.

    Paths get no head start in it, so that it comes down later than networks do.
    """
    most = most_of(model, "steps")
    steps = np.geomspace(last, most, 200)
    curve = fs.theory.phases.loss_of(model.closed_form, model.clock(steps))
    late = np.flatnonzero(curve(np.log([model.width * model.deviation**2])) > share * model.initial_loss)
    if not late.size:  # theory has come down already: networks are not as it has them
        return f"more than --steps {model.steps}, or more than --width {model.width}"
    if late[-1] + 1 == len(steps):
        return f"more than the most --steps, {most}"
    return f"--steps {model.records * int(np.ceil(steps[late[-1] + 1] / model.records))}"


def require_steps(enough: Any, why: str, result: Result) -> None:
    """Undecided unless a condition holds everywhere: `the race is not over; needs more than --steps 8000`."""
    if not np.all(enough):
        raise Undecided(f"{why}; needs more than --steps {result['time'].values[-1]:.0f}")


def at_step(values: xr.DataArray, step: int, why: str) -> xr.DataArray:
    """Values at one step; undecided, and why, if a run has fewer, and not applicable if nothing was recorded then."""
    if step > values["time"].values[-1]:
        raise Undecided(why)
    require_case(step in values["time"], f"a recording at step {step}")
    return values.sel(time=step).drop_vars("time")


def lead_of(size: int, shares: xr.DataArray) -> xr.DataArray:
    """The share of units of so many contexts, less the largest share of any other number."""
    return shares.sel(size=size, drop=True) - shares.drop_sel(size=size).max("size")


def draw_over_steps(axis: Axes, values: xr.DataArray, by: str, **look: Any) -> None:
    """`bands` over thousands of steps."""
    bands(axis, values.assign_coords(time=values["time"] / 1000), by, **look)
    axis.set(xlabel="steps (thousands)")


def draw_course(axis: Axes, shares: xr.DataArray, contexts: int) -> None:
    """Shares of sizes from 1 on over time, the mean over runs with its standard error."""
    looks = {size: look_of_size(size) for size in shares["size"].values}
    draw_over_steps(axis, shares, "size", looks=looks, label=lambda size: f"{size} of {contexts}")
    axis.set(yticks=[0, 0.5, 1])


def draw_whole(axis: Axes, shares: xr.DataArray, by: str, top: float, **look: Any) -> None:
    """How much strength is in units that treat all objects of a context alike, up to a bit more than all of it."""
    draw_over_steps(axis, shares, by, **look)
    axis.set(ylabel="strength in units with\ngates of whole contexts", ylim=(0, top))


def draw_ends(axis: Axes, worlds: dict[str, xr.DataArray], looks: Sequence[Mapping[str, Any]] = ()) -> None:
    """Bars of shares at the end by the size, counted from all contexts C down: one group for each world.

    Worlds are grey, from light to dark, unless they have looks of their own.
    """
    width = 0.8 / len(worlds)
    for number, (name, last) in enumerate(worlds.items()):
        values = last.dropna("size", how="all").transpose("run", "size").values
        place = np.arange(1 - values.shape[1], 1) + beside(len(worlds), width)[number]
        look = {"color": GREYS[number % len(GREYS)], "edgecolor": "k", "linewidth": 0.5, "error_kw": {"lw": 0.7}}
        look |= looks[number] if looks else {}
        error = values.std(axis=0) / len(values) ** 0.5
        axis.bar(place, values.mean(axis=0), width, yerr=error, label=name, **look)
    ticks = range(1 - max(last.dropna("size", how="all").sizes["size"] for last in worlds.values()), 1)
    axis.set_xticks(ticks, ["C" if tick == 0 else f"C−{-tick}" for tick in ticks], fontsize=6.5)
    axis.set(yticks=[0, 0.5, 1])


def steps_of(data: xr.DataArray) -> np.ndarray:
    """The times of recordings, in thousands of steps."""
    return data["time"].values / 1000
