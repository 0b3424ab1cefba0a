"""The figure of `abstraction/practice`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._common import ARMS
from festina.experiments.abstraction._panels import LOOKS, draw_arms
from festina.experiments.abstraction.practice import SAMPLES, SWITCHES, after_switches

MARKS = ("o", "s", "^", "D")


def draw(result: Any) -> Any:
    """Loss after the first switches in either network, after all of them, and what students have become meanwhile."""
    with fs.figures.style.style():
        figure, axes = plt.subplots(2, 2, figsize=(7.2, 4.6))
        loss = after_switches(result)
        for number, arm in enumerate(ARMS):
            _draw_samples(axes[0, number], loss[:, number, :SWITCHES], arm)
            axes[0, number].set_ylim(1.08 * loss[:, :, :SWITCHES, 1:].mean(axis=0).max(), -0.01)
        axes[0, 1].legend(loc="lower right")
        _draw_all(axes[1, 0], loss[..., SAMPLES])
        draw_arms(axes[1, 1], result, "total_alignment", lw=0.9)
        axes[1, 1].set(xlabel="time t", ylabel="total alignment", xlim=(0, result.config.until), ylim=(0, 1.05))
        fs.figures.style.letter(*axes.ravel())
    return figure


def _draw_samples(axis: Any, loss: Any, arm: str) -> None:
    """One line for each of the first switches; the axis points down, so that better is higher."""
    samples = np.arange(1, SAMPLES + 1)
    for switch in range(loss.shape[1]):
        color = plt.get_cmap("viridis")(0.85 * switch / max(1, SWITCHES - 1))
        look = {"color": color, "marker": MARKS[switch % len(MARKS)], "lw": 1.1, "label": f"switch {switch + 1}"}
        fs.figures.style.draw_band(axis, samples, loss[:, switch, 1:], **look)
    axis.set(xlabel="sample after a switch", ylabel="loss (better is up)", title=arm, xticks=samples)


def _draw_all(axis: Any, loss: Any) -> None:
    switches = np.arange(1, loss.shape[-1] + 1)
    for number, arm in enumerate(ARMS):
        look = LOOKS[arm] | {"marker": MARKS[number], "ms": 2.8, "lw": 1.0, "label": arm}
        fs.figures.style.draw_band(axis, switches, loss[:, number], **look)
    axis.set(xlabel="switch", ylabel=f"loss at sample {SAMPLES}", ylim=(0, None))
    axis.legend(loc="center right")
