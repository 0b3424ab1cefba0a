"""What models in a world with contexts share: the world, and gradient descent on all its samples at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import continuous, structural
from festina.model import Model, Variable
from festina.ranges import LearningRate, Start, Strength

if TYPE_CHECKING:
    from festina.models._types import Array, ContextWorld, Float, Observed, Process, TwoPhases

Contexts = Annotated[int, Field(ge=2, le=8)]
MODES = {
    "common_modes": Variable("strength of the common path's centred modes", ("mode",)),
    "contextual_modes": Variable("strength of the modes of what that path leaves", ("block", "mode")),
}
"""What `ContextDescent.mode_strengths` gives."""


class ContextDescent(Model):
    """Eight objects in C contexts, P = 8C samples, and descent on ½Σ|y − f(x)|²; see `festina.worlds.contexts`."""

    time_unit = "steps"

    contexts: Contexts = structural(3, help="contexts C")
    structures: Literal["same", "different"] = structural(
        "same", help="what objects are like in each context: the same hierarchy, or hierarchy, ring and cross-cut"
    )
    context_scale: Strength = continuous(1.0, help="size κ of the context's input")
    deviation: Start = continuous(0.005 / 600, scale="log", help="s.d. of initial weights")
    rate: LearningRate = continuous(1e-3, scale="log", help="learning rate on the loss summed over samples")
    steps: int = structural(8000, ge=10, le=1_000_000, help="steps of gradient descent")
    records: int = structural(160, ge=2, le=100_000, help="recordings; must divide the steps")

    @field_validator("records")
    @classmethod
    def _whole(cls, records: int, info: ValidationInfo) -> int:
        if info.data.get("steps", 0) % records:
            raise ValueError(f"divide the {info.data['steps']} steps")
        return records

    @field_validator("structures")
    @classmethod
    def _three(cls, structures: str, info: ValidationInfo) -> str:
        if structures == "different" and info.data.get("contexts", 3) != 3:
            raise ValueError(f"be 'same' with {info.data['contexts']} contexts: of different ones there are three")
        return structures

    def coordinates(self) -> dict[str, list[int]]:
        return {"mode": list(range(1, fs.worlds.contexts.OBJECTS)), "block": list(range(1, self.contexts + 1))}

    def world_at(self, context_scale: Any = 1.0) -> ContextWorld:
        """The world with inputs of contexts of a size κ."""
        if self.structures == "different":
            return fs.worlds.different_structures(context_scale)
        return fs.worlds.multitask(self.contexts, context_scale)

    @property
    def world(self) -> ContextWorld:
        """In float32: precise enough for curves, and twice as fast."""
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, np.float32), self.world_at(self.context_scale))

    @property
    def closed_form(self) -> TwoPhases:
        """The loss of a common path and of all-but-one paths, given two initial strengths."""
        world = self.world_at()
        return fs.theory.structures.two_phases(world.common, world.structures, self.context_scale)

    @property
    def initial_loss(self) -> float:
        """½⟨|y|²⟩, the loss of a network that says nothing."""
        return 0.5 * float(np.mean(np.sum(self.world_at().dataset.targets ** 2, axis=1)))

    def clock(self, steps: np.ndarray) -> np.ndarray:
        """Times of gradient flow on the mean loss after numbers of steps, t = steps · rate · P."""
        return steps * self.rate * fs.worlds.contexts.OBJECTS * self.contexts

    def mode_strengths(self, answers: Float[Array, "samples features"]) -> Observed:
        """How much of each mode of theory (`festina.theory.structures`) there is in what a network says.

        Of the common path's modes: in the best linear map of the input. Of the others: in what that map leaves, in the
        one context in which a path is off. Centred modes are the same at any κ, so that κ = 1 is taken, which JAX does
        not trace.
        """
        world = self.world_at()
        inputs, objects = world.dataset.inputs, world.object_count
        linear = np.asarray(np.linalg.pinv(inputs)[:objects], answers.dtype)
        outside = np.asarray(np.eye(len(inputs)) - inputs @ np.linalg.pinv(inputs), answers.dtype)
        rest = (outside @ answers).reshape(self.contexts, objects, -1)
        common, others = (
            jax.tree.map(lambda leaf: np.asarray(leaf, answers.dtype), path)
            for path in (
                fs.theory.structures.common_path(world.common, world.structures),
                fs.theory.structures.paths_but_one(world.structures),
            )
        )
        return {
            "common_modes": common.strengths((linear @ answers).T),
            "contextual_modes": others.strengths(-jnp.swapaxes(rest, 1, 2)),
        }

    def descend(
        self, network: Any, loss: Callable[[Any], Float[Array, ""]], observe: Callable[[Any], Observed]
    ) -> Process:
        """Descent of a network on its mean loss."""

        def change(network: Any, data: None, step: Array) -> Any:
            return self.step_down(loss, network)

        return self.in_steps(network, change, observe)

    def step_down(self, loss: Callable[[Any], Float[Array, ""]], network: Any) -> Any:
        """The change of a network in one step; a rate on the sum over P samples is P times that rate on the mean."""
        samples, slopes = fs.worlds.contexts.OBJECTS * self.contexts, jax.grad(loss)(network)
        return jax.tree.map(lambda slope: -jnp.asarray(self.rate * samples, slope.dtype) * slope, slopes)

    def in_steps(
        self, parameters: Any, change: Callable[[Any, None, Array], Any], observe: Callable[[Any], Observed]
    ) -> Process:
        """A process that adds ``change(parameters, None, number of the step)`` in every step."""
        from festina.learning.descent import no_data

        return fs.learning.descent_process(
            change,
            parameters,
            jax.random.key(0),
            1.0,
            self.records,
            self.steps // self.records,
            lambda state: observe(state.parameters),
            stage_at=lambda step, memory: step,
            draw=no_data,
        )
