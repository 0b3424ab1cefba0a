"""A small experiment for the tests of the lab: units decay linearly, and the answer is known."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import festina as fs
from festina import claims
from festina.experiment import Arms, Experiment, Model, Variable, continuous, structural
from festina.sources import LECTURE


class Units(Model):
    """A linear decay, level(t) = start · exp(−speed t), that can be made to explode."""

    name = "toy-units"
    variables = {
        "level": Variable("level", ("unit",), "V"),
        "total": Variable("sum of the levels"),
        "final": Variable("last total"),
        "rest": Variable("what is left of each unit", ("unit",), "V", final=True),
    }

    units: int = structural(2, ge=1, le=64, help="how many units")
    records: int = structural(40, ge=2, help="recordings")
    speed: float = continuous(1.0, unit="1/τ", help="rate of decay")
    spread: float = continuous(0.0, ge=0.0, help="spread of the start over seeds")
    explode: bool = structural(False, help="square the rate of growth")

    def start(self, key: Any) -> Any:
        return 1.0 + self.spread * jax.random.normal(key, (self.units,))

    def process(self, start: Any) -> Any:
        def rate(level: Any, stage: Any) -> Any:
            return -self.speed * (level**2 if self.explode else level)

        times = jnp.linspace(0.0, 2.0, self.records + 1)
        observe = lambda s: {"level": s.parameters, "total": jnp.sum(s.parameters)}  # noqa: E731
        process = fs.learning.flow_process(rate, start, times, observe)
        return replace(process, conclude=lambda state: {"rest": state.parameters})

    def solution(self, start: Any) -> Any:
        level = lambda time: start * np.exp(-self.speed * np.asarray(time))[:, None]  # noqa: E731
        return lambda time: {"level": level(time), "rest": level(time)}

    @classmethod
    def measure(cls, data: Any) -> dict[str, Any]:
        return {"final": data["total"].isel(time=-1)}


class Toy(Experiment):
    """A linear decay, level(t) = start · exp(−speed t), that can be made to explode."""

    name = "toy/decay"
    sources = (LECTURE,)
    arms = Arms(Units)
    quick = {"records": 20}

    @claims.theory(claims.below(1e-8))
    def exact(self, result: Any) -> Any:
        """Levels decay as the closed form says."""
        return result.errors("level")

    @claims.theory(claims.below(1e-8), budget="full")
    def slow(self, result: Any) -> Any:
        """All variables are those of the closed form."""
        return result.errors()

    @claims.paper(LECTURE.at("no slide"), claims.below(1e-8), reason="the toy is not of that lecture")
    def false(self, result: Any) -> Any:
        """Levels vanish within two units of time."""
        return result["final"].values

    def figure(self, result: Any) -> Any:
        import matplotlib.pyplot as plt

        figure, axis = plt.subplots()
        axis.plot(result["time"], result["total"].values.T)
        return figure
