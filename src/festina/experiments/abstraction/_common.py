"""What the experiments on task abstractions share: their fields, their two arms, and how paths are sorted."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import LazyModule, np, xr
from festina.claims import NotApplicable, Undecided
from festina.config import knows_numbers
from festina.errors import ArgumentError
from festina.experiment import ExperimentConfig, Result, Variable, continuous, structural
from festina.models.task_abstraction import sort_by_teacher as sort_by_teacher
from festina.ranges import Coefficient, Duration, Start, StepSize, Timescale, countable

side = LazyModule("festina.experiments.abstraction._stacked")  # which imports JAX

ARMS = ("flexible", "forgetful")

SEPARATE = "a separate simulation of the published settings, ten seeds"
"""Where reference values come from that the paper does not print."""

Data = Literal["sampled", "wishart", "population", "closure"]

VARIABLES = {
    "loss": Variable("expected loss on the task shown", ("arm",)),
    "gates": Variable("gates c", ("arm", "path")),
    "alignment": Variable("mean cosine of rows, teacher and student", ("arm", "teacher", "path")),
    "components": Variable("length of each student along each teacher", ("arm", "teacher", "path")),
    "norms": Variable("norm of each student", ("arm", "path")),
}
"""What `observe` records; experiments may add to it."""


class BlockConfig(ExperimentConfig):
    """Joint descent on students and gates through blocks of tasks, with the values of the paper's first simulation."""

    weight_timescale: Timescale = continuous(1.3, scale="log", unit="t", help="timescale τ_w of the students")
    gate_timescale: Timescale = continuous(0.03, scale="log", unit="t", help="timescale τ_c of the gates")
    nonnegativity: Coefficient = continuous(1 / 11, help="coefficient of Σ max(0, −c)")
    normalization: Coefficient = continuous(5 / 11, help="coefficient of (‖c‖ − 1)²")
    block_length: Duration = continuous(1.0, unit="t", help="how long one task is shown, τ_B")
    until: Duration = structural(20.0, unit="t", help="when to stop")
    step_size: StepSize = structural(0.001, unit="t", help="length dt of the simultaneous Euler steps")
    records: int = structural(2000, ge=1, le=1_000_000, help="recordings, evenly spaced; must divide the steps")
    scale: Start = continuous(0.01, scale="log", help="s.d. of initial weights, times √inputs")

    @field_validator("records")
    @classmethod
    def _whole(cls, records: int, info: ValidationInfo) -> int:
        steps = round(info.data.get("until", 0) / info.data.get("step_size", 1))
        if steps % records:
            fit = max(count for count in range(1, min(records, steps) + 1) if steps % count == 0)
            raise ValueError(f"divide the {steps} steps there are (until/step_size), as {fit} does")
        return records

    _countable = field_validator("step_size")(countable)

    @field_validator("step_size")
    @classmethod
    def _short(cls, step_size: float, info: ValidationInfo) -> float:
        if knows_numbers(info) and step_size > info.data.get("block_length", step_size):
            raise ValueError(f"not exceed the length of a block, {info.data['block_length']:g}")
        return step_size

    @property
    def steps_per_record(self) -> int:
        return round(self.until / self.step_size) // self.records


class AbstractionConfig(BlockConfig):
    """The fields of the experiments with linear tasks."""

    inputs: int = structural(20, ge=1, le=1000, help="inputs d_in of the tasks")
    outputs: int = structural(10, ge=1, le=1000, help="outputs d_out of the tasks")
    batch: int = structural(200, ge=1, le=1_000_000, help="inputs B seen in one step (sampled and wishart)")
    data: Data = structural(
        "wishart", help="what a step sees: a `sampled` batch, its law (`wishart`), all inputs (`population`, `closure`)"
    )
    convention: Literal["sum", "mean"] = structural(
        "sum", help="`sum`: loss summed over outputs, rows of norm 1/√d_in; `mean`: averaged, unit rows"
    )


