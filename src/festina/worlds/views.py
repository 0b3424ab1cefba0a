"""Worlds in which pathways compete: several tasks on one input, several views of one target, several separate slots.

Each world is small and exact: its samples are enumerated with their probabilities, none are drawn. Each knows what the
neural race needs, the correlation S_p of every pathway p with the target and the overlap D_pj of every two pathways,
and the data set on which a whole network learns the same thing.

Source: the race reduction of Saxe, Sodhani & Lewallen 2022; worlds and statistics were derived here.
"""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from festina.arrays import real, xp
from festina.errors import require
from festina.precision import is_traced, precise
from festina.worlds.gated import GatedDataset
from festina.worlds.world import Dataset

SHARED = "shared"


class SimilarTasks(eqx.Module):
    """C tasks on one input x = 1, one at a time and equally often; task c asks for the vector y_c.

    A network has a pathway `shared` that is always on, and a pathway for each task that is on in that task only.

    Args:
        targets: y_c, one task a row.

    Example:
        >>> world = fs.worlds.similar_tasks(count=2, cosine=0.0)
        >>> world.pathways, np.round(np.asarray(world.strengths, float), 3).tolist()
        (('shared', 'task1', 'task2'), [0.707, 0.5, 0.5])
        >>> world.overlaps.tolist()
        [[1.0, 0.5, 0.5], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]
    """

    targets: Float[Any, "tasks outputs"]

    @property
    def count(self) -> int:
        return self.targets.shape[0]

    @property
    def pathways(self) -> tuple[str, ...]:
        """Hidden nodes: `shared`, `task1`, `task2`, …"""
        return (SHARED, *(f"task{number}" for number in range(1, self.count + 1)))

    @property
    def gates(self) -> Float[Any, "tasks paths"]:
        """Which pathway is on in which task."""
        return np.concatenate([np.ones((self.count, 1)), np.eye(self.count)], axis=1)

    @property
    def cross(self) -> Float[Any, "paths outputs"]:
        """Σyx(p) = ⟨g_p y x⟩: the mean target for the shared pathway, y_c/C for a private one."""
        return xp.asarray(self.gates).T @ self.targets / self.count

    @property
    def strengths(self) -> Float[Any, " paths"]:
        """S_p = |Σyx(p)|: the rate at which a small pathway grows is twice this."""
        return _norms(self.cross)

    @property
    def overlaps(self) -> Float[Any, "paths paths"]:
        """⟨g_p g_j x²⟩: 1 of the shared pathway with itself, 1/C of a private one with itself and the shared one."""
        return self.gates.T @ self.gates / self.count

    @property
    def dataset(self) -> GatedDataset:
        """One sample a task, for the input node `x`, the hidden nodes `pathways` and the output node `y`."""
        gates = dict(zip(self.pathways[1:], np.eye(self.count), strict=True))
        return GatedDataset({"x": np.ones((self.count, 1))}, {"y": self.targets}, gates)


@precise
def similar_tasks(count: int, cosine: Any) -> SimilarTasks:
    """C tasks whose targets are unit vectors with the cosine ρ, pair by pair; −1/(C−1) ≤ ρ ≤ 1, and may be traced.

    The targets are the rows of the symmetric root of the matrix of cosines, (1−ρ)I + ρ11ᵀ, whose eigenvalues are
    1 + (C−1)ρ along the mean and 1 − ρ elsewhere: the mean target has the square |ȳ|² = (1 + (C−1)ρ)/C.

    Args:
        count: tasks C, at least 2.
        cosine: ρ.

    Returns:
        `SimilarTasks` with C outputs.

    Example:
        >>> targets = fs.worlds.similar_tasks(count=3, cosine=0.2).targets
        >>> (targets @ targets.T).round(6).tolist()
        [[1.0, 0.2, 0.2], [0.2, 1.0, 0.2], [0.2, 0.2, 1.0]]
    """
    require(count >= 2, "count", "be at least 2", count)
    if not is_traced(cosine):
        least = -1.0 / (count - 1)
        possible = bool(least - 1e-12 <= float(cosine) <= 1.0)
        require(possible, "cosine", f"lie between {least:.3g} and 1 for {count} tasks", cosine)
    mean = np.full((count, count), 1.0 / count)
    along, across = (xp.sqrt(xp.maximum(value, 0.0)) for value in (1.0 + (count - 1) * cosine, 1.0 - cosine))
    return SimilarTasks(along * mean + across * (np.eye(count) - mean))


class Views(eqx.Module):
    """Several views x_m = a_m y of one target y = 1, some of which are present in a sample.

    Attributes:
        present: which views each pattern shows (ones and zeros).
        probabilities: of the patterns.
        amplitudes: a_m.

    Example:
        >>> world = fs.worlds.Views(np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([0.5, 0.5]), np.array([1.0, 2.0]))
        >>> world.strengths.tolist(), world.overlaps.tolist()  # ⟨x_m y⟩, ⟨x_m x_j⟩
        ([1.0, 1.0], [[1.0, 1.0], [1.0, 2.0]])
    """

    present: Float[Any, "patterns views"]
    probabilities: Float[Any, " patterns"]
    amplitudes: Float[Any, " views"]

    @property
    def count(self) -> int:
        return self.present.shape[1]

    @property
    def inputs(self) -> Float[Any, "patterns views"]:
        """What each pattern shows; zero where a view is absent."""
        return self.present * self.amplitudes[None]

    @property
    def strengths(self) -> Float[Any, " views"]:
        """S_m = ⟨x_m y⟩ = a_m P(m)."""
        return self.probabilities @ self.inputs

    @property
    def overlaps(self) -> Float[Any, "views views"]:
        """D_mj = ⟨x_m x_j⟩ = a_m a_j P(m and j): a Gram matrix."""
        return self.inputs.T @ (self.probabilities[:, None] * self.inputs)

    @property
    def dataset(self) -> GatedDataset:
        """One sample a pattern, for input nodes `view1`, `view2`, …, gated by their presence, and the output `y`."""
        names = view_names(self.count)
        inputs = {name: self.amplitudes[m] * np.ones((len(self.present), 1)) for m, name in enumerate(names)}
        gates = {name: self.present[:, m] for m, name in enumerate(names)}
        return GatedDataset(inputs, {"y": np.ones((len(self.present), 1))}, gates, self.probabilities)


