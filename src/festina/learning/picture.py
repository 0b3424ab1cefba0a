"""The pictures of a trajectory, and of gates that learn a stream of tasks."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap

from festina.style import BLACK, BLUE, PALETTE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.learning.abstracted import Abstracted
    from festina.learning.trajectory import Trajectory

MOST_CURVES = 12  # of one panel
WINDOWS = 100  # running means in a stream
ARMS = (*PALETTE[2:], *PALETTE[:2])  # the first colours are those of paths
SHARED = ("loss", "test_loss", "accuracy", "test_accuracy", "map")


def draw_trajectory(run: "Trajectory") -> "Figure":
    """Loss, and beside it mode strengths, accuracy, and every other variable that is a curve or a few of them."""
    panels: list[Any] = [name for name in ("loss", "accuracy") if name in run.data]
    modes = run.strengths
    others = [name for name, values in run.data.items() if name not in SHARED and _width(values) <= MOST_CURVES]
    panels += [modes] if modes is not None else []
    panels += others
    if not panels:  # nothing but large arrays
        panels = list(run.data.data_vars)[:1]
    with style():
        figure, axes = plt.subplots(1, len(panels), figsize=(0.6 + 2.7 * len(panels), 2.5), squeeze=False)
        for axis, panel in zip(axes[0], panels, strict=True):
            if isinstance(panel, str):
                _draw_pair(axis, run, panel)
            else:
                _draw_modes(axis, panel)
            axis.set_xlabel(f"time ({run.data['time'].attrs['units']})")
    return figure


def _width(values: xr.DataArray) -> int:
    return int(np.prod([size for name, size in values.sizes.items() if name not in ("seed", "time")], initial=1))


def _draw_pair(axis: "Axes", run: "Trajectory", name: str) -> None:
    """A variable, and that of the test set dashed."""
    tested = f"test_{name}" in run.data
    colors = [BLUE] if _width(run[name]) == 1 else PALETTE
    _draw(axis, run[name], colors, label="training" if tested else None)
    if tested:
        _draw(axis, run[f"test_{name}"], [BLACK], ls="--", label="test")
        axis.legend()
    positive = name == "loss" and float(run[name].min()) > 0 and float(run[name].max() / run[name].min()) > 30
    axis.set(ylabel=name.replace("_", " "), **({"yscale": "log"} if positive else {}))


def _draw(axis: "Axes", values: xr.DataArray, colors: Any, label: str | None = None, **look: Any) -> None:
    """One line for each entry and seed; of several seeds all thin, and their mean."""
    own = [name for name in values.dims if name not in ("seed", "time")]
    flat = values.stack(entry=own) if own else values.expand_dims("entry", axis=-1)
    for number in range(min(flat.sizes["entry"], MOST_CURVES)):
        curve, color = flat.isel(entry=number), colors[number % len(colors)]
        if "seed" in values.dims:
            axis.plot(curve["time"], curve.transpose("time", "seed"), color=color, lw=0.6, alpha=0.5, **look)
            curve = curve.mean("seed")
        axis.plot(curve["time"], curve, color=color, label=label if number == 0 else None, **look)


def _draw_modes(axis: "Axes", strengths: xr.DataArray) -> None:
    """The strength of each mode of the world, strongest first."""
    count = min(strengths.sizes["mode"], MOST_CURVES)
    shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, count))
    _draw(axis, strengths.isel(mode=slice(0, count)), shades)
    axis.set(ylabel="mode strength $u_k^\\top W v_k$")
    if strengths.sizes["mode"] > count:
        axis.set_title(f"{count} strongest of {strengths.sizes['mode']} modes")


def draw_abstractions(arms: "Mapping[str, Sequence[Abstracted]]", seeds: Sequence[int] = (0,)) -> "Figure":
    """For every arm its gates over steps and, as a strip of colours, the tasks they infer; then the losses of all.

    Args:
        arms: by name, one run for each seed; gates are those of the first.
        seeds: of the runs.
    """
    count = len(arms)
    with style():
        heights = [2.0, 0.35] * count + [2.0]
        figure, axes = plt.subplots(
            2 * count + 1, 1, figsize=(5.6, 0.6 + 0.55 * sum(heights)), height_ratios=heights, sharex=True
        )
        for number, (name, runs) in enumerate(arms.items()):
            _draw_gates(axes[2 * number], axes[2 * number + 1], runs[0])
            shown = f"{name}, seed {seeds[0]}" if len(seeds) > 1 and name else name
            axes[2 * number].set_title(shown, loc="left", fontsize=8.5)
        for (name, runs), color in zip(arms.items(), _colors(count, ARMS), strict=True):
            _draw_losses(axes[-1], runs, color, name)
        lowest = min(float(_running(run.loss).min()) for runs in arms.values() for run in runs)
        highest = max(float(_running(run.loss).max()) for runs in arms.values() for run in runs)
        axes[-1].set(xlabel="step", ylabel="loss", **({"yscale": "log"} if 0 < 30 * lowest < highest else {}))
        if count > 1:
            axes[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.align_ylabels(axes)
    return figure


def _draw_gates(above: "Axes", strip: "Axes", run: "Abstracted") -> None:
    steps, paths = run.gates.shape
    colors = _colors(paths)
    for path in range(paths):
        above.plot(np.arange(1, steps + 1), run.gates[:, path], color=colors[path], lw=1.0, label=f"path {path + 1}")
    above.set(ylabel="gates")
    above.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    strip.imshow(
        run.tasks[None],
        aspect="auto",
        cmap=ListedColormap(list(colors)),
        vmin=-0.5,
        vmax=paths - 0.5,
        extent=(0.5, steps + 0.5, 0, 1),
    )
    strip.set_yticks([])
    strip.set_ylabel("task", rotation=0, ha="right", va="center")
    strip.spines[:].set_visible(False)


def _draw_losses(axis: "Axes", runs: "Sequence[Abstracted]", color: Any, name: str) -> None:
    """The running mean of the loss, that of the mean over seeds, and behind it single batches or single seeds."""
    steps = np.arange(1, len(runs[0].loss) + 1)
    smooth = np.stack([_running(run.loss) for run in runs])
    behind = smooth.T if len(runs) > 1 else runs[0].loss[:, None]
    axis.plot(steps, behind, color=color, lw=0.5, alpha=0.35)
    axis.plot(steps, smooth.mean(axis=0), color=color, lw=1.3, label=name or None)


def _running(values: np.ndarray) -> np.ndarray:
    """The mean over the last hundredth of all steps (fewer at the beginning)."""
    window = max(1, len(values) // WINDOWS)
    sums = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - window, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def _colors(count: int, palette: Sequence[str] = PALETTE) -> Any:
    return palette[:count] if count <= len(palette) else plt.get_cmap("viridis")(np.linspace(0.0, 0.9, count))
