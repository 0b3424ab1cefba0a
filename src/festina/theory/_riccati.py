"""The matrix Riccati equation behind two-layer linear networks, carried from time to time in the eigenbasis of F.

See `festina.theory.balanced` for the equation. Over a short gap a factor of QQᵀ is advanced by one Cholesky
factorisation (:func:`_short_step`), over a gap of any length by the same formula in hidden coordinates that sort the
modes by how far they have grown (:func:`long_step`). This is the route that JAX traces, batches and differentiates;
`_riccati_known` takes the same steps through numbers that are known, and leaps where it can.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Shaped

from festina.arrays import ArrayLike
from festina.theory._riccati_basis import (
    SHORT,
    Correlation,
    First,
    Modes,
    Named,
    Scalar,
    Second,
    forever,
    imbalance_of,
    modes_of,
    named,
    obstructed,
    products,
    to_modes,
)

#: Largest max|Λ|·dT of a part of the differentiable variant, whose derivatives cancel to about e¹⁶ rounding errors.
DIFFERENTIABLE = 8.0

#: Entries of all factors that are advanced together, and the most times; large matrices gain nothing by it.
CHUNK, COMPANY = 65536, 10
#: Smallest matrix that is worth cutting in two.
BLOCK = 64

Matrix = Float[Array, "_ _"]
Times = Float[Array, " time"]
Rates = Float[Array, " rows"]
Products = tuple[Float[Array, "*t out in"], Float[Array, "*t in in"], Float[Array, "*t out out"]]


def sorted_factor(
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
    factor = sorted_factor(factor, weight, tiny * jnp.linalg.norm(factor, axis=1), rates > 0, rank)[0]
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
    factor = to_modes(modes, first, second)
    size = jnp.linalg.norm(to_modes(modes, first, second, size=True), axis=1)
    growing = modes.rates > 0
    most = factor.shape[1] - jnp.asarray(obstructed(first, second, correlation), jnp.int32)
    weight = jnp.where(growing, 0.0, -1e6)
    return sorted_factor(factor, weight, jnp.finfo(factor.dtype).eps * len(factor) * size, growing, most)


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
        return (factors[-1], chunk[-1]), jax.vmap(partial(products, modes))(factors)

    size = max(1, min(len(times), COMPANY, CHUNK // max(start.size, 1)))
    chunks = jnp.pad(times, (0, -len(times) % size), mode="edge").reshape(-1, size)
    blocks = lax.scan(advance, (start, jnp.zeros_like(fastest)), chunks)[1]
    return jax.tree.map(lambda block: block.reshape(-1, *block.shape[2:])[: len(times)], blocks)


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
    blocks = _exact(root * first, root * second, correlation, times[order], steps)
    back = jnp.argsort(order)
    found = (block[back].reshape(*time.shape, *block.shape[1:]) for block in blocks)
    return named(tuple(found), correlation, variance)


@jax.jit
def evaluate_limit(first: First, second: Second, correlation: Correlation, variance: Scalar) -> Named:
    root = jnp.sqrt(variance)
    modes = modes_of(root * first, root * second, correlation)
    start, rank = initial_factor(modes, root * first, root * second, correlation)
    factor = long_step(modes.rates, start, forever(modes.rates), rank)
    return named(products(modes, factor), correlation, variance)


def real(value: ArrayLike) -> Float[Array, "..."]:
    """As a floating array of the precision in force."""
    return jnp.asarray(value, dtype=jnp.result_type(float))
