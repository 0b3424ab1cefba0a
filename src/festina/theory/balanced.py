"""Two-layer linear networks from λ-balanced weights: the exact solution at every time.

Gradient flow on whitened inputs, with T = t/τ and S = Σyx = ⟨y xᵀ⟩:

    τ dW₁/dt = W₂ᵀ(S − W₂W₁),    τ dW₂/dt = (S − W₂W₁)W₁ᵀ,    W₂ᵀW₂ − W₁W₁ᵀ = λI (conserved).

With Q = [W₁ᵀ; W₂] and F = [[−λ/2 I, Sᵀ], [S, λ/2 I]] this is a matrix Riccati equation with the solution

    QQᵀ(T) = e^{FT}Q₀ [I + Q₀ᵀΦ(T)Q₀]⁻¹ Q₀ᵀe^{FT},    Φ(T) = ∫₀ᵀ e^{2Fu} du

(Braun et al. 2022 for λ = 0; Dominé et al. 2025 for every λ). Evaluated as it stands it loses its digits
once e^{FT} is large. Here a factor of QQᵀ is carried from each time to the next in the eigenbasis of F: over
a short gap by one Cholesky factorisation (:func:`_short_step`), over a gap of any length by the same formula
in hidden coordinates that sort the modes by how far they have grown (:func:`_long_step`). QQᵀ leaves the
rotation of the hidden layer open: that is why the coordinates are free, and why only products are returned.
"""

import warnings
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import solve_triangular
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from festina.errors import ArgumentError, FestinaWarning, require
from festina.precision import double, is_traced, precise, to_numpy

#: Largest max|Λ|·dT of a short step; I + PᵀΦP then has a condition number of about e⁸.
SHORT = 4.0
#: The same for the differentiable variant, whose derivatives cancel to about e¹⁶ rounding errors.
DIFFERENTIABLE = 8.0

#: Entries of all factors that are advanced together, and the most times; large matrices gain nothing by it.
CHUNK, COMPANY = 65536, 10
OBSTRUCTED = (
    "The determinants of the initial map W₂W₁ and of the correlation have opposite signs in a square network "
    "with λ = 0: the exact flow ends at a saddle and never learns the weakest mode. A simulation leaves that "
    "saddle by rounding errors, at a time that means nothing."
)
#: Smallest matrix that is worth cutting in two.
BLOCK = 64

Matrix = Float[Array, "_ _"]
First = Float[Array | np.ndarray, "hidden in"]
Second = Float[Array | np.ndarray, "out hidden"]
Correlation = Float[Array | np.ndarray, "out in"]
Scalar = Float[Array | np.ndarray, ""]
Named = dict[str, Array | np.ndarray]
Times = Float[Array, " time"]
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


def _modes(first: First, second: Second, correlation: Correlation) -> Modes:
    imbalance = _imbalance(first, second)
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


def _products(modes: Modes, factor: Matrix) -> Products:
    """W₂W₁, W₁ᵀW₁ and W₂W₂ᵀ from P: the blocks of O PPᵀ Oᵀ."""
    count = modes.right.shape[1]
    plus, minus, rest = factor[:count], factor[count : 2 * count], modes.rest @ factor[2 * count :]
    into = modes.right @ (modes.inward * plus - modes.outward * minus)
    out = modes.left @ (modes.outward * plus + modes.inward * minus)
    if len(out) > len(into):
        out = out + rest
    elif len(into) > len(out):
        into = into + rest
    return out @ into.T, into @ into.T, out @ out.T


