"""Task abstractions in two dimensions: the reduced model of Sandbrink et al. 2024 and what follows from it.

Project two students on two orthogonal teachers, row by row or singular mode by singular mode. Path p is then a vector
w^p = (w^p_1, w^p_2), the network's answer is y = Σ_p c^p w^p, the current task asks for the unit vector of its teacher,
and with the error ε = y* − y

    τ_w dw^p/dt = c^p ε,    τ_c dc^p/dt = w^p·ε − ∂R/∂c^p.                                         (eqs 1, 2)

Specialisation of the weights, w̄ = ½(w̄_1 + w̄_2) with w̄_1 = w^1_1 − w^2_1 and w̄_2 = w^2_2 − w^1_2, and separation of
the gates, c̄ = c^1 − c^2, feed each other:

    τ_c dc̄/dt = w̄_1 ε_1 − w̄_2 ε_2,    τ_w dw̄/dt = ½ c̄ (ε_1 − ε_2).                                (eqs 6, 8)
"""

from math import ceil
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from festina.errors import ArgumentError, require
from festina.precision import is_traced, namespace, precise
from festina.theory._orbit import followed_round

SETTLED = 1e-6  # by which errors may change from one round to the next
HALVINGS = 54  # of an interval of length 2, down to the last digit
NEAR = 1e-3  # how far errors may then be from those of the orbit


class Scales(NamedTuple):
    """The constants of a reduced model.

    Attributes:
        weight_timescale: τ_w.
        gate_timescale: τ_c.
        regularization: the factor by which every λ of the full model is to be multiplied.

    Example:
        >>> import festina as fs
        >>> fs.theory.abstraction.Scales(weight_timescale=1.3, gate_timescale=0.06, regularization=2.0).gate_timescale
        0.06
    """

    weight_timescale: Any
    gate_timescale: Any
    regularization: Any


def reduced_scales(
    weight_timescale: Any, gate_timescale: Any, outputs: int, row_norm: float, loss_share: float
) -> Scales:
    """The timescales of the reduced model that stands for all rows of a full one.

    Every row has the same coordinates and contributes κr² w^p·ε to the gates, with κ the loss share and r the norm of a
    teacher's row: gates feel κ d_out r² times the reduced drive, weights κ times. (With the `sum` convention and sizes
    20 → 10 gates are twice as slow as in the full model, which is why the paper's tables have .03 and .06.)

    Args:
        weight_timescale: τ_w of the full model.
        gate_timescale: τ_c of the full model.
        outputs: d_out, the rows of a teacher.
        row_norm: r, the norm of a teacher's row.
        loss_share: κ of L = ½κ|W* − Σ c W|².

    Returns:
        The `Scales` of the reduced model: τ_w/κ, τ_c/(κ d_out r²) and 1/(κ d_out r²).

    Example:
        >>> import festina as fs
        >>> fs.theory.abstraction.reduced_scales(1.5, 0.03, outputs=8, row_norm=0.25, loss_share=1.0)
        Scales(weight_timescale=1.5, gate_timescale=0.06, regularization=2.0)
    """
    _check_positive(
        weight_timescale=weight_timescale, gate_timescale=gate_timescale, outputs=outputs, row_norm=row_norm,
        loss_share=loss_share,
    )  # fmt: skip
    share = loss_share * outputs * row_norm**2
    return Scales(weight_timescale / loss_share, gate_timescale / share, 1.0 / share)


class Specialization(NamedTuple):
    """Where a reduced model of two paths and two teachers stands.

    Attributes:
        first: w̄_1, for teacher 1.
        second: w̄_2, for teacher 2.
        overall: w̄ = ½(w̄_1 + w̄_2).
        shared: co-specialisation ½((w^1_1 − w^1_2) + (w^2_1 − w^2_2)): what both paths have in common.
        separation: c̄ = c^1 − c^2.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> alike = fs.theory.abstraction.specialization(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0.5, 0.5]))
        >>> float(alike.overall), float(alike.shared)  # both paths are teacher 1
        (0.0, 1.0)
    """

    first: Any
    second: Any
    overall: Any
    shared: Any
    separation: Any


