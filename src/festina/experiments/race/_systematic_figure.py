"""The figure of `race/systematic`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.claims import NotApplicable, Undecided
from festina.experiments.race._routing_networks import mode_strengths
from festina.experiments.race.systematic import fit_starts, fitted

LINES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (4, 1, 1, 1)), (0, (1.5, 1)))
MARKERS = ("o", "s", "^", "D", "v")


def draw(result: Any) -> Any:
    """Errors on untrained pairs over gain and over time; a random start and the reductions that fit it."""
    with fs.figures.style.style():
        figure, axes = plt.subplots(2, 2, figsize=(7.2, 4.8))
        _draw_gains(axes[0, 0], result)
        _draw_course(axes[0, 1], result)
        try:
            fits = fit_starts(result)
        except (NotApplicable, Undecided):  # nothing fits, or not yet; the simulation is shown all the same
            fits = {}
        _draw_modes(axes[1, 0], result, fits)
        _draw_loss(axes[1, 1], result, fits)
        fs.figures.style.letter(*axes.ravel())
    return figure


def _look(number: int) -> dict[str, Any]:
    return {"color": fs.figures.style.PALETTE[number % 7], "ls": LINES[number % len(LINES)]}


def _spread(values: Any) -> tuple[Any, Any]:
    """Mean over runs and its standard error."""
    return values.mean(axis=0), values.std(axis=0) / max(1.0, len(values) - 1) ** 0.5


def _draw_gains(axis: Any, result: Any) -> None:
    final = result["untrained_error"].isel(time=-1).transpose("run", "trained", "gain").values
    for number, trained in enumerate(result.config.trained):
        mean, error = _spread(final[:, number])
        look = _look(number) | {"marker": MARKERS[number % len(MARKERS)], "ms": 4}
        axis.errorbar(result.config.gain, mean, error, capsize=2, label=f"K = {trained}", **look)
    axis.axhline(1.0, color="0.6", lw=0.8, ls=":", label="answering zero")
    axis.set(yscale="log", xlabel="gain of the random weights", ylabel="untrained error (½|Y|²)")
    axis.set_title(f"After learning, M = {result.config.domains}")
    axis.legend(loc="lower right")


def _draw_course(axis: Any, result: Any) -> None:
    """Trained and untrained error of the largest K, from the smallest and the largest gain."""
    trained = max(result.config.trained)
    energy = 0.5 * np.sum(mode_strengths() ** 2)
    for number, gain in enumerate(sorted({min(result.config.gain), max(result.config.gain)})):
        here = result.data.sel(trained=trained, gain=gain)
        color = fs.figures.style.PALETTE[number]
        untrained = here["untrained_error"].transpose("run", "time").values
        seen = here["loss"].transpose("run", "time").values / energy
        time = result["time"].values
        for values, ls, name in ((untrained, "-", "untrained"), (seen, (0, (2, 1)), "trained")):
            mean, error = _spread(values)
            axis.plot(time, mean, color=color, ls=ls, label=f"{name}, gain {gain:g}")
            axis.fill_between(time, mean - error, mean + error, color=color, alpha=0.2, lw=0)
    axis.set(xlabel="time t / τ", ylabel="error (½|Y|²)", title=f"While learning, K = {trained}")
    axis.set(xlim=(0, result.config.until), ylim=(0, 1.9))
    axis.legend(loc="upper right", ncols=2, columnspacing=1.0)


def _draw_modes(axis: Any, result: Any, fits: dict[str, Any]) -> None:
    strengths, time = mode_strengths(), result["time"].values
    simulated = _random(result, "strength").isel(run=0).transpose("mode", "time").values
    own = fitted(result, fits["own"][0])["strength"] if fits else None
    for mode, strength in enumerate(strengths):
        look = {"color": fs.figures.style.PALETTE[mode], "marker": MARKERS[mode]}
        axis.plot(time[::8], simulated[mode, ::8] / strength, ls="none", ms=2.6, mfc="white", mew=0.8, **look)
        if own is not None:
            axis.plot(time, own[:, mode] / strength, color=look["color"], lw=1.0, ls=LINES[mode])
        axis.plot([], [], lw=1.0, ms=3, mfc="white", ls=LINES[mode], label=f"s = {strength:.3g}", **look)
    title = "Each mode with its own $b_0$, one run" if fits else "Modes, one run; no start fits"
    axis.set(xlabel="time t / τ", ylabel="mode learned, share of s", title=title)
    axis.set(xlim=(0, _end(result)), ylim=(-0.03, 1.05) if fits else None)
    axis.legend(loc="center", bbox_to_anchor=(0.55, 0.5))


def _draw_loss(axis: Any, result: Any, fits: dict[str, Any]) -> None:
    time, loss = result["time"].values, _random(result, "loss").isel(run=0).values
    axis.plot(time[::4], loss[::4] / loss[0], "o", ms=2.6, mfc="white", mew=0.8, color="0.3", label="network")
    labels = {"own": "own $b_0$ for each mode", "common": "one $b_0$ for all"} if fits else {}
    for number, (name, label) in enumerate(labels.items()):
        exact = fitted(result, fits[name][0])["loss"]
        axis.plot(time, exact / loss[0], label=f"{label}: {fits[name + '_error'].mean():.3f}", **_look(number))
    axis.set(xlabel="time t / τ", ylabel="loss L / L(0)", xlim=(0, _end(result)), ylim=(-0.02, 1.05))
    axis.set_title("Loss, one run (mean of largest errors)" if fits else "Loss, one run")
    axis.legend(loc="upper right")


def _random(result: Any, name: str) -> Any:
    """A variable of the networks that are fitted."""
    return result[name].sel(trained=max(result.config.trained), gain=min(result.config.gain))


def _end(result: Any) -> float:
    """Once every mode is learned, there is nothing more to see."""
    strength = _random(result, "strength").isel(run=0).transpose("mode", "time").values
    done = (strength > 0.995 * mode_strengths()[:, None]).all(axis=0)
    return float(result["time"].values[np.argmax(done)]) if done.any() else result.config.until