def _sorted_factor(factor: Matrix, weight: Float[Array, " rows"], floor: Float[Array, " rows"]) -> Matrix:
    """The same PPᵀ in hidden coordinates that the modes claim one by one, the weightiest mode first.

    Gram–Schmidt on the rows of P, always taking the row with the largest e^weight·|what is left of it|. A row
    of which less than ``floor`` is left is exhausted: its remaining entries are exact zeros, not noise that
    could grow. Columns come back in reverse order: triangular solves then leave these zeros untouched.
    """

    def claim(index: Array, carry: tuple[Matrix, Matrix]) -> tuple[Matrix, Matrix]:
        left_over, claimed = carry
        length = jnp.linalg.norm(left_over, axis=1)
        alive = length > floor
        best = jnp.argmax(jnp.where(alive, weight + jnp.log(length), -jnp.inf))
        direction = jnp.where(alive[best], left_over[best] / length[best], 0.0)
        entries = jnp.where(alive, left_over @ direction, 0.0)
        left_over = left_over - entries[:, None] * direction[None, :]
        return left_over, claimed.at[:, claimed.shape[1] - 1 - index].set(entries)

    columns = min(factor.shape)
    return lax.fori_loop(0, columns, claim, (factor, jnp.zeros_like(factor[:, :columns])))[1]


def _short_step(rates: Float[Array, " all"], factor: Matrix, gap: Float[Array, ""]) -> Matrix:
    """P ← e^{ΛdT} P L⁻ᵀ with LLᵀ = I + Pᵀ (e^{2ΛdT} − 1)/(2Λ) P."""
    exponent = 2 * rates * gap
    spread = jnp.where(exponent == 0, gap, gap * jnp.expm1(exponent) / jnp.where(exponent == 0, 1.0, exponent))
    scaled = jnp.sqrt(spread)[:, None] * factor
    lower = jnp.linalg.cholesky(jnp.eye(factor.shape[1]) + _lower_gram(scaled), symmetrize_input=False)
    return _times_inverse(jnp.exp(rates * gap)[:, None] * factor, lower)


def _long_step(rates: Float[Array, " all"], factor: Matrix, gap: Float[Array, ""]) -> Matrix:
    """The same step when e^{ΛdT} may overflow.

    In sorted coordinates each column of √Φ P is dominated by the mode that claimed it. Dividing I + PᵀΦP by
    the size of its columns, in logarithms, leaves a well-conditioned matrix whatever the growth.
    """
    gap = jnp.maximum(gap, jnp.finfo(gap.dtype).tiny)  # no step at all is the limit of a short one
    decay = 2 * jnp.abs(rates) * gap
    ratio = jnp.where(decay == 0, 1.0, -jnp.expm1(-decay) / jnp.where(decay == 0, 1.0, decay))
    weight = jnp.maximum(rates, 0.0) * gap + jnp.log(gap * ratio) / 2
    tiny = 4 * jnp.finfo(factor.dtype).eps * factor.shape[1] ** 0.5
    factor = _sorted_factor(factor, weight, tiny * jnp.linalg.norm(factor, axis=1))
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


def _start(modes: Modes, first: First, second: Second) -> Matrix:
    """P at t = 0, with the directions in which no mode grows set apart exactly.

    If the growing part of the weights is singular, the flow ends at a saddle, which one rounding error would
    leave; a part below rounding is therefore taken as zero.
    """
    factor = _to_modes(modes, first, second)
    size = jnp.linalg.norm(_to_modes(modes, first, second, size=True), axis=1)
    growing = jnp.where(modes.rates > 0, 0.0, -1e6)
    return _sorted_factor(factor, growing, jnp.finfo(factor.dtype).eps * len(factor) * size)


