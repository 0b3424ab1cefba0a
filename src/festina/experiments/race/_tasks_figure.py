"""The figure of `race/tasks`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.claims import NotApplicable, Undecided
from festina.experiments.race._tasks_networks import cosine_at
from festina.experiments.race.tasks import LARGE, crossings, shared_energy

MARKERS = ("o", "s", "^", "D", "v", "P")
LINES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (2, 1)), (0, (5, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))
ABOVE, BELOW = 1.5, 0.6  # |ȳ|C of the two courses that are shown


def draw(result: Any) -> Any:
    """Who has the energy, for each number of tasks; courses on either side of ρ*; how many pathways take part."""
    counts = result.config.tasks[:3]
    with fs.lab.style.style():
        figure = plt.figure(figsize=(7.2, 4.5))
        grid = figure.add_gridspec(2, 6)
        span = 6 // len(counts)
        shares = [figure.add_subplot(grid[0, span * k : span * (k + 1)]) for k in range(len(counts))]
        above, below, numbers = (figure.add_subplot(grid[1, 2 * k : 2 * k + 2]) for k in range(3))
        for axis, count in zip(shares, counts, strict=True):
            _draw_share(axis, result, count)
        shares[0].set_ylabel("energy share of shared path")
        shares[-1].legend(loc="lower right", fontsize=6.5, title="strength at start", title_fontsize=6.5)
        _draw_course(above, result, ABOVE)
        _draw_course(below, result, BELOW)
        above.legend(loc="upper left", fontsize=6.5, handlelength=1.4)
        _draw_numbers(numbers, result)
        fs.lab.style.letter(*shares, above, below, numbers)
    return figure


def _draw_share(axis: Any, result: Any, count: int) -> None:
    """Simulation as markers with standard errors, theory as lines, and the limit of a vanishing start."""
    share = result["share"].isel(time=-1).sel(tasks=count).transpose("run", "initial", "mean_target")
    predicted = shared_energy(result.theory["strength"].isel(time=-1)).sel(tasks=count).mean("run")
    cosine = cosine_at(count, share["mean_target"].values)
    critical = -1.0 / count
    above = np.linspace(critical, 1.0, 50)
    steps = np.concatenate([[0.0, 0.0], (1 + (count - 1) * above) / count])
    axis.plot(np.concatenate([[cosine[0], critical], above]), steps, color="0.75", lw=3.5, solid_capstyle="butt")
    axis.axvline(critical, color="0.5", lw=0.7, ls=":")
    for number, initial in enumerate(share["initial"].values):
        color, values = fs.lab.style.PALETTE[number % 7], share.isel(initial=number).values
        error = values.std(axis=0, ddof=1) / len(values) ** 0.5 if len(values) > 1 else None
        look = {"color": color, "ms": 2.6, "mfc": "white", "mew": 0.8, "elinewidth": 0.7}
        label = f"{initial:g}"
        axis.errorbar(cosine, values.mean(axis=0), error, fmt=MARKERS[number % 6], label=label, **look)
        if initial < LARGE:  # theory neglects what of the start does not grow
            axis.plot(cosine, predicted.isel(initial=number).values, color=color, ls=LINES[number % 6], lw=0.9)
    axis.set(xlabel="cosine of targets ρ", title=f"C = {count} tasks", ylim=(-0.03, 1.03))
    axis.text(critical, 0.99, f" ρ* = −1/{count}", fontsize=7, ha="left", va="top", color="0.3")
    found = _crossing(result, count)
    axis.text(critical, 0.89, f" found: {found:.3f}".replace("-", "−"), fontsize=7, ha="left", va="top", color="0.3")


def _draw_course(axis: Any, result: Any, relative: float) -> None:
    """Strengths over time from the smallest start, first run."""
    count = result.config.tasks[0]
    chosen = result["mean_target"].sel(mean_target=relative / count, method="nearest").item()
    where = {"tasks": count, "mean_target": chosen, "initial": min(result.config.initial)}
    simulated, predicted = (data["strength"].isel(run=0).sel(where) for data in (result.data, result.theory))
    names = ("shared", *(f"private {number}" for number in range(1, count + 1)))
    for number, name in enumerate(names):
        color = "#000000" if number == 0 else fs.lab.style.PALETTE[(number - 1) % 7]
        lines, dots = predicted.isel(path=number), simulated.isel(path=number, time=slice(1, None, 2))
        axis.plot(lines["time"], lines, color=color, ls=LINES[number % 6], lw=1.2, label=name)
        axis.plot(dots["time"], dots, MARKERS[number % 6], color=color, ms=2.4, mfc="white", mew=0.7)
    side = "above" if relative > 1 else "below"
    axis.set(xscale="log", xlabel="time t / τ", ylabel="strength of pathway", ylim=(-0.03, 1.12))
    axis.set_xlim(3.0, result.config.until)
    axis.set_title(f"C = {count}, ρ = {cosine_at(count, chosen):.2f}, {side} ρ*".replace("-", "−"))


def _draw_numbers(axis: Any, result: Any) -> None:
    """The effective number of pathways from the smallest start."""
    number = result["effective_number"].isel(time=-1).sel(initial=min(result.config.initial)).mean("run")
    for index, count in enumerate(result.config.tasks):
        color = fs.lab.style.PALETTE[index % 7]
        cosine = cosine_at(count, number["mean_target"].values)
        look = {"color": color, "ls": LINES[index % 6], "marker": MARKERS[index % 6], "ms": 2.4, "mfc": "white"}
        axis.plot(cosine, number.sel(tasks=count), lw=0.9, mew=0.7, label=f"C = {count}", **look)
        axis.axvline(-1.0 / count, ymin=0.28, color=color, lw=0.7, ls=":")
    axis.set(xlabel="cosine of targets ρ", ylabel="effective number", title="Pathways that take part")
    axis.set_ylim(0.0, None)
    axis.legend(loc="lower left", fontsize=6.5, handlelength=1.8)


def _crossing(result: Any, count: int) -> float:
    """Where the curves of the two smallest starts cross, on average; NaN if there are too few small starts."""
    try:
        return float(crossings(result)[:, result.config.tasks.index(count)].mean())
    except (NotApplicable, Undecided):
        return np.nan
