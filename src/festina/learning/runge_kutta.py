"""Explicit Runge-Kutta methods: one step of dθ/dt = f(θ), and an estimate of its error."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina.errors import require

Row = tuple[float, ...]

#: Numbers in θ from which on stages are written out: products of matrices are then most of what a step does.
WRITTEN_OUT = 512


@dataclass(frozen=True)
class RungeKutta:
    """An explicit method: kᵢ = f(θ + h Σⱼ aᵢⱼ kⱼ), then θ + h Σᵢ bᵢ kᵢ, with the error h Σᵢ eᵢ kᵢ.

    Attributes:
        name: that runs are described by.
        order: of the error estimate, which falls like a power of h: the step that has error 1 is h · error^(−1/order).
        stages: the rows aᵢ, the first of them empty.
        weights: b.
        errors: e, the difference from b of the weights of an embedded method.

    Example:
        >>> halves = fs.learning.RungeKutta("Heun", 2, stages=((), (1.0,)), weights=(0.5, 0.5), errors=(0.5, -0.5))
        >>> after, error = halves.step(lambda x: -x, jax.numpy.asarray(1.0), 0.1)
        >>> round(float(after), 4), round(float(error), 4)
        (0.905, -0.005)
    """

    name: str
    order: int
    stages: tuple[Row, ...] = field(repr=False)
    weights: Row = field(repr=False)
    errors: Row = field(repr=False)

    @classmethod
    def of(cls, solver: Any) -> "RungeKutta":
        """The method itself, or an explicit method of diffrax (whose last stage is left out where nothing needs it)."""
        if isinstance(solver, cls):
            return solver
        required = "be a `fs.learning.RungeKutta` or an explicit Runge-Kutta method of diffrax"
        require(hasattr(getattr(solver, "tableau", None), "a_lower"), "solver", required, solver)
        table = solver.tableau
        weights, errors = np.asarray(table.b_sol, float), np.asarray(table.b_error, float)
        used = 1 + int(np.flatnonzero((weights != 0) | (errors != 0))[-1])
        stages = ((), *(tuple(np.asarray(row, float).tolist()) for row in table.a_lower))
        return cls(
            type(solver).__name__,
            solver.order(None),
            stages[:used],
            tuple(weights[:used].tolist()),
            tuple(errors[:used].tolist()),
        )

    def step(self, rate: Callable[[Any], Any], start: Any, size: Float[Array, ""] | float) -> tuple[Any, Any]:
        """θ after a step of a given size, and the estimate of its error.

        A small θ takes its stages in a loop, which compiles in a third of the time; of a large one they are written
        out, so that every slope is read as often as its tableau has entries other than zero: some four times as fast.
        """
        stages = self._written_out if is_written_out(start) else self._in_a_loop
        return stages(rate, start, size)

    def _written_out(self, rate: Callable[[Any], Any], start: Any, size: Any) -> tuple[Any, Any]:
        slopes: list[Any] = []

        def combined(row: Row) -> Any:
            entries = [(entry * size, slope) for entry, slope in zip(row, slopes, strict=False) if entry != 0]
            parts = [jax.tree.map(lambda leaf, by=by: _as(by, leaf) * leaf, slope) for by, slope in entries]
            return reduce(lambda one, other: jax.tree.map(jnp.add, one, other), parts)

        for row in self.stages:
            slopes.append(rate(jax.tree.map(jnp.add, start, combined(row)) if any(row) else start))
        return jax.tree.map(jnp.add, start, combined(self.weights)), combined(self.errors)

    def _in_a_loop(self, rate: Callable[[Any], Any], start: Any, size: Any) -> tuple[Any, Any]:
        """The body of the loop is one evaluation of the rate, so that a program has only one copy of it."""
        count = len(self.weights)
        table = np.zeros((count, count))
        for number, row in enumerate(self.stages):
            table[number, : len(row)] = row

        def combined(row: Float[Array, " stages"], slopes: Any) -> Any:
            return jax.tree.map(lambda slope: jnp.tensordot(_as(row * size, slope), slope, 1), slopes)

        def stage(slopes: Any, at: tuple[Array, Float[Array, " stages"]]) -> tuple[Any, None]:
            number, row = at
            place = jax.tree.map(jnp.add, start, combined(row, slopes))
            keep = lambda kept, new: jax.lax.dynamic_update_index_in_dim(kept, new, number, 0)  # noqa: E731
            return jax.tree.map(keep, slopes, rate(place)), None

        # Slopes that are not known yet count zero times, so that anything may stand for them. What is batched like the
        # parameters from the start saves JAX a second look at the body of the loop.
        unknown = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (count, *leaf.shape)), start)
        slopes, _ = jax.lax.scan(stage, unknown, (jnp.arange(count), jnp.asarray(table)))
        change, error = (combined(jnp.asarray(row), slopes) for row in (self.weights, self.errors))
        return jax.tree.map(jnp.add, start, change), error


def is_written_out(parameters: Any) -> bool:
    """Whether stages of a step through such parameters are written out, instead of taken in a loop."""
    return sum(np.size(leaf) for leaf in jax.tree.leaves(parameters)) >= WRITTEN_OUT


def _as(value: Any, leaf: Array) -> Array:
    return jnp.asarray(value).astype(leaf.dtype)


# fmt: off
DORMAND_PRINCE = RungeKutta(  # Prince and Dormand 1981, RK8(7)13M
    "Dopri8", 8,
    (
        (),
        (0.05555555555555555,),
        (0.020833333333333332, 0.0625),
        (0.03125, 0.0, 0.09375),
        (0.3125, 0.0, -1.171875, 1.171875),
        (0.0375, 0.0, 0.0, 0.1875, 0.15),
        (0.04791013711111111, 0.0, 0.0, 0.11224871277777777, -0.02550567377777778, 0.012846823888888888),
        (0.01691798978729228, 0.0, 0.0, 0.3878482784860432, 0.03597736985150033, 0.19697021421566607,
         -0.17271385234050185),
        (0.0690957533591923, 0.0, 0.0, -0.6342479767288541, -0.16119757522460407, 0.13865030945882525,
         0.9409286140357562, 0.21163632648194397),
        (0.1835569968390454, 0.0, 0.0, -2.4687680843155926, -0.29128688781630047, -0.026473020233117376,
         2.8478387641928005, 0.2813873314698498, 0.12374489986331466),
        (-1.2154248173958881, 0.0, 0.0, 16.672608665945774, 0.915741828416818, -6.056605804357471, -16.00357359415618,
         14.849303086297663, -13.371575735289849, 5.134182648179638),
        (0.25886091643826425, 0.0, 0.0, -4.774485785489205, -0.4350930137770325, -3.0494833320722416,
         5.5779200399360995, 6.15583158986104, -5.062104586736939, 2.193926173180679, 0.13462799865933495),
        (0.8224275996265075, 0.0, 0.0, -11.658673257277664, -0.7576221166909362, 0.7139735881595816,
         12.075774986890057, -2.127659113920403, 1.9901662070489554, -0.23428647154404028, 0.17589857770794226, 0.0),
    ),
    (0.041747491141530244, 0.0, 0.0, 0.0, 0.0, -0.05545232861123931, 0.2393128072011801, 0.703510669403443,
     -0.7597596138144609, 0.6605630309222863, 0.15818748251012332, -0.2381095387528628, 0.25),
    (0.012194277465176744, 0.0, 0.0, 0.0, 0.0, 0.7731539478765578, -0.07192809284993823, -1.763834521196444,
     1.787182038027448, -0.7829855527544889, 0.07877188662899604, -0.28255398319730723, 0.25),
)
TSITOURAS = RungeKutta(  # Tsitouras 2011; half as many stages
    "Tsit5", 5,
    (
        (),
        (0.161,),
        (-0.008480655492356989, 0.335480655492357),
        (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
        (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
        (5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383),
        (0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774),
    ),
    (0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774, 0.0),
    (0.0017800110522257773, 0.0008164344596567463, -0.007880878010261994, 0.1447110071732629, -0.5823571654525552,
     0.45808210592918686, -0.015151515151515152),
)
# fmt: on
