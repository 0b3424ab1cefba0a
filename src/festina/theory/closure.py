"""Task abstractions learned from infinitely many inputs, exactly, by the Gram matrix of students and teachers.

With the expected gradient a student only moves along W* − Σ c W. Everything that can be seen of a network then follows
from the inner products of its P students and M teachers, a matrix S of size (P + M)². With e = (−c, 1_m), where 1_m
selects the teacher that is shown, and a = κ(dt/τ_w)(c, 0), one Euler step is

    L = ½κ eᵀSe,    c ← c + (dt/τ_c)(κ(Se)_p − ∂R/∂c),    S ← S + a(Se)ᵀ + (Se)aᵀ + (eᵀSe) aaᵀ.

Its cost depends on neither the inputs nor the outputs. It is written in NumPy, for many networks at once, and so
compiles nothing: a map of some hundred networks is there before XLA would have begun. (`festina.learning.closure` has
the same closure in coordinates, compiled, for maps of many thousands.)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from festina.errors import require


@dataclass(frozen=True)
class Closure:
    """The exact course of n networks that learn from infinitely many inputs, as a function of time.

    Attributes:
        students: ⟨W^p, W^q⟩ at t = 0.
        crossed: ⟨W^p, W*m⟩ at t = 0.
        teachers: ⟨W*m, W*k⟩.
        gates: c at t = 0.
        weight_timescale: τ_w, of every network.
        gate_timescale: τ_c, of every network.
        nonnegativity: coefficient of Σ max(0, −c), of every network.
        normalization: coefficient of (‖c‖₁ − 1)², of every network.
        block_length: τ_B, of every network; blocks show the teachers in turn.
        step_size: dt.
        loss_share: κ of L = ½κ|W* − Σ c W|².
    """

    students: Float[np.ndarray, "p p n"]
    crossed: Float[np.ndarray, "p m n"]
    teachers: Float[np.ndarray, "m m n"]
    gates: Float[np.ndarray, "p n"]
    weight_timescale: Float[np.ndarray, " n"]
    gate_timescale: Float[np.ndarray, " n"]
    nonnegativity: Float[np.ndarray, " n"]
    normalization: Float[np.ndarray, " n"]
    block_length: Float[np.ndarray, " n"]
    step_size: float
    loss_share: float

    def __call__(self, time: Any) -> dict[str, np.ndarray]:
        """Loss, gates, components ⟨W*m, W^p⟩/|W*m| and norms |W^p| at whole numbers of steps, in any order."""
        times = np.atleast_1d(np.asarray(time, float))
        steps = np.rint(times / self.step_size).astype(int)
        last = int(steps.max())
        whole = np.allclose(steps * self.step_size, times, rtol=0, atol=1e-6 * self.step_size) and steps.min() >= 0
        require(bool(whole), "time", f"be whole numbers of steps of {self.step_size}, from 0 on", time)
        wanted = set(steps.tolist())
        seen: dict[int, dict[str, np.ndarray]] = {}
        state = (self.students.copy(), self.crossed.copy(), self.gates.copy())
        changes, shown = self._changes(last), self._shown(0)
        for step in range(last + 1):
            if step in changes:
                shown = self._shown(step)
            pulls = self._pulls(state, shown)
            if step in wanted:
                seen[step] = self._seen(state, pulls[2])
            self._advance(state, *pulls)
        found = [seen[step] for step in steps.tolist()]
        return {name: np.stack([one[name] for one in found]) for name in found[0]}

    def _shown(self, step: int) -> Float[np.ndarray, "m n"]:
        """1 for the teacher of the current block and 0 for the others."""
        block = np.floor((step + 0.5) / np.rint(self.block_length / self.step_size))
        count = self.crossed.shape[1]
        return (block % count == np.arange(count)[:, None]).astype(float)

    def _changes(self, last: int) -> set[int]:
        """The steps at which some network is shown another task."""
        lengths = np.unique(np.rint(self.block_length / self.step_size).astype(int))
        return {step for length in lengths.tolist() for step in range(0, last + 1, length)}

    def _pulls(self, state: Any, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(Se)_p, (Se)_m and eᵀSe."""
        students, crossed, gates = state
        on_students = np.einsum("pmn,mn->pn", crossed, shown) - np.einsum("pqn,qn->pn", students, gates)
        on_teachers = np.einsum("kmn,mn->kn", self.teachers, shown) - np.einsum("pmn,pn->mn", crossed, gates)
        square = np.einsum("mn,mn->n", shown, on_teachers) - np.einsum("pn,pn->n", gates, on_students)
        return on_students, on_teachers, square

    def _advance(self, state: Any, on_students: np.ndarray, on_teachers: np.ndarray, square: np.ndarray) -> None:
        """One step, in place."""
        students, crossed, gates = state
        moved = (self.step_size * self.loss_share / self.weight_timescale) * gates
        half = moved[:, None] * (on_students + 0.5 * square * moved)[None]
        bounds = 2.0 * self.normalization * (np.abs(gates).sum(axis=0) - 1.0) * np.sign(gates)
        bounds -= self.nonnegativity * (gates < 0)
        students += half
        students += half.swapaxes(0, 1)
        crossed += moved[:, None] * on_teachers[None]
        gates += self.step_size / self.gate_timescale * (self.loss_share * on_students - bounds)

    def _seen(self, state: Any, square: np.ndarray) -> dict[str, np.ndarray]:
        """What is recorded, with networks first."""
        students, crossed, gates = state
        lengths = np.sqrt(np.einsum("mmn->mn", self.teachers))
        return {
            "loss": 0.5 * self.loss_share * square,
            "gates": gates.T.copy(),
            "components": np.moveaxis(crossed / lengths[None], -1, 0).swapaxes(1, 2).copy(),
            "norms": np.sqrt(np.maximum(np.einsum("ppn->pn", students), 0.0)).T.copy(),
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
    gates: float = 0.5,
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
        block_length: τ_B; blocks show the teachers in turn.
        step_size: dt of the simultaneous Euler steps.
        loss_share: κ of L = ½κ|W* − Σ c W|².
        gates: c at t = 0, of all paths.
    """
    given = [weight_timescale, gate_timescale, nonnegativity, normalization, block_length]
    numbers = np.broadcast_arrays(*(np.atleast_1d(np.asarray(value, float)) for value in given))
    flat = [
        np.asarray(maps, float).reshape(-1, *np.shape(maps)[-3:-2], np.prod(np.shape(maps)[-2:]))
        for maps in (students, teachers)
    ]
    counts = {len(numbers[0]), len(flat[0]), len(flat[1])} - {1}
    require(len(counts) <= 1, "students", "be one set for all networks, or one for each", sorted(counts))
    n = max(counts, default=1)
    own, shown = (np.broadcast_to(maps, (n, *maps.shape[1:])) for maps in flat)
    grams = [np.einsum("npx,nqx->pqn", one, other) for one, other in ((own, own), (own, shown), (shown, shown))]
    start = np.full((own.shape[1], n), float(gates))
    settings = [np.broadcast_to(value, (n,)).copy() for value in numbers]
    return Closure(grams[0], grams[1], grams[2], start, *settings, step_size=step_size, loss_share=loss_share)
