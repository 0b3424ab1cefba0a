"""Pathways through a world with contexts: how fast each learns, and the loss that follows.

A world has n objects, whose features H = Σ_k σ_k u_k v_kᵀ hold in every one of C contexts and, in a block of its own,
in each; P = nC samples have the inputs (e_object, κ e_context), see `festina.worlds.contexts`. The first mode v_1 is
constant over objects, all others are centred. A linear path that is on in k of the C contexts sees, in a centred mode,

- at the start S = √(k² + k) σ/P and D = k/P: its k contexts add up in the common block, and fill one block each;
- once the path that is always on has learned all it can, S = √(k(C − k)/C) σ/P.

All paths with k contexts together then act as one: path A has the output direction a_b = 1[b ∈ A] − k/C over blocks,
two of them share |A ∩ B| contexts, and summing the overlaps over all B gives

    D_eff = Σ_B (|A ∩ B|/P) ⟨a_A, a_B⟩/|a|² = binom(C, k) k (C − k)/(n C² (C − 1)).

k = C − 1 and k = 1 have the same S and the same D_eff = 1/P: on what the common path leaves, paths that are on in all
contexts but one are no faster than paths of a single context. The middle sizes have the largest S. Time is that of
gradient flow on the MEAN loss, t = steps · rate · P for a rate on the sum.

Source: Jarvis et al. (2025) for k = C − 1, where D_eff = D_kk/(C − 1) is their factor C − 1; the other sizes, the
constant mode and the comparison are derived here.
"""

from math import comb
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from festina.arrays import ArrayLike
from festina.errors import require
from festina.precision import is_traced
from festina.theory.chain import chain


class Modes(eqx.Module):
    """Modes that one kind of path learns, each by itself: S, the D it meets, and how many paths share its course.

    Attributes:
        strength: S of each mode.
        input_variance: the D it meets.
        copies: how many paths share its course.

    Example:
        >>> import festina as fs
        >>> modes = fs.theory.rectified.at_start(2, contexts=4, strengths=[2.0, 1.0, 1.0])
        >>> modes([0.0, 1000.0], initial=0.01)["product"].round(3)  # to S/D
        array([[0.01 , 0.01 ],
               [1.225, 1.225]])
    """

    strength: Float[Any, " modes"]
    input_variance: Float[Any, " modes"]
    copies: Float[Any, " modes"]

    @property
    def energy(self) -> Float[Any, " modes"]:
        """By how much learning a mode lowers the loss, copies · S²/2D."""
        return 0.5 * self.copies * self.strength**2 / self.input_variance

    def __call__(self, time: ArrayLike, initial: ArrayLike) -> dict[str, Float[Any, "..."]]:
        """π(t) = (S/D)/(1 − (1 − S/(Dπ₀)) e^{−2St}) of every mode, and the `loss` that is still to be learned.

        Args:
            time: of gradient flow on the mean loss.
            initial: π₀, one for all modes, or one each.
        """
        answer = chain(2, self.strength, initial, input_variance=self.input_variance)(time)
        return {"product": answer["product"], "loss": answer["loss"] @ self.copies}


def at_start(size: int, contexts: int, strengths: Any) -> Modes:
    """What one path that is on in ``size`` contexts sees of the centred modes before anything is learned.

    Args:
        size: k, in how many contexts it is on.
        contexts: C.
        strengths: all singular values σ of the features, the constant mode first.

    Returns:
        `Modes` with S = √(k² + k) σ/P and D = k/P, one for each centred mode.

    Example:
        >>> import festina as fs
        >>> for size in (1, 2, 4):  # a path that is on in more contexts is faster
        ...     print(fs.theory.rectified.at_start(size, contexts=4, strengths=[2.0, 1.0]).strength.round(3))
        [0.177]
        [0.306]
        [0.559]
    """
    strengths = _checked(size, contexts, strengths)
    centred, samples = strengths[1:], len(strengths) * contexts
    return Modes(
        (size**2 + size) ** 0.5 * centred / samples, np.full_like(centred, size / samples), np.ones_like(centred)
    )


def on_residual(size: int, contexts: int, strengths: Any) -> Modes:
    """What all paths that are on in ``size`` contexts see together once the common path has learned all it can.

    Args:
        size: k < C, in how many contexts a path is on.
        contexts: C.
        strengths: all singular values σ of the features, the constant mode first.

    Returns:
        `Modes` with S = √(k(C − k)/C) σ/P and D_eff, one for each centred mode, with binom(C, k) copies.

    Example:
        >>> import festina as fs
        >>> for size in (1, 2, 3):  # on in all contexts but one is no faster than on in a single one
        ...     print(fs.theory.rectified.on_residual(size, contexts=4, strengths=[2.0, 1.0]).strength.round(3))
        [0.108]
        [0.125]
        [0.108]
    """
    strengths = _checked(size, contexts, strengths)
    require(
        size < contexts, "size", f"be less than the {contexts} contexts: nothing is left for a path always on", size
    )
    centred, objects = strengths[1:], len(strengths)
    paths = comb(contexts, size)
    strength = (size * (contexts - size) / contexts) ** 0.5 * centred / (objects * contexts)
    variance = paths * size * (contexts - size) / (objects * contexts**2 * (contexts - 1))
    return Modes(strength, np.full_like(centred, variance), np.full_like(centred, paths))


