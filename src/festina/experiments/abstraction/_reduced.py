"""The reduced model in experiments: its fields, its networks, and what is seen of them."""

from typing import Any

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import jnp
from festina.experiment import ExperimentConfig, Variable, continuous, structural
from festina.experiments.abstraction._common import side
from festina.ranges import Coefficient, Duration, Start, StepSize, Timescale, countable


class ReducedConfig(ExperimentConfig):
    """The fields of a model of two paths and two teachers that has no inputs any more."""

    weight_timescale: Timescale = continuous(1.3, scale="log", unit="t", help="timescale τ_w of the students")
    gate_timescale: Timescale = continuous(0.06, scale="log", unit="t", help="timescale τ_c of the gates")
    nonnegativity: Coefficient = continuous(1 / 11, help="coefficient of Σ max(0, −c)")
    normalization: Coefficient = continuous(5 / 11, help="coefficient of (‖c‖₁ − 1)²")
    scale: Start = continuous(0.01, scale="log", help="s.d. of initial weights")
    until: Duration = structural(20.0, unit="t", help="when to stop")
    step_size: StepSize = structural(0.001, unit="t", help="length dt of the simultaneous Euler steps")
    steps_per_record: int = structural(10, ge=1, le=100_000, help="steps between recordings; must divide all steps")

    _countable = field_validator("step_size")(countable)

    @field_validator("steps_per_record")
    @classmethod
    def _whole(cls, steps_per_record: int, info: ValidationInfo) -> int:
        steps = round(info.data.get("until", 0) / info.data.get("step_size", 1))
        if steps % steps_per_record:
            raise ValueError(f"divide the {steps} steps there are (until/step_size)")
        return steps_per_record

    @property
    def records(self) -> int:
        return round(self.until / self.step_size) // self.steps_per_record


def variables(*dims: str, prefix: str = "") -> dict[str, Variable]:
    """What `observe` records, for networks that differ along ``dims``; names may begin with a prefix."""
    return {
        f"{prefix}weights": Variable("weight of each path along each teacher", (*dims, "path", "teacher")),
        f"{prefix}gates": Variable("gates c", (*dims, "path")),
        f"{prefix}loss": Variable("loss on the task shown", dims),
    }


def observe(view: Any) -> dict[str, Any]:
    """Weights, gates and loss of a reduced model."""
    return {"weights": jnp.stack(view.network.students)[:, 0], "gates": view.gates, "loss": view.loss}


def plane() -> Any:
    """The two tasks of the reduced model: to answer with one unit vector of the plane, or with the other."""
    return fs.worlds.Tasks(jnp.eye(2)[:, None, :])


def paths(weights: Any, gates: Any) -> Any:
    """A network of two paths from w^p_m and c^p."""
    return fs.networks.PathGated(tuple(weights[:, None, :]), tuple(gates))


def arms_of(config: Any, order: Any, *rules: Any) -> Any:
    """Several ways of learning side by side, through the same blocks."""
    blocks = fs.worlds.Blocks.of(order, config.block_length, config.step_size)
    return side.stacked(*(side.Arm(one, blocks) for one in rules))


def process(config: Any, key: Any, network: Any, arms: Any, starts: Any = None) -> Any:
    """The reduced model in all its arms; ``starts`` as in `joint_process`."""
    return side.stacked_process(
        network,
        arms,
        plane(),
        key,
        step_size=config.step_size,
        records=config.records,
        steps_per_record=config.steps_per_record,
        observe=observe,
        starts=starts,
    )
