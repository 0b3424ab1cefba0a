"""The picture of a posterior."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import pyplot as plt

from festina.learning.sampled import ENERGY
from festina.style import BLACK, PALETTE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.learning.sampled import Posterior

BINS = 30


def draw_posterior(posterior: "Posterior") -> "Figure":
    """Trace and histogram of the loss, and what networks answer: how often rightly, or what, if it is no class."""
    right = "accuracy" in posterior.data
    shares = [2.0, 0.7, 2.0] if right or posterior.answered else [2.0, 0.7]
    with style():
        figure, axes = plt.subplots(1, len(shares), figsize=(0.6 + 1.5 * sum(shares), 2.6), width_ratios=shares)
        _draw_trace(axes[0], axes[1], posterior)
        if right:
            _draw_accuracy(axes[2], posterior)
        elif posterior.answered:
            _draw_answers(axes[2], posterior)
    return figure


def _draw_trace(trace: "Axes", histogram: "Axes", posterior: "Posterior") -> None:
    """One line for each chain, and how often each value was drawn; of the energy where no loss was observed."""
    name = "loss" if "loss" in posterior.data else ENERGY
    values = posterior[name]
    bins = np.linspace(float(values.min()), float(values.max()), BINS + 1).tolist()
    for number in range(values.sizes["chain"]):
        color, chain = PALETTE[number % len(PALETTE)], values.isel(chain=number)
        trace.plot(chain["draw"], chain, color=color, lw=0.5, alpha=0.8)
        if bins[0] < bins[-1]:
            histogram.hist(chain, bins=bins, orientation="horizontal", histtype="step", color=color, lw=0.9)
    size, r_hat = (float(found[name]) for found in (posterior.sample_sizes, posterior.r_hats))
    trace.set(xlabel="draw", ylabel=name, title=f"R̂ = {r_hat:.3f}, sample size {size:.0f}")
    histogram.set(xlabel="draws", ylim=trace.get_ylim(), yticklabels=[])


def _draw_accuracy(axis: "Axes", posterior: "Posterior") -> None:
    """Which share of draws answers rightly at most so often: no bins, which would beat with the steps of accuracy."""
    names = [name for name in ("accuracy", "test_accuracy") if name in posterior.data]
    for name, color, label in zip(names, (PALETTE[0], BLACK), ("training", "test"), strict=False):
        axis.ecdf(posterior[name].values.ravel(), color=color, label=label)
    if len(names) > 1:
        axis.legend()
    axis.set(xlabel="accuracy", ylabel="share of draws below")


def _draw_answers(axis: "Axes", posterior: "Posterior") -> None:
    """Mean answers and two standard deviations: over the input, if it is one number, or else over the target."""
    shown = posterior.origin.shown
    assert shown.asked is not None and shown.world is not None
    inputs, targets = _columns(shown.asked.inputs), _columns(shown.asked.targets)
    mean, deviation = (part.values.reshape(targets.shape) for part in (posterior.mean, posterior.deviation))
    count, whose = min(targets.shape[1], len(PALETTE)), "" if shown.test is None else " of the test set"
    for output, color in zip(range(count), PALETTE, strict=False):
        one = targets[:, output], mean[:, output], deviation[:, output]
        if inputs.shape[1] == 1:
            _draw_over_input(axis, inputs[:, 0], *one, color, tested=shown.test is not None)
            seen = _columns(shown.world.targets)[:, output]
            axis.plot(_columns(shown.world.inputs)[:, 0], seen, "o", color=color, mec=BLACK, mew=0.5)
        else:
            _draw_over_target(axis, *one, color)
    over = "input" if inputs.shape[1] == 1 else "target"
    title = "mean ± 2 s.d." + (f", {count} of {targets.shape[1]} outputs" if count < targets.shape[1] else "")
    axis.set(xlabel=over + whose, ylabel="answer f", title=title)


def _draw_over_input(
    axis: "Axes",
    inputs: np.ndarray,
    targets: np.ndarray,
    mean: np.ndarray,
    deviation: np.ndarray,
    color: str,
    *,
    tested: bool,
) -> None:
    """A band around a line, and the targets of the test set dashed."""
    order = np.argsort(inputs)
    at, middle, width = inputs[order], mean[order], 2 * deviation[order]
    axis.fill_between(at, middle - width, middle + width, color=color, alpha=0.25, lw=0)
    axis.plot(at, middle, color=color)
    if tested:
        axis.plot(at, targets[order], color=BLACK, ls="--", lw=0.9)


def _draw_over_target(axis: "Axes", targets: np.ndarray, mean: np.ndarray, deviation: np.ndarray, color: str) -> None:
    axis.axline((targets[0], targets[0]), slope=1, color=BLACK, lw=0.6)
    axis.errorbar(targets, mean, 2 * deviation, fmt="o", ms=2.5, elinewidth=0.6, color=color, alpha=0.7)


def _columns(values: Any) -> np.ndarray:
    array = np.asarray(values)
    return array.reshape(len(array), -1)