def specialization(weights: Float[Any, "*batch 2 2"], gates: Float[Any, "*batch 2"]) -> Specialization:
    """w̄_1, w̄_2, w̄, co-specialisation and c̄.

    Args:
        weights: w^p_m with the path p before the teacher m.
        gates: c^p.

    Returns:
        A `Specialization`, each of whose parts has the shape of the batch.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> state = fs.theory.abstraction.specialization(np.eye(2), np.array([1.0, 0.0]))  # each path is one teacher
        >>> float(state.overall), float(state.shared), float(state.separation)
        (1.0, 0.0, 1.0)
    """
    first = weights[..., 0, 0] - weights[..., 1, 0]
    second = weights[..., 1, 1] - weights[..., 0, 1]
    shared = 0.5 * (weights[..., 0, 0] - weights[..., 0, 1] + weights[..., 1, 0] - weights[..., 1, 1])
    return Specialization(first, second, 0.5 * (first + second), shared, gates[..., 0] - gates[..., 1])


@precise
def reduced_rates(
    weights: Float[Any, "p 2"], gates: Float[Any, " p"], target: Float[Any, "2"], scales: Scales
) -> tuple[Float[Any, "p 2"], Float[Any, " p"]]:
    """dw/dt and dc/dt of eqs 1 and 2, without the regulariser.

    Args:
        weights: w^p_m, with the path p before the teacher m.
        gates: c^p.
        target: y*, what the current task asks for.
        scales: of the reduced model.

    Returns:
        dw/dt and dc/dt, in the shapes of weights and gates.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> scales = fs.theory.abstraction.Scales(weight_timescale=2.0, gate_timescale=0.1, regularization=1.0)
        >>> gates, target = np.array([1.0, 0.0]), np.array([0.0, 1.0])
        >>> _, gates = fs.theory.abstraction.reduced_rates(np.eye(2), gates, target, scales)
        >>> gates  # the task has changed: the first gate closes, the second opens
        array([-10.,  10.])
    """
    xp = namespace(weights, gates, target, scales)
    error = target - xp.sum(gates[:, None] * weights, axis=0)
    return (
        gates[:, None] * error[None] / scales.weight_timescale,
        xp.sum(weights * error[None], axis=1) / scales.gate_timescale,
    )


@precise
def protected(
    separation: Any,
    gate_timescale: Any,
    weight_timescale: Any,
    initial_separation: Any = 1.0,
    initial: Any = 1.0,
) -> Any:
    """How much specialisation is left when the gates have gone from c̄_0 to c̄ (eq. 10),

        w̄ = ±√(w̄_0² − ½ (τ_c/τ_w)(c̄_0² − c̄²)),

    with the sign of w̄_0 (until it passes zero), for symmetric specialisation, w̄_1 = w̄_2, under which τ_c c̄² − 2τ_w w̄²
    is conserved. It needs no time: weights and gates move along one curve, whatever the error. Symmetry is kept exactly
    if the regulariser holds Σc = 1, and nearly so otherwise. Where the root would be imaginary, c̄ cannot be reached:
    NaN.

    Args:
        separation: c̄ = c^1 − c^2.
        gate_timescale: τ_c.
        weight_timescale: τ_w.
        initial_separation: c̄_0 (1: one gate open, the other closed).
        initial: w̄_0 (1: each path is one teacher).

    Returns:
        w̄, in the shape to which the arguments broadcast.

    Example:
        >>> import festina as fs
        >>> course = [1.0, 0.0, -1.0]  # gates go over to the other task
        >>> fs.theory.abstraction.protected(course, gate_timescale=0.4, weight_timescale=1.0).round(3)
        array([1.   , 0.894, 1.   ])
        >>> float(fs.theory.abstraction.protected(0.0, gate_timescale=4.0, weight_timescale=1.0))  # too slow
        nan
    """
    _check_positive(gate_timescale=gate_timescale, weight_timescale=weight_timescale)
    xp = namespace(separation, gate_timescale, weight_timescale, initial_separation, initial)
    given = (separation, initial_separation, initial, gate_timescale, weight_timescale)
    separation, start, initial, gate_timescale, weight_timescale = (xp.asarray(value, float) for value in given)
    square = initial**2 - 0.5 * gate_timescale / weight_timescale * (start - separation) * (start + separation)
    return xp.where(square >= 0, xp.where(initial < 0, -1.0, 1.0) * xp.sqrt(xp.maximum(square, 0.0)), xp.nan)


