"""Several linear tasks over the same inputs, and the two conventions by which their loss is scaled."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina.errors import UnknownName, require
from festina.precision import is_traced, namespace, precise
from festina.worlds.orthogonal import orthogonal_factor


@dataclass(frozen=True)
class Convention:
    """How teachers and loss are scaled; one choice for both, since papers mix them up.

    A row of a teacher has the norm ``d_in**row_power``, and L = ½ ``d_out**loss_power`` · ⟨|y* − y|²⟩.

    Args:
        name: to call it by.
        row_power: of d_in, in the norm of a teacher's row.
        loss_power: of d_out, in the loss.

    Example:
        >>> fs.worlds.SUM.row_norm(16), fs.worlds.SUM.loss_share(10)
        (0.25, 1.0)
        >>> fs.worlds.MEAN.row_norm(16), fs.worlds.MEAN.loss_share(10)
        (1.0, 0.1)
    """

    name: str
    row_power: float
    loss_power: float

    def row_norm(self, inputs: int) -> float:
        """The norm of every row of a teacher."""
        return inputs**self.row_power

    def loss_share(self, outputs: int) -> float:
        """The factor before ½⟨|y* − y|²⟩, a batch average of a sum over outputs."""
        return outputs**self.loss_power


SUM = Convention("sum", -0.5, 0.0)
"""Rows of norm 1/√d_in; L = ½⟨Σ_i ε_i²⟩, which starts at d_out/2d_in."""

MEAN = Convention("mean", 0.0, -1.0)
"""Unit rows; L = ½⟨mean_i ε_i²⟩, which starts at ½. As `SUM` with unit rows and all timescales and λ times d_out."""

CONVENTIONS = {convention.name: convention for convention in (SUM, MEAN)}


def convention(name: str) -> Convention:
    """A convention by its name, `sum` or `mean`.

    Example:
        >>> fs.worlds.convention("mean") is fs.worlds.MEAN
        True
    """
    if name not in CONVENTIONS:
        raise UnknownName("convention", name, CONVENTIONS)
    return CONVENTIONS[name]


class Tasks(eqx.Module):
    """M linear teachers y* = W*x with white Gaussian inputs.

    Args:
        maps: the teachers' matrices, stacked.
        loss_share: the factor κ of L = ½κ⟨|y* − y|²⟩.

    Example:
        >>> tasks = fs.worlds.Tasks.similar(jax.random.key(0), cosine=0.5, tasks=2, outputs=3, inputs=20)
        >>> first, second = tasks.maps  # rows of norm 1/√20, with the cosine ½
        >>> (20 * np.sum(first * second, axis=1)).round(6).tolist()
        [0.5, 0.5, 0.5]
        >>> tasks.averaged(((0, 1),)).maps.shape  # a third task, their mean
        (1, 3, 20)
    """

    maps: Float[Any, "m o i"]
    loss_share: float = eqx.field(static=True, default=1.0)

    def __check_init__(self) -> None:
        fits = np.ndim(self.maps) == 3 and min(np.shape(self.maps)) >= 1
        require(fits, "maps", "be a stack of matrices", f"of shape {np.shape(self.maps)}")

    @classmethod
    @precise
    def orthogonal(cls, key: Array, tasks: int, outputs: int, inputs: int, convention: Convention = SUM) -> "Tasks":
        """Teachers all of whose rows are orthogonal: the first rows of a random rotation, shared out in order."""
        rows = tasks * outputs
        require(rows <= inputs, "inputs", f"be at least {rows}, one for every row of the {tasks} teachers", inputs)
        rotation = orthogonal_factor(draws.normal(key, (rows, inputs)))
        maps = convention.row_norm(inputs) * rotation.reshape(tasks, outputs, inputs)
        return cls(maps, convention.loss_share(outputs))

    @classmethod
    @precise
    def similar(
        cls, key: Array, cosine: Any, tasks: int, outputs: int, inputs: int, convention: Convention = SUM
    ) -> "Tasks":
        """Teachers whose corresponding rows have a given cosine, pair by pair; other rows are orthogonal."""
        return cls.orthogonal(key, tasks, outputs, inputs, convention).mixed(cosine)

    @classmethod
    @precise
    def of_rank(
        cls, key: Array, rank: int, tasks: int, outputs: int, inputs: int, convention: Convention = SUM
    ) -> "Tasks":
        """Teachers with ``rank`` equal singular values, of size √d_in times the convention's norm of a row.

        W*m = s U_m V_mᵀ. As long as tasks × rank ≤ inputs, all right singular vectors are orthogonal.
        """
        require(1 <= rank <= min(outputs, inputs), "rank", f"lie between 1 and {min(outputs, inputs)}", rank)
        for_left, for_right = draws.split(key, 2)
        left = [orthogonal_factor(draws.normal(k, (outputs, rank))) for k in draws.split(for_left, tasks)]
        if tasks * rank <= inputs:
            joint = orthogonal_factor(draws.normal(for_right, (inputs, tasks * rank)))
            right = [joint[:, m * rank : (m + 1) * rank] for m in range(tasks)]
        else:
            right = [orthogonal_factor(draws.normal(k, (inputs, rank))) for k in draws.split(for_right, tasks)]
        strength = inputs**0.5 * convention.row_norm(inputs)
        maps = jnp.stack([strength * u @ v.T for u, v in zip(left, right, strict=True)])
        return cls(maps, convention.loss_share(outputs))

    @property
    def count(self) -> int:
        return self.maps.shape[0]

    @precise
    def mixed(self, cosine: Any) -> "Tasks":
        """Teachers that have a given cosine, pair by pair, made of these, which are orthogonal and of equal norm.

        The symmetric square root of the matrix of cosines mixes them, so that none is special.
        """
        tasks = self.count
        if not is_traced(cosine):
            least = -1.0 / (tasks - 1) if tasks > 1 else -1.0
            possible = least <= float(cosine) <= 1.0
            require(possible, "cosine", f"lie between {least:.3g} and 1 for {tasks} teachers", cosine)
        # 1(1−ρ) + ρ·11ᵀ has the eigenvalues 1 + (M−1)ρ, along 11ᵀ/M, and 1 − ρ
        module = namespace(cosine, self.maps)
        together = np.full((tasks, tasks), 1.0 / tasks)
        apart = np.eye(tasks) - together
        root = module.sqrt(module.maximum(1.0 + (tasks - 1) * cosine, 0.0)) * together
        root = root + module.sqrt(module.maximum(1.0 - cosine, 0.0)) * apart
        return Tasks(module.einsum("mn,noi->moi", root, self.maps), self.loss_share)

    @precise
    def averaged(self, groups: tuple[tuple[int, ...], ...]) -> "Tasks":
        """Task composition: each new task is the mean of some teachers, as (A + B)/2."""
        self._check(groups)
        maps = jnp.stack([sum(self.maps[m] for m in group) / len(group) for group in groups])
        return Tasks(maps, self.loss_share)

    @precise
    def alternating(self, groups: tuple[tuple[int, ...], ...]) -> "Tasks":
        """Subtask composition: each new task takes its rows from some teachers in turn."""
        self._check(groups)
        outputs = self.maps.shape[1]
        maps = [jnp.stack([self.maps[group[row % len(group)], row] for row in range(outputs)]) for group in groups]
        return Tasks(jnp.stack(maps), self.loss_share)

    @precise
    def followed_by(self, others: "Tasks") -> "Tasks":
        """These tasks, and then the others, in one numbering."""
        fits = self.maps.shape[1:] == others.maps.shape[1:] and self.loss_share == others.loss_share
        require(fits, "others", "have the same sizes and the same scale of loss", others.maps.shape)
        return Tasks(jnp.concatenate([self.maps, others.maps]), self.loss_share)

    def _check(self, groups: tuple[tuple[int, ...], ...]) -> None:
        for group in groups:
            known = len(group) >= 1 and all(0 <= m < self.count for m in group)
            require(known, "groups", f"name tasks from 0 to {self.count - 1}", group)
