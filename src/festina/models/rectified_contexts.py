"""A rectified network in a world with contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import structural
from festina.model import Equation, Preset, Variable
from festina.models._context_descent import MODES, ContextDescent
from festina.sources import JARVIS_2025

if TYPE_CHECKING:
    from festina.models._types import Array, Gated, Key, Observed, Process, Rectified, Samples


class RectifiedContexts(ContextDescent):
    """A rectified network, f(x) = W₂[W₁x]₊ or deeper, that learns what objects are like in C contexts.

    Eight objects in a hierarchy H are met in C contexts, x = (e_object, κ e_context). The target is H in a common block
    and, once more, in a block for the context at hand (`festina.worlds.contexts`). All weights start from N(0, s²).
    A unit belongs to a context if it is on for most of its objects, and has the strength |incoming||outgoing|.
    Linearity is the share of a layer's variance over samples that is linear in x (R² of the best linear map with a
    constant, all units together). Gates can be held at their initial values: the network is then a gated linear one.

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
    } | MODES
    quick = {"width": 120, "deviation": 4e-5}

    layers: int = structural(1, ge=1, le=4, help="hidden layers")
    width: int = structural(600, ge=4, le=10_000, help="hidden units of each layer")
    gates: Literal["learned", "frozen"] = structural("learned", help="whether gates change, or stay what they were")

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
        return sizes | super().coordinates()

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
            seen = self._look(network.weights, network.hidden(samples.inputs))
            return {"loss": samples.loss(network)} | seen

        return self.descend(start, samples.loss, observe)

    def _with_held_gates(self, start: Rectified, samples: Samples) -> Process:
        """The gated linear network with the weights and the gates of the start."""
        gates = start.gates(samples.inputs)
        held = fs.worlds.GatedDataset({"x": samples.inputs}, {"y": samples.targets}, gates).samples

        def observe(network: Gated) -> Observed:
            activity = network.activity(held.inputs, gates)
            seen = self._look(network.blocks, [activity[layer] for layer in gates], list(gates.values()))
            return {"loss": held.loss(network)} | seen

        return self.descend(start.as_gated(), held.loss, observe)

    def _look(
        self, weights: Sequence[Array], hidden: Sequence[Array], gates: Sequence[Array] | None = None
    ) -> Observed:
        """Contexts and linearity of all layers, and modes of the output; units are on where they are active, unless
        their gates are given.

        The best linear map of x explains the same at any κ, so that κ = 1 is taken, which JAX does not trace.
        """
        world, seen = self.world_at(), []
        for layer, (activity, on) in enumerate(zip(hidden, gates or hidden, strict=True)):
            strength = fs.measures.activity.unit_strength(*weights[layer : layer + 2])
            sets = fs.measures.activity.active_sets(on, world.contexts)
            seen.append(
                {
                    "strength": fs.measures.activity.strength_by_size(sets, strength),
                    "everywhere": jnp.mean(sets.all(axis=0).astype(np.float32)),
                    "whole": fs.measures.activity.whole_context_share(on, world.contexts, strength),
                    "linearity": fs.measures.activity.linearity(world.dataset.inputs, activity),
                }
            )
        layers = jax.tree.map(lambda *layers: jnp.stack(layers), *seen)
        return layers | self.mode_strengths(hidden[-1] @ weights[-1].T)