@precise
def co_specialized(separation: Any, gate_timescale: Any, weight_timescale: Any) -> Any:
    """What both paths learn in common while gates go from 1 to c̄ and students protect themselves (`protected`),

        w̿ = √(r/2) ln[(√(r/2) c̄ + w̄)/(√(r/2) + 1)],    r = τ_c/τ_w,    w̄ = √(1 − ½ r (1 − c̄²)),

    from complete specialisation, w̄ = c̄ = 1 and w̿ = 0, if the regulariser holds Σc = 1. Then 2τ_w dw̿/dt = ε_1 − ε_2
    and τ_c dc̄/dt = w̄ (ε_1 − ε_2), so that dw̿/dc̄ = r/2w̄, whatever the error. To first order in r it is −½ r (1 − c̄).

    Args:
        separation: c̄ = c^1 − c^2, from 1 downwards.
        gate_timescale: τ_c.
        weight_timescale: τ_w.

    Returns:
        w̿, in the shape to which the arguments broadcast; NaN where c̄ cannot be reached.

    Example:
        >>> import festina as fs
        >>> fs.theory.abstraction.co_specialized([1.0, 0.0, -1.0], gate_timescale=0.02, weight_timescale=1.0).round(3)
        array([ 0.  , -0.01, -0.02])
    """
    xp = namespace(separation, gate_timescale, weight_timescale)
    given = separation, gate_timescale, weight_timescale
    separation, gate_timescale, weight_timescale = (xp.asarray(value, float) for value in given)
    root = xp.sqrt(0.5 * gate_timescale / weight_timescale)
    left = protected(separation, gate_timescale, weight_timescale)
    return root * xp.log((root * separation + left) / (root + 1.0))


def adapted_separation(gate_timescale: Any, weight_timescale: Any) -> Any:
    """The separation c̄ of gates at which an adaptation from complete specialisation ends, where

        w̿(c̄) + c̄ w̄(c̄) = −1

    and nothing of the error is left, see `co_specialized`. Fast gates go all the way to −1, slow ones stop short of it
    (to first order at −1 + τ_c/τ_w), since weights have learned the task meanwhile.

    Args:
        gate_timescale: τ_c, less than 2τ_w.
        weight_timescale: τ_w.

    Returns:
        c̄, in the shape to which the arguments broadcast.

    Example:
        >>> import festina as fs
        >>> fs.theory.abstraction.adapted_separation([0.01, 1.0], weight_timescale=1.0).round(2)
        array([-0.99, -0.26])
    """
    slow, weights = np.broadcast_arrays(np.asarray(gate_timescale, float), np.asarray(weight_timescale, float))
    _check_positive(gate_timescale=slow, weight_timescale=weights)
    require(bool(np.all(slow < 2 * weights)), "gate_timescale", "be less than twice the weight timescale", slow)
    low, high = np.full(slow.shape, -1.0), np.full(slow.shape, 1.0)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        left = 1.0 + co_specialized(middle, slow, weights) + middle * protected(middle, slow, weights)
        low, high = np.where(left < 0, middle, low), np.where(left < 0, high, middle)
    return 0.5 * (low + high)


def _check_positive(**numbers: Any) -> None:
    for name, value in numbers.items():
        if not is_traced(value):
            sound = bool(np.all((np.asarray(value) > 0) & (np.asarray(value) < np.inf)))
            require(sound, name, "be positive and finite", value)


@precise
def tangent_kernel(weights: Float[Any, "p k"], gates: Float[Any, " p"]) -> Float[Any, "k k"]:
    """Σ_p (c^p)² I + w^p w^pᵀ, for equal timescales of 1 (eq. 20): what turns an error into a change of the answer.

    Args:
        weights: w^p_m, with the path p before the coordinate m.
        gates: c^p.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.theory.abstraction.tangent_kernel(np.eye(2), np.array([1.0, 0.0]))
        array([[2., 0.],
               [0., 2.]])
    """
    xp = namespace(weights, gates)
    return xp.sum(gates**2) * xp.eye(weights.shape[-1]) + xp.einsum("pk,pl->kl", weights, weights)


