"""Tasks one after the other: the exact course of a two-layer linear network through a sequence of worlds.

While task k is shown (from T_k to T_{k+1}), gradient flow from λ-balanced weights on whitened inputs is that of
:mod:`festina.theory.balanced` with the task's correlation S_k. It depends on the weights only through QQᵀ,
Q = [W₁ᵀ; W₂], and conserves W₂ᵀW₂ − W₁W₁ᵀ = λI whatever the task. So at each switch the solution restarts from any
factor of QQᵀ(T_k), with λ unchanged, and stays exact (Braun et al. 2022, sec. on continual learning, for λ = 0; Dominé
et al. 2025 for every λ).

What task 1 loses while task 2 is learned is the forgetting F(t) = L₁(t) − L₁(T₁). If task 1 was learned and task 2 is
learned in the end, F → ½|S₁ − S₂|² for every λ: the end depends on the tasks only, the way there on λ.

At a switch the factor is known to about 16 digits. A part of the weights that the next task would amplify, but that is
smaller than that, is taken to be zero (as `balanced` does at t = 0), so that a network at a saddle stays there.
"""

import warnings
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Shaped

from festina.arrays import xp
from festina.compiling import brief_jit
from festina.errors import ArgumentError, FestinaWarning, require
from festina.precision import double, is_traced, to_numpy
from festina.theory import _riccati, _riccati_known
from festina.theory._riccati_basis import layers, modes_of
from festina.theory.balanced import OBSTRUCTED, balanced, determinant_obstruction

FEW = 50  # tasks; more of them are worth compiling

Named = dict[str, Array | np.ndarray]
Matrices = Array | np.ndarray
Into = Float[Matrices, "in hidden"]
Out = Float[Matrices, "out hidden"]
Factor = tuple[Into, Out]
Factors = tuple[Float[Matrices, "time in hidden"], Float[Matrices, "time out hidden"]]


class Sequence(eqx.Module):
    """The exact course through a sequence of tasks; made by :func:`sequence` (see its example), called with times."""

    first: Float[Array | np.ndarray, "hidden in"]
    second: Float[Array | np.ndarray, "out hidden"]
    correlations: Float[Array | np.ndarray, "tasks out in"]
    switches: Float[Array | np.ndarray, " switches"]
    timescale: Float[Array | np.ndarray, ""]
    input_variance: Float[Array | np.ndarray, ""]

    def __call__(self, time: Any) -> Named:
        """The network at one time or at an array of times of the whole sequence, in any order.

        ``map`` = W₂W₁, ``input_gram`` = W₁ᵀW₁, ``output_gram`` = W₂W₂ᵀ; ``losses`` = c/2·|S_k/c − W₂W₁|² on every
        task k (last axis), and ``loss`` on the task that is shown (at a switch, the new one). Each has the shape of
        ``time`` in front.
        """
        arguments = self.first, self.second, self.correlations, self.switches, self.timescale, self.input_variance
        if is_traced((arguments, time)):
            flat = _riccati.real(time).ravel()
            found = _course(*map(_riccati.real, arguments), flat, _everywhere(flat, len(self.correlations)))
            return _shaped(found, jnp.shape(time))
        values = np.asarray(time, dtype=float)
        require(bool(np.all(np.isfinite(values) & (values >= 0))), "time", "be finite and not negative", values)
        first, second, tasks, switches, clock, variance = (np.asarray(argument, dtype=float) for argument in arguments)
        given, flat = (first, second, tasks, switches, clock, variance), values.ravel()
        if len(tasks) <= FEW:
            return _shaped(_known_course(*given, flat), values.shape)
        with double():
            found = _compiled_course(*map(jnp.asarray, (*given, flat, _by_stage(flat, switches))))
        return _shaped(found if is_traced(found) else to_numpy(found), values.shape)


