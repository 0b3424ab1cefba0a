"""The picture of a posterior."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import pyplot as plt

from festina.learning.sampled import ANSWER, ENERGY
from festina.style import BLACK, PALETTE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.learning.sampled import Posterior

BINS = 30
MOST_OUTPUTS = len(PALETTE)


def draw_posterior(posterior: "Posterior") -> "Figure":
    """Trace and histogram of the loss, or of the energy where no loss was observed, and the answers if there are any."""
    answered = posterior.origin.shown.asked is not None and (ANSWER in posterior.data or bool(posterior._means))
    shares = [2.0, 0.7, 2.0] if answered else [2.0, 0.7]
    with style():
        figure, axes = plt.subplots(1, len(shares), figsize=(0.6 + 1.5 * sum(shares), 2.6), width_ratios=shares)
        _draw_trace(axes[0], axes[1], posterior)
        if answered:
            _draw_answers(axes[2], posterior)
    return figure


def _draw_trace(trace: "Axes", histogram: "Axes", posterior: "Posterior") -> None:
    """One line for each chain, and how often each value was drawn."""
    name = "loss" if "loss" in posterior.data else ENERGY
    values = posterior[name]
    bins = np.linspace(float(values.min()), float(values.max()), BINS + 1)
    for number in range(values.sizes["chain"]):
        color, chain = PALETTE[number % len(PALETTE)], values.isel(chain=number)
        trace.plot(chain["draw"], chain, color=color, lw=0.5, alpha=0.8)
        histogram.hist(chain, bins=bins, orientation="horizontal", histtype="step", color=color, lw=0.9)
    size, r_hat = (float(found[name]) for found in (posterior.sample_sizes, posterior.r_hats))
    trace.set(xlabel="draw", ylabel=name, title=f"R̂ = {r_hat:.3f}, sample size {size:.0f}")
    histogram.set(xlabel="draws", ylim=trace.get_ylim(), yticklabels=[])


def _draw_answers(axis: "Axes", posterior: "Posterior") -> None:
    """Mean answers and two standard deviations: over the input, if it is one number, or else over the target."""
    asked = posterior.origin.shown.asked
    assert asked is not None
    inputs, targets = np.asarray(asked.inputs), np.asarray(asked.targets)
    targets = targets.reshape(len(targets), -1)
    mean, deviation = (part.values.reshape(targets.shape) for part in (posterior.mean, posterior.deviation))
    count = min(targets.shape[1], MOST_OUTPUTS)
    draw = _draw_over_input if inputs[0].size == 1 else _draw_over_target
    for output in range(count):
        columns = (part[:, output] for part in (targets, mean, deviation))
        draw(axis, inputs.reshape(len(inputs), -1)[:, 0], *columns, color=PALETTE[output])
    whose = "" if posterior.origin.shown.test is None else " of the test set"
    shown = f"{count} of {targets.shape[1]} outputs" if count < targets.shape[1] else "mean ± 2 s.d."
    over = "input" if draw is _draw_over_input else "target"
    axis.set(xlabel=f"{over}{whose}", ylabel="answer f", title=shown)


def _draw_over_input(
    axis: "Axes", inputs: np.ndarray, targets: np.ndarray, mean: np.ndarray, deviation: np.ndarray, color: Any
) -> None:
    order = np.argsort(inputs)
    at, middle, width = inputs[order], mean[order], 2 * deviation[order]
    axis.fill_between(at, middle - width, middle + width, color=color, alpha=0.25, lw=0)
    axis.plot(at, middle, color=color)
    axis.plot(inputs, targets, "o", color=color, mec=BLACK, mew=0.5)


def _draw_over_target(
    axis: "Axes", inputs: np.ndarray, targets: np.ndarray, mean: np.ndarray, deviation: np.ndarray, color: Any
) -> None:
    axis.axline((0, 0), slope=1, color=BLACK, lw=0.6)
    axis.errorbar(targets, mean, 2 * deviation, fmt="o", ms=2.5, elinewidth=0.6, color=color, alpha=0.7)