def rule(config: Any, order: int = 1) -> Any:
    """The flexible way of learning that a configuration describes; ``order`` is that of the norm of the gates."""
    bounds = fs.networks.Regularizer(config.nonnegativity, config.normalization, order=order)
    return fs.learning.JointDescent(config.weight_timescale, config.gate_timescale, bounds)


def arms(config: Any, order: Any, flexible: Any, forgetful: Any) -> Any:
    """Flexible and forgetful side by side, through the same blocks; ``order`` is the tasks' order in one round."""
    blocks = fs.worlds.Blocks.of(order, config.block_length, config.step_size)
    return side.stacked(*(side.Arm(rule, blocks) for rule in (flexible, forgetful)))


def statistics(config: Any) -> Any:
    """What a step sees, as the configuration asks."""
    return {
        "sampled": fs.worlds.Sampled(config.batch),
        "wishart": fs.worlds.Wishart(config.batch),
        "population": fs.worlds.Population(),
        "closure": fs.worlds.Population(),
    }[config.data]


def clock(config: Any) -> dict[str, Any]:
    """Steps and recordings, as the configuration asks."""
    return {"step_size": config.step_size, "records": config.records, "steps_per_record": config.steps_per_record}


def process(config: Any, key: Any, network: Any, arms: Any, tasks: Any, observe: Any, starts: Any = None) -> Any:
    """The process that a configuration asks for, with the data it asks for; ``starts`` as in `joint_process`."""
    if config.data == "closure":
        if isinstance(network, fs.networks.FullyConnected):
            raise ArgumentError("Argument `data` must be `population` for a fully connected network, but is `closure`.")
        if arms.rule.regularizer.costs_weights:
            raise ArgumentError("Argument `data` must be `population` where weights are costly, but is `closure`.")
        network, tasks = fs.learning.compressed_by_row(network, tasks)
    return side.stacked_process(
        network, arms, tasks, key, observe=observe, statistics=statistics(config), starts=starts, **clock(config)
    )


def observe(view: Any) -> dict[str, Any]:
    """The variables of `VARIABLES`."""
    return {
        "loss": view.loss,
        "gates": view.gates,
        "alignment": view.alignment,
        "components": view.components,
        "norms": view.norms,
    }


def keys(key: Any) -> tuple[Any, Any, Any]:
    """Three keys of a run: for its teachers, its initial weights and its data."""
    teachers, weights, data = fs.draws.split(key, 3)
    return teachers, weights, data


def block_edges(config: Any) -> Any:
    """When each block begins, and when the last one ends; a last block that is cut short is left out.

    As in `Blocks`, a block has a whole number of steps.
    """
    length = _block_length(config)
    return length * np.arange(int(config.until / length + 1e-9) + 1)


def _block_length(config: Any) -> float:
    return max(round(config.block_length / config.step_size), 1) * config.step_size


def need_blocks(result: Any, count: int, what: str) -> None:
    """Leave undecided what takes some number of whole blocks, if a run has fewer."""
    if len(block_edges(result.config)) <= count:
        raise Undecided(f"{what} needs {count} blocks: --until {count * _block_length(result.config):g}")


def by_block(result: Any, name: str = "loss") -> Any:
    """A variable at the last recording of each block, with dimensions (run, arm, block)."""
    return at_ends(result, result[name].transpose("run", "arm", "time").values)


def at_ends(result: Any, values: Any) -> Any:
    """Values over time (the last axis) at the last recording of each block."""
    need_blocks(result, 1, "the end of a block")
    ends = fs.measures.at_block_ends(result["time"].values, values, block_edges(result.config))
    if not np.isfinite(ends).any():
        raise NotApplicable("needs several recordings in each block")
    return ends


def ends_of_blocks(result: Result, of: str | xr.DataArray) -> xr.DataArray:
    """A variable, or values over time, at the last recording of each block: `block` is the last dimension."""
    values = (result[of] if isinstance(of, str) else of).transpose(..., "time")
    return _over_blocks(values, at_ends(result, values.values))


