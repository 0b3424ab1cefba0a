"""A rectified network in a world with contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import continuous, structural
from festina.model import Equation, Preset, Variable
from festina.models._context_descent import MODES, ContextDescent
from festina.sources import JARVIS_2025

if TYPE_CHECKING:
    from festina.models._types import Array, Float, Key, Observed, Process, Rectified, Samples

    Held = tuple[Rectified, dict[str, Array]]

MOST_UNITS = (
    60  # that are recorded one by one: all start from the same law, so that the first ones stand for the others
)


class RectifiedContexts(ContextDescent):
    """A rectified network, f(x) = W₂[W₁x]₊ or deeper, that learns what objects are like in C contexts.

    Eight objects in a hierarchy H are met in C contexts, x = (e_object, κ e_context). The target is H in a common block
    and, once more, in a block for the context at hand (`festina.worlds.contexts`). All weights start from N(0, s²).
    A unit belongs to a context if it is on for most of its objects, and has the strength |incoming||outgoing|.
    Linearity is the share of a layer's variance over samples that is linear in x (R² of the best linear map with a
    constant, all units together). Gates can be held from a step on, at what they are then: the network is then a
    gated linear one, and the same as ever for as long as its own units would have these gates (*own gates*).

    Example:
        >>> import festina as fs
        >>> run = fs.models.RectifiedContexts(contexts=3, width=12, deviation=1e-2, steps=500, records=10).run()
        >>> run["strength"].isel(layer=0, drop=True).sizes["size"]  # units of no, one, two and three contexts
        4
    """

    name = "rectified-contexts"
    sources = (JARVIS_2025,)
    variables = {
        "loss": Variable("mean loss"),
        "strength": Variable("share of strength in units of exactly k contexts", ("layer", "size")),
        "everywhere": Variable("share of units on in all contexts", ("layer",)),
        "whole": Variable("share of strength in units that treat all objects of a context alike", ("layer",)),
        "linearity": Variable("R² of a layer as a linear map of the input", ("layer",)),
        "own_gates": Variable(
            "share of gates, by strength, that are what the network's own units would make them", ("layer",)
        ),
        "units": Variable("strength of single units × share of a context's objects", ("layer", "unit", "context")),
    } | MODES
    quick = {"width": 120, "deviation": 4e-5}

    layers: int = structural(1, ge=1, le=4, help="hidden layers")
    width: int = structural(600, ge=4, le=10_000, help="hidden units of each layer")
    gates: Literal["learned", "frozen"] = structural("learned", help="whether gates change, or stay what they were")
    frozen_at: Annotated[float, Field(ge=0, le=1_000_000)] = continuous(
        0.0, unit="steps", help="step from which gates stay what they were, if they do"
    )

    equations = (
        Equation(
            r"f(x) = W_{D}\, \bigl[\cdots [W_1 x]_+ \cdots\bigr]_+",
            "Layers of rectified units: on any input a unit is on, and linear, or off, and silent.",
        ),
        Equation(
            r"R^2 = 1 - \frac{\min_{A, b} \sum |h - Ax - b|^2}{\sum |h - \bar h|^2}",
            "How linear a layer h is: the share of its variance over all samples that a linear map of the input "
            "explains.",
        ),
    )
    presets = (
        Preset("three contexts", "Units on in two of three contexts come to hold most of the strength."),
        Preset("frozen gates", "Random gates, held at their initial values, learn faster still.", {"gates": "frozen"}),
        Preset(
            "two hidden layers",
            "The first layer stays nearly linear, and the second bends.",
            {"layers": 2, "width": 60, "deviation": 0.01, "steps": 10_000, "records": 100},
        ),
    )

    def coordinates(self) -> dict[str, list[int]]:
        sizes = {"layer": list(range(1, self.layers + 1)), "size": list(range(self.contexts + 1))}
        sizes |= {"unit": list(range(1, self.units + 1)), "context": list(range(1, self.contexts + 1))}
        return sizes | super().coordinates()

    @property
    def units(self) -> int:
        """How many units of each layer are recorded one by one."""
        return min(self.width, MOST_UNITS)

    def start(self, key: Key) -> Rectified:
        """Independent normal weights, all with the same standard deviation."""
        world = self.world_at()
        ends = world.dataset.inputs.shape[1], world.dataset.targets.shape[1]
        sizes = (ends[0], *[self.width] * self.layers, ends[1])
        return fs.networks.Rectified.init(key, sizes, self.deviation, np.float32)

    def process(self, start: Rectified) -> Process:
        samples = self.world.samples
        if self.gates == "frozen":
            return self._with_held_gates(start, samples)

        def observe(network: Rectified) -> Observed:
            gates = network.gates(samples.inputs)
            before, after = network.under(gates, samples.inputs)
            return {"loss": samples.loss(network)} | self._look(network.weights, after, before, list(gates.values()))

        return self.descend(start, samples.loss, observe)

    def _with_held_gates(self, start: Rectified, samples: Samples) -> Process:
        """The network and its gates, which follow its units up to a step, and from then on stay as they are."""
        inputs = samples.inputs

        def change(state: Held, data: None, step: Array) -> Held:
            network, gates = state
            moved = self.step_down(lambda network: _loss_under(gates, network, samples), network)
            follows = (step + 1).astype(float) <= jnp.asarray(self.frozen_at, float)
            own = jax.tree.map(jnp.add, network, moved).gates(inputs)
            return moved, {layer: jnp.where(follows, own[layer] - gates[layer], 0.0) for layer in gates}

        def observe(state: Held) -> Observed:
            network, gates = state
            before, after = network.under(gates, inputs)
            seen = self._look(network.weights, after, before, list(gates.values()))
            return {"loss": _loss_under(gates, network, samples)} | seen

        return self.in_steps((start, start.gates(inputs)), change, observe)

    def _look(
        self, weights: Sequence[Array], hidden: Sequence[Array], before: Sequence[Array], gates: Sequence[Array]
    ) -> Observed:
        """Contexts, linearity and gates of all layers, and modes of the output.

        The best linear map of x explains the same at any κ, so that κ = 1 is taken, which JAX does not trace.
        """
        world, seen = self.world_at(), []
        for layer, (activity, incoming, on) in enumerate(zip(hidden, before, gates, strict=True)):
            strength = fs.measures.activity.unit_strength(*weights[layer : layer + 2])
            sets = fs.measures.activity.active_sets(on, world.contexts)
            share = fs.measures.activity.active_share(on, world.contexts)
            seen.append(
                {
                    "strength": fs.measures.activity.strength_by_size(sets, strength),
                    "everywhere": jnp.mean(sets.all(axis=0).astype(np.float32)),
                    "whole": fs.measures.activity.whole_context_share(on, world.contexts, strength),
                    "linearity": fs.measures.activity.linearity(world.dataset.inputs, activity),
                    "own_gates": fs.measures.activity.gate_agreement(on, incoming, strength),
                    "units": (share * strength[None])[:, : self.units].T,
                }
            )
        layers = jax.tree.map(lambda *layers: jnp.stack(layers), *seen)
        return layers | self.mode_strengths(hidden[-1] @ weights[-1].T)


def _loss_under(gates: dict[str, Array], network: Rectified, samples: Samples) -> Float[Array, ""]:
    """The mean loss of a network whose gates are given."""
    answers = network.under(gates, samples.inputs)[1][-1] @ network.weights[-1].T
    return 0.5 * jnp.mean(jnp.sum((samples.targets - answers) ** 2, axis=-1))
