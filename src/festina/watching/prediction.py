"""What a linear network with the same start would do to the modes of the data, beside what the watched one does.

Mode k of Σyx = Σ_k s_k u_k v_kᵀ is learned as theory has it, with λ_k = v_kᵀΣxx v_k:

- by two layers as τȧ = √(ℓ² + 4a²)(s_k − λ_k a), from what the first weights have of it, W₁v_k and W₂ᵀu_k
  (`festina.theory.imbalanced`): exact for white inputs and modes that share no hidden units;
- by D other layers that are decoupled and balanced as τȧ = D|a|^(2−2/D)(s_k − λ_k a) (`festina.theory.chain`);
- by D layers of any other start as their gradient flow goes, integrated (`festina.watching.linear_flow`).

Time is that of gradient flow of ½⟨|f − y|²⟩. If nobody says how much of it is in a step, it is taken from the strongest
mode, and all others are predicted. Classes have no prediction: they are learned by the cross-entropy, whose gradient is
not linear in the answers, so that modes do not decouple even in a linear network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from festina.errors import ArgumentError
from festina.theory.chain import chain, imbalanced, time_to_reach
from festina.watching.course import DataModes
from festina.watching.linear_flow import LinearFlow, Unaffordable
from festina.watching.outside import Outside, Parameters

NO_CLASSES = "no prediction: classes are learned by the cross-entropy, under which modes do not decouple"
HALF_WAY = (0.1, 0.9)  # of the strongest mode, from which time can be taken
DECOUPLED = 1e-3  # of their size, by which weights may be off balanced ones that share no hidden units

Learned = Float[np.ndarray, "moments modes"]


@dataclass(frozen=True)
class Course:
    """How far a linear network has learned each mode at any time, and when so much of the strongest one.

    Attributes:
        learned: a_k λ_k/s_k at times of gradient flow.
        reach: the time at which so much of the strongest mode is learned; infinite or NaN if it never is.
        words: how this is known.
    """

    learned: Callable[[Float[np.ndarray, " moments"]], Learned]
    reach: Callable[[float], float]
    words: str


@dataclass(frozen=True)
class Prediction:
    """How far each mode would be learned at each step, or None; in ``words`` how that is known, or why it is not."""

    learned: Float[np.ndarray, "looks modes"] | None
    words: str


def predict(
    network: Outside,
    parameters: Parameters,
    modes: DataModes,
    steps: Float[np.ndarray, " looks"],
    learned: Float[np.ndarray, "looks modes"],
    rate: float | None,
) -> Prediction:
    """The course of a linear network with these first weights, at the steps at which another was looked at."""
    weights = linear_weights(network, parameters, modes)
    if weights is None:
        return Prediction(None, "no prediction: the weights are not one matrix after the other, from inputs to answers")
    try:
        course = course_of(weights, modes)
        if rate is None:
            rate = pace(course, steps, learned[:, 0])
            if not np.isfinite(rate):
                why = "`rate` is not given, and no look found the strongest mode half-way"
                return Prediction(None, f"no prediction: {why}")
        return Prediction(course.learned(rate * steps), course.words)
    except (Unaffordable, ArgumentError) as error:  # the latter of inputs without variance along a mode
        return Prediction(None, f"no prediction: {error}")


def linear_weights(network: Outside, parameters: Parameters, modes: DataModes) -> list[np.ndarray] | None:
    """All matrices from inputs to answers, in their order or from the last to the first; None for other networks."""
    found = [network.matrix(name, value).astype(float) for name, value in parameters.items() if value.ndim >= 2]
    if not found or any(weight.ndim != 2 for weight in found):
        return None
    sizes = len(modes.right), len(modes.left)
    for weights in (found, found[::-1]):
        fits = all(after.shape[1] == before.shape[0] for before, after in pairwise(weights))
        if fits and (weights[0].shape[1], weights[-1].shape[0]) == sizes:
            return weights
    return None


def course_of(weights: list[np.ndarray], modes: DataModes) -> Course:
    """Closed where theory is, integrated where it is not."""
    if len(weights) == 2:
        return _two_layers(weights, modes)
    if len(weights) == 1 or _departure(weights, modes) < DECOUPLED:
        return _chain(weights, modes)
    flow = LinearFlow.of(weights, modes)
    return Course(flow.learned, flow.reach, f"{len(weights)} linear layers from the same start, by their gradient flow")


def _two_layers(weights: list[np.ndarray], modes: DataModes) -> Course:
    inward, outward = weights[0] @ modes.right, weights[1].T @ modes.left
    imbalance = np.linalg.norm(inward + outward, axis=0) * np.linalg.norm(inward - outward, axis=0)
    variances = modes.input_variances
    solution = imbalanced(modes.strengths, np.sum(inward * outward, axis=0), imbalance, input_variance=variances)
    share = variances / modes.strengths
    return Course(
        lambda times: np.asarray(solution(times)["product"]) * share,
        lambda level: float(np.ravel(solution.time_to_reach(level))[0]),
        "two linear layers from the same start, mode by mode",
    )


def _chain(weights: list[np.ndarray], modes: DataModes) -> Course:
    depth, variances = len(weights), modes.input_variances
    start = _of_modes(_product(weights), modes)
    solution = chain(depth, modes.strengths, start, input_variance=variances)
    share = variances / modes.strengths

    def reach(level: float) -> float:
        found = time_to_reach(depth, modes.strengths[0], start[0], level, input_variance=variances[0])
        return float(np.ravel(found)[0])

    words = f"{depth} linear layer{'s' if depth > 1 else ''} from the same start, mode by mode"
    return Course(lambda times: np.asarray(solution(times)["product"]) * share, reach, words)


def _departure(weights: list[np.ndarray], modes: DataModes) -> float:
    """How far weights are from W_{l+1}ᵀW_{l+1} = W_l W_lᵀ, and their map from diagonal, as a share of their size."""
    product = _product(weights)
    beside = _share(product - modes.left * _of_modes(product, modes) @ modes.right.T, product)
    unequal = [_share(after.T @ after - before @ before.T, before @ before.T) for before, after in pairwise(weights)]
    return max([beside, *unequal])


def _product(weights: list[np.ndarray]) -> Float[np.ndarray, "outputs inputs"]:
    return np.linalg.multi_dot(weights[::-1]) if len(weights) > 1 else weights[0]


def _of_modes(product: Float[np.ndarray, "outputs inputs"], modes: DataModes) -> Float[np.ndarray, " modes"]:
    return np.einsum("ok,oi,ik->k", modes.left, product, modes.right)


def _share(part: np.ndarray, whole: np.ndarray) -> float:
    size = float(np.linalg.norm(whole))
    return float(np.linalg.norm(part)) / size if size else 0.0


def pace(course: Course, steps: Float[np.ndarray, " looks"], learned: Float[np.ndarray, " looks"]) -> float:
    """Time in a step, from the look at which the strongest mode is nearest to half-way; NaN if none is near."""
    place = int(np.argmin(np.abs(learned - 0.5)))
    if not (HALF_WAY[0] < learned[place] < HALF_WAY[1] and steps[place] > 0):
        return np.nan
    return course.reach(float(learned[place])) / float(steps[place])