@precise
def co_occurring_views(count: int, together: Any, amplitudes: Any = 1.0) -> Views:
    """Views of one target that are all present with probability p, and otherwise one at a time, equally often.

    There are V + 1 patterns: all views, with probability p, and each view alone, with probability (1−p)/V. So
    P(m) = p + (1−p)/V and P(m and j) = p. At p = 0 views never meet and D is diagonal; at p = 1 they always co-occur,
    D = aaᵀ has rank one, and data cannot tell which view did the work.

    Args:
        count: views V.
        together: p, from 0 to 1; may be traced.
        amplitudes: a_m > 0, one for all or one a view.

    Returns:
        `Views` of V + 1 patterns.

    Example:
        >>> world = fs.worlds.co_occurring_views(2, together=0.5)
        >>> world.present.astype(int).tolist(), world.probabilities.tolist()
        ([[1, 1], [1, 0], [0, 1]], [0.5, 0.25, 0.25])
        >>> world.overlaps.tolist()
        [[0.75, 0.5], [0.5, 0.75]]
    """
    require(count >= 2, "count", "be at least 2", count)
    if not is_traced(together):
        require(0.0 <= float(together) <= 1.0, "together", "lie between 0 and 1", together)
    alone = np.ones(count) * ((1.0 - together) / count)
    probabilities = xp.concatenate([np.ones(1) * together, alone])
    present = np.concatenate([np.ones((1, count)), np.eye(count)])
    return Views(present, probabilities, _amplitudes(amplitudes, count))


class Slots(eqx.Module):
    """Views in slots of their own that answer to outputs of their own: x is white, y_m = a_m x_m.

    Args:
        amplitudes: a_m, one for each slot.

    Example:
        >>> world = fs.worlds.Slots(np.array([2.0, 1.0]))
        >>> world.dataset.moments.cross.round(6).tolist(), world.overlaps.tolist()
        ([[2.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
    """

    amplitudes: Float[Any, " slots"]

    @property
    def count(self) -> int:
        return self.amplitudes.shape[0]

    @property
    def strengths(self) -> Float[Any, " slots"]:
        """S_m = ⟨y_m x_m⟩ = a_m."""
        return self.amplitudes

    @property
    def overlaps(self) -> Float[Any, "slots slots"]:
        """D = I: no pathway takes anything from another."""
        return np.eye(self.count)

    @property
    def dataset(self) -> Dataset:
        """One sample a slot, scaled so that Σxx = I and Σyx = diag(a)."""
        inputs = self.count**0.5 * np.eye(self.count)
        return Dataset(inputs, inputs * self.amplitudes[None])

    @property
    def gated(self) -> GatedDataset:
        """The same samples for pathways that have nothing in common, from `view1` to `answer1` and so on."""
        whole, numbers = self.dataset, range(self.count)
        inputs = {name: whole.inputs[:, m, None] for m, name in enumerate(view_names(self.count))}
        return GatedDataset(inputs, {f"answer{m + 1}": whole.targets[:, m, None] for m in numbers})


@precise
def separate_slots(count: int, amplitudes: Any = 1.0) -> Slots:
    """Views on orthogonal slots with separate outputs: a race without competition.

    Args:
        count: slots.
        amplitudes: a_m > 0, one for all or one a slot.

    Returns:
        `Slots`.

    Example:
        >>> world = fs.worlds.separate_slots(3, amplitudes=(3.0, 2.0, 1.0))
        >>> world.strengths.tolist(), sorted(world.gated.targets)
        ([3.0, 2.0, 1.0], ['answer1', 'answer2', 'answer3'])
    """
    require(count >= 1, "count", "be at least 1", count)
    return Slots(_amplitudes(amplitudes, count))


def view_names(count: int) -> tuple[str, ...]:
    """Input nodes `view1`, `view2`, …

    Example:
        >>> fs.worlds.views.view_names(3)
        ('view1', 'view2', 'view3')
    """
    return tuple(f"view{number}" for number in range(1, count + 1))


def _amplitudes(amplitudes: Any, count: int) -> Float[Any, " views"]:
    values = real(amplitudes)
    require(values.shape in ((), (count,)), "amplitudes", f"be one number, or {count}", amplitudes)
    if not is_traced(amplitudes):
        require(bool(np.all(np.asarray(amplitudes) > 0)), "amplitudes", "be positive", amplitudes)
    return xp.broadcast_to(values, (count,))


def _norms(vectors: Float[Any, "paths outputs"]) -> Float[Any, " paths"]:
    return xp.sqrt(xp.sum(vectors**2, axis=1))
