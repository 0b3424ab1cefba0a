"""A deep linear network as independent chains, one for each mode of its world.

With white inputs, Σxx = λ I, and the singular value decomposition Σyx = Σ_k s_k u_k v_kᵀ, weights that start
decoupled learn each mode as a chain of scalars does: map(t) = Σ_k a_k(t) u_k v_kᵀ, with a_k a solution for s_k.

One layer does so from every start. In two layers mode k has the hidden vectors p = W1v_k and q = W2ᵀu_k, and if those
of different modes are orthogonal, a = p·q follows `imbalanced` with the conserved ℓ = |p + q| |p − q|. Small random
weights are nearly so in a wide hidden layer; how nearly, `festina.theory._coupling` measures. From three layers on,
weights must be decoupled and balanced, W_{l+1}ᵀW_{l+1} = W_l W_lᵀ, and a follows `chain`.

Source: Saxe, McClelland & Ganguli 2013, 2019; the law of two layers and the measure of coupling are derived here.
"""

import warnings
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from festina.errors import ArgumentError, FestinaWarning, require
from festina.theory._coupling import LARGEST, NOTEWORTHY, deep_departure, hidden_vectors, uncoupled
from festina.theory._least import least_loss
from festina.theory.chain import Chain, ImbalancedChain, chain, imbalanced

WHITE = 1e-9
EXACT = 1e-8  # departure of three layers and more from decoupled and balanced weights, as a share of their size


class Modes(eqx.Module):
    """A solution made by :func:`modes`: call it with times.

    Attributes:
        left: u_k, as columns.
        right: v_k, as columns.
        strengths: s_k, the singular values of Σyx.
        chains: the course of each mode.
        floor: the loss of the best linear map.
        variance: λ of Σxx = λ I.
        rest: what one layer begins with beside its modes, and forgets.
        doubt: the largest error of the map that was seen from such starts, as a share of max |Σyx|/λ; 0 if exact.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> world = fs.worlds.tree(branching=(2, 2), features=30)
        >>> left, _, right = np.linalg.svd(world.moments.cross, full_matrices=False)
        >>> aligned = fs.networks.DeepLinear.aligned(left, np.full(4, 1e-3), right.T, hidden=(4, 4))
        >>> fs.theory.modes(world, aligned).doubt
        0.0
    """

    left: Float[np.ndarray, "o modes"]
    right: Float[np.ndarray, "i modes"]
    strengths: Float[np.ndarray, " modes"]
    chains: Chain | ImbalancedChain
    floor: float
    variance: float
    rest: Float[np.ndarray, "o i"]
    doubt: float

    def __call__(self, time: Any) -> dict[str, Float[np.ndarray, "..."]]:
        """`strength` a_k(t) of every mode, `map` and `loss`, each with the shape of ``time`` before its own."""
        answer = self.chains(time)
        strength = np.asarray(answer["product"])
        kept = np.exp(-self.variance * np.asarray(time, float))[..., None, None] * self.rest
        mapping = np.einsum("...k,ok,ik->...oi", strength, self.left, self.right) + kept
        loss = self.floor + np.asarray(answer["loss"]).sum(axis=-1) + self.variance / 2 * (kept**2).sum(axis=(-2, -1))
        return {"strength": strength, "map": mapping, "loss": loss}


