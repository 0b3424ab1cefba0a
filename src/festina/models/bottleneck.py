"""Several slots that have to pass through one narrow layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import festina as fs
from festina._lazy import jnp
from festina.config import continuous, structural
from festina.model import Equation, Preset, Variable
from festina.models._log_time import LogTime
from festina.models.views import Amplitude
from festina.ranges import Start
from festina.sources import JARVIS_2025, SAXE_2022

if TYPE_CHECKING:
    from festina.models._types import DeepLinear, Key, Observed, Process


class Bottleneck(LogTime):
    """A linear network y = W₂W₁x with a layer of r units, which learns y_m = a_m x_m from V white inputs.

    From small random weights the r strongest slots are learned, one after the other, and no others; on the way they
    compete for units even if there are enough for all. Amplitudes a_m lie evenly between 1 and the weakest.

    Example:
        >>> import festina as fs
        >>> run = fs.models.Bottleneck(views=3, bottleneck=2, weakest=0.5, records=20).run()
        >>> run["learned"].isel(run=0, time=-1).values.round(2)  # of amplitudes 1, ¾ and ½ through two units
        array([1.  , 0.75, 0.  ])
    """

    name = "bottleneck"
    sources = (SAXE_2022, JARVIS_2025)
    variables = {
        "learned": Variable("how much of each slot is learned", ("slot",)),
        "loss": Variable("loss ½⟨|y − h|²⟩"),
    }
    quick = {"until": 250.0, "records": 60}

    views: int = structural(3, ge=2, le=20, help="views V, each in a slot of its own")
    bottleneck: int = structural(2, ge=1, le=20, help="hidden units r, through which all slots pass")
    weakest: Amplitude = continuous(0.5, help="amplitude of the weakest slot; that of the strongest is 1")
    scale: Start = continuous(1e-2, scale="log", help="s.d. of the weights of a linear network at t = 0")

    equations = (
        Equation(
            r"\tau \dot W_1 = W_2^\top (A - W_2 W_1), \qquad \tau \dot W_2 = (A - W_2 W_1) W_1^\top, "
            r"\qquad A = \mathrm{diag}(a_1, \dots, a_V)",
            "Slots with white inputs are modes of their own; r hidden units carry the r strongest of them.",
        ),
    )
    presets = (
        Preset("two of three", "Two hidden units learn the two strongest slots."),
        Preset("enough for all", "Three hidden units learn all slots, the strongest first.", {"bottleneck": 3}),
    )

    def coordinates(self) -> dict[str, list[int]]:
        return {"slot": list(range(1, self.views + 1))}

    def start(self, key: Key) -> DeepLinear:
        """Small random weights."""
        own = fs.draws.fold_in(fs.draws.fold_in(key, 1), self.bottleneck - 1)
        return fs.networks.DeepLinear.init(own, (self.views, self.bottleneck, self.views), self.scale)

    def process(self, start: DeepLinear) -> Process:
        amplitudes = jnp.linspace(1.0, self.weakest, self.views)
        moments = fs.worlds.separate_slots(self.views, amplitudes).dataset.moments

        def observe(network: DeepLinear) -> Observed:
            return {"learned": jnp.diagonal(network.map), "loss": moments.loss(network)}

        return self.flow(start, moments.loss, observe)
