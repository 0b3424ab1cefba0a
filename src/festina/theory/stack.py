"""What is known exactly of deep linear networks from orthogonal layers: straight lines, a reduction, and sigmoids.

Everything here works on plain arrays. The rate of a network of depth D is divided by D, as in `festina.networks.stack`.
"""

from functools import reduce
from typing import Any

import numpy as np
from jaxtyping import Complex, Float


def straight_lines(
    depth: int,
    strength: Any,
    starts: Float[np.ndarray, " n"] | Complex[np.ndarray, " n"],
    time: Float[np.ndarray, " t"],
) -> Float[np.ndarray, "t n"] | Complex[np.ndarray, "t n"]:
    """z(t) with τż = |z|^(2−2/D) (s − z), of shape (time, start); one s for each start, or for all.

    From real starts these are the modes of an aligned network, each a chain. From complex ones they are the eigenvalues
    of OᵀW_D⋯W_1 if S = sO and all layers are square and balanced. Both go straight to s: with
    z = s + (z0 − s) e^(−σ) only the way σ is unknown, τ dσ/dt = |z|^(2−2/D).

    Args:
        depth: D.
        strength: s.
        starts: z at t = 0, real or complex.
        time: rising from 0 on.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> z = fs.theory.stack.straight_lines(3, 1.0, np.array([0.1 + 0.3j]), np.array([0.0, 1.0, 20.0]))[:, 0]
        >>> z.round(3)
        array([0.1  +0.3j  , 0.287+0.238j, 1.   +0.j   ])
        >>> bool(np.isclose(np.angle(1.0 - z[1]), np.angle(1.0 - z[0])))  # on a straight line to s
        True
    """
    from scipy.integrate import solve_ivp

    def place(way: np.ndarray) -> np.ndarray:
        return strength + (starts - strength) * np.exp(-way)

    def speed(_: float, way: np.ndarray) -> np.ndarray:
        return np.abs(place(way)) ** (2 - 2 / depth)

    run = solve_ivp(speed, (0, time[-1] or 1.0), np.zeros(len(starts)), "DOP853", time, rtol=1e-10, atol=1e-12)
    return place(run.y.T)


def orthogonal_loss(
    first: Float[np.ndarray, "hidden inputs"],
    middle: Float[np.ndarray, "between hidden hidden"],
    last: Float[np.ndarray, "outputs hidden"],
    target: Float[np.ndarray, "outputs inputs"],
    time: Float[np.ndarray, " t"],
) -> Float[np.ndarray, " t"]:
    """Relative loss of a network of orthogonal layers, of any sizes at its ends, by a reduction to three matrices.

    Layers W_2 … W_{D−1} start balanced, stay so, and are known from their product M = P Λ^L Qᵀ, L = D − 2:
    τ D dM/dt = P [K ∘ (Pᵀ W_Dᵀ E W_1ᵀ Q)] Qᵀ with E = S − W_D M W_1 and K_ab = Σ_j Λ_a^(2(L−1−j)) Λ_b^(2j); W_1 and W_D
    follow their gradients. In coordinates in which the layers between start as multiples of 1, nothing but a few
    directions ever moves: those of S and of W_D, as seen through W_1.

    Args:
        first: W_1, of shape (hidden, inputs).
        middle: W_2 … W_{D−1}, square, of shape (D − 2, hidden, hidden), each a multiple of an orthogonal matrix.
        last: W_D, of shape (outputs, hidden).
        target: S, of shape (outputs, inputs).
        time: rising from 0 on.

    Returns:
        |S − W_D⋯W_1|²/|S|² at each time.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> one, time = np.eye(3), np.array([0.0, 0.1, 5.0])
        >>> fs.theory.stack.orthogonal_loss(one, np.stack([one, one]), one, 2.0 * one, time).round(4)
        array([0.25  , 0.2015, 0.    ])
        >>> mode = fs.theory.stack.straight_lines(4, 2.0, np.array([1.0]), time)[:, 0]
        >>> ((1.0 - mode / 2.0) ** 2).round(4)  # the same
        array([0.25  , 0.2015, 0.    ])
    """
    from scipy.integrate import solve_ivp

    between = len(middle)
    whole = reduce(lambda product, weights: weights @ product, middle, np.eye(len(first)))
    size = abs(np.linalg.det(whole)) ** (1 / len(whole))  # gain^L
    last = last @ whole / size
    seen = np.linalg.qr(np.hstack([target.T, first.T @ last.T, first.T @ first @ target.T]))[0]
    used = np.linalg.qr(np.hstack([last.T, first @ target.T, first @ first.T @ last.T]))[0]
    goal = target @ seen
    start = (used.T @ first @ seen, size * np.eye(used.shape[1]), last @ used)
    cuts = np.cumsum([0, *(matrix.size for matrix in start)]).tolist()
    places = [(slice(low, high), matrix.shape) for low, high, matrix in zip(cuts[:-1], cuts[1:], start, strict=True)]
    powers = np.arange(between)[:, None]

    def unpacked(flat: np.ndarray) -> list[np.ndarray]:
        return [flat[place].reshape(shape) for place, shape in places]

    def speed(_: float, flat: np.ndarray) -> np.ndarray:
        first, middle, last = unpacked(flat)
        error = goal - last @ middle @ first
        left, sizes, right = np.linalg.svd(middle)
        squares = sizes ** (2 / max(between, 1))
        weight = (squares ** (between - 1 - powers)).T @ squares**powers
        turned = left @ (weight * (left.T @ last.T @ error @ first.T @ right.T)) @ right
        slopes = (middle.T @ last.T @ error, turned, error @ first.T @ middle.T)
        return np.concatenate([slope.ravel() for slope in slopes]) / (between + 2)

    def left_to_learn(_: float, flat: np.ndarray) -> float:
        first, middle, last = unpacked(flat)
        return float(np.sum((goal - last @ middle @ first) ** 2) / np.sum(goal**2))

    def learned(when: float, flat: np.ndarray) -> float:
        return left_to_learn(when, flat) - 1e-14

    learned.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
    flat = np.concatenate([matrix.ravel() for matrix in start])
    run = solve_ivp(speed, (0, time[-1] or 1.0), flat, "DOP853", time, rtol=1e-9, atol=1e-11, events=learned)
    losses = [left_to_learn(when, flat) for when, flat in zip(run.t, run.y.T, strict=True)]
    return np.pad(losses, (0, len(time) - len(losses)))


def encoder_duration(encoder: Float[np.ndarray, "hidden inputs"], level: float) -> float:
    """How long an autoencoder WᵀW of white inputs learns: the eigenvalues g of WᵀW are sigmoids, ġ = 2g(1 − g).

    The time at which the mean of (1 − g)² is ``level``.

    Args:
        encoder: W at t = 0, of shape (hidden, inputs), without singular values of zero.
        level: of the mean of (1 − g)², between 0 and 1.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> round(fs.theory.stack.encoder_duration(1e-3 * np.eye(4), level=0.25), 4)  # ½ ln(1/g0 − 1), half-way
        6.9078
    """
    from scipy.optimize import brentq

    odds = 1 / np.linalg.svd(encoder, compute_uv=False) ** 2 - 1

    def excess(time: float) -> float:
        faded = odds * np.exp(-2 * time)
        return float(np.mean((faded / (1 + faded)) ** 2)) - level

    return float(brentq(excess, 0.0, 1e3, xtol=1e-13)) if excess(0.0) > 0 else 0.0
