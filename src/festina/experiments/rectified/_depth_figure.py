"""The figure of `rectified/depth`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.rectified._panels import SIZE_LOOKS
from festina.experiments.rectified.depth import LAYERS

LOOKS: dict[int, dict[str, Any]] = {
    1: {"color": fs.lab.style.BLUE, "ls": "-"},
    2: {"color": fs.lab.style.VERMILLION, "ls": (0, (5, 1.2))},
}


def draw(result: Any) -> Any:
    """Loss of every run; linearity of both layers; contexts of their units over time, and by run at the end."""
    with fs.lab.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.3))
        _draw_loss(axes[0, 0], result)
        _draw_linearity(axes[0, 1], result)
        _draw_whole(axes[0, 2], result)
        _draw_course(axes[1, 0], result, 1)
        _draw_course(axes[1, 1], result, 2)
        _draw_runs(axes[1, 2], result)
        fs.lab.style.letter(*axes.ravel())
    return figure


def _steps(result: Any) -> Any:
    return result["time"].values / 1000


def _draw_loss(axis: Any, result: Any) -> None:
    loss = result["loss"].transpose("run", "time").values
    axis.plot(_steps(result), (loss / loss[:, :1]).T, color="0.55", lw=0.7)
    axis.plot([], [], color="0.55", lw=0.7, label="each run")
    axis.plot(_steps(result), (loss / loss[:, :1]).mean(axis=0), color="k", lw=1.5, label="mean")
    axis.set(xlabel="steps (thousands)", ylabel="loss, share of L(0)", ylim=(0, 1.05))
    axis.legend(loc="upper right")


def _draw_linearity(axis: Any, result: Any) -> None:
    for layer in LAYERS:
        values = result["linearity"].sel(layer=layer).transpose("run", "time").values
        fs.lab.style.draw_band(axis, _steps(result), values, lw=1.3, label=f"layer {layer}", **LOOKS[layer])
    axis.set(xlabel="steps (thousands)", ylabel="R² of a linear map of x", ylim=(None, 1.02))
    axis.legend(loc="lower right")


def _draw_whole(axis: Any, result: Any) -> None:
    for layer in LAYERS:
        values = result["whole"].sel(layer=layer).transpose("run", "time").values
        fs.lab.style.draw_band(axis, _steps(result), values, lw=1.3, label=f"layer {layer}", **LOOKS[layer])
    axis.set(xlabel="steps (thousands)", ylabel="strength in units with\ngates of whole contexts")
    axis.set_ylim(0, 1.03)
    axis.legend(loc="upper right")


def _draw_course(axis: Any, result: Any, layer: int) -> None:
    contexts = result.config.contexts
    shares = result["strength"].sel(layer=layer).transpose("run", "size", "time")
    for size in range(1, contexts + 1):
        look = SIZE_LOOKS[(size - 1) % len(SIZE_LOOKS) + 1]
        fs.lab.style.draw_band(
            axis, _steps(result), shares.sel(size=size).values, label=f"{size} of {contexts}", **look
        )
    axis.set(xlabel="steps (thousands)", ylabel="strength, by contexts", ylim=(0, 1.35), yticks=[0, 0.5, 1])
    axis.set_title(f"Layer {layer}")
    axis.legend(loc="upper center", ncols=contexts, fontsize=6.5, columnspacing=0.8, handlelength=1.4)


def _draw_runs(axis: Any, result: Any) -> None:
    """Each run's second layer at the end as a stacked bar."""
    contexts = result.config.contexts
    last = result["strength"].sel(layer=2).isel(time=-1).transpose("size", "run").values
    place, bottom = np.arange(1, last.shape[1] + 1), np.zeros(last.shape[1])
    hatches = ("", "|||", "", "///", "xxx", "\\\\\\", "+++", "ooo", "---")
    for size in range(contexts + 1):
        color = SIZE_LOOKS[(size - 1) % len(SIZE_LOOKS) + 1]["color"] if size else "0.75"
        look = {"color": color, "edgecolor": "white", "linewidth": 0.3, "hatch": hatches[size], "alpha": 0.85}
        axis.bar(place, last[size], 0.85, bottom=bottom, label=f"{size} of {contexts}", **look)
        bottom = bottom + last[size]
    axis.set(
        xlabel="run", ylabel="strength at the end", ylim=(0, 1.45), yticks=[0, 0.5, 1], title="Layer 2, run by run"
    )
    axis.set_xticks(place)
    axis.legend(loc="upper center", ncols=(contexts + 2) // 2, fontsize=6.5, columnspacing=0.8, handlelength=1.4)