@precise
def adaptation_speeds(
    weights: Float[Any, "*batch p k"], gates: Float[Any, "*batch p"], error: Float[Any, "*batch k"], scales: Scales
) -> tuple[Float[Any, "*batch"], Float[Any, "*batch"]]:
    """How fast the loss falls, −dL/dt, through weights that change and through gates that change,

        Σ_p (c^p)² |ε|²/τ_w    and    Σ_p (w^p·ε)²/τ_c.

    Sparse gates raise the first (at a given sum), aligned weights the second. (The paper's text has them without the
    minus sign of dL/dt.)

    Args:
        weights: w^p_m, with the path p before the coordinate m.
        gates: c^p.
        error: ε = y* − y.
        scales: of the reduced model.

    Returns:
        The fall of the loss through weights, and through gates, each in the shape of the batch.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> scales = fs.theory.abstraction.Scales(weight_timescale=1.0, gate_timescale=0.1, regularization=1.0)
        >>> gates, error = np.array([1.0, 0.0]), np.array([-1.0, 1.0])  # the task has just changed
        >>> by_weights, by_gates = fs.theory.abstraction.adaptation_speeds(np.eye(2), gates, error, scales)
        >>> float(by_weights), float(by_gates)
        (2.0, 20.0)
    """
    _check_positive(weight_timescale=scales.weight_timescale, gate_timescale=scales.gate_timescale)
    xp = namespace(weights, gates, error, scales)
    by_weights = xp.sum(gates**2, axis=-1) * xp.sum(error**2, axis=-1) / scales.weight_timescale
    by_gates = xp.sum(xp.einsum("...pk,...k->...p", weights, error) ** 2, axis=-1) / scales.gate_timescale
    return by_weights, by_gates


@precise
def gate_drive(teacher: Float[Any, "*batch o i"], student: Float[Any, "*batch o i"]) -> Float[Any, "*batch"]:
    """τ_c dc/dt of a single open path, ⟨W* − W, W⟩ = Σ_α (s*_α s_α − s_α²) for a student aligned with its teacher.

    It is a sum over modes and so grows with the rank of the task, while the change of each mode of W does not.

    Args:
        teacher: W*.
        student: W of the open path.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> [float(fs.theory.abstraction.gate_drive(np.eye(rank), 0.5 * np.eye(rank))) for rank in (1, 2, 4)]
        [0.25, 0.5, 1.0]
    """
    return namespace(teacher, student).sum((teacher - student) * student, axis=(-2, -1))


@precise
def block_gain(specialization: Any, error: Any, block_length: Any, scales: Scales) -> Any:
    """The growth of a small specialisation over two blocks a → b → a, to second order in their length,

        Δw̄ = w̄ |ε|² τ_B²/(τ_w τ_c),

    if gates start each block at c̄ = 0 and the error only changes its sign. To first order everything a block does is
    undone by the next; what is left is quadratic, so that in a given time longer blocks specialise more. (The paper's
    eq. 21 has twice as much, for it counts both blocks in the second derivative and again in the sum. Without the reset
    of the gates a constant error would be undone at every order: see `specialization_growth` for the exact statement.)

    Args:
        specialization: w̄.
        error: |ε|.
        block_length: τ_B.
        scales: of the reduced model.

    Returns:
        Δw̄.

    Example:
        >>> import festina as fs
        >>> scales = fs.theory.abstraction.Scales(weight_timescale=1.0, gate_timescale=0.1, regularization=1.0)
        >>> short, long = (fs.theory.abstraction.block_gain(0.01, 1.0, length, scales) for length in (0.1, 0.2))
        >>> round(float(long / short), 6)  # twice as long, four times as much
        4.0
    """
    _check_positive(weight_timescale=scales.weight_timescale, gate_timescale=scales.gate_timescale)
    return specialization * error**2 * block_length**2 / (scales.weight_timescale * scales.gate_timescale)