def modes(world: Any, initial: Any) -> Modes:
    """The learning of a deep linear network, mode by mode: map(t) = Σ_k a_k(t) u_k v_kᵀ.

    Exact for one layer, for two whose modes share no hidden direction, and for more that are decoupled and balanced
    (`DeepLinear.aligned`). Two layers of random weights are an approximation with a stated `doubt`, of which there is
    a warning beyond 25 % and which is refused beyond 50 %, as are more than two layers that are not decoupled.

    Args:
        world: a world with white inputs, Σxx = λ I.
        initial: the network at t = 0, a `DeepLinear`.

    Returns:
        A `Modes`: ``solution(time)`` gives `strength` a_k, `map` and `loss`.

    Example:
        >>> import jax
        >>> import festina as fs
        >>> world = fs.worlds.tree(branching=(2, 2), features=30)
        >>> network = fs.networks.DeepLinear.init(jax.random.key(0), (4, 64, 30), scale=1e-3)
        >>> solution = fs.theory.modes(world, network)
        >>> solution([5.0, 30.0])["strength"][:, :2].round(1)  # broad distinctions before fine ones
        array([[8.6, 1. ],
               [8.6, 5. ]])
    """
    moments = world.moments
    outputs, inputs = np.shape(moments.cross)
    fits = (initial.sizes[0], initial.sizes[-1]) == (inputs, outputs)
    require(fits, "initial", f"map {inputs} inputs to {outputs} outputs, as the world does", initial.sizes)
    variance = _white_variance(np.asarray(moments.inputs, float))
    parts = singular_modes(np.asarray(moments.cross, float))
    weights = [np.asarray(weight, float) for weight in initial.weights]
    finite = all(bool(np.all(np.isfinite(weight))) for weight in weights)
    require(finite, "initial", "have finite weights", initial)
    floor = least_loss(moments, variance)
    if len(weights) == 2:
        (left, strengths, right), doubt = uncoupled(parts, weights, variance)
        _check_doubt(doubt)
        inward, outward = hidden_vectors(left, right, weights)
        size = np.linalg.norm(inward + outward, axis=0) * np.linalg.norm(inward - outward, axis=0)
        chains = imbalanced(strengths, np.sum(inward * outward, axis=0), size, input_variance=variance)
        return Modes(left, right, strengths, chains, floor, variance, np.zeros((outputs, inputs)), doubt)
    (left, strengths, right), product, departure = deep_departure(parts, weights)
    if len(weights) > 2 and departure > EXACT:
        raise ArgumentError(
            "Argument `initial` must be decoupled and balanced if it has more than two layers, but departs from it by "
            f"{departure:.2g} of its size; start from `DeepLinear.aligned`, or use `fs.flow`."
        )
    start = np.einsum("ok,oi,ik->k", left, product, right)
    rest = product - left * start @ right.T if len(weights) == 1 else np.zeros_like(product)
    chains = chain(len(weights), strengths, start, input_variance=variance)
    return Modes(left, right, strengths, chains, floor, variance, rest, 0.0)


def _check_doubt(doubt: float) -> None:
    if doubt > LARGEST:
        raise ArgumentError(
            "Argument `initial` must have modes that share few hidden directions, but theirs overlap so much that mode "
            f"by mode the map may be off by {doubt:.0%} of its largest strength; take a wider hidden layer or smaller "
            "weights, start from `DeepLinear.aligned`, or use `fs.flow`."
        )
    if doubt > NOTEWORTHY:
        warnings.warn(
            f"The modes of this start overlap in its hidden layer: mode by mode, the map may be off by {doubt:.0%} of "
            "its largest strength. A wider hidden layer or smaller weights would bring it closer.",
            FestinaWarning,
            stacklevel=3,
        )


def singular_modes(
    cross: Float[np.ndarray, "o i"],
) -> tuple[Float[np.ndarray, "o modes"], Float[np.ndarray, " modes"], Float[np.ndarray, "i modes"]]:
    """U, s, V, strongest first; singular values that are rounding errors are zeros."""
    left, strengths, right = np.linalg.svd(cross, full_matrices=False)
    rounding = strengths[0] * max(cross.shape) * np.finfo(float).eps
    return left, np.where(strengths > rounding, strengths, 0.0), right.T


def _white_variance(inputs: Float[np.ndarray, "i i"]) -> float:
    """λ of Σxx = λ I; anything else couples the modes, and is refused."""
    variance = float(np.mean(np.diag(inputs)))
    gap = float(np.max(np.abs(inputs - variance * np.eye(len(inputs))))) / variance
    if gap > WHITE:
        raise ArgumentError(
            f"Argument `world` must have white inputs, Σxx = λ I, but departs from it by {gap:.2g} of λ; "
            "whiten the inputs, or use `fs.flow`."
        )
    return variance