def late_ends(result: Result, name: str, last: int) -> xr.DataArray:
    """A variable at the ends of the last blocks, averaged over those of each of two tasks in alternation: `task`."""
    ends = ends_of_blocks(result, name).isel(block=slice(-last, None))
    return ends.assign_coords(task=("block", ends["block"].values % 2)).groupby("task").mean("block")


def means_in_blocks(result: Result, values: xr.DataArray) -> xr.DataArray:
    """The mean over the recordings of each whole block, or of the one that is cut short: `block` instead of time."""
    edges = block_edges(result.config)
    inside = values.isel(time=values["time"].values < (edges[-1] or np.inf) - 1e-9)
    block = np.searchsorted(edges, inside["time"].values + 1e-9, side="right") - 1
    return inside.assign_coords(block=("time", block)).groupby("block").mean("time")


def times_in_blocks(result: Result, level: float) -> xr.DataArray:
    """How long into each block the loss reaches a level: `block` is its last dimension; NaN if it does not."""
    loss, time = result["loss"].transpose(..., "time"), result["time"].values
    return _over_blocks(loss, fs.measures.times_in_blocks(time, loss.values, block_edges(result.config), level))


def steepest_in_blocks(result: Result, name: str) -> xr.DataArray:
    """The largest |d/dt| of a variable within each block: `block` is its last dimension, instead of time."""
    values, time = result[name].transpose(..., "time"), result["time"].values
    steepest = fs.measures.steepest_in_blocks(time, values.values, block_edges(result.config))
    if np.isnan(steepest).any():
        raise NotApplicable("needs several recordings in each block")
    return _over_blocks(values, steepest)


def early_in_blocks(result: Result, name: str, duration: float) -> xr.DataArray:
    """A variable at the first recordings of each block: its last dimensions are block and the time `since` it began."""
    values, time = result[name].transpose(..., "time"), result["time"].values
    first = np.searchsorted(time, block_edges(result.config)[:-1] - 1e-9)
    count = int(np.searchsorted(time, duration + 1e-9))
    found = values.values[..., np.minimum(first[:, None] + np.arange(count), len(time) - 1)]
    return _over_blocks(values, found, "since").assign_coords(since=time[:count])


def after_switches(result: Result, name: str, samples: int) -> xr.DataArray:
    """A variable after 0, 1, 2, … steps of each block, while it lasts: its last dimensions are block and sample."""
    config = result.config
    if round(config.until / config.step_size) != config.records:
        raise NotApplicable("needs a recording of every step")
    return first_recordings(result, name, min(samples + 1, round(config.block_length / config.step_size)))


def first_recordings(result: Result, name: str, count: int) -> xr.DataArray:
    """A variable at the first recordings of each block: its last dimensions are block and sample."""
    values, edges = result[name].transpose(..., "time"), block_edges(result.config)
    first = np.searchsorted(result["time"].values, edges - 1e-9)
    if (np.diff(first) < count).any():
        raise NotApplicable(f"needs at least {count} recordings in every block")
    return _over_blocks(values, values.values[..., first[:-1, None] + np.arange(count)], "sample")


def _over_blocks(values: xr.DataArray, found: np.ndarray, *beyond: str) -> xr.DataArray:
    """An array that has blocks where another has time, with its labels, and perhaps further dimensions."""
    labels: dict[Any, Any] = {name: label for name, label in values.coords.items() if "time" not in label.dims}
    labels |= {
        dim: np.arange(size) for dim, size in zip(("block", *beyond), found.shape[values.ndim - 1 :], strict=True)
    }
    return xr.DataArray(found, labels, (*values.dims[:-1], "block", *beyond))


def final_alignment(result: Result, arm: str) -> xr.DataArray:
    """The total alignment of one arm at the end, of every run."""
    return result["total_alignment"].sel(arm=arm).isel(time=-1)
