"""The figure of `race/context`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.race.context import ALONE, PATHWAYS, STALLED, shifted

LINES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (4, 1, 1, 1)), (0, (1.5, 1)))


def draw(result: Any) -> Any:
    """Gated pathways alone and in a race; rectified networks, their gates, and how far they follow the gated one."""
    with fs.figures.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.4))
        _draw_alone(axes[0, 0], result)
        _draw_race(axes[0, 1], result)
        _draw_rectified(axes[0, 2], result)
        _draw_contextual(axes[1, 0], result)
        _draw_gates(figure, axes[1, 1], result)
        _draw_shifted(axes[1, 2], result)
        fs.figures.style.letter(*axes.ravel())
    return figure


def _look(number: int) -> dict[str, Any]:
    return {"color": fs.figures.style.PALETTE[number % 7], "ls": LINES[number % len(LINES)]}


def _shown(result: Any) -> float:
    """The cue whose networks are shown in detail: 1, or the largest."""
    return 1.0 if 1.0 in result.config.cue else max(result.config.cue)


def _time(axis: Any, end: float) -> None:
    axis.set(xlabel="time t / τ", xlim=(0, end))


def _draw_alone(axis: Any, result: Any) -> None:
    time = result["time"].values
    every = max(1, len(time) // 60)
    for number, gating in enumerate(ALONE):
        simulated = result["alone_loss"].isel(run=0).sel(gating=gating).values
        exact = result.theory["alone_loss"].isel(run=0).sel(gating=gating).values
        axis.plot(time, exact, label=gating, **_look(number))
        look = {"color": fs.figures.style.PALETTE[number], "marker": "os"[number]}
        axis.plot(time[::every], simulated[::every], ls="none", ms=3, mfc="white", mew=0.8, **look)
    axis.plot(time, result["race_loss"].isel(run=0).values, label="race of all", **_look(2))
    axis.set(ylabel="loss, gated", ylim=(-0.01, 0.53), title="Gated pathways")
    _time(axis, min(15.0, time[-1]))
    axis.legend(loc="upper right")


def _draw_race(axis: Any, result: Any) -> None:
    strength = result["strength"].isel(run=0)
    looks = (_look(0), _look(1), _look(2) | {"lw": 2.2, "alpha": 0.7})
    for pathway, look in zip(PATHWAYS, looks, strict=True):
        axis.plot(result["time"].values, strength.sel(pathway=pathway).values, label=pathway, **look)
    axis.set(ylabel="strength of pathway", ylim=(-0.02, 1.05), title="Race of all")
    _time(axis, min(15.0, result["time"].values[-1]))
    axis.legend(loc="upper left")


def _draw_rectified(axis: Any, result: Any) -> None:
    axis.axhline(STALLED, color="0.6", lw=0.7, ls=":")
    _draw_cues(axis, result, "rectified_loss")
    axis.set(ylabel="loss, rectified", ylim=(-0.01, 0.53), title="Rectified networks")
    axis.legend(loc="upper right")


def _draw_contextual(axis: Any, result: Any) -> None:
    _draw_cues(axis, result, "contextual")
    axis.set(ylabel="share of strength", ylim=(-0.03, 1.05), title="Contextual gates")


def _draw_cues(axis: Any, result: Any, name: str) -> None:
    """Mean over runs ± its standard error, for every cue."""
    time = result["time"].values
    for number, cue in enumerate(result.config.cue):
        values = result[name].sel(cue=cue).transpose("run", "time").values
        mean, error = values.mean(axis=0), values.std(axis=0) / max(1, len(values) - 1) ** 0.5
        axis.plot(time, mean, label=f"κ = {cue:g}", **_look(number))
        axis.fill_between(time, mean - error, mean + error, color=fs.figures.style.PALETTE[number % 7], alpha=0.2, lw=0)
    _time(axis, time[-1])


def _draw_gates(figure: Any, axis: Any, result: Any) -> None:
    cue = _shown(result)
    share = result["gates"].sel(cue=cue).isel(time=-1).mean("run").transpose("on_colour", "on_motion").values
    picture = axis.imshow(share, origin="lower", cmap="Blues", vmin=0)
    axis.plot([-0.5, 4.5], [-0.5, 4.5], color="0.5", lw=0.7, ls=":")
    axis.set(xlabel="examples on, context motion", ylabel="… context colour", title=f"Gates, κ = {cue:g}")
    axis.set(xticks=range(5), yticks=range(5), xlim=(-0.5, 4.5), ylim=(-0.5, 4.5))
    figure.colorbar(picture, ax=axis, label="share of strength", shrink=0.85)


def _draw_shifted(axis: Any, result: Any) -> None:
    time, cue = result["time"].values, _shown(result)
    fits = [shifted(result, run, cue) for run in range(result.data.sizes["run"])]
    rectified = result["rectified_loss"].sel(cue=cue).isel(run=0).values
    axis.plot(time, rectified, label=f"rectified, κ = {cue:g}", **_look(0))
    gated = np.interp(time - fits[0][0], time, result["race_loss"].isel(run=0).values)
    axis.plot(time, gated, label=f"gated, {fits[0][0]:.1f} τ later", **_look(1))
    axis.set(ylabel="loss", ylim=(-0.01, 0.7), yticks=[0, 0.25, 0.5], title=f"One run; off by {fits[0][1]:.2f}")
    _time(axis, min(30.0, time[-1]))
    axis.legend(loc="upper right")
