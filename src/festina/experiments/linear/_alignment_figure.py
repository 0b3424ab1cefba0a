"""The figure of `linear/alignment`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.linear.alignment import FALLEN, LAZY, STARTS, curves_of, predicted_shares, silent_shares
from festina.measures.alignment import at_fall

MIRRORED = STARTS.index("mirrored")


def draw(result: Any) -> Any:
    """Two courses, the phase plane of all scales, and the silent share against the scale."""
    with fs.lab.style.style():
        figure, axes = plt.subplots(2, 2, figsize=(7.2, 4.7))
        (small, large), (plane, shares) = axes
        _draw_course(small, result, 0, "Small weights: aligned in silence")
        _draw_course(large, result, _large_rung(result), "Large weights: aligned with the loss")
        _draw_plane(plane, result)
        _draw_shares(shares, result)
        fs.lab.style.letter(*axes.flat)
    return figure


def _scales(result: Any) -> Any:
    return result.config.scale * result["rung"].values


def _large_rung(result: Any) -> int:
    """The scale nearest to 1: larger ones look the same on a shorter clock."""
    return int(np.argmin(np.abs(np.log(_scales(result) / result.config.strength**0.5))))


def _number(value: float) -> str:
    return f"{float(f'{value:.1g}'):g}"


def _changes(data: Any) -> tuple[Any, Any]:
    """Remaining loss, and share of the alignment done: (run, start, rung, time)."""
    loss, alignment = curves_of(data, "loss"), curves_of(data, "alignment")
    return loss / loss[..., :1], (alignment - alignment[..., :1]) / (alignment[..., -1:] - alignment[..., :1])


def _draw_course(axis: Any, result: Any, rung: int, title: str) -> None:
    """Loss and alignment of the mirrored start, simulated and by the small-weight solution."""
    style, time = fs.lab.style, result["time"].values
    loss, done = (curve[0, MIRRORED, rung] for curve in _changes(result.data))
    axis.plot(time, loss, color=style.VERMILLION, lw=2.0, label="loss, share left")
    axis.plot(time, done, color=style.BLUE, lw=2.0, ls=(0, (5, 1)), label="alignment, share done")
    if rung == 0:
        for curve in _changes(result.theory):
            axis.plot(time, curve[0, MIRRORED, rung], **style.THEORY)
        axis.plot([], [], **style.THEORY, label="theory, small weights")
    moment = float(at_fall(loss, time, FALLEN))
    height = float(at_fall(loss, done, FALLEN))
    axis.axvline(moment, color="0.6", lw=0.8, ls=":")
    axis.plot(moment, height, "o", color=style.BLUE, mfc="white", ms=4.5, mew=1.1, zorder=4)
    last = 2.25 * time[np.argmax(loss < 0.05)]
    axis.annotate(f"loss fallen by {FALLEN:.0%}", (moment, 1.13), xytext=(4, 0), textcoords="offset points",
                  va="center", fontsize=7, color="0.3")  # fmt: skip
    axis.set(xlim=(0, min(last, time[-1])), ylim=(-0.03, 1.18), xlabel="time t / τ", ylabel="share", title=title)
    axis.text(0.98, 0.52, f"σ = {_number(_scales(result)[rung])}", transform=axis.transAxes, ha="right", fontsize=8)
    axis.legend(loc="center right", bbox_to_anchor=(1.0, 0.31 if rung else 0.3), fontsize=7, labelspacing=0.35)


def _draw_plane(axis: Any, result: Any) -> None:
    """How much of the alignment is done by the time the loss has fallen so far."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm

    loss, done = _changes(result.data)
    scales = _scales(result)
    colors = ScalarMappable(LogNorm(scales[0], 1.6 * scales[-1]), "viridis")
    for rung, scale in enumerate(scales):
        axis.plot(1 - loss[0, MIRRORED, rung], done[0, MIRRORED, rung], color=colors.to_rgba(scale))
    gone = np.linspace(0, 1, 200)
    axis.plot(gone, (1 - np.sqrt(1 - gone)) ** 2, **fs.lab.style.THEORY)
    axis.text(0.8, 0.21, "lazy limit", fontsize=7, ha="left", va="top")
    axis.axvline(FALLEN, color="0.6", lw=0.8, ls=":")
    axis.set(xlim=(-0.01, 1.01), ylim=(-0.03, 1.03), xlabel="share of the loss gone", ylabel="share of alignment done")
    axis.set_title("From silent to simultaneous")
    bar = axis.figure.colorbar(colors, ax=axis, label="initial scale σ", pad=0.02, aspect=28)
    bar.ax.set_ylim(scales[0], scales[-1])


def _draw_shares(axis: Any, result: Any) -> None:
    """The silent share of every network against its initial scale."""
    style, scales = fs.lab.style, _scales(result)
    shares = silent_shares(result)
    for number, (color, marker) in enumerate(((style.ORANGE, "s"), (style.BLUE, "o"))):
        drawn = {"color": color, "mfc": "white", "ms": 4.2, "mew": 1.0}
        axis.plot(scales, shares[:, number].T, marker, **drawn)
        axis.plot([], [], marker, **drawn, label=f"{STARTS[number]} start")
    between = 10.0 ** np.arange(0.0, 0.5, 0.1)
    dense = np.outer(scales, between).ravel()
    predicted = np.stack([predicted_shares(result, factor)[MIRRORED] for factor in between], axis=1).ravel()
    small = dense <= 0.5 * result.config.strength**0.5
    axis.plot(dense[small], predicted[small], zorder=0, **style.THEORY, label="theory, small weights")
    axis.axhline(LAZY, color="0.5", lw=0.8, ls=":", label="lazy limit $(1 − \\sqrt{0.9})^2$")
    axis.set(xscale="log", ylim=(-0.06, 1.05), xlabel="initial scale σ", ylabel="silent share")
    axis.set_title("Silence needs small weights")
    axis.legend(loc="lower left", bbox_to_anchor=(0.0, 0.08), labelspacing=0.35)
