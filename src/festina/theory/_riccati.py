"""The matrix Riccati equation behind two-layer linear networks, carried from time to time in the eigenbasis of F.

See `festina.theory.balanced` for the equation. Over a short gap a factor of QQᵀ is advanced by one Cholesky
factorisation (:func:`_short_step`), over a gap of any length by the same formula in hidden coordinates that sort the
modes by how far they have grown (:func:`long_step`).
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import solve_triangular
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Shaped

#: Largest max|Λ|·dT of a short step; I + PᵀΦP then has a condition number of about e⁸.
SHORT = 4.0
#: The same for the differentiable variant, whose derivatives cancel to about e¹⁶ rounding errors.
DIFFERENTIABLE = 8.0

#: Entries of all factors that are advanced together, and the most times; large matrices gain nothing by it.
CHUNK, COMPANY = 65536, 10
#: Smallest matrix that is worth cutting in two.
BLOCK = 64

Matrix = Float[Array, "_ _"]
First = Float[Array | np.ndarray, "hidden in"]
Second = Float[Array | np.ndarray, "out hidden"]
Correlation = Float[Array | np.ndarray, "out in"]
Scalar = Float[Array | np.ndarray, ""]
Named = dict[str, Array | np.ndarray]
Times = Float[Array, " time"]
Rates = Float[Array, " rows"]
Products = tuple[Float[Array, "*t out in"], Float[Array, "*t in in"], Float[Array, "*t out out"]]


class Modes(NamedTuple):
    """The eigenvectors of F that the weights can reach, and their eigenvalues Λ (``rates``).

    A singular triple (u, s, v) of S gives the eigenvectors [a v; b u] and [−b v; a u] for ±√(s² + λ²/4),
    with a = ``inward``, b = ``outward``. What the wider side has beyond the singular vectors of S has the
    eigenvalue ±λ/2; of it only the span of the initial weights, ``rest``, is kept.
    """

    right: Matrix
    left: Matrix
    inward: Float[Array, "modes 1"]
    outward: Float[Array, "modes 1"]
    rest: Matrix
    rates: Float[Array, " all"]


def modes_of(first: First, second: Second, correlation: Correlation) -> Modes:
    imbalance = imbalance_of(first, second)
    left, strength, right = jnp.linalg.svd(correlation, full_matrices=True)
    count, wider_out = len(strength), len(second) > first.shape[1]
    angle = jnp.arctan2(imbalance / 2, strength)[:, None] / 2
    inward, outward = (jnp.cos(angle) - jnp.sin(angle)) / 2**0.5, (jnp.cos(angle) + jnp.sin(angle)) / 2**0.5
    beyond, wide = (left[:, count:], second) if wider_out else (right[count:].T, first.T)
    rest = beyond @ jnp.linalg.qr(beyond.T @ wide)[0] if beyond.size else beyond
    growth = jnp.hypot(strength, imbalance / 2)
    leftover = (imbalance if wider_out else -imbalance) / 2 * jnp.ones(rest.shape[1])
    rates = jnp.concatenate([growth, -growth, leftover])
    return Modes(right[:count].T, left[:, :count], inward, outward, rest, rates)


def _to_modes(modes: Modes, first: First, second: Second, size: bool = False) -> Matrix:
    """P = OᵀQ; with ``size``, |O|ᵀ|Q|, the size of what was added up and hence of the rounding error."""
    if size:
        modes, first, second = jax.tree.map(jnp.abs, (modes, first, second))
    sign = 1.0 if size else -1.0
    into, out = modes.right.T @ first.T, modes.left.T @ second
    rest = modes.rest.T @ (second if len(second) > first.shape[1] else first.T)
    a, b = modes.inward, modes.outward
    return jnp.concatenate([a * into + b * out, sign * b * into + a * out, rest])


def layers(modes: Modes, factor: Matrix) -> tuple[Matrix, Matrix]:
    """W₁ᵀ and W₂ from P, up to a rotation of the hidden layer: the blocks of O P."""
    count = modes.right.shape[1]
    plus, minus, rest = factor[:count], factor[count : 2 * count], modes.rest @ factor[2 * count :]
    into = modes.right @ (modes.inward * plus - modes.outward * minus)
    out = modes.left @ (modes.outward * plus + modes.inward * minus)
    if len(out) > len(into):
        return into, out + rest
    return (into + rest, out) if len(into) > len(out) else (into, out)


def _products(modes: Modes, factor: Matrix) -> Products:
    """W₂W₁, W₁ᵀW₁ and W₂W₂ᵀ from P."""
    into, out = layers(modes, factor)
    return out @ into.T, into @ into.T, out @ out.T


def _sorted_factor(
    factor: Matrix, weight: Rates, floor: Rates, growing: Shaped[Array, " rows"], most: Shaped[Array, ""]
) -> tuple[Matrix, Shaped[Array, ""]]:
    """The same PPᵀ in hidden coordinates that the modes claim one by one, the weightiest mode first.

    Gram–Schmidt on the rows of P, always taking the row with the largest e^weight·|what is left of it|. A row
    of which less than ``floor`` is left is exhausted: its remaining entries are exact zeros, not noise that
    could grow. So are all ``growing`` rows once they have claimed ``most`` directions, the rank of their block,
    which the flow conserves. Columns come back in reverse order: triangular solves then leave these zeros untouched.
    Also returned is how many directions growing rows have claimed.
    """

    def claim(index: Array, carry: tuple[Matrix, Matrix, Array]) -> tuple[Matrix, Matrix, Array]:
        left_over, claimed, count = carry
        length = jnp.linalg.norm(left_over, axis=1)
        alive = (length > floor) & ~(growing & (count >= most))
        best = jnp.argmax(jnp.where(alive, weight + jnp.log(length), -jnp.inf))
        direction = jnp.where(alive[best], left_over[best] / length[best], 0.0)
        entries = jnp.where(alive, left_over @ direction, 0.0)
        left_over = left_over - entries[:, None] * direction[None, :]
        count = count + (alive[best] & growing[best]).astype(count.dtype)
        return left_over, claimed.at[:, claimed.shape[1] - 1 - index].set(entries), count

    columns = min(factor.shape)
    start = factor, jnp.zeros_like(factor[:, :columns]), jnp.asarray(0, most.dtype)
    return lax.fori_loop(0, columns, claim, start)[1:]


def _short_step(rates: Float[Array, " all"], factor: Matrix, gap: Float[Array, ""]) -> Matrix:
    """P ← e^{ΛdT} P L⁻ᵀ with LLᵀ = I + Pᵀ (e^{2ΛdT} − 1)/(2Λ) P."""
    exponent = 2 * rates * gap
    spread = jnp.where(exponent == 0, gap, gap * jnp.expm1(exponent) / jnp.where(exponent == 0, 1.0, exponent))
    scaled = jnp.sqrt(spread)[:, None] * factor
    lower = jnp.linalg.cholesky(jnp.eye(factor.shape[1]) + _lower_gram(scaled), symmetrize_input=False)
    return _times_inverse(jnp.exp(rates * gap)[:, None] * factor, lower)


def long_step(rates: Float[Array, " all"], factor: Matrix, gap: Float[Array, ""], rank: Shaped[Array, ""]) -> Matrix:
    """The same step when e^{ΛdT} may overflow; ``rank`` is that of the growing modes' block, from `initial_factor`.

    In sorted coordinates each column of √Φ P is dominated by the mode that claimed it. Dividing I + PᵀΦP by
    the size of its columns, in logarithms, leaves a well-conditioned matrix whatever the growth.
    """
    gap = jnp.maximum(gap, jnp.finfo(gap.dtype).tiny)  # no step at all is the limit of a short one
    decay = 2 * jnp.abs(rates) * gap
    ratio = jnp.where(decay == 0, 1.0, -jnp.expm1(-decay) / jnp.where(decay == 0, 1.0, decay))
    weight = jnp.maximum(rates, 0.0) * gap + jnp.log(gap * ratio) / 2
    tiny = 4 * jnp.finfo(factor.dtype).eps * factor.shape[1] ** 0.5
    factor = _sorted_factor(factor, weight, tiny * jnp.linalg.norm(factor, axis=1), rates > 0, rank)[0]
    size = weight[:, None] + jnp.log(jnp.abs(factor))
    column = jnp.logaddexp(0.0, jax.nn.logsumexp(2 * size, axis=0)) / 2
    scaled = jnp.sign(factor) * jnp.exp(size - column[None, :])
    lower = jnp.linalg.cholesky(jnp.diag(jnp.exp(-2 * column)) + _lower_gram(scaled), symmetrize_input=False)
    grown = jnp.exp(jnp.minimum(rates, 0.0) * gap) / jnp.sqrt(gap * ratio)  # e^{ΛdT}/√Φ, which is bounded
    return _times_inverse(grown[:, None] * scaled, lower)


def _lower_gram(matrix: Matrix) -> Matrix:
    """The lower triangle of XᵀX (above it, anything): blocks save a third of the full product."""
    half = matrix.shape[1] // 2
    if half < BLOCK:
        return matrix.T @ matrix
    left, right = matrix[:, :half], matrix[:, half:]
    below = right.T @ left
    return jnp.block([[_lower_gram(left), jnp.zeros_like(below.T)], [below, _lower_gram(right)]])


def _times_inverse(matrix: Matrix, lower: Matrix) -> Matrix:
    """X L⁻ᵀ: halving L makes most of it a product, twice as fast as one large triangular solve."""
    half = len(lower) // 2
    if half < BLOCK:
        return lax.linalg.triangular_solve(lower, matrix, left_side=False, lower=True, transpose_a=True)
    left = _times_inverse(matrix[:, :half], lower[:half, :half])
    right = _times_inverse(matrix[:, half:] - left @ lower[half:, :half].T, lower[half:, half:])
    return jnp.concatenate([left, right], axis=1)


def initial_factor(
    modes: Modes, first: First, second: Second, correlation: Correlation
) -> tuple[Matrix, Shaped[Array, ""]]:
    """P at t = 0, with the directions in which no mode grows set apart exactly, and the rank of the growing part.

    If the growing part of the weights is singular, the flow ends at a saddle, which one rounding error would
    leave; a part below rounding is therefore taken as zero. Where determinants say that it is singular, what is left
    for the last direction is rounding whatever its size.
    """
    factor = _to_modes(modes, first, second)
    size = jnp.linalg.norm(_to_modes(modes, first, second, size=True), axis=1)
    growing = modes.rates > 0
    most = factor.shape[1] - obstructed(first, second, correlation, jnp).astype(jnp.int32)
    weight = jnp.where(growing, 0.0, -1e6)
    return _sorted_factor(factor, weight, jnp.finfo(factor.dtype).eps * len(factor) * size, growing, most)


def obstructed(first: First, second: Second, correlation: Correlation, library: Any) -> Any:
    """Whether Ni = Nh = No, λ = 0, and the determinants of W₂W₁ and of S have opposite signs.

    Then W₂ᵀ = W₁O with O orthogonal, and the growing part W₂ᵀU + W₁V = W₁V(VᵀOU + I) is singular, since an orthogonal
    matrix of determinant −1 has the eigenvalue −1. ``library`` is NumPy, or its like in JAX.
    """
    matrices = first, second, correlation
    count = len(first)
    if any(np.shape(matrix) != (count, count) for matrix in matrices):
        return library.asarray(False)
    inward, outward = library.sum(first**2), library.sum(second**2)
    level = abs(outward - inward) <= 1e-12 * (inward + outward)
    signs, ranks = ([find(matrix) for matrix in matrices] for find in (
        lambda matrix: library.linalg.slogdet(matrix)[0], library.linalg.matrix_rank,
    ))  # fmt: skip
    full = (ranks[0] == count) & (ranks[1] == count) & (ranks[2] == count)
    return level & full & (signs[0] * signs[1] * signs[2] < 0)


@partial(jax.custom_jvp, nondiff_argnums=(4,))
def _exact(first: First, second: Second, correlation: Correlation, times: Times, steps: int) -> Products:
    """The products at sorted times (in units of τ), some times together where matrices are small."""
    modes = modes_of(first, second, correlation)
    start, rank = initial_factor(modes, first, second, correlation)
    fastest = jnp.max(jnp.abs(modes.rates))
    together = jax.vmap(partial(_short_step, modes.rates), in_axes=(None, 0))

    def one_by_one(factor: Matrix, offsets: Times) -> Float[Array, "time rows columns"]:
        def advance(factor: Matrix, gap: Float[Array, ""]) -> tuple[Matrix, Matrix]:
            factor = long_step(modes.rates, factor, gap, rank)
            return factor, factor

        return lax.scan(advance, factor, jnp.diff(offsets, prepend=0.0))[1]

    def advance(carry: tuple[Matrix, Array], chunk: Times) -> tuple[tuple[Matrix, Array], Products]:
        factor, offsets = carry[0], chunk - carry[1]
        factors = lax.cond(fastest * offsets[-1] <= SHORT, together, one_by_one, factor, offsets)
        return (factors[-1], chunk[-1]), jax.vmap(partial(_products, modes))(factors)

    size = max(1, min(len(times), COMPANY, CHUNK // max(start.size, 1)))
    chunks = jnp.pad(times, (0, -len(times) % size), mode="edge").reshape(-1, size)
    products = lax.scan(advance, (start, jnp.zeros_like(fastest)), chunks)[1]
    return jax.tree.map(lambda block: block.reshape(-1, *block.shape[2:])[: len(times)], products)


@_exact.defjvp
def _exact_jvp(steps: int, primals: tuple, tangents: tuple) -> tuple[Products, Products]:
    smooth = partial(_smooth, steps=steps)
    return _exact(*primals, steps), jax.jvp(smooth, primals, tangents)[1]


def _smooth(first: First, second: Second, correlation: Correlation, times: Times, steps: int) -> Products:
    """The same products without an eigenbasis, so that derivatives exist where the spectrum is degenerate.

    Each gap is cut into equal parts, at least ``steps`` of them over all gaps. Parts too long for the digits
    of a derivative (max|Λ|·dT > 8) make it NaN rather than wrong.
    """
    inputs, parts = first.shape[1], max(4, -(-steps // max(len(times), 1)))
    half = imbalance_of(first, second) / 2
    generator = jnp.block([
        [-half * jnp.eye(inputs), correlation.T],
        [correlation, half * jnp.eye(len(second))],
    ])  # fmt: skip
    still = lax.stop_gradient  # no derivative of this singular value decomposition either
    fastest = jnp.hypot(jnp.linalg.norm(still(correlation), ord=2), still(half))

    def advance(factor: Matrix, gap: Float[Array, ""]) -> tuple[Matrix, Products]:
        growth, spread = _propagator(generator, gap / parts)
        growth = growth * jnp.where(fastest * gap / parts > DIFFERENTIABLE, jnp.nan, 1.0)

        def part(factor: Matrix, _: None) -> tuple[Matrix, None]:
            lower = jnp.linalg.cholesky(jnp.eye(factor.shape[1]) + factor.T @ spread @ factor)
            return solve_triangular(lower, (growth @ factor).T, lower=True).T, None

        factor = lax.scan(part, factor, None, length=parts)[0]
        into, out = factor[:inputs], factor[inputs:]
        return factor, (out @ into.T, into @ into.T, out @ out.T)

    start = jnp.concatenate([first.T, second])
    return lax.scan(advance, start, jnp.diff(times, prepend=0.0))[1]


def _propagator(generator: Matrix, time: Float[Array, ""], halvings: int = 6) -> tuple[Matrix, Matrix]:
    """e^{FT} and Φ(T) by a Taylor series at T/2⁶ and doubling: Φ(2h) = Φ(h) + e^{Fh} Φ(h) e^{Fh}."""
    small, one = generator * (time / 2**halvings), jnp.eye(len(generator))
    growth = spread = one
    for order in range(12, 0, -1):
        growth = one + small @ growth / order
        spread = one + 2 * small @ spread / (order + 1)
    spread = spread * (time / 2**halvings)
    for _ in range(halvings):
        growth, spread = growth @ growth, spread + growth @ spread @ growth
    return growth, spread


@partial(jax.jit, static_argnames="steps")
def evaluate(
    first: First, second: Second, correlation: Correlation, time: Float[Array, "*t"], timescale: Scalar,
    variance: Scalar, steps: int,
) -> Named:  # fmt: skip
    times = time.ravel() / timescale
    order = jnp.argsort(times)
    root = jnp.sqrt(variance)  # with √c·W in place of W, input variance c becomes 1
    products = _exact(root * first, root * second, correlation, times[order], steps)
    back = jnp.argsort(order)
    return _named(
        tuple(block[back].reshape(*time.shape, *block.shape[1:]) for block in products), correlation, variance
    )


def _named(products: Products, correlation: Correlation, variance: Scalar) -> Named:
    product, inward, outward = (block / variance for block in products)
    error = jnp.broadcast_to(correlation / variance, product.shape) - product
    loss = variance / 2 * jnp.sum(error**2, axis=(-2, -1))
    return {"map": product, "input_gram": inward, "output_gram": outward, "loss": loss}


@jax.jit
def evaluate_limit(first: First, second: Second, correlation: Correlation, variance: Scalar) -> Named:
    root = jnp.sqrt(variance)
    modes = modes_of(root * first, root * second, correlation)
    # Long enough to decide every race between rates that double precision can tell apart.
    forever = 1e12 / jnp.maximum(jnp.max(jnp.abs(modes.rates)), jnp.finfo(root.dtype).tiny ** 0.5)
    start, rank = initial_factor(modes, root * first, root * second, correlation)
    factor = long_step(modes.rates, start, forever, rank)
    return _named(_products(modes, factor), correlation, variance)


def imbalance_of(first: First, second: Second) -> Any:
    """λ, the mean of the diagonal of W₂ᵀW₂ − W₁W₁ᵀ."""
    return ((second**2).sum() - (first**2).sum()) / first.shape[0]


def real(value: Shaped[ArrayLike, "..."]) -> Float[Array, "..."]:
    """As a floating array of the precision in force."""
    return jnp.asarray(value, dtype=jnp.result_type(float))
