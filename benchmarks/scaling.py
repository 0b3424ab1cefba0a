"""How cost grows: joint descent with its sizes, paths, tasks, batch and runs; deep linear flow with depth and width.

    python benchmarks/scaling.py [--write]

CPU seconds of one pinned core for one step of one run (of one cell of a map, in joint descent), with everything
compiled, the least of a few rounds. Exponents are slopes of straight lines in double logarithmic axes through the upper
half of the points. `--write` saves the figure as docs/figures/speed_scaling.svg, too.
"""

import os

if hasattr(os, "sched_setaffinity"):  # before the libraries below count the cores
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import kernels
import matplotlib.pyplot as plt
import numpy as np
import table
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from festina import style

FIGURE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "speed_scaling.svg"
ROUNDS = 4
DATA = ("wishart", "population", "closure")
LOOKS = {
    "sampled": {"color": style.PURPLE, "marker": "v"},
    "wishart": {"color": style.BLUE, "marker": "o"},
    "population": {"color": style.VERMILLION, "marker": "s"},
    "closure": {"color": style.GREEN, "marker": "^"},
    "flow": {"color": style.BLACK, "marker": "o"},
}


NAMES = {
    "sampled": "sampled batches",
    "wishart": "Wishart streams",
    "population": "population gradient",
    "closure": "closure",
    "flow": "deep linear flow",
}


class Axis(NamedTuple):
    """One panel: what is varied, over which values, for which kinds of data."""

    field: str
    label: str
    values: tuple[int, ...]
    kinds: tuple[str, ...] = DATA


AXES = (
    Axis("inputs", "inputs", (10, 20, 40, 80)),
    Axis("outputs", "outputs", (5, 10, 20, 40)),
    Axis("paths", "paths", (1, 2, 4, 8)),
    Axis("tasks", "tasks", (1, 2, 4, 8)),
    Axis("batch", "batch", (50, 200, 800, 3200), ("sampled", "wishart")),
    Axis("runs", "runs in a batch", (1, 4, 16, 64)),
    Axis("depth", "depth", (2, 3, 4, 6), ("flow",)),
    Axis("width", "width", (8, 16, 32, 64), ("flow",)),
)


def cost(kind: str, **sizes: int) -> float:
    """CPU seconds of one step of one run."""
    return _cost(kind, tuple(sorted((DEFAULTS[kind == "flow"] | sizes).items())))


DEFAULTS = (
    {"inputs": 20, "outputs": 10, "paths": 2, "tasks": 2, "batch": 200, "runs": 4, "arms": 12, "steps": 128},
    {"depth": 2, "width": 32},
)


@lru_cache
def _cost(kind: str, sizes: tuple[tuple[str, int], ...]) -> float:
    fields = dict(sizes)
    kernel = kernels.deep_linear(**fields) if kind == "flow" else kernels.joint(kind, **fields)
    steps = kernel.steps()
    seconds = min(table.repeated(kernel.chunk, 0.03) for _ in range(ROUNDS))
    jax.clear_caches()
    return seconds / steps


def exponent(values: Any, costs: Any) -> float:
    """The slope of the upper half of the points."""
    half = len(values) // 2
    return float(np.polyfit(np.log(values[-half - 1 :]), np.log(costs[-half - 1 :]), 1)[0])


def draw(found: dict[str, dict[str, list[float]]]) -> Any:
    """A panel for each axis."""
    with style.style():
        figure, panels = plt.subplots(2, 4, figsize=(style.TWO_COLUMNS, 3.8))
        for axis, panel in zip(AXES, panels.flat, strict=True):
            for kind, costs in found[axis.field].items():
                panel.loglog(axis.values, 1e6 * np.asarray(costs), label=NAMES[kind], **LOOKS[kind])
            _set_scales(panel, axis)
            _note_exponents(panel, axis.values, found[axis.field])
        lines = {
            name: line for panel in panels.flat for line, name in zip(*panel.get_legend_handles_labels(), strict=True)
        }
        figure.legend(lines.values(), lines.keys(), loc="outside upper center", ncols=len(lines))
        figure.supylabel("CPU µs for one step of one run", fontsize=8.5)
        style.letter(*panels.flat)
    return figure


def _set_scales(panel: Any, axis: Axis) -> None:
    """Plain numbers on both axes, and room at the right for the exponents."""
    first, last = axis.values[0], axis.values[-1]
    panel.set_xlabel(axis.label)
    panel.set_xticks(axis.values, [str(value) for value in axis.values])
    panel.set_xlim(first / 1.25, last * (last / first) ** 0.25)
    low, high = panel.get_ylim()
    panel.set_ylim(low / 1.3, high * 1.3)
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 10 else (1.0, 2.0, 5.0)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    for each in (panel.xaxis, panel.yaxis):
        each.set_minor_formatter(NullFormatter())
    panel.xaxis.set_minor_locator(NullLocator())


def _note_exponents(panel: Any, values: Any, found: dict[str, list[float]]) -> None:
    """The exponent of each line beside its last point, moved up where it would cover another."""
    low, high = np.log(panel.get_ylim())
    height = -1.0
    for kind in sorted(found, key=lambda kind: found[kind][-1]):
        height = max(height + 0.1, (np.log(1e6 * found[kind][-1]) - low) / (high - low))
        text = f"{exponent(values, found[kind]):.1f}".replace("-0.0", "0.0").replace("-", "−")
        where = panel.get_xaxis_transform()  # across in data, up in shares of the panel
        panel.annotate(
            text, (values[-1], height), xycoords=where, xytext=(4, 0), textcoords="offset points",
            color=LOOKS[kind]["color"], fontsize=7, va="center",
        )  # fmt: skip


def main() -> None:
    options = table.parser(__doc__).parse_args()
    found = {
        axis.field: {kind: [cost(kind, **{axis.field: value}) for value in axis.values] for kind in axis.kinds}
        for axis in AXES
    }
    rows = [
        (
            f"{axis.label}: {', '.join(str(value) for value in axis.values)}",
            NAMES[kind],
            ", ".join(table.short(1e6 * value) for value in costs),
            f"{exponent(axis.values, costs):.2f}".replace("-", "−"),
        )
        for axis in AXES
        for kind, costs in found[axis.field].items()
    ]
    note = (
        "Unless varied: 20 inputs, 10 outputs, 2 paths, 2 tasks, batches of 200, 12 cells, 4 runs; two layers of 32 "
        "units, 8 runs. All in float64."
    )
    columns = ("what grows", "data", "CPU µs for a step of a run", "exponent")
    table.show("scaling", columns, rows, write=options.write, note=note)
    if options.write:
        FIGURE.parent.mkdir(exist_ok=True)
        with style.style():
            draw(found).savefig(FIGURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
