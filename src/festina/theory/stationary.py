"""Where a shallow and a deep network that learn a decision are at rest: all stationary points, with their indices.

Stimuli s with inputs x[s, k] come with choices a in the shares c[s, a] and earn R[s, a]. Values Q[s, a] =
Σ_k V[a, k] x[s, k] are those of a shallow network with weights V, or of a deep one with V[a, k] = W2[a, k] w1[k], and

    L = ½ Σ_{s,a} c[s, a] (R[s, a] − Q[s, a])²,    G[a, k] = ∂L/∂V[a, k].

*Shallow*: L is quadratic in V, and strictly convex if inputs are independent: one stationary point, the minimum.

*Deep*: ∂L/∂W2[a, k] = G[a, k] w1[k] and ∂L/∂w1[k] = Σ_a G[a, k] W2[a, k]. Every pathway k is either open, with
G[:, k] = 0, or closed, with w1[k] = 0. So stationary points belong to sets of open pathways, 2^K for K pathways, and
their products V are the best ones of a shallow network that has these pathways only. In each the weights are free up to
w1 → r w1, W2 → W2 / r, which no behaviour can see. A closed pathway has the Hessian [[0, Gᵀ], [G, 0]] with the
eigenvalues ±|G[:, k]| and 0; open ones have none below zero (their second derivatives of Q meet G = 0). So the *index*,
the number of negative directions, is the number of closed pathways with G[:, k] ≠ 0: those that would help.

If every set of open pathways tells its stimuli apart so far that each can have a value of its own, as gratings of one
contrast do, then V does not depend on the shares of choices, nor does a choice that depends on V change the
linearisation: points and indices are also those of an animal that chooses by softmax, at any temperature.

All weights may have either sign here; for networks whose weights cannot be negative see `festina.theory.saddles`.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from festina.errors import require

SMALL = 1e-10  # of a slope or a curvature in units of the largest: zero


class Task(NamedTuple):
    """A decision, with choices made in given shares.

    Attributes:
        seen: x, inputs of every stimulus.
        reward: R, expected reward by stimulus and choice.
        chances: c, how often a stimulus comes with a choice; the sum is 1.

    Example:
        >>> world = fs.worlds.gratings
        >>> by_chance = world.shares(3, blank=0.1)[:, None] * [0.5, 0.5]
        >>> task = fs.theory.stationary.Task(world.inputs(), world.rewards(3), by_chance)
        >>> [point.index for point in fs.theory.stationary.points(task)]
        [3, 2, 2, 2, 1, 1, 1, 0]
        >>> len(fs.theory.stationary.points(task, layers=1))
        1
    """

    seen: Float[np.ndarray, "stimulus pathway"]
    reward: Float[np.ndarray, "stimulus choice"]
    chances: Float[np.ndarray, "stimulus choice"]


class Point(NamedTuple):
    """A stationary point.

    Attributes:
        opened: numbers of the pathways that are open.
        products: V, by choice and pathway; zero in closed ones.
        loss: L.
        index: the number of negative directions of the Hessian; above zero at a saddle.

    Example:
        >>> world = fs.worlds.gratings
        >>> task = fs.theory.stationary.Task(world.inputs(), world.rewards(3), np.full((3, 2), 1 / 6))
        >>> point = fs.theory.stationary.points(task)[4]  # both stimulus pathways are open, the constant one is closed
        >>> point.opened, point.products.round(3).tolist(), point.index
        ((0, 1), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 1)
    """

    opened: tuple[int, ...]
    products: Float[np.ndarray, "choice pathway"]
    loss: float
    index: int  # pyright: ignore[reportIncompatibleMethodOverride] (a word of mathematics)


def points(task: Task, *, layers: int = 2) -> list[Point]:
    """All stationary points of a network with one or two layers, from all pathways closed to all open.

    Args:
        task: whose inputs are independent, and all of whose stimuli come with all choices.
        layers: 1 for a shallow network, 2 for a deep one.

    Returns:
        One point of a shallow network, 2^K of a deep one with K pathways.

    Example:
        >>> world = fs.worlds.gratings
        >>> by_chance = world.shares(3, blank=0.1)[:, None] * [0.5, 0.5]
        >>> task = fs.theory.stationary.Task(world.inputs(), world.rewards(3), by_chance)
        >>> fs.theory.stationary.points(task)[3].products  # the constant pathway is open: half a reward is expected
        array([[0. , 0. , 0.5],
               [0. , 0. , 0.5]])
    """
    require(layers in (1, 2), "layers", "be 1 or 2", layers)
    pathways = task.seen.shape[1]
    require(bool(np.all(task.chances > 0)), "chances", "all be positive", task.chances)
    independent = np.linalg.matrix_rank(task.seen) == pathways
    require(bool(independent), "seen", f"have {pathways} independent columns", task.seen)
    counts = range(pathways + 1) if layers > 1 else [pathways]
    return [_point(task, opened) for count in counts for opened in combinations(range(pathways), count)]


def _point(task: Task, opened: tuple[int, ...]) -> Point:
    """The least loss with some pathways open: weighted least squares, choice by choice."""
    products = np.zeros((task.reward.shape[1], task.seen.shape[1]))
    for choice, (reward, chance) in enumerate(zip(task.reward.T, task.chances.T, strict=True)):
        root = np.sqrt(chance)
        products[choice, opened] = np.linalg.lstsq(root[:, None] * task.seen[:, opened], root * reward, rcond=None)[0]
    slopes = np.linalg.norm(_slope(task, products), axis=0)
    helping = slopes > SMALL * np.linalg.norm(_slope(task, np.zeros_like(products)))
    return Point(opened, products, loss(task, products), sum(bool(helps) for helps in np.delete(helping, opened)))


def loss(task: Task, products: Float[np.ndarray, "*batch choice pathway"]) -> Any:
    """L, from the products of the weights: a number for each network.

    Args:
        task: to be learned.
        products: V, by choice and pathway.

    Example:
        >>> world = fs.worlds.gratings
        >>> task = fs.theory.stationary.Task(world.inputs(), world.rewards(3), np.full((3, 2), 1 / 6))
        >>> round(float(fs.theory.stationary.loss(task, np.zeros((2, 3)))), 4)
        0.2083
    """
    return 0.5 * np.sum(task.chances * _errors(task, products) ** 2, axis=(-2, -1))


def _errors(task: Task, products: np.ndarray) -> np.ndarray:
    """Rewards less what is expected: (…, stimulus, choice)."""
    return task.reward - np.einsum("...ak,sk->...sa", products, task.seen)


def _slope(task: Task, products: np.ndarray) -> np.ndarray:
    """G = ∂L/∂V: (…, choice, pathway)."""
    return -np.einsum("...sa,sk->...ak", task.chances * _errors(task, products), task.seen)


def gradient(
    task: Task, tutor: Float[np.ndarray, "*batch pathway"], executor: Float[np.ndarray, "*batch choice pathway"]
) -> Float[np.ndarray, "*batch weights"]:
    """∂L of a deep network with respect to (w1, W2 row by row).

    Args:
        task: to be learned.
        tutor: w1.
        executor: W2.

    Example:
        >>> world = fs.worlds.gratings
        >>> task = fs.theory.stationary.Task(world.inputs(), world.rewards(3), np.full((3, 2), 1 / 6))
        >>> slope = fs.theory.stationary.gradient(task, np.ones(3), np.zeros((2, 3)))
        >>> np.abs(slope).round(3).tolist()  # three of the tutor, three for the choice left, three for right
        [0.0, 0.0, 0.0, 0.167, 0.0, 0.25, 0.0, 0.167, 0.25]
    """
    slope = _slope(task, executor * tutor[..., None, :])
    on_executor = slope * tutor[..., None, :]
    return np.concatenate([np.sum(slope * executor, axis=-2), _flat(on_executor)], axis=-1)


def hessian(
    task: Task, tutor: Float[np.ndarray, "*batch pathway"], executor: Float[np.ndarray, "*batch choice pathway"]
) -> Float[np.ndarray, "*batch weights weights"]:
    """Second derivatives of L of a deep network with respect to (w1, W2 row by row).

    Args:
        task: to be learned.
        tutor: w1.
        executor: W2.

    Example:
        >>> world = fs.worlds.gratings
        >>> task = fs.theory.stationary.Task(world.inputs(), world.rewards(3), np.full((3, 2), 1 / 6))
        >>> at_zero = fs.theory.stationary.hessian(task, np.zeros(3), np.zeros((2, 3)))
        >>> int(np.sum(np.linalg.eigvalsh(at_zero) < -1e-12))  # three directions in which the loss falls
        3
    """
    choices, pathways = executor.shape[-2:]
    slope, unit = _slope(task, executor * tutor[..., None, :]), np.eye(pathways)
    # ∂V[a, k] / ∂(w1[j], W2[b, j]): what weights do to products; the rest is linear algebra
    from_tutor = executor[..., :, :, None] * unit
    from_executor = np.einsum("ab,...k,kj->...akbj", np.eye(choices), tutor, unit)
    moves = np.concatenate([from_tutor, from_executor.reshape(*from_executor.shape[:-2], -1)], axis=-1)
    curvature = np.einsum("sk,sa,sj->akj", task.seen, task.chances, task.seen)  # of L in V, choice by choice
    found = np.einsum("...akp,akj,...ajq->...pq", moves, curvature, moves)
    mixed = np.einsum("...bj,jk->...kbj", slope, unit)  # ∂²V[b, j] / ∂w1[k] ∂W2[b, j] = 1 for k = j
    mixed = mixed.reshape(*mixed.shape[:-2], -1)
    found[..., :pathways, pathways:] += mixed
    found[..., pathways:, :pathways] += np.swapaxes(mixed, -1, -2)
    return found


def directions_down(task: Task, products: Float[np.ndarray, "choice pathway"], *, layers: int = 2) -> int:
    """The index of a stationary point, counted: negative eigenvalues of its Hessian.

    Args:
        task: to be learned.
        products: V there, by choice and pathway; weights of a deep network are taken as balanced.
        layers: 1 for a shallow network, 2 for a deep one.

    Example:
        >>> world = fs.worlds.gratings
        >>> task = fs.theory.stationary.Task(world.inputs(), world.rewards(3), np.full((3, 2), 1 / 6))
        >>> fs.theory.stationary.directions_down(task, np.zeros((2, 3)))
        3
    """
    pathways = task.seen.shape[1]
    bend = hessian(task, *weights(products)) if layers > 1 else hessian(task, np.ones(pathways), products)
    free = slice(0 if layers > 1 else pathways, None)
    curvatures = np.linalg.eigvalsh(bend[free, free])
    return int(np.sum(curvatures < -SMALL * np.max(np.abs(curvatures))))


def weights(products: Float[np.ndarray, "choice pathway"]) -> tuple[np.ndarray, np.ndarray]:
    """Balanced weights with the given products: w1[k]² = Σ_a W2[a, k]², all zero in a closed pathway.

    Args:
        products: V, by choice and pathway.

    Returns:
        w1 and W2.

    Example:
        >>> tutor, executor = fs.theory.stationary.weights(np.array([[0.0, 3.0], [0.0, 4.0]]))
        >>> tutor.round(3).tolist(), (executor * tutor).round(3).tolist()
        ([0.0, 2.236], [[0.0, 3.0], [0.0, 4.0]])
    """
    tutor = np.sqrt(np.linalg.norm(products, axis=0))
    return tutor, np.divide(products, tutor, out=np.zeros_like(products), where=tutor > 0)


def found_from(
    task: Task, random: np.random.Generator, *, starts: int, layers: int = 2, spread: float = 1.0, steps: int = 200
) -> Float[np.ndarray, "found choice pathway"]:
    """Products of the stationary points that a search finds: nothing of `points` is used.

    From random weights |∂L|² is made smaller by damped Gauss-Newton steps (Levenberg and Marquardt), which go to
    saddles as readily as to minima. Ends with |∂L| below 1e-9 count; those nearer than 1e-4 are one point.

    Args:
        task: to be learned.
        random: where the first weights come from: normal, of standard deviation ``spread``.
        starts: how many.
        layers: 1 for a shallow network, the tutor weights of which stay 1; 2 for a deep one.
        spread: of the first weights.
        steps: how many.

    Example:
        >>> world = fs.worlds.gratings
        >>> task = fs.theory.stationary.Task(world.inputs(), world.rewards(3), np.full((3, 2), 1 / 6))
        >>> fs.theory.stationary.found_from(task, np.random.default_rng(0), starts=200).shape  # eight, and no other
        (8, 2, 3)
    """
    choices, pathways = task.reward.shape[1], task.seen.shape[1]
    state = spread * random.normal(size=(starts, pathways * (1 + choices)))
    free = slice(0 if layers > 1 else pathways, None)
    state[:, : free.start] = 1.0
    damping = np.ones(starts)

    def parts(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return state[:, :pathways], state[:, pathways:].reshape(starts, choices, pathways)

    slope = gradient(task, *parts(state))[:, free]
    for _ in range(steps):
        bend = hessian(task, *parts(state))[:, free, free]
        damped = bend @ bend + damping[:, None, None] * np.eye(bend.shape[-1])
        trial = state.copy()
        trial[:, free] -= np.linalg.solve(damped, bend @ slope[..., None])[..., 0]
        steepness = gradient(task, *parts(trial))[:, free]
        better = np.linalg.norm(steepness, axis=1) < np.linalg.norm(slope, axis=1)
        state, slope = np.where(better[:, None], trial, state), np.where(better[:, None], steepness, slope)
        damping = np.clip(np.where(better, damping / 5, damping * 4), 1e-14, 1e6)
    tutor, executor = parts(state)
    return _distinct((executor * tutor[:, None, :])[np.linalg.norm(slope, axis=1) < 1e-9])


def _distinct(products: np.ndarray) -> np.ndarray:
    kept: list[np.ndarray] = []
    for one in products:
        if all(np.max(np.abs(one - other)) > 1e-4 for other in kept):
            kept.append(one)
    return np.array(kept).reshape(-1, *products.shape[1:])


def _flat(matrices: np.ndarray) -> np.ndarray:
    return matrices.reshape(*matrices.shape[:-2], -1)