@partial(jax.custom_jvp, nondiff_argnums=(4,))
def _exact(first: First, second: Second, correlation: Correlation, times: Times, steps: int) -> Products:
    """The products at sorted times (in units of τ), some times together where matrices are small."""
    modes = _modes(first, second, correlation)
    fastest = jnp.max(jnp.abs(modes.rates))
    together = jax.vmap(partial(_short_step, modes.rates), in_axes=(None, 0))

    def one_by_one(factor: Matrix, offsets: Times) -> Float[Array, "time rows columns"]:
        def advance(factor: Matrix, gap: Float[Array, ""]) -> tuple[Matrix, Matrix]:
            factor = _long_step(modes.rates, factor, gap)
            return factor, factor

        return lax.scan(advance, factor, jnp.diff(offsets, prepend=0.0))[1]

    def advance(carry: tuple[Matrix, Array], chunk: Times) -> tuple[tuple[Matrix, Array], Products]:
        factor, offsets = carry[0], chunk - carry[1]
        factors = lax.cond(fastest * offsets[-1] <= SHORT, together, one_by_one, factor, offsets)
        return (factors[-1], chunk[-1]), jax.vmap(partial(_products, modes))(factors)

    start = _start(modes, first, second)
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
    half = _imbalance(first, second) / 2
    generator = jnp.block([
        [-half * jnp.eye(inputs), correlation.T],
        [correlation, half * jnp.eye(len(second))],
    ])  # fmt: skip
    fastest = lax.stop_gradient(jnp.hypot(jnp.linalg.norm(correlation, ord=2), half))

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
def _evaluate(
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
def _evaluate_limit(first: First, second: Second, correlation: Correlation, variance: Scalar) -> Named:
    root = jnp.sqrt(variance)
    modes = _modes(root * first, root * second, correlation)
    # Long enough to decide every race between rates that double precision can tell apart.
    forever = 1e12 / jnp.maximum(jnp.max(jnp.abs(modes.rates)), jnp.finfo(root.dtype).tiny ** 0.5)
    factor = _long_step(modes.rates, _start(modes, root * first, root * second), forever)
    return _named(_products(modes, factor), correlation, variance)


class Balanced(eqx.Module):
    """The exact learning curve of one network; made by :func:`balanced`, called with times."""

    first: First
    second: Second
    correlation: Correlation
    timescale: Scalar
    input_variance: Scalar
    gradient_steps: int = eqx.field(static=True)

    @property
    def imbalance(self) -> Float[ArrayLike, ""]:
        """λ, the mean of the diagonal of W₂ᵀW₂ − W₁W₁ᵀ."""
        return _imbalance(self.first, self.second)

    def __call__(self, time: Shaped[ArrayLike, "..."]) -> Named:
        """The network at one time or at an array of times (any order, repeats allowed), all ≥ 0.

        ``map`` = W₂W₁, ``input_gram`` = W₁ᵀW₁, ``output_gram`` = W₂W₂ᵀ, and ``loss`` = c/2·|S/c − W₂W₁|² for
        inputs with Σxx = cI: half the mean squared error without its constant ½(tr Σyy − |S|²/c), the part
        that no linear map explains. Each has the shape of ``time`` in front.
        """
        arguments = self.first, self.second, self.correlation, time, self.timescale, self.input_variance
        if is_traced(arguments):
            return _evaluate(*map(_real, arguments), self.gradient_steps)
        values = np.asarray(time, dtype=float)
        require(bool(np.all(np.isfinite(values) & (values >= 0))), "time", "be finite and not negative", values)
        with double():  # what `precise` does, without its cost of moving each array, which a small network feels
            arrays = (np.asarray(argument, dtype=float) for argument in arguments)
            found = _evaluate(*arrays, self.gradient_steps)
        return found if is_traced(found) else to_numpy(found)  # traced: constants inside a compiled function

    @precise
    def limit(self) -> Named:
        """The same quantities for t → ∞.

        With Nh = min(Ni, No), S = U s Vᵀ of full rank and weights in general position, for c = 1,

            W₁ᵀW₁ → V (√(4s² + λ²) − λ)/2 Vᵀ,    W₂W₂ᵀ → U (√(4s² + λ²) + λ)/2 Uᵀ,    W₂W₁ → S.

        In general each growing mode i of F ends with 2Λᵢ, fastest first, as long as the initial weights give
        it a hidden direction that no faster mode has claimed; every other mode ends at zero.
        """
        arguments = self.first, self.second, self.correlation, self.input_variance
        return _evaluate_limit(*map(_real, arguments))


def balanced(
    first: Shaped[ArrayLike, "..."],
    second: Shaped[ArrayLike, "..."],
    correlation: Shaped[ArrayLike, "..."],
    timescale: Shaped[ArrayLike, ""] = 1.0,
    *,
    input_variance: Shaped[ArrayLike, ""] = 1.0,
    tolerance: float = 1e-8,
    gradient_steps: int = 64,
) -> Balanced:
    """The exact solution for W₁ (Nh, Ni), W₂ (No, Nh), Σyx (No, Ni) and Σxx = ``input_variance``·I.

    λ is read off the weights, whose W₂ᵀW₂ − W₁W₁ᵀ may deviate from λI by ``tolerance`` times the larger of
    |W₂ᵀW₂| and |W₁W₁ᵀ|. Any widths, any rank and any sign of λ will do. Under ``jit``, ``vmap`` and ``grad``
    values are not checked; derivatives of every order exist also where the spectrum of S is degenerate, and are
    accurate while max|Λ|·t/τ ≤ 8·``gradient_steps`` for a single time (NaN beyond; raise the number).
    """
    traced = is_traced((first, second, correlation, timescale, input_variance))
    convert = _real if traced else partial(np.asarray, dtype=float)
    arrays = convert(first), convert(second), convert(correlation)
    scalars = convert(timescale), convert(input_variance)
    _check_shapes(*arrays)
    if not traced:
        for name, value in zip(("first", "second", "correlation"), arrays, strict=True):
            require(bool(np.all(np.isfinite(value))), name, "be finite", value)
        for name, value in zip(("timescale", "input_variance"), scalars, strict=True):
            require(bool(0 < value < np.inf), name, "be positive", float(value))
        _check_balance(np.asarray(arrays[0]), np.asarray(arrays[1]), tolerance)
        if determinant_obstruction(*arrays):
            warnings.warn(OBSTRUCTED, FestinaWarning, stacklevel=2)
    return Balanced(*arrays, *scalars, gradient_steps)


def _check_shapes(
    first: Shaped[ArrayLike, "..."], second: Shaped[ArrayLike, "..."], correlation: Shaped[ArrayLike, "..."]
) -> None:
    sizes = np.shape(first), np.shape(second), np.shape(correlation)
    for name, size in zip(("first", "second", "correlation"), sizes, strict=True):
        require(len(size) == 2 and 0 not in size, name, "be a matrix with rows and columns", f"of shape {size}")
    expected = (sizes[2][0], sizes[0][0])
    require(sizes[1] == expected, "second", f"have shape (outputs, hidden) = {expected}", sizes[1])
    expected = (sizes[1][0], sizes[0][1])
    require(sizes[2] == expected, "correlation", f"have shape (outputs, inputs) = {expected}", sizes[2])


def _check_balance(first: np.ndarray, second: np.ndarray, tolerance: float) -> None:
    inward, outward = first @ first.T, second.T @ second
    deviation = np.abs(outward - inward - _imbalance(first, second) * np.eye(len(first)))
    row, column = np.unravel_index(np.argmax(deviation), deviation.shape)
    worst = deviation[row, column]
    allowed = tolerance * max(np.linalg.norm(outward, ord=2), np.linalg.norm(inward, ord=2))
    if worst > allowed:
        raise ArgumentError(
            "Argument `second` must be balanced with `first`, W₂ᵀW₂ − W₁W₁ᵀ = λI, but is off by "
            f"{worst:.3g} at hidden units ({row}, {column}), where {allowed:.3g} is allowed."
        )


def feasible(imbalance: float, sizes: tuple[int, int, int]) -> None:
    """Raise unless weights of ``sizes`` (Ni, Nh, No) can have W₂ᵀW₂ − W₁W₁ᵀ = λI.

    For λ > 0, W₂ᵀW₂ = λI + W₁W₁ᵀ has full rank Nh, and W₂ has only No rows: Nh ≤ No. For λ < 0 likewise
    Nh ≤ Ni. λ = 0 is always possible.
    """
    inputs, hidden, outputs = sizes
    for sign, widest, reason in (
        (
            1,
            outputs,
            "W₂ᵀW₂ = λI + W₁W₁ᵀ has full rank, so that the hidden layer is at most as wide as the output",
        ),
        (
            -1,
            inputs,
            "W₁W₁ᵀ = |λ|I + W₂ᵀW₂ has full rank, so that the hidden layer is at most as wide as the input",
        ),
    ):
        relation = f"at most {widest} for λ = {imbalance:g}: {reason}"
        require(sign * imbalance <= 0 or hidden <= widest, "sizes", f"have a hidden width of {relation}", sizes)


@precise
def balanced_weights(
    key: PRNGKeyArray, sizes: tuple[int, int, int], imbalance: ArrayLike, scale: ArrayLike
) -> tuple[First, Second]:
    """Random λ-balanced weights for ``sizes`` (Ni, Nh, No), after Dominé et al. 2025.

    W₁ = R D₁ Vᵀ, W₂ = U D₂ Rᵀ with Haar-random orthogonal U, R, V and diagonal D₁, D₂. The first
    min(Ni, Nh, No) singular values of the map are all ``scale`` = α,

        d₁ = √((√(λ² + 4α²) − λ)/2),    d₂ = √((√(λ² + 4α²) + λ)/2),    d₁d₂ = α;

    hidden directions beyond them have only the layer that λ asks for, with √|λ|.
    """
    inputs, hidden, outputs = sizes
    imbalance, scale = _real(imbalance), _real(scale)
    if not is_traced((imbalance, scale)):
        require(bool(jnp.isfinite(imbalance)), "imbalance", "be finite", float(imbalance))
        require(bool(scale >= 0), "scale", "not be negative", float(scale))
        feasible(float(imbalance), sizes)
    along = jnp.where(jnp.arange(hidden) < min(sizes), scale, 0.0)
    larger = jnp.sqrt((jnp.hypot(imbalance, 2 * along) + jnp.abs(imbalance)) / 2)
    smaller = along / jnp.where(larger == 0, 1.0, larger)  # the difference of two near numbers, without it
    inward, outward = jnp.where(imbalance > 0, smaller, larger), jnp.where(imbalance > 0, larger, smaller)
    keys = jax.random.split(key, 3)
    right, turn, left = (jax.random.orthogonal(k, n, dtype=scale.dtype) for k, n in zip(keys, sizes, strict=True))
    wide_in, wide_out = min(hidden, inputs), min(hidden, outputs)
    first = turn[:, :wide_in] * inward[None, :wide_in] @ right[:, :wide_in].T
    second = left[:, :wide_out] * outward[None, :wide_out] @ turn[:, :wide_out].T
    return first, second


def determinant_obstruction(
    first: Shaped[ArrayLike, "..."], second: Shaped[ArrayLike, "..."], correlation: Shaped[ArrayLike, "..."]
) -> bool:
    """Whether the flow from these weights must end at a saddle because it cannot change a sign.

    With Ni = Nh = No and λ = 0, det(W₂W₁) = ±det(W₁)² keeps its sign for ever; if det S has the other sign,
    the flow cannot reach S, and the weakest mode stays unlearned.
    """
    one, two, three = (np.asarray(matrix, dtype=float) for matrix in (first, second, correlation))
    if not one.shape == two.shape == three.shape or one.shape[0] != one.shape[1]:
        return False
    level = abs(np.sum(two**2) - np.sum(one**2)) <= 1e-12 * (np.sum(one**2) + np.sum(two**2))
    opposed = np.prod([np.linalg.slogdet(matrix)[0] for matrix in (one, two, three)]) < 0
    return bool(level and opposed and np.linalg.matrix_rank(two @ one) == len(one))


def _imbalance(first: First, second: Second) -> Any:
    return ((second**2).sum() - (first**2).sum()) / first.shape[0]


def _real(value: Shaped[ArrayLike, "..."]) -> Float[Array, "..."]:
    """As a floating array of the precision in force."""
    return jnp.asarray(value, dtype=jnp.result_type(float))
