"""How figures look: small sans-serif type, open axes, colours that everyone can tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from string import ascii_lowercase
from typing import Any

from festina._lazy import np, plt

# Okabe & Ito: distinct for every kind of colour vision, and in grey if line styles help.
BLACK = "#000000"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
YELLOW = "#F0E442"
GREY = "#7F7F7F"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)

ONE_COLUMN = 3.5
TWO_COLUMNS = 7.2
"""Widths of a figure in inches, as journals print them."""

THEORY: dict[str, Any] = {"color": BLACK, "linestyle": (0, (3, 2)), "linewidth": 0.9}
"""How the curve of a theory is drawn over that of its simulation."""

DOTS_PER_INCH = 200

_SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.grid": False,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "axes.unicode_minus": True,
    "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.06,
    "figure.dpi": 120,
    "figure.facecolor": "white",
    "figure.figsize": (ONE_COLUMN, 2.6),
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: figures are the same on every machine
    "font.size": 8,
    "image.cmap": "viridis",
    "image.interpolation": "nearest",
    "legend.borderaxespad": 0.3,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "mathtext.fontset": "dejavusans",
    "pdf.fonttype": 42,
    "savefig.dpi": DOTS_PER_INCH,
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "festina",
    "xtick.direction": "out",
    "xtick.labelsize": 7.5,
    "xtick.major.width": 0.7,
    "ytick.direction": "out",
    "ytick.labelsize": 7.5,
    "ytick.major.width": 0.7,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw within ``with style():`` and the figure looks like all others of festina; nothing else changes.

    Example:
        >>> import matplotlib.pyplot as plt
        >>> import festina as fs
        >>> with fs.style.style():
        ...     figure, axis = plt.subplots()
        >>> bool(axis.spines["top"].get_visible())
        False
    """
    from cycler import cycler

    settings: dict[Any, Any] = _SETTINGS | {"axes.prop_cycle": cycler(color=PALETTE)}
    with plt.rc_context(settings):
        yield


def letter(*axes: Any, letters: Iterable[str] = ascii_lowercase) -> None:
    """Put a bold a, b, c … at the upper left of each panel, clear of its labels.

    Args:
        *axes: of matplotlib, in the order of their letters.
        letters: others than a, b, c …

    Example:
        >>> import matplotlib.pyplot as plt
        >>> import festina as fs
        >>> figure, axes = plt.subplots(1, 2)
        >>> fs.style.letter(*axes)
        >>> [axis.texts[0].get_text() for axis in axes]
        ['a', 'b']
    """
    for axis, mark in zip(axes, letters, strict=False):
        axis.annotate(
            mark,
            xy=(0, 1),
            xycoords="axes fraction",
            xytext=(-24, 5),
            textcoords="offset points",
            fontsize=10,
            fontweight="bold",
            horizontalalignment="right",
            verticalalignment="bottom",
        )


def draw_band(axis: Any, time: Any, values: Any, **look: Any) -> None:
    """The mean over runs (the first axis) with its standard error, s.d./√n.

    Args:
        axis: to draw on.
        time: along the horizontal axis.
        values: one run a row, at these times; NaN where a run has none.
        **look: of the line, such as ``color`` and ``label``; the band has its colour.

    Example:
        >>> import matplotlib.pyplot as plt
        >>> import festina as fs
        >>> figure, axis = plt.subplots()
        >>> fs.style.draw_band(axis, [0, 1], [[0.0, 1.0], [0.0, 3.0]], color=fs.style.BLUE)
        >>> axis.lines[0].get_ydata()
        array([0., 2.])
    """
    mean = np.nanmean(values, axis=0)
    axis.plot(time, mean, **look)
    if len(values) > 1:
        error = np.nanstd(values, axis=0, ddof=1) / np.sqrt(np.sum(np.isfinite(values), axis=0))
        axis.fill_between(time, mean - error, mean + error, color=look.get("color"), alpha=0.25, lw=0)
