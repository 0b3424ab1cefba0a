"""A deep linear network as independent chains, one for each mode of its world.

With white inputs, Σxx = λ I, and the singular value decomposition Σyx = Σ_k s_k u_k v_kᵀ, weights that start
decoupled (or small) learn each mode as a chain of scalars does: map(t) = Σ_k a_k(t) u_k v_kᵀ, with a_k the solution of
`chain` for strength s_k. The strength a mode starts from is the part of the weights that grows. In a network of two
layers that is a_k(0) = |W2ᵀu_k + W1v_k|²/4, of which u_kᵀW2W1v_k would be a poor estimate for small random weights.

Source: Saxe, McClelland & Ganguli 2013, 2019; the initial strength is derived here.
"""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from festina.errors import ArgumentError, require
from festina.theory.chain import Chain, chain

WHITE = 1e-9
DEGENERATE = 1e-8


class Modes(eqx.Module):
    """A solution made by :func:`modes`: call it with times."""

    left: Float[np.ndarray, "o modes"]
    right: Float[np.ndarray, "i modes"]
    strengths: Float[np.ndarray, " modes"]
    chains: Chain
    floor: float

    def __call__(self, time: Any) -> dict[str, Float[np.ndarray, "..."]]:
        """`strength` a_k(t) of every mode, `map` and `loss`, each with the shape of ``time`` before its own."""
        answer = self.chains(time)
        strength = np.asarray(answer["product"])
        mapping = np.einsum("...k,ok,ik->...oi", strength, self.left, self.right)
        loss = self.floor + np.asarray(answer["loss"]).sum(axis=-1)
        return {"strength": strength, "map": mapping, "loss": loss}


def modes(world: Any, initial: Any) -> Modes:
    """The learning of a deep linear network, mode by mode.

    Exact for weights that are decoupled (`DeepLinear.aligned`); for small random weights of one or two layers right
    up to terms that vanish with their size.

    Args:
        world: a world with white inputs.
        initial: the network at t = 0.
    """
    moments = world.moments
    outputs, inputs = np.shape(moments.cross)
    fits = (initial.sizes[0], initial.sizes[-1]) == (inputs, outputs)
    require(fits, "initial", f"map {inputs} inputs to {outputs} outputs, as the world does", initial.sizes)
    variance = _white_variance(np.asarray(moments.inputs, float))
    left, strengths, right = singular_modes(np.asarray(moments.cross, float))
    weights = [np.asarray(weight, float) for weight in initial.weights]
    left, right = _uncouple(left, strengths, right, weights)
    floor = 0.5 * float(np.trace(np.asarray(moments.outputs))) - 0.5 * float(np.sum(strengths**2)) / variance
    chains = chain(len(weights), strengths, _initial_strengths(left, right, weights), input_variance=variance)
    return Modes(left, right, strengths, chains, floor)


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


def _growing(left: Any, right: Any, weights: list[np.ndarray]) -> Float[np.ndarray, "hidden modes"]:
    """The part of a two-layer network's weights that grows along each mode, (W2ᵀu + W1v)/2, as columns."""
    first, second = weights
    return (second.T @ left + first @ right) / 2.0


def _initial_strengths(left: Any, right: Any, weights: list[np.ndarray]) -> Float[np.ndarray, " modes"]:
    if len(weights) == 2:
        return np.sum(_growing(left, right, weights) ** 2, axis=0)
    product = np.linalg.multi_dot(weights[::-1]) if len(weights) > 1 else weights[0]
    return np.einsum("ok,oi,ik->k", left, product, right)


def _uncouple(left: Any, strengths: Any, right: Any, weights: list[np.ndarray]) -> tuple[Any, Any]:
    """Among modes of equal strength, choose those that the initial weights do not couple."""
    if len(weights) != 2:
        return left, right
    left, right = left.copy(), right.copy()
    edges = np.flatnonzero(np.abs(np.diff(strengths)) > DEGENERATE * strengths[0]) + 1
    for block in np.split(np.arange(len(strengths)), edges):
        growing = _growing(left[:, block], right[:, block], weights)
        _, turn = np.linalg.eigh(growing.T @ growing)
        left[:, block], right[:, block] = left[:, block] @ turn, right[:, block] @ turn
    return left, right
