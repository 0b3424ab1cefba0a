"""What all models of task abstractions have in common: joint descent on students and gates through blocks of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina.config import continuous, knows_numbers, structural
from festina.model import Equation, Model
from festina.ranges import Coefficient, Duration, Start, StepSize, Timescale, countable
from festina.sources import SANDBRINK_2024

if TYPE_CHECKING:
    from festina.models._types import Blocks, JointDescent, Statistics

Data = Literal["sampled", "wishart", "population", "closure"]

JOINT_DESCENT = Equation(
    r"y = \sum_p c^p\, W^p x, \qquad \tau_w\, \dot W^p = -\frac{\partial L}{\partial W^p}, "
    r"\qquad \tau_c\, \dot c^p = -\frac{\partial L}{\partial c^p}",
    "Students W and the gates c that weight them descend one loss together, each kind on a timescale of its own.",
)

BOUNDS = Equation(
    r"L = L_{\text{task}} + s \Bigl[\lambda_1 \sum_p \max(0, -c^p) + \lambda_2\, \bigl(\|c\| - 1\bigr)^2\Bigr]",
    "Besides the loss on the task shown, negative gates cost something, and so do gates whose norm is not one.",
)


class InBlocks(Model):
    """Joint descent τ_w Ẇ = −∂L/∂W, τ_c ċ = −∂L/∂c in Euler steps, through blocks of tasks that are never announced.

    L = L_task + s [λ₁ Σ max(0, −c) + λ₂ (‖c‖ − 1)²], with the norm ‖c‖₁ or ‖c‖₂.
    """

    sources = (SANDBRINK_2024,)
    time_unit = "t"

    weight_timescale: Timescale = continuous(1.3, scale="log", unit="t", help="timescale τ_w of the students")
    gate_timescale: Timescale = continuous(0.03, scale="log", unit="t", help="timescale τ_c of the gates")
    nonnegativity: Coefficient = continuous(1 / 11, help="coefficient λ₁ of Σ max(0, −c), for a strength of 1")
    normalization: Coefficient = continuous(5 / 11, help="coefficient λ₂ of (‖c‖ − 1)², for a strength of 1")
    strength: Coefficient = continuous(1.0, help="strength s of both bounds; without them, gates are free")
    order: Literal[1, 2] = structural(1, help="order of the norm of the gates: ‖c‖₁ or ‖c‖₂")
    scale: Start = continuous(0.01, scale="log", help="s.d. of initial weights, times √inputs")
    block_length: Duration = continuous(1.0, unit="t", help="how long one task is shown, τ_B")
    until: Duration = structural(20.0, unit="t", help="when to stop")
    step_size: StepSize = structural(0.001, unit="t", help="length dt of the simultaneous Euler steps")

    _countable = field_validator("step_size")(countable)

    @field_validator("step_size")
    @classmethod
    def _short(cls, step_size: float, info: ValidationInfo) -> float:
        if knows_numbers(info) and step_size > info.data.get("block_length", step_size):
            raise ValueError(f"not exceed the length of a block, {info.data['block_length']:g}")
        return step_size

    @property
    def steps(self) -> int:
        """From the start to the end."""
        return round(self.until / self.step_size)

    def rule(self) -> JointDescent:
        """Timescales and bounds."""
        strengths = self.strength * self.nonnegativity, self.strength * self.normalization
        bounds = fs.networks.Regularizer(*strengths, order=self.order)
        return fs.learning.JointDescent(self.weight_timescale, self.gate_timescale, bounds)

    def blocks(self, tasks: Any) -> Blocks:
        """Which task is shown when, given the tasks of one round."""
        return fs.worlds.Blocks.of(tasks, self.block_length, self.step_size)


class RecordedInBlocks(InBlocks):
    """The same, recorded so many times at even distances."""

    records: int = structural(2000, ge=1, le=1_000_000, help="recordings, evenly spaced; must divide the steps")

    @field_validator("records")
    @classmethod
    def _whole(cls, records: int, info: ValidationInfo) -> int:
        steps = round(info.data.get("until", 0) / info.data.get("step_size", 1))
        if steps % records:
            fit = max(count for count in range(1, min(records, steps) + 1) if steps % count == 0)
            raise ValueError(f"divide the {steps} steps there are (until/step_size), as {fit} does")
        return records

    @property
    def steps_per_record(self) -> int:
        return self.steps // self.records

    def clock(self) -> dict[str, Any]:
        """Steps and recordings, as processes of numbered steps take them."""
        return {"step_size": self.step_size, "records": self.records, "steps_per_record": self.steps_per_record}


class LinearInBlocks(RecordedInBlocks):
    """The same for linear tasks y* = W*x with white Gaussian inputs."""

    inputs: int = structural(20, ge=1, le=1000, help="inputs d_in of the tasks")
    outputs: int = structural(10, ge=1, le=1000, help="outputs d_out of the tasks")
    batch: int = structural(200, ge=1, le=1_000_000, help="inputs B seen in one step (sampled and wishart)")
    data: Data = structural(
        "wishart",
        help="what a step sees: a `sampled` batch, its moments alone (`wishart`), all inputs (`population`, `closure`)",
    )
    convention: Literal["sum", "mean"] = structural(
        "sum", help="`sum`: loss summed over outputs, rows of norm 1/√d_in; `mean`: averaged, unit rows"
    )

    def statistics(self) -> Statistics:
        """What a step sees."""
        batches = {"sampled": fs.worlds.Sampled, "wishart": fs.worlds.Wishart}
        return batches[self.data](self.batch) if self.data in batches else fs.worlds.Population()


def forgetful(config: Any) -> dict[str, Any]:
    """The control: gates without bounds, as slow as weights."""
    return {"strength": 0.0, "gate_timescale": config.weight_timescale}


def unbounded(config: Any) -> dict[str, Any]:
    """The control whose gates only lack bounds."""
    return {"strength": 0.0}
