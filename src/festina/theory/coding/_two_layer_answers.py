"""The mean predictor of two hidden layers at inputs they were not trained on.

A neuron of the first layer has z_1* = Σ_μ k*_μ z_1μ + √(k** − |k*|²) ξ, taken to be Gaussian given the field u that the
second layer puts on it: exact where no single example dominates. With it the kernel of the first layer reaches the
other input, K_1(*, μ) = α_c + k*_μ β_c for μ in class c, to first order in k*_μ, and K_1(*, *). A neuron of the second
layer is then Gaussian at the other input given its preactivations at the training inputs,

    z_2* = Σ_μ w_μ z_2μ + √(K_1(*, *) − wᵀK_1(*, ·)) ξ,    w = K_1⁻¹ K_1(·, *),    ⟨f*⟩ = ⟨a φ(z_2*)⟩.
"""

import numpy as np
from jaxtyping import Float

from festina.theory.coding._integral import Weight
from festina.theory.coding.dual import Neurons

SMALLEST = 1e-12  # variance of a preactivation


def mean_answers(
    layer_1: Weight,
    points: Float[np.ndarray, "points variables"],
    probability: Float[np.ndarray, " points"],
    second: Neurons,
    between: Float[np.ndarray, "classes classes"],
    excess: Float[np.ndarray, " classes"],
    cross: Float[np.ndarray, "inputs examples"],
    diagonal: Float[np.ndarray, " inputs"],
) -> Float[np.ndarray, "inputs rank"]:
    """⟨f*⟩ in the row space of the targets.

    Args:
        layer_1: the density of fields on neurons of the first layer.
        points: fields at which it is known.
        probability: of each of them.
        second: neurons of the second layer.
        between: κ_1, the kernel of the first layer between classes.
        excess: D_1, what it has more for an example with itself.
        cross: k*, one input a row.
        diagonal: k**.
    """
    task, unit, counts = second.task, second.task.unit, second.task.counts
    member = np.eye(len(counts))[task.labels]
    total, squares = cross @ member, cross**2 @ member
    mean = total / counts[None]
    within = squares - mean * total  # Σ_μ (k*_μ − its mean)², class by class
    site = layer_1.site(points)
    centre = site.preactivation @ total.T
    spread = np.maximum((diagonal - squares.sum(axis=1))[None] + site.spread @ squares.T, SMALLEST)
    private = (probability[:, None] * unit.slope(centre, spread)).T @ site.covariance
    shared = (probability[:, None] * unit.mean(centre, spread)).T @ site.mean + mean * private
    own = probability @ unit.square(centre, spread)
    # Σ_{μ in c} w_μ from the mean of K_1(·, *) over each class; deviations from it meet the excess only.
    weights = np.linalg.solve(between + np.diag(excess / counts), shared.T).T
    scattered = within * (private / excess[None]) ** 2
    left = own - np.sum(shared * weights, axis=1) - scattered @ excess
    kept = weights**2 / counts[None] + scattered
    variance = np.maximum(left[None] + second.site.spread @ kept.T, SMALLEST)
    activity = unit.mean(second.site.preactivation @ weights.T, variance)
    return (second.probability[:, None] * activity).T @ second.readouts