class Growth(NamedTuple):
    """The fate of a small difference between two paths that know the same.

    Attributes:
        rate: per unit of time; positive if differences grow.
        multiplier: by which a difference grows in one round of two blocks.
        errors: ε of the unspecialised network in every step of the round, of shape (steps, 2).
        second_order: the rate to second order in the length of a block, by `block_gain` with the size of the errors.

    Made by `specialization_growth`, which has an example; here, a difference that doubles in every round of length 2.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> growth = fs.theory.abstraction.Growth(np.log(2.0) / 2.0, 2.0, np.zeros((2, 2)), 0.0)
        >>> float(np.exp(growth.rate * 2.0)) == growth.multiplier
        True
    """

    rate: Any
    multiplier: Any
    errors: Any
    second_order: Any


class NoOrbit(ArgumentError):
    """An unspecialised network that has not come to a periodic orbit, or never will."""


def specialization_growth(
    scales: Scales,
    block_length: float,
    normalization: float,
    step_size: float = 1e-3,
    settle: float = 60.0,
) -> Growth:
    """The exact rate at which an unspecialised network begins to specialise, by linear stability.

    While both paths are equal (w^1 = w^2, c^1 = c^2), two tasks in alternation drive them round a periodic orbit. A
    small difference of weights d = w^1 − w^2 and gates c̄ obeys a linear equation with periodic coefficients,

        τ_w dd/dt = c̄ ε(t),    τ_c dc̄/dt = d·ε(t),

    on which the regulariser has no say as long as both gates are positive (‖c‖₁ only sees their sum). The largest
    eigenvalue of its propagator over one round says by how much differences grow: specialisation begins if it exceeds
    1. Since ∫c ε dt = 0 over a periodic orbit, gates that hardly move within a block leave the eigenvalue at 1: short
    blocks are undone to all orders. Exact for Euler steps of the given size, and so (for small ones) for flow.

    Args:
        scales: of the reduced model.
        block_length: τ_B.
        normalization: coefficient of (‖c‖₁ − 1)², as the reduced model has it (`scales.regularization` included).
        step_size: dt.
        settle: how long to wait for the periodic orbit, in units of τ_w.

    Returns:
        A `Growth`. `NoOrbit` is raised if the orbit is not reached in the time given.

    Example:
        >>> import festina as fs
        >>> scales = fs.theory.abstraction.Scales(weight_timescale=1.3, gate_timescale=0.06, regularization=2.0)
        >>> growth = fs.theory.abstraction.specialization_growth(scales, 4.0, normalization=0.9, step_size=0.01)
        >>> print(f"{growth.multiplier:.1f}")  # differences grow almost sixfold in every round of two blocks
        5.8
    """
    require(0 < step_size < np.inf, "step_size", "be positive and finite", step_size)
    require(0 < block_length < np.inf, "block_length", "be positive and finite", block_length)
    timescales = (scales.weight_timescale, scales.gate_timescale)
    require(all(0 < float(value) < np.inf for value in timescales), "scales", "have positive timescales", timescales)
    require(0 <= normalization < np.inf, "normalization", "be finite and not negative", normalization)
    steps = round(block_length / step_size)
    require(steps >= 1, "block_length", f"hold at least one step of {step_size}", block_length)
    require(settle > 0, "settle", "be positive", settle)
    rounds = 1 + ceil(settle * float(scales.weight_timescale) / (2 * steps * step_size))
    rates = step_size / float(scales.weight_timescale), step_size / float(scales.gate_timescale)
    orbit = followed_round(rates, float(normalization), steps, rounds)
    if not np.isfinite(orbit.drift):
        raise NoOrbit(f"Argument `step_size` must be small enough for stable steps, but is {step_size!r}.")
    if not (orbit.drift < SETTLED and orbit.distance < NEAR):
        raise NoOrbit(
            f"Argument `settle` must be long enough for the periodic orbit to be reached, but is {settle!r}, after "
            f"which errors still change by {orbit.drift:.1g} a round."
        )
    size, length = np.sqrt(np.mean(np.sum(orbit.errors**2, axis=-1))), steps * step_size
    second_order = np.log1p(block_gain(1.0, size, length, scales)) / (2 * length)
    return Growth(np.log(orbit.multiplier) / (2 * length), orbit.multiplier, orbit.errors, second_order)