def always_on(contexts: int, strengths: Any, context_scale: Any = 1.0) -> Modes:
    """All modes of the common path: the constant one, the centred ones, and last the differences between contexts.

    The constant mode is shared by the object's and the context's part of the input, S = σ₁√(1 + 1/C)√(D/n) with
    D = 1/n + κ²/C. Differences between contexts, C − 1 of them, have S = κσ₁/(√n C) and D = κ²/C.

    Args:
        contexts: C.
        strengths: all singular values σ of the features, the constant mode first.
        context_scale: κ, the size of the context's part of the input.

    Returns:
        `Modes`, one for each σ and one for the differences.

    Example:
        >>> import festina as fs
        >>> strengths = [2.0, 1.0, 1.0]
        >>> explained = fs.theory.rectified.always_on(4, strengths).energy.sum()
        >>> left = fs.theory.rectified.residual_loss(4, strengths)
        >>> round(float(explained + left), 6) == fs.theory.rectified.initial_loss(strengths)
        True
    """
    strengths = _checked(contexts, contexts, strengths)
    if not is_traced(context_scale):
        require(float(context_scale) > 0, "context_scale", "be positive", context_scale)
    objects, first = len(strengths), strengths[0] / len(strengths) ** 0.5
    centred = at_start(contexts, contexts, strengths)
    shared = 1.0 / objects + context_scale**2 / contexts
    ends = (first * (1 + 1 / contexts) ** 0.5 * shared**0.5, first * context_scale / contexts)
    return Modes(
        np.array([ends[0], *centred.strength, ends[1]]),
        np.array([shared, *centred.input_variance, context_scale**2 / contexts]),
        np.array([1.0, *centred.copies, contexts - 1.0]),
    )


def initial_loss(strengths: Any) -> float:
    """½⟨|y|²⟩ = Σσ²/n, half of it for the common block.

    Args:
        strengths: all singular values σ of the features of n objects.

    Example:
        >>> import festina as fs
        >>> fs.theory.rectified.initial_loss([2.0, 1.0, 1.0])
        2.0
    """
    modes = _modes(strengths)
    return float(np.sum(modes**2) / len(modes))


def residual_loss(contexts: int, strengths: Any) -> float:
    """What the common path leaves: ½(1 − 1/C) Σσ²/n over the centred modes, or ½(C − 1)Σσ² for a sum over samples.

    Args:
        contexts: C.
        strengths: all singular values σ of the features, the constant mode first.

    Example:
        >>> import festina as fs
        >>> fs.theory.rectified.residual_loss(4, [2.0, 1.0, 1.0])  # ½ · ¾ · (1 + 1)/3
        0.25
    """
    modes = _checked(contexts, contexts, strengths)
    return float(0.5 * (1 - 1 / contexts) * np.sum(modes[1:] ** 2) / len(modes))


class TwoPhases(eqx.Module):
    """The loss of a common path and of paths that learn what it leaves, as if these had met nothing else before.

    An approximation: paths of some contexts grow already while the common path is learning (see `at_start`), which an
    initial strength of their own stands for.

    Attributes:
        common: the modes of the path that is always on.
        contextual: those of all other paths, on what the common one leaves.

    Example:
        >>> import festina as fs
        >>> theory = fs.theory.rectified.two_phases(4, [2.0, 1.0, 1.0], size=3)
        >>> len(theory.common.strength), len(theory.contextual.strength)
        (4, 2)
    """

    common: Modes
    contextual: Modes

    def __call__(self, time: ArrayLike, common_initial: ArrayLike, contextual_initial: ArrayLike) -> Float[Any, "..."]:
        """The mean loss at all times.

        Args:
            time: of gradient flow on the mean loss.
            common_initial: π₀ of the common path's modes.
            contextual_initial: π₀ of the modes of the other paths.
        """
        return self.common(time, common_initial)["loss"] + self.contextual(time, contextual_initial)["loss"]


def two_phases(contexts: int, strengths: Any, size: int, context_scale: Any = 1.0) -> TwoPhases:
    """A common path, and all paths that are on in ``size`` of the contexts; C − 1 is the source's choice.

    Args:
        contexts: C.
        strengths: all singular values σ of the features, the constant mode first.
        size: k, in how many contexts the other paths are on.
        context_scale: κ, the size of the context's part of the input.

    Returns:
        A `TwoPhases`: ``theory(time, common_initial, contextual_initial)`` is the mean loss.

    Example:
        >>> import festina as fs
        >>> theory = fs.theory.rectified.two_phases(4, [2.0, 1.0, 1.0], size=3)
        >>> theory([0.0, 50.0, 1000.0], 1e-6, 1e-6).round(2)  # a plateau at the residual loss, ¼
        array([2.  , 0.25, 0.  ])
    """
    return TwoPhases(always_on(contexts, strengths, context_scale), on_residual(size, contexts, strengths))


def _checked(size: int, contexts: int, strengths: Any) -> Float[np.ndarray, " modes"]:
    require(contexts >= 2, "contexts", "be at least 2", contexts)
    require(1 <= size <= contexts, "size", f"lie between 1 and the {contexts} contexts", size)
    return _modes(strengths)


def _modes(strengths: Any) -> Float[np.ndarray, " modes"]:
    modes = np.asarray(strengths, float)
    require(modes.ndim == 1 and len(modes) >= 2, "strengths", "be at least two", modes.shape)
    require(bool(np.all(np.isfinite(modes))), "strengths", "be finite", strengths)
    return modes
