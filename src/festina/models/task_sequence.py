"""A two-layer linear network that meets two tasks one after the other, in blocks, or mixed."""

from __future__ import annotations

from math import cos, hypot, log, pi, sin
from typing import TYPE_CHECKING, NamedTuple

import festina as fs
from festina._lazy import jnp, np
from festina.config import continuous, structural
from festina.model import Equation, Model, Preset, Variable
from festina.ranges import Duration, Imbalance, Start, Strength
from festina.sources import BRAUN_2022, DOMINE_2025

if TYPE_CHECKING:
    from festina.models._types import Array, Curves, Float, Key, Observed, Process, Solution, State

Layers = tuple["Float[Array, 'hidden inputs']", "Float[Array, 'outputs hidden']"]


class Begin(NamedTuple):
    """S₁ and S₂, what is shown in every block, when each but the last ends, and W₁ and W₂ at t = 0."""

    tasks: Float[Array, "2 outputs inputs"]
    shown: Float[Array, "blocks outputs inputs"]
    switches: Float[Array, " switches"]
    layers: Layers


class TaskSequence(Model):
    """A two-layer linear network that meets two tasks in turn, in blocks of equal length.

    Both tasks ask for the same n outputs from other inputs: with S₁ = U s Vᵀ, the second rotates the input modes by an
    angle θ into new directions, S₂ = U s (V cos θ + V⊥ sin θ)ᵀ. Inputs are white, τ Ẇ₁ = W₂ᵀ(S − W₂W₁),
    τ Ẇ₂ = (S − W₂W₁)W₁ᵀ, from rotated weights with W₂ᵀW₂ − W₁W₁ᵀ = λI, which is conserved whatever is shown, so that
    the exact solution restarts at every switch (`festina.theory.sequence`). In a block of one task, a share of what is
    shown is of the other, S = (1 − m)S_k + mS_l: at m = ½ the tasks are interleaved, and blocks are all alike. Two
    blocks show all of one task before the other.

    The loss on task k is L_k = ½|S_k − W₂W₁|². The tasks share their inputs without a cue and so conflict: no map
    solves both.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> model = fs.models.TaskSequence(modes=1, blocks=2, until=60.0)
        >>> model.theory()(np.array([29.9, 60.0]))["loss"].round(3)  # on both tasks: the first is forgotten
        array([[0., 4.],
               [4., 0.]])
    """

    name = "task-sequence"
    sources = (BRAUN_2022, DOMINE_2025)
    variables = {
        "map": Variable("map W₂W₁", ("output", "input")),
        "loss": Variable("loss ½|S − W₂W₁|² on each task", ("task",)),
        "share": Variable("loss on each task / ½|S₁ − S₂|²", ("task",)),
    }
    quick = {"records": 240}

    modes: int = structural(4, ge=1, le=64, help="modes n of a task; 2n inputs, n hidden units, n outputs")
    blocks: int = structural(12, ge=2, le=1000, multiple_of=2, help="blocks, even: of the first task, of the second, …")
    mixture: float = continuous(0.0, ge=0, le=0.5, help="share of the other task in a block; 0.5 interleaves them")
    imbalance: Imbalance = continuous(0.0, help="imbalance λ of the layers, W₂ᵀW₂ − W₁W₁ᵀ = λI")
    angle: float = continuous(90.0, ge=0.1, le=179.9, unit="°", help="angle θ between the tasks")
    strongest: Strength = continuous(2.0, help="largest singular value of a task")
    weakest: Strength = continuous(1.0, help="smallest singular value of a task; the others lie evenly between")
    scale: Start = continuous(0.05, scale="log", help="singular values of the initial map")
    until: Duration = continuous(30.0, unit="τ", help="when the last block ends")
    records: int = structural(480, ge=24, le=100_000, help="recordings after the first, evenly spaced in time")

    equations = (
        Equation(
            r"\tau \dot W_1 = W_2^\top (S - W_2 W_1), \qquad \tau \dot W_2 = (S - W_2 W_1)\, W_1^\top",
            "Both layers descend the loss of the task S that is shown; W₂ᵀW₂ − W₁W₁ᵀ = λI is kept from task to task.",
        ),
        Equation(
            r"F(\infty) = \tfrac12 |S_1 - S_2|^2 = |s|^2\, (1 - \cos\theta)",
            "What is forgotten of the first task in the end depends on the tasks alone, and not on the balance λ.",
        ),
        Equation(
            r"\bar L_{\text{blocked}} = \tfrac14 |S_1 - S_2|^2, "
            r"\qquad \bar L_{\text{interleaved}} = \tfrac18 |S_1 - S_2|^2",
            "In the mean over both tasks interleaving ends with half the loss of blocking, the least that is possible.",
        ),
    )
    presets = (
        Preset("alternating", "In each block one task is learned, and the other one forgotten."),
        Preset("blocked", "The second task overwrites the first.", {"blocks": 2}),
        Preset("interleaved", "A mixture of both tasks ends half-way between them.", {"mixture": 0.5}),
    )

    @property
    def duration(self) -> float:
        """How long what is shown takes from anywhere, generously.

        The slowest networks are those with λ < 0, which turn at the rate √(s² + λ²/4) − |λ|/2; from balanced weights a
        mode grows at the rate 2s. Nearly opposed tasks have little in common to begin with, sin θ. Interleaved tasks
        have modes of s cos(θ/2).
        """
        angle, half = self.angle * pi / 180.0, abs(self.imbalance) / 2
        weakest = self.weakest * hypot(cos(angle / 2), (1.0 - 2.0 * self.mixture) * sin(angle / 2))
        turning = weakest**2 / (hypot(weakest, half) + half)
        growing = (log(max(10.0 * weakest / self.scale, 1.0)) + 5.0) / (2.0 * weakest)
        waiting = -log(sin(angle)) / self.weakest if angle > pi / 2 else 0.0
        return max(5.0 / turning, growing) + waiting

    def coordinates(self) -> dict[str, list[int]]:
        return {"task": [1, 2]}

    def start(self, key: Key) -> Begin:
        """Tasks, with their modes along the axes, and a λ-balanced network that is rotated at random."""
        modes, angle = self.modes, self.angle * np.pi / 180.0
        strengths = self.weakest + (self.strongest - self.weakest) * jnp.linspace(1.0, 0.0, modes)
        alone, none = jnp.diag(strengths), jnp.zeros((modes, modes))
        rows = (alone, none), (alone * jnp.cos(angle), alone * jnp.sin(angle))
        tasks = jnp.stack([jnp.concatenate(row, axis=1) for row in rows])
        own = np.arange(self.blocks) % 2
        shown = (1.0 - self.mixture) * tasks[own] + self.mixture * tasks[1 - own]
        switches = self.until / self.blocks * jnp.arange(1.0, self.blocks)
        sizes = (2 * modes, modes, modes)
        return Begin(
            tasks, shown, switches, fs.networks.DeepLinear.balanced(key, sizes, self.imbalance, self.scale).weights
        )

    def process(self, start: Begin) -> Process:
        def rate(layers: Layers, stage: Array) -> Layers:
            first, second = layers
            error = start.shown[stage] - second @ first
            return second.T @ error, error @ first.T

        def observe(state: State) -> Observed:
            first, second = state.parameters
            return observed(start.tasks, second @ first)

        times = self.until * jnp.linspace(0.0, 1.0, self.records + 1)
        return fs.learning.flow_process(rate, start.layers, times, observe, start.switches)

    def solution(self, start: Begin) -> Solution:
        exact = fs.theory.sequence(*start.layers, start.shown, start.switches)

        def curves(time: Float[np.ndarray, "*times"]) -> Curves:
            return observed(start.tasks, exact(time)["map"])

        return curves


def observed(tasks: Float[Array, "2 outputs inputs"], mapping: Float[Array, "*times outputs inputs"]) -> Curves:
    """The map and the loss on each task, at one time or at many."""
    error = tasks.reshape((1,) * (mapping.ndim - 2) + tasks.shape) - mapping[..., None, :, :]
    loss, conflict = 0.5 * (error**2).sum(axis=(-2, -1)), 0.5 * ((tasks[0] - tasks[1]) ** 2).sum()
    return {"map": mapping, "loss": loss, "share": loss / conflict}