def sequence(
    first: Any,
    second: Any,
    correlations: Any,
    switches: Any,
    timescale: Any = 1.0,
    *,
    input_variance: Any = 1.0,
    tolerance: float = 1e-8,
) -> Sequence:
    """The exact solution for a sequence of tasks from λ-balanced W₁ (Nh, Ni) and W₂ (No, Nh).

    Under ``jit`` and ``vmap`` values are not checked. There are no derivatives: differentiate `balanced` task by task.

    Args:
        first: W₁ at t = 0.
        second: W₂ at t = 0, with W₂ᵀW₂ − W₁W₁ᵀ = λI up to ``tolerance`` (relative).
        correlations: Σyx of each task in the order of their appearance, (tasks, No, Ni).
        switches: when a task gives way to the next, one fewer than tasks, rising.
        timescale: τ.
        input_variance: c of Σxx = cI, the same for every task.
        tolerance: of the balance.

    Returns:
        A `Sequence`: ``course(time)`` gives `map`, `input_gram`, `output_gram`, `loss` and the `losses` on every task.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> start, tasks = 0.1 * np.eye(2), [np.diag([2.0, 1.0]), np.diag([1.0, 2.0])]
        >>> course = fs.theory.sequence(start, start, tasks, switches=[20.0])
        >>> course([20.0, 40.0])["losses"].round(6)  # what is forgotten in the end is ½|S₁ − S₂|²
        array([[0., 1.],
               [1., 0.]])
    """
    given = first, second, correlations, switches, timescale, input_variance
    traced = is_traced(given)
    convert = _riccati.real if traced else partial(np.asarray, dtype=float)
    one, two, tasks, times, clock, variance = map(convert, given)
    shape = np.shape(tasks)
    require(len(shape) == 3 and shape[0] > 0, "correlations", "have shape (tasks, outputs, inputs)", shape)
    if np.ndim(one) == np.ndim(two) == 2:  # else `balanced` says what is wrong with them
        expected = (np.shape(two)[0], np.shape(one)[1])
        fits = shape[1:] == expected or np.shape(two)[1] != np.shape(one)[0]
        require(fits, "correlations", f"have shape (tasks, outputs, inputs) = {(shape[0], *expected)}", shape)
    for name, value in (("timescale", clock), ("input_variance", variance)):
        require(np.ndim(value) == 0, name, "be one number", value)
    require(np.shape(times) == (shape[0] - 1,), "switches", f"have {shape[0] - 1} entries", np.shape(times))
    if not traced:
        rising = np.all(np.diff(np.concatenate([[0.0], times])) >= 0) and np.all(np.isfinite(times))
        require(bool(rising), "switches", "be finite, not negative and not fall", times)
        _check_tasks(one, two, np.asarray(tasks), clock, variance, tolerance)
    return Sequence(one, two, tasks, times, clock, variance)


