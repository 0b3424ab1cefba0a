"""The figure of `abstraction/regimes`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._regimes_measures import PANELS, panel

FEW = 12  # cells along an axis up to which each gets its number


def draw(result: Any) -> Any:
    """The maps of the total alignment, and below them the courses behind some of their cells."""
    config = result.config
    shown = [which for which in PANELS if len(_rows(config, which)) > 0]
    with fs.lab.style.style():
        figure, axes = plt.subplots(1, len(shown), figsize=(3.6 * len(shown), 3.1), squeeze=False)
        for axis, which in zip(axes[0], shown, strict=True):
            image = _draw_map(axis, config, which, panel(result, which).mean(axis=0))
        figure.colorbar(image, ax=axes[0].tolist(), label="total alignment", shrink=0.9, ticks=[0.4, 0.6, 0.8, 1.0])
        inputs = f"B = {config.batch}" if config.data in ("sampled", "wishart") else "B = ∞"
        runs = result.data.sizes["run"]
        figure.suptitle(
            f"{config.data} ({inputs}), {config.convention} convention, mean of {runs} seeds, t = {config.until:g}",
            fontsize=7.5,
            color="0.35",
        )
        fs.lab.style.letter(*axes[0])
    return figure


def _rows(config: Any, which: str) -> tuple[float, ...]:
    return config.gate_timescales if which == "speed" else config.strengths


def _draw_map(axis: Any, config: Any, which: str, values: Any) -> Any:
    """Block lengths upwards, the other field to the right."""
    columns, lengths = np.asarray(_rows(config, which)), np.asarray(config.block_lengths)
    order, across = np.argsort(lengths), np.argsort(columns)
    table = values[across][:, order].T
    image = axis.imshow(table, origin="lower", aspect="auto", vmin=0.3, vmax=1.0, cmap="viridis")
    _ticks(axis.set_xticks, columns[across])
    _ticks(axis.set_yticks, lengths[order])
    if max(table.shape) <= FEW:
        for (row, column), value in np.ndenumerate(table):
            color = "white" if value < 0.75 else "black"
            text = f"{value:.2f}".removeprefix("0")
            axis.text(column, row, text, ha="center", va="center", fontsize=7, color=color)
    label = "gate timescale τ$_c$" if which == "speed" else "strength s of the regulariser"
    fixed = f"s = {config.strength:g}" if which == "speed" else f"τ$_c$ = {config.gate_timescale:g}"
    axis.set(xlabel=label, ylabel="block length τ$_B$", title=fixed)
    for spine in axis.spines.values():
        spine.set_visible(False)
    axis.tick_params(length=0)
    return image


def _ticks(place: Any, values: Any) -> None:
    """A label for every value, or for five of many."""
    chosen = np.arange(len(values)) if len(values) <= FEW else np.linspace(0, len(values) - 1, 5).round().astype(int)
    place(chosen, [f"{values[k]:.3g}" for k in chosen])
