"""Two-layer linear networks from λ-balanced weights: the exact solution at every time.

Gradient flow on whitened inputs, with T = t/τ and S = Σyx = ⟨y xᵀ⟩:

    τ dW₁/dt = W₂ᵀ(S − W₂W₁),    τ dW₂/dt = (S − W₂W₁)W₁ᵀ,    W₂ᵀW₂ − W₁W₁ᵀ = λI (conserved).

With Q = [W₁ᵀ; W₂] and F = [[−λ/2 I, Sᵀ], [S, λ/2 I]] this is a matrix Riccati equation with the solution

    QQᵀ(T) = e^{FT}Q₀ [I + Q₀ᵀΦ(T)Q₀]⁻¹ Q₀ᵀe^{FT},    Φ(T) = ∫₀ᵀ e^{2Fu} du

(Braun et al. 2022 for λ = 0; Dominé et al. 2025 for every λ). Evaluated as it stands it loses its digits
once e^{FT} is large. Here a factor of QQᵀ is carried from each time to the next in the eigenbasis of F: as
`festina.theory._riccati` describes. QQᵀ leaves the
rotation of the hidden layer open: that is why the coordinates are free, and why only products are returned.
"""

import warnings
from functools import partial

import equinox as eqx
import numpy as np

from festina.arrays import ArrayLike, Number
from festina.errors import ArgumentError, FestinaWarning, require
from festina.precision import is_traced
from festina.theory import _riccati, _riccati_known
from festina.theory._riccati import real
from festina.theory._riccati_basis import Correlation, First, Named, Scalar, Second, imbalance_of, obstructed

OBSTRUCTED = (
    "The determinants of the initial map W₂W₁ and of the correlation have opposite signs in a square network "
    "with λ = 0: the exact flow ends at a saddle and never learns the weakest mode, and this solution stays there. "
    "A simulation leaves that saddle by rounding errors, at a time that means nothing."
)


class Balanced(eqx.Module):
    """The exact learning curve of one network; made by :func:`balanced`, called with times.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> solution = fs.theory.balanced(np.eye(2), 2.0 * np.eye(2), correlation=np.diag([2.0, 1.0]))
        >>> float(solution.imbalance)
        3.0
        >>> solution.limit()["input_gram"].diagonal().round(3)  # (√(4s² + λ²) − λ)/2
        array([1.   , 0.303])
    """

    first: First
    second: Second
    correlation: Correlation
    timescale: Scalar
    input_variance: Scalar
    gradient_steps: int = eqx.field(static=True)

    @property
    def imbalance(self) -> Number:
        """λ, the mean of the diagonal of W₂ᵀW₂ − W₁W₁ᵀ."""
        return imbalance_of(self.first, self.second)

    def __call__(self, time: ArrayLike) -> Named:
        """The network at one time or at an array of times (any order, repeats allowed), all ≥ 0.

        ``map`` = W₂W₁, ``input_gram`` = W₁ᵀW₁, ``output_gram`` = W₂W₂ᵀ, and ``loss`` = c/2·|S/c − W₂W₁|² for
        inputs with Σxx = cI: half the mean squared error without its constant ½(tr Σyy − |S|²/c), the part
        that no linear map explains. Each has the shape of ``time`` in front.
        """
        arguments = self.first, self.second, self.correlation, time, self.timescale, self.input_variance
        if is_traced(arguments):
            return _riccati.evaluate(*map(real, arguments), self.gradient_steps)
        values = np.asarray(time, dtype=float)
        require(bool(np.all(np.isfinite(values) & (values >= 0))), "time", "be finite and not negative", values)
        first, second, correlation = (np.asarray(argument, dtype=float) for argument in arguments[:3])
        timescale, variance = map(np.float64, arguments[4:])
        return _riccati_known.evaluate(first, second, correlation, values, timescale, variance)

    def limit(self) -> Named:
        """The same quantities for t → ∞.

        With Nh = min(Ni, No), S = U s Vᵀ of full rank and weights in general position, for c = 1,

            W₁ᵀW₁ → V (√(4s² + λ²) − λ)/2 Vᵀ,    W₂W₂ᵀ → U (√(4s² + λ²) + λ)/2 Uᵀ,    W₂W₁ → S.

        In general each growing mode i of F ends with 2Λᵢ, fastest first, as long as the initial weights give
        it a hidden direction that no faster mode has claimed; every other mode ends at zero.
        """
        arguments = self.first, self.second, self.correlation, self.input_variance
        if is_traced(arguments):
            return _riccati.evaluate_limit(*map(real, arguments))
        return _riccati_known.evaluate_limit(*(np.asarray(argument, dtype=float) for argument in arguments))


