"""The figure of `abstraction/connected_map`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt

COLORS = "viridis"


def draw(result: Any) -> Any:
    """Both maps of total alignment, with the number in every cell."""
    with fs.figures.style.style():
        figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.0), sharey=True)
        first = _draw_map(axes[0], result, "timescale_map", "second_timescale")
        _draw_map(axes[1], result, "strength_map", "strength")
        axes[0].set(xlabel="timescale τ₂ of the second layer", ylabel=r"block length $\tau_B$")
        axes[0].set_title(f"strength s = {result.config.strength:g}", fontsize=8)
        axes[1].set(xlabel="strength s of the bounds")
        axes[1].set_title(f"timescale τ₂ = {result.config.gate_timescale:g}", fontsize=8)
        figure.colorbar(first, ax=axes, label="total alignment at the end", pad=0.02)
        fs.figures.style.letter(*axes)
    return figure


def _draw_map(axis: Any, result: Any, name: str, along: str) -> Any:
    values = result[name].mean("run").transpose("block_share", along)
    image = axis.imshow(values, cmap=COLORS, vmin=0.0, vmax=1.0, aspect="auto")
    for (row, column), value in np.ndenumerate(values.values):
        axis.text(
            column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color="black" if value > 0.6 else "white"
        )
    lengths = result.config.block_length * values["block_share"].values
    axis.set_xticks(range(values.sizes[along]), [f"{value:g}" for value in values[along].values])
    axis.set_yticks(range(len(lengths)), [f"{length:g}" for length in lengths])
    axis.tick_params(length=0)
    return image