def _check_tasks(one: Any, two: Any, tasks: np.ndarray, clock: Any, variance: Any, tolerance: float) -> None:
    """What `balanced` checks, for every task; a determinant keeps its sign through all of them."""
    for number, task in enumerate(np.unique(tasks, axis=0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FestinaWarning)
            balanced(one, two, task, clock, input_variance=variance, tolerance=tolerance if number == 0 else 1.0)
        if determinant_obstruction(one, two, task):
            warnings.warn(OBSTRUCTED, FestinaWarning, stacklevel=3)
            return


def _known_course(
    first: Any, second: Any, correlations: Any, switches: Any, timescale: Any, variance: Any,
    time: Float[np.ndarray, " time"],
) -> Named:  # fmt: skip
    """The network at all times, task by task, each from where the last one left the weights."""
    root = np.sqrt(variance)  # with √c·W in place of W, input variance c becomes 1
    number, order = np.searchsorted(switches, time, side="right"), np.argsort(time, kind="stable")
    begins, factor = np.append(0.0, switches), (root * first.T, root * second)
    into, out = (np.empty((len(time), *layer.shape)) for layer in factor)
    for task, correlation in enumerate(correlations):
        places = order[number[order] == task]
        wanted = np.append(time[places], switches[task : task + 1]) - begins[task]  # the last task has no end
        if len(wanted):
            found = _known_stage(factor, correlation, wanted / timescale)
            into[places], out[places] = (layer[: len(places)] for layer in found)
            factor = found[0][-1], found[1][-1]
    return _named(into, out, correlations, variance, number)


def _known_stage(factor: Factor, correlation: np.ndarray, offsets: np.ndarray) -> Factors:
    """What `_stage` does, for known numbers."""
    into, out = factor
    modes = modes_of(into.T, out, correlation)
    start = _riccati_known.initial_factor(modes, into.T, out, correlation)
    found = tuple(np.zeros((len(offsets), *layer.shape)) for layer in factor)
    for chunk, both in _riccati_known.course(modes, start, offsets):
        for layer, values in zip(found, both, strict=True):
            layer[chunk, :, : values.shape[-1]] = values  # hidden directions that no mode can reach stay empty
    return found[0], found[1]


def _by_stage(time: np.ndarray, switches: np.ndarray) -> np.ndarray:
    """For each stage the places in ``time`` of what falls in it, in order of time, the first repeated to fill up."""
    number = np.searchsorted(switches, time, side="right")
    order = np.argsort(time, kind="stable")
    groups = [order[number[order] == k] for k in range(len(switches) + 1)]
    width = max((len(group) for group in groups), default=0)
    repeated = [np.full(width - len(group), group[0] if len(group) else 0) for group in groups]
    return np.stack([np.concatenate(pair) for pair in zip(repeated, groups, strict=True)])


def _everywhere(time: Float[Array, " time"], stages: int) -> Array:
    """The same when the times are not known: all of them in every stage."""
    return jnp.broadcast_to(jnp.argsort(time)[None], (stages, time.size))


@jax.custom_jvp
@jax.jit
def _course(
    first: Float[Array, "hidden in"], second: Out, correlations: Float[Array, "tasks out in"],
    switches: Float[Array, " switches"], timescale: Float[Array, ""], variance: Float[Array, ""],
    time: Float[Array, " time"], places: Shaped[Array, "tasks width"],
) -> Named:  # fmt: skip
    """The network at all times; ``places`` says which of them to visit in which stage."""
    root = jnp.sqrt(variance)  # with √c·W in place of W, input variance c becomes 1
    begins = jnp.concatenate([jnp.zeros(1), switches])
    ends = jnp.concatenate([switches, jnp.max(time, initial=0.0, keepdims=True)])
    ends = jnp.maximum(ends, begins)
    wanted = jnp.clip(time[places], begins[:, None], ends[:, None]) - begins[:, None]
    offsets = jnp.concatenate([wanted, (ends - begins)[:, None]], axis=1) / timescale

    def show(factor: Factor, task: tuple[Array, Array]) -> tuple[Factor, Factors]:
        factors = _stage(factor, *task)
        return jax.tree.map(lambda block: block[-1], factors), jax.tree.map(lambda block: block[:-1], factors)

    start = (root * first.T, root * second)
    into, out = lax.scan(show, start, (correlations, offsets))[1]
    number = jnp.searchsorted(switches, time, side="right")
    inside = jnp.argmax(places[number] == jnp.arange(time.size)[:, None], axis=1) if time.size else number
    return _named(into[number, inside], out[number, inside], correlations, variance, number)


@_course.defjvp
def _no_derivatives(primals: tuple, tangents: tuple) -> tuple:
    raise ArgumentError("Argument `correlations` must hold one task to be differentiated: use `balanced` task by task.")


_compiled_course = brief_jit(_course)


def _stage(factor: Factor, correlation: Float[Array, "out in"], offsets: Float[Array, " time"]) -> Factors:
    """The factor (W₁ᵀ, W₂) at the offsets from the start of one task; they do not fall."""
    into, out = factor
    modes = modes_of(into.T, out, correlation)
    start, rank = _riccati.initial_factor(modes, into.T, out, correlation)

    def advance(inner: Array, gap: Float[Array, ""]) -> tuple[Array, Array]:
        inner = _riccati.long_step(modes.rates, inner, gap, rank)
        return inner, inner

    steps = lax.scan(advance, start, jnp.diff(offsets, prepend=0.0))[1]
    hidden = into.shape[1] - start.shape[1]  # hidden directions that no mode can reach stay empty
    both = jax.vmap(partial(layers, modes))(steps)
    return jax.tree.map(lambda layer: jnp.pad(layer, ((0, 0), (0, 0), (0, hidden))), both)


def _named(into: Matrices, out: Matrices, correlations: Matrices, variance: Matrices, number: Matrices) -> Named:
    product, inward, outward = (pair / variance for pair in (out @ into.mT, into @ into.mT, out @ out.mT))
    rows = (len(product), *correlations.shape)
    error = xp.broadcast_to((correlations / variance)[None], rows) - xp.broadcast_to(product[:, None], rows)
    losses = variance / 2 * xp.sum(error**2, axis=(-2, -1))
    loss = xp.take_along_axis(losses, number[:, None], axis=1)[:, 0]
    return {"map": product, "input_gram": inward, "output_gram": outward, "losses": losses, "loss": loss}


def _shaped(found: Named, shape: tuple[int, ...]) -> Named:
    return {name: values.reshape((*shape, *values.shape[1:])) for name, values in found.items()}
