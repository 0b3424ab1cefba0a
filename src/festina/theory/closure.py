"""Task abstractions learned from infinitely many inputs, exactly, in the span of students and teachers.

With the expected gradient a student only moves along the error E = W* − Σ c W, and so never leaves the span of the P
initial students and the M teachers. In an orthonormal basis of that span each of them is P + M coordinates, and one
Euler step is

    L = ½κ|E|²,    c^p ← c^p + (dt/τ_c)(κ⟨W^p, E⟩ − ∂R/∂c^p),    W^p ← W^p + κ(dt/τ_w) c^p E.

Its cost depends on neither the inputs nor the outputs. The steps are taken by the kernels of `festina.fast` where these
are there, and else in NumPy, for many networks at once, which compiles nothing: a map of some hundred networks is there
before XLA would have begun. (`festina.learning.closure` has the same closure compiled, for maps of many thousands. In
terms of inner products alone, of which there are fewer, the loss would be a difference that loses its digits as it
falls.)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from festina import fast
from festina.errors import require
from festina.fast.joint import MOST_PATHS

MOST_STEPS = 1e9  # that anybody could wait for

Course = tuple[Float[np.ndarray, "t p k n"], Float[np.ndarray, "t p n"]]
"""Students and gates of n networks at some times."""


@dataclass(frozen=True)
class Closure:
    """The exact course of n networks that learn from infinitely many inputs, as a function of time.

    Attributes:
        students: coordinates of W^p at t = 0.
        teachers: coordinates of W*m.
        gates: c at t = 0.
        weight_timescale: τ_w, of every network.
        gate_timescale: τ_c, of every network.
        nonnegativity: coefficient of Σ max(0, −c), of every network.
        normalization: coefficient of (‖c‖₁ − 1)², of every network.
        block_length: τ_B, of every network.
        step_size: dt.
        loss_share: κ of L = ½κ|W* − Σ c W|².
        order: the teacher that each block of a round shows.
        compared: how many of the teachers students are compared with.
        shifts: by how many blocks each step of every network is further on than the clock says; None if it is not.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> course = fs.theory.closure(
        ...     np.ones((3, 2, 4)), np.eye(2, 4)[None], weight_timescale=1.0, gate_timescale=[0.1, 1.0],
        ...     nonnegativity=0.0, normalization=0.0, block_length=1.0, step_size=0.01)  # two networks of three paths
        >>> {name: values.shape for name, values in course([0.0, 0.5]).items()}
        {'loss': (2, 2), 'gates': (2, 2, 3), 'components': (2, 2, 1, 3), 'norms': (2, 2, 3), 'overlaps': (2, 2, 3, 3)}
    """

    students: Float[np.ndarray, "p k n"]
    teachers: Float[np.ndarray, "m k n"]
    gates: Float[np.ndarray, "p n"]
    weight_timescale: Float[np.ndarray, " n"]
    gate_timescale: Float[np.ndarray, " n"]
    nonnegativity: Float[np.ndarray, " n"]
    normalization: Float[np.ndarray, " n"]
    block_length: Float[np.ndarray, " n"]
    step_size: float
    loss_share: float
    order: tuple[int, ...]
    compared: int
    shifts: Int[np.ndarray, "n steps"] | None = None

    def __call__(self, time: Any) -> dict[str, np.ndarray]:
        """Loss, gates, components ⟨W*m, W^p⟩/|W*m|, norms |W^p| and overlaps ⟨W^p, W^q⟩ at whole numbers of steps."""
        stops, places = np.unique(self._steps_at(time), return_inverse=True)
        by_kernels = fast.library() is not None and len(self.students) <= MOST_PATHS
        with np.errstate(over="ignore", invalid="ignore"):  # of networks that diverge, as their simulations do
            students, gates = self._by_kernels(stops) if by_kernels else self._by_steps(stops)
            found = self._seen(stops, students, gates)
        return {name: values[places] for name, values in found.items()}

    def _steps_at(self, time: Any) -> Int[np.ndarray, " times"]:
        """The numbers of the steps before which something is asked."""
        times = np.atleast_1d(np.asarray(time, float))
        known = times.size > 0 and bool(np.all((times >= 0) & (times < MOST_STEPS * self.step_size)))
        steps = np.rint(times / self.step_size)
        whole = known and np.allclose(steps * self.step_size, times, rtol=0, atol=1e-6 * self.step_size)
        require(whole, "time", f"be whole numbers of steps of {self.step_size}, from 0 on", time)
        known = self.shifts is None or int(steps.max()) < self.shifts.shape[1]
        require(known, "time", "not exceed the steps for which there are shifts", time)
        return steps.astype(int)

    def _by_steps(self, stops: Int[np.ndarray, " t"]) -> Course:
        """Students and gates before some steps, in rising order: one step after the other."""
        last, wanted = int(stops[-1]), set(stops.tolist())
        students, gates = self.students.copy(), self.gates.copy()
        changes, target, advance = self._changes(last), self._target(0), self._advance()
        seen = []
        for step in range(last + 1):
            if step in changes:
                target = self._target(step)
            if step in wanted:
                seen.append((students.copy(), gates.copy()))
            advance(students, gates, target - np.add.reduce(students * gates[:, None], axis=0))
        return np.stack([one[0] for one in seen]), np.stack([one[1] for one in seen])

    def _by_kernels(self, stops: Int[np.ndarray, " t"]) -> Course:
        """The same by the kernels in C: the very steps, but for how their sums are rounded."""
        networks, blocks = self.gates.shape[1], len(self.order)
        longest = np.minimum(self._block_steps, stops[-1] + 1.0)  # some blocks last for ever
        descent = fast.Descent(
            np.moveaxis(self.teachers, -1, 0)[:, :, None],
            np.arange(networks),
            self.weight_timescale,
            self.gate_timescale,
            self.nonnegativity,
            self.normalization,
            longest[:, None].astype(int) * np.arange(1, blocks + 1),
            self.order,
            np.zeros(networks, np.uint64),  # there is nothing to draw
            self.step_size,
            self.loss_share,
            shifts=None if self.shifts is None else self.shifts % blocks,
        )
        students = tuple(student.T[:, None] for student in self.students)
        moved, gates = descent.course(students, tuple(self.gates), stops.tolist())
        return np.moveaxis(moved[..., 0, :], 2, -1), np.moveaxis(gates, 1, -1)

    @cached_property
    def _block_steps(self) -> Float[np.ndarray, " n"]:
        return np.rint(self.block_length / self.step_size)

    def _target(self, steps: int | Int[np.ndarray, " t"]) -> Float[np.ndarray, "*t k n"]:
        """The teacher of the current block, of one step or of several."""
        block = np.floor((np.asarray(steps)[..., None] + 0.5) / self._block_steps)
        block = block if self.shifts is None else block + self.shifts[:, steps].T
        number = np.asarray(self.order)[(block % len(self.order)).astype(int)]
        shown = self.teachers[number, :, np.arange(number.shape[-1])]
        return np.ascontiguousarray(np.swapaxes(shown, -1, -2))

    def _changes(self, last: int) -> set[int]:
        """The steps at which some network is shown another task."""
        lengths = np.unique(self._block_steps[self._block_steps <= last]).astype(int)
        by_clock = {step for length in lengths.tolist() for step in range(0, last + 1, length)}
        if self.shifts is None:
            return by_clock
        return by_clock | set((np.flatnonzero(np.diff(self.shifts, axis=1).any(axis=0)) + 1).tolist())

    def _advance(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
        """One step, in place: ``advance(students, gates, error)``."""
        of_weights = self.step_size * self.loss_share / self.weight_timescale
        of_gates, bound = self.step_size / self.gate_timescale, 2.0 * self.normalization

        def advance(students: np.ndarray, gates: np.ndarray, error: np.ndarray) -> None:
            pulls = np.add.reduce(students * error, axis=1)
            bounds = bound * (np.add.reduce(np.abs(gates), axis=0) - 1.0) * np.sign(gates)
            bounds -= self.nonnegativity * (gates < 0)
            students += (of_weights * gates)[:, None] * error
            gates += of_gates * (self.loss_share * pulls - bounds)

        return advance

    def _seen(
        self,
        stops: Int[np.ndarray, " t"],
        students: Float[np.ndarray, "t p k n"],
        gates: Float[np.ndarray, "t p n"],
    ) -> dict[str, np.ndarray]:
        """What is recorded before some steps, with networks second."""
        teachers = self.teachers[: self.compared]
        lengths = np.linalg.norm(teachers, axis=1)
        error = self._target(stops) - np.add.reduce(students * gates[:, :, None], axis=1)
        return {
            "loss": 0.5 * self.loss_share * np.sum(error**2, axis=1),
            "gates": np.moveaxis(gates, 1, -1).copy(),
            "components": np.einsum("mkn,tpkn->tnmp", teachers / lengths[:, None], students),
            "norms": np.moveaxis(np.linalg.norm(students, axis=2), 1, -1),
            "overlaps": np.einsum("tpkn,tqkn->tnpq", students, students),
        }


def closure(
    students: Any,
    teachers: Any,
    *,
    weight_timescale: Any,
    gate_timescale: Any,
    nonnegativity: Any,
    normalization: Any,
    block_length: Any,
    step_size: float,
    loss_share: float = 1.0,
    gates: Any = 0.5,
    order: Sequence[int] | None = None,
    compared: int | None = None,
    shifts: Any = None,
) -> Closure:
    """The exact course of one or many networks y = Σ_p c^p W^p x under the expected gradient.

    Numbers may be given once for all networks or one for each of n; so may students and teachers, stacked along a first
    axis.

    Args:
        students: W^p at t = 0, of shape (P, d_out, d_in) or (n, P, d_out, d_in).
        teachers: W*m, of shape (M, d_out, d_in) or (n, M, d_out, d_in).
        weight_timescale: τ_w.
        gate_timescale: τ_c.
        nonnegativity: coefficient of Σ max(0, −c).
        normalization: coefficient of (‖c‖₁ − 1)².
        block_length: τ_B.
        step_size: dt of the simultaneous Euler steps.
        loss_share: κ of L = ½κ|W* − Σ c W|².
        gates: c at t = 0, of all paths of a network.
        order: the teacher that each block of a round shows; all of them in turn, unless given.
        compared: how many of the teachers, the first ones, students are compared with; all, unless given.
        shifts: by how many blocks each step is further on than the clock says, of shape (steps,) or (n, steps): blocks
            that end before their time, as by `festina.worlds.Blocks.shifts_by_chance`.

    Returns:
        A `Closure`: ``course(time)`` gives `loss` (time, n), `gates` (time, n, P), `components` (time, n, M, P),
        `norms` (time, n, P) and `overlaps` (time, n, P, P) at whole numbers of steps, in any order.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> teachers = np.eye(2)[:, None]  # two tasks with orthogonal teachers, of shape (2, 1, 2)
        >>> course = fs.theory.closure(0.1 * teachers, teachers, weight_timescale=1.3, gate_timescale=0.03,
        ...                            nonnegativity=1.0, normalization=1.0, block_length=1.0, step_size=0.005)
        >>> course(20.0)["components"][0, 0].round(1) + 0.0  # each student has become one teacher
        array([[1., 0.],
               [0., 1.]])
    """
    maps = {"students": np.asarray(students, float), "teachers": np.asarray(teachers, float)}
    for name, given in maps.items():
        fits = given.ndim in (3, 4) and 0 not in given.shape
        require(fits, name, "be matrices, stacked along one axis or two", f"of shape {given.shape}")
        require(bool(np.all(np.isfinite(given))), name, "be finite everywhere", given)
    size = maps["students"].shape[-2:]
    fits = maps["teachers"].shape[-2:] == size
    require(fits, "teachers", f"be {size} matrices, as students are", f"of shape {maps['teachers'].shape}")
    own, shown = (given if given.ndim == 4 else given[None] for given in maps.values())
    require(bool(np.all(np.any(shown != 0, axis=(-2, -1)))), "teachers", "not be zero: zero has no direction", "zero")
    numbers = _numbers(
        weight_timescale=weight_timescale,
        gate_timescale=gate_timescale,
        nonnegativity=nonnegativity,
        normalization=normalization,
        block_length=block_length,
        gates=gates,
    )
    _check_numbers(numbers, step_size, loss_share)
    further = np.zeros((1, 0), int) if shifts is None else np.atleast_2d(np.asarray(shifts, int))
    require(further.ndim == 2, "shifts", "be one row for all networks, or one for each", f"of shape {further.shape}")
    counts = {len(own), len(shown), len(further), *(len(value) for value in numbers.values())} - {1}
    require(len(counts) <= 1, "students", "be one set for all networks, or one for each", sorted(counts))
    n = max(counts, default=1)
    coordinates = _coordinates(own, shown)
    coordinates = np.broadcast_to(coordinates, (*coordinates.shape[:2], n)).copy()
    start = np.broadcast_to(numbers.pop("gates"), (own.shape[1], n)).copy()
    settings = [np.broadcast_to(value, (n,)).copy() for value in numbers.values()]
    place, count = own.shape[1], shown.shape[1]
    blocks = tuple(range(count)) if order is None else tuple(order)
    known = len(blocks) > 0 and min(blocks) >= 0 and max(blocks) < count
    require(known, "order", f"name teachers from 0 to {count - 1}", order)
    return Closure(
        coordinates[:place],
        coordinates[place:],
        start,
        *settings,
        step_size=step_size,
        loss_share=loss_share,
        order=blocks,
        compared=count if compared is None else compared,
        shifts=None if shifts is None else np.broadcast_to(further, (n, further.shape[1])),
    )


def _numbers(**given: Any) -> dict[str, Float[np.ndarray, " n"]]:
    """Settings as one number for all networks, or one for each."""
    numbers = {name: np.atleast_1d(np.asarray(value, float)) for name, value in given.items()}
    for name, value in numbers.items():
        require(value.ndim == 1 and value.size > 0, name, "be one number, or one for each network", value)
    return numbers


def _check_numbers(numbers: dict[str, np.ndarray], step_size: float, loss_share: float) -> None:
    require(0 < step_size < np.inf, "step_size", "be positive and finite", step_size)
    require(0 < loss_share < np.inf, "loss_share", "be positive and finite", loss_share)
    require(bool(np.all(np.isfinite(numbers["gates"]))), "gates", "be finite", numbers["gates"])
    for name in ("weight_timescale", "gate_timescale"):
        require(bool(np.all(numbers[name] > 0)), name, "be positive", numbers[name])
    for name in ("nonnegativity", "normalization"):
        finite = np.isfinite(numbers[name]) & (numbers[name] >= 0)
        require(bool(np.all(finite)), name, "be finite and not negative", numbers[name])
    long = np.rint(numbers["block_length"] / step_size) >= 1
    require(bool(np.all(long)), "block_length", f"hold at least one step of {step_size}", numbers["block_length"])


def _coordinates(own: Float[np.ndarray, "a p o i"], shown: Float[np.ndarray, "b m o i"]) -> np.ndarray:
    """Students and teachers in an orthonormal basis of their span, (P + M, P + M, networks): Rᵀ of a QR factorisation.

    Teachers come first in the factorisation, so that their coordinates are few. Short vectors are filled up with zeros.
    """
    n = max(len(own), len(shown))
    flat = [np.broadcast_to(maps, (n, *maps.shape[1:])).reshape(n, maps.shape[1], -1) for maps in (shown, own)]
    vectors = np.concatenate(flat, axis=1)
    count, size = vectors.shape[1:]
    padded = np.pad(vectors, ((0, 0), (0, 0), (0, max(0, count - size))))
    factor = np.asarray(np.linalg.qr(np.swapaxes(padded, 1, 2), mode="r"))
    return np.roll(np.moveaxis(factor, 0, -1).swapaxes(0, 1), own.shape[1], axis=0)