def balanced(
    first: ArrayLike,
    second: ArrayLike,
    correlation: ArrayLike,
    timescale: ArrayLike = 1.0,
    *,
    input_variance: ArrayLike = 1.0,
    tolerance: float = 1e-8,
    gradient_steps: int = 64,
) -> Balanced:
    """The exact solution for W₁ (Nh, Ni), W₂ (No, Nh), Σyx (No, Ni) and Σxx = ``input_variance``·I.

    λ is read off the weights, whose W₂ᵀW₂ − W₁W₁ᵀ may deviate from λI by ``tolerance`` times the larger of
    |W₂ᵀW₂| and |W₁W₁ᵀ|. Any widths, any rank and any sign of λ will do. Under ``jit``, ``vmap`` and ``grad``
    values are not checked; derivatives of every order exist also where the spectrum of S is degenerate, and are
    accurate while max|Λ|·t/τ ≤ 8·``gradient_steps`` for a single time (NaN beyond; raise the number).

    Args:
        first: W₁ at t = 0, of shape (Nh, Ni).
        second: W₂ at t = 0, of shape (No, Nh).
        correlation: S = Σyx, of shape (No, Ni).
        timescale: τ > 0.
        input_variance: c > 0 of Σxx = cI.
        tolerance: of the balance, relative.
        gradient_steps: into how many parts the way is cut for derivatives.

    Returns:
        A `Balanced`: ``solution(time)`` gives `map`, `input_gram`, `output_gram` and `loss`; ``solution.limit()``, the
        same for t → ∞.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> solution = fs.theory.balanced(0.1 * np.eye(2), 0.1 * np.eye(2), correlation=np.diag([2.0, 1.0]))
        >>> solution([0.0, 1.5, 20.0])["map"].diagonal(axis1=1, axis2=2).round(3)  # each mode a sigmoid
        array([[0.01 , 0.01 ],
               [1.339, 0.169],
               [2.   , 1.   ]])
    """
    traced = is_traced((first, second, correlation, timescale, input_variance))
    convert = real if traced else partial(np.asarray, dtype=float)
    arrays = convert(first), convert(second), convert(correlation)
    scalars = convert(timescale), convert(input_variance)
    _check_shapes(*arrays)
    if not traced:
        for name, value in zip(("first", "second", "correlation"), arrays, strict=True):
            require(bool(np.all(np.isfinite(value))), name, "be finite", value)
        for name, value in zip(("timescale", "input_variance"), scalars, strict=True):
            require(np.ndim(value) == 0, name, "be one number", value)
            require(bool(0 < value < np.inf), name, "be positive", float(value))
        _check_balance(np.asarray(arrays[0]), np.asarray(arrays[1]), tolerance)
        if determinant_obstruction(*arrays):
            warnings.warn(OBSTRUCTED, FestinaWarning, stacklevel=2)
    return Balanced(*arrays, *scalars, gradient_steps)


def _check_shapes(first: ArrayLike, second: ArrayLike, correlation: ArrayLike) -> None:
    sizes = np.shape(first), np.shape(second), np.shape(correlation)
    for name, size in zip(("first", "second", "correlation"), sizes, strict=True):
        require(len(size) == 2 and 0 not in size, name, "be a matrix with rows and columns", f"of shape {size}")
    expected = (sizes[2][0], sizes[0][0])
    require(sizes[1][1] == expected[1], "second", f"have shape (outputs, hidden) = {expected}", sizes[1])
    expected = (sizes[1][0], sizes[0][1])
    require(sizes[2] == expected, "correlation", f"have shape (outputs, inputs) = {expected}", sizes[2])


def _check_balance(first: np.ndarray, second: np.ndarray, tolerance: float) -> None:
    inward, outward = first @ first.T, second.T @ second
    deviation = outward - inward
    np.einsum("hh->h", deviation)[:] -= imbalance_of(first, second)
    np.abs(deviation, out=deviation)
    worst = deviation.max()
    at_least = max(np.vdot(outward, outward), np.vdot(inward, inward)) / len(
        first
    )  # its root, of what is asked for below
    if worst <= tolerance * at_least**0.5:
        return
    row, column = np.unravel_index(np.argmax(deviation), deviation.shape)
    allowed = tolerance * max(np.linalg.norm(outward, ord=2), np.linalg.norm(inward, ord=2))
    if worst > allowed:
        raise ArgumentError(
            "Argument `second` must be balanced with `first`, W₂ᵀW₂ − W₁W₁ᵀ = λI, but is off by "
            f"{worst:.3g} at hidden units ({row}, {column}), where {allowed:.3g} is allowed by `tolerance` = "
            f"{tolerance:g} (weights in single precision need 1e-5 or so)."
        )


def determinant_obstruction(first: ArrayLike, second: ArrayLike, correlation: ArrayLike) -> bool:
    """Whether the flow from these weights must end at a saddle because it cannot change a sign.

    With Ni = Nh = No and λ = 0, det(W₂W₁) = ±det(W₁)² keeps its sign for ever; if det S has the other sign,
    the flow cannot reach S, and the weakest mode stays unlearned.

    Args:
        first: W₁ at t = 0, of shape (Nh, Ni).
        second: W₂ at t = 0, of shape (No, Nh).
        correlation: S = Σyx, of shape (No, Ni).

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.theory.determinant_obstruction(np.eye(2), np.eye(2), np.diag([2.0, 1.0]))
        False
        >>> fs.theory.determinant_obstruction(np.eye(2), np.eye(2), np.diag([2.0, -1.0]))
        True
    """
    one, two, three = (np.asarray(matrix, dtype=float) for matrix in (first, second, correlation))
    return bool(obstructed(one, two, three))
