"""A rectified network at context-dependent decisions, which has to get the context from a cue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

import festina as fs
from festina._lazy import jax, jnp
from festina.config import continuous, structural
from festina.model import Equation, Preset, Variable
from festina.models._small_steps import SmallSteps
from festina.ranges import Start
from festina.sources import LECTURE, SAXE_2022

if TYPE_CHECKING:
    from festina.models._types import Array, Float, Key, Observed, Process, Rectified

Cue = Annotated[float, Field(ge=0, le=10)]
EXAMPLES = 4  # in each context


class Decision(SmallSteps):
    """A rectified network y = a·[Wx]₊ that reports motion or colour, whichever is cued, from small weights.

    Motion and colour are ±1, and a cue says which to report: x = (motion, colour, κ·e_context), y the cued feature, all
    P = 8 examples alike (`festina.worlds.decision`). Without a cue (κ = 0) the best answer is half of either feature,
    with L = ¼; the weaker the cue, the longer a network stays there. A unit's gates depend on the context if it is on
    for some pair of features in one context and not in the other; its strength is |incoming||outgoing|.

    Example:
        >>> import festina as fs
        >>> run = fs.models.Decision(cue=1.0, width=20, until=20.0, records=10).run()
        >>> bool(run["loss"].isel(run=0, time=-1) < 0.25)  # better than any answer that does not heed the cue
        True
    """

    name = "decision"
    sources = (SAXE_2022, LECTURE)
    variables = {
        "loss": Variable("loss"),
        "contextual": Variable("share of strength in units whose gates depend on the context"),
        "gates": Variable("share of strength by examples a unit is on for", ("on_motion", "on_colour")),
    }
    quick = {"until": 30.0, "records": 150}

    cue: Cue = continuous(1.0, help="size κ of the context's indicator")
    scale: Start = continuous(1e-2, scale="log", help="s.d. of a rectified network's weights at t = 0")
    width: int = structural(100, ge=4, le=10_000, help="hidden units of the rectified network")

    equations = (
        Equation(
            r"x = (m, c, \kappa\, e_{\text{context}}), \qquad y = m \ \text{or}\ c, \qquad f(x) = a \cdot [W x]_+",
            "A network that is not told the context has to get it from a cue of size κ.",
        ),
    )
    presets = (
        Preset("cued", "With a cue the network solves the task, by gates that depend on features and cue together."),
        Preset("without a cue", "Nothing tells the contexts apart, and the loss stalls at ¼.", {"cue": 0.0}),
        Preset("weak cue", "From a weak cue the context is learned late.", {"cue": 0.3, "until": 60.0}),
    )

    def coordinates(self) -> dict[str, list[int]]:
        counts = list(range(EXAMPLES + 1))
        return {"on_motion": counts, "on_colour": counts}

    def start(self, key: Key) -> Rectified:
        """Independent normal weights, all with the same standard deviation."""
        return fs.networks.Rectified.init(key, (4, self.width, 1), self.scale)

    def process(self, start: Rectified) -> Process:
        samples = fs.worlds.decision(self.cue).dataset.samples
        return self.descend(
            start,
            samples.loss,
            lambda network: {"loss": samples.loss(network)} | kinds_of_gates(network, samples.inputs),
        )


def kinds_of_gates(network: Rectified, inputs: Float[Array, "8 4"]) -> Observed:
    """How the strength of all units is shared out among kinds of gates; the first four inputs are of one context."""
    strength = fs.measures.activity.unit_strength(*network.weights)
    share = strength / jnp.sum(strength)
    on = network.gates(inputs)["h1"].reshape(2, EXAMPLES, -1)
    differs = jnp.any(on[0] != on[1], axis=0).astype(share.dtype)
    motion, colour = (jax.nn.one_hot(count.astype(int), EXAMPLES + 1, dtype=share.dtype) for count in on.sum(axis=1))
    return {"contextual": jnp.sum(share * differs), "gates": jnp.einsum("u,um,uc->mc", share, motion, colour)}
