"""The figure of `coding/analog`."""

from typing import Any

import festina as fs
from festina._lazy import np
from festina.experiments.coding._panels import canvas, draw_kernels, draw_raster, draw_readouts, draw_trace
from festina.experiments.coding.analog import learned_axes, prediction
from festina.experiments.coding.analog import readouts as all_readouts


def draw(result: Any) -> Any:
    """Readouts with the predicted covariance, their histogram, activity by class; kernels; a trace."""
    config = result.config
    last = result.data.isel(run=0, time=-1)
    readouts = last["readout"].transpose("neuron", "output").values
    activity = last["activity"].transpose("neuron", "class").values
    with fs.lab.style.style():
        figure, axes = canvas()
        draw_readouts(axes["a"], readouts, np.zeros(len(readouts)))
        _draw_ellipses(axes["a"], prediction(config).readout_covariance)
        _draw_histogram(axes["b"], result)
        span = np.abs(activity).max()
        order = np.argsort(np.arctan2(*(readouts @ learned_axes(config)[:, :2]).T[::-1]))
        draw_raster(axes["c"], activity, order, cmap="RdBu_r", vmin=-span, vmax=span)
        kernels = {"samples": result["kernel"].isel(run=0).values, "theory": prediction(config).kernels[-1]}
        draw_kernels([axes["d"], axes["e"]], kernels, config.counts)
        draw_trace(axes["f"], result)
        axes["f"].legend(loc="center right", bbox_to_anchor=(1.0, 0.53), ncols=2, columnspacing=1.0)
        fs.lab.style.letter(*axes.values())
    return figure


def _draw_ellipses(axis: Any, covariance: Any) -> None:
    """Where the theory's Gaussian falls to one and two standard deviations."""
    angle = np.linspace(0, 2 * np.pi, 200)
    root = np.linalg.cholesky(covariance[:2, :2])
    circle = root @ np.stack([np.cos(angle), np.sin(angle)])
    for number in (1, 2):
        label = "theory, 1 and 2 s.d." if number == 1 else None
        axis.plot(*(number * circle), label=label, **fs.lab.style.THEORY)
    top = np.abs(axis.get_ylim()).max()
    axis.set_ylim(-top, 1.5 * top)
    axis.legend(loc="upper right")


def _draw_histogram(axis: Any, result: Any) -> None:
    """Readouts along the axes that are learned, all chains and recordings together, with the predicted densities."""
    covariance, along = prediction(result.config).readout_covariance, all_readouts(result)
    axes = learned_axes(result.config)
    along = along.reshape(-1, along.shape[-1]) @ axes
    edges = np.linspace(-4, 4, 41) * np.sqrt(np.linalg.eigvalsh(covariance).max())
    fine = np.linspace(edges[0], edges[-1], 300)
    for number in range(axes.shape[1]):
        color = fs.lab.style.PALETTE[number]
        height = np.histogram(along[:, number], edges, density=True)[0]
        axis.stairs(height, edges, color=color, lw=1.0, ls=("-", ":")[number % 2], label=f"along axis {number + 1}")
        variance = axes[:, number] @ covariance @ axes[:, number]
        density = np.exp(-0.5 * fine**2 / variance) / np.sqrt(2 * np.pi * variance)
        axis.plot(fine, density, **fs.lab.style.THEORY)
    axis.plot([], [], label="theory", **fs.lab.style.THEORY)
    axis.set(xlabel="readout along an axis of U", ylabel="density", xlim=(edges[0], edges[-1]))
    axis.set_ylim(0, 1.75 * axis.get_ylim()[1])
    axis.legend(loc="upper right")
