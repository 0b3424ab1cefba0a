"""A fully connected network without paths: bounds on a fast second layer let gates emerge in it."""

from typing import Any

import festina as fs
from festina import claims
from festina._lazy import np, xr
from festina.experiment import Equation, Experiment, Preset, Variable, continuous, structural
from festina.experiments._labelled import labelled
from festina.experiments.abstraction._common import (
    ARMS,
    SEPARATE,
    adaptation_times,
    arms,
    at_ends,
    block_edges,
    final_alignment,
    need_blocks,
    process,
    rule,
)
from festina.experiments.abstraction._connected_rows import (
    AXES,
    ORDER,
    TASKS,
    VARIABLES,
    ConnectedConfig,
    initial,
    matched_rows,
    observe_rows,
    row_cosines,
    total_alignment,
)
from festina.experiments.abstraction._equations import CONNECTED
from festina.ranges import Coefficient, Duration, Timescale
from festina.sources import SANDBRINK_2024

LEVEL = 0.1  # the loss at which a task counts as adapted to
BLOCKS = 30  # that the source shows
LAST = 4  # blocks at the end over which the settled state is averaged
STILL_CLOSING = (
    "likely the scope of the source: after its 30 blocks gates still close, see the experiment's description"
)
BY_SORTING = (
    "likely the sorting: no unit of the forgetful network belongs to any row, so that its diagonal depends on how "
    "units are sorted, see the experiment's description"
)


class Connected(Experiment):
    """Without any paths, bounds on a fast second layer are enough for single hidden units to become gates.

    A network y = C W x learns two linear tasks in unannounced blocks, τ₁ Ẇ = −∂L/∂W, τ₂ Ċ = −∂L/∂C, where every entry
    of the second layer is bounded like a gate: L = ½⟨|y* − y|²⟩ + λ₁ Σ max(0, −C) + λ₂ (‖C‖₂ − 1)². The *forgetful* arm
    has the same timescales and no bounds.

    There are as many hidden units as rows in both teachers. Each row is given one hidden unit, one to one, by the
    cosine averaged over the second half of the run; the columns of C follow. In the flexible network C is then nearly
    diagonal in the half that belongs to the current task: ten equal entries of norm one would be 1/√10 = .316. The
    gate of a task is the mean of the diagonal of its half (the paper takes the mean of all entries of the half).

    The paper shows no numbers. Values expected here are those of a separate simulation of its settings, bounds are
    ours. Two things do not reproduce. After 30 blocks gates are not quite closed: the diagonal of the other task is at
    .04, a seventh of the open one, and still falling, so that the second layers of the two tasks overlap by .28. And
    what is found on the diagonal of the forgetful network depends on how its units are sorted, since none of them
    belongs to any row: with the sorting used here it is .16, not .06, and the total alignment .27 at the end, not
    .34 (which it reaches in the course of each block). The flexible network does not depend on it. (The forgetful
    network also ends each block with the smaller loss: what it lacks is speed, and memory.)
    """

    name = "abstraction/connected"
    sources = (SANDBRINK_2024,)
    time_unit = "t"
    variables = VARIABLES | {
        "loss": Variable("expected loss on the task shown", ("arm",)),
        "second_layer": Variable("second layer C", ("arm", "output", "hidden")),
        "speeds": Variable("norm of dW/dt and of dC/dt", ("arm", "of")),
    }
    seeds = 10
    quick = {"seeds": 4}

    class Config(ConnectedConfig):
        weight_timescale: Timescale = continuous(0.06, scale="log", unit="t", help="timescale τ₁ of the first layer")
        gate_timescale: Timescale = continuous(0.01, scale="log", unit="t", help="timescale τ₂ of the second layer")
        nonnegativity: Coefficient = continuous(0.2, help="coefficient of Σ max(0, −C)")
        normalization: Coefficient = continuous(0.1, help="coefficient of (‖C‖₂ − 1)²")
        until: Duration = structural(30.0, unit="t", help="when to stop")
        records: int = structural(600, ge=1, le=1_000_000, help="recordings, evenly spaced; must divide the steps")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"arm": list(ARMS), "of": ["first", "second"]}

    def simulate(self, config: Any, key: Any) -> Any:
        tasks, network, for_data = initial(config, key)
        flexible = rule(config, ORDER)
        both = arms(config, range(TASKS), flexible, flexible.forgetful())
        return process(config, for_data, network, both, tasks, _observe)

    def measure(self, data: Any) -> dict[str, Any]:
        return sort_by_row(data)

    equations = (
        CONNECTED,
        Equation(
            r"L = \tfrac12 \bigl\langle |y^* - y|^2 \bigr\rangle + \lambda_1 \sum_{ij} \max(0, -C_{ij}) "
            r"+ \lambda_2\, \bigl(\|C\|_2 - 1\bigr)^2",
            "The second layer is bounded as gates are: its entries should not be negative, and its norm should be one.",
        ),
    )
    presets = (
        Preset(
            "Figures 6, A.4 to A.6",
            "Bounded units of the second layer become gates; the forgetful network learns anew in every block.",
        ),
        Preset(
            "slow second layer",
            "A second layer as slow as the first one does not become gates.",
            {"gate_timescale": 0.06},
        ),
        Preset(
            "free second layer",
            "Without bounds both networks are forgetful.",
            {"nonnegativity": 0.0, "normalization": 0.0},
        ),
    )

    @claims.reference(SEPARATE, claims.near(0.83, 0.05), loosely=claims.above(0.7))
    def specialised(self, result: Any) -> Any:
        """The rows of the flexible first layer agree with the rows of both teachers (total alignment at the end)."""
        return settled(result, final_alignment(result, "flexible"))

    @claims.reference(SEPARATE, claims.near(0.34, 0.05), loosely=claims.below(0.5))
    def unspecialised(self, result: Any) -> Any:
        """The rows of the forgetful first layer do not agree with the teachers', even under the best sorting (total
        alignment at the end).
        """
        return settled(result, final_alignment(result, "forgetful"))

    @claims.reference(SEPARATE, claims.near(0.276, 0.03), loosely=claims.above(0.2))
    def gates_open(self, result: Any) -> Any:
        """The sorted second layer of the flexible network is diagonal where the current task is (mean diagonal in late
        blocks of task A, 1/√10 at most).
        """
        return labelled(diagonals(result)[:, 0, 0, 0], "run")

    @claims.paper(SANDBRINK_2024.at("section 7, figs 6 and A.6"), claims.near(0.0, 0.03), reason=STILL_CLOSING)
    def gates_closed(self, result: Any) -> Any:
        """The sorted second layer of the flexible network is zero on the diagonal of the task that is not shown (mean
        diagonal; our tolerance).
        """
        return labelled(diagonals(result)[:, 0, [0, 1], [1, 0]], "run", "task")

    @claims.reference(SEPARATE, claims.near(0.06, 0.03), reason=BY_SORTING)
    def no_gates(self, result: Any) -> Any:
        """In the forgetful network hardly anything stands out on the diagonal of the sorted second layer (mean diagonal
        in late blocks of task A).
        """
        return labelled(diagonals(result)[:, 1, 0, 0], "run")

    @claims.paper(SANDBRINK_2024.at("app. A.4, fig. A.5"), claims.below(0.2), reason=STILL_CLOSING)
    def task_specific(self, result: Any) -> Any:
        """The flexible second layer is another one in each task (cosine between the ends of an A and a B block; our
        threshold).
        """
        return labelled(overlap(result)[:, 0], "run")

    @claims.paper(SANDBRINK_2024.at("app. A.4, fig. A.5"), claims.above(0.9), loosely=claims.above(0.7))
    def task_unspecific(self, result: Any) -> Any:
        """The forgetful second layer does not change with the task (cosine between the ends of an A and a B block; our
        threshold).
        """
        return labelled(overlap(result)[:, 1], "run")

    @claims.paper(SANDBRINK_2024.at("app. A.4, fig. A.5"), claims.above(0.7), loosely=claims.above(0.5))
    def single_units(self, result: Any) -> Any:
        """Every output listens to one hidden unit in the flexible network (share of its largest weight in the sum of
        their squares; our threshold).
        """
        return labelled(largest_share(result)[:, 0], "run")

    @claims.paper(SANDBRINK_2024.at("app. A.4, fig. A.5"), claims.below(0.5))
    def many_units(self, result: Any) -> Any:
        """Every output listens to several hidden units in the forgetful network (share of its largest weight in the sum
        of their squares; our threshold).
        """
        return labelled(largest_share(result)[:, 1], "run")

    @claims.paper(SANDBRINK_2024.at("section 7, fig. A.4A"), claims.above(2.0), loosely=claims.above(1.2))
    def accelerating(self, result: Any) -> Any:
        """The flexible network adapts faster with practice (time to L = .1 after the first switch over that after late
        ones; our threshold).
        """
        return labelled(speed_up(result)[:, 0], "run")

    @claims.paper(SANDBRINK_2024.at("section 7, fig. A.4E"), claims.above(1.0))
    def second_layer_adapts(self, result: Any) -> Any:
        """In late blocks adaptation is mostly in the flexible network's second layer (mean norm of its gradient over
        that of the first layer).
        """
        return labelled(gradient_ratio(result)[:, 0], "run")

    def figure(self, result: Any) -> Any:
        from festina.experiments.abstraction._connected_figure import draw

        return draw(result)


def _observe(view: Any) -> dict[str, Any]:
    return {"loss": view.loss, "second_layer": view.network.gates, "speeds": view.speeds} | observe_rows(view)


def sort_by_row(data: Any) -> dict[str, Any]:
    """The second layer, gates and alignments with hidden units in the order of the teachers' rows they belong to."""
    cosines = row_cosines(data)
    order = matched_rows(cosines)
    second = data["second_layer"].transpose(*AXES, "output", "hidden").values
    second = fs.measures.take_paths(second, order, -1)
    *batch, outputs, _ = second.shape
    gates = np.einsum("...imi->...m", second.reshape(*batch, outputs, TASKS, outputs)) / outputs
    pairs = fs.measures.take_paths(cosines, order, -1).reshape(*batch, TASKS, outputs, TASKS, outputs)
    alignment = np.einsum("...minj,ij->...mn", pairs, np.eye(outputs)) / outputs
    return {
        "sorted_second_layer": xr.DataArray(second, dims=(*AXES, "output", "row")),
        "sorted_gates": xr.DataArray(gates, dims=(*AXES, "student")),
        "sorted_alignment": xr.DataArray(alignment, dims=(*AXES, "teacher", "student")),
        "total_alignment": xr.DataArray(total_alignment(data, order), dims=AXES),
    }


def settled(result: Any, values: Any) -> Any:
    """Values of the settled state, which takes as many blocks as the source shows."""
    need_blocks(result, BLOCKS, "the settled state")
    return values


def at_late_ends(result: Any, name: str) -> Any:
    """A variable at the ends of late blocks of each task, averaged over them: (run, arm, task, …)."""
    values = result[name].transpose("run", "arm", ..., "time").values
    ends = settled(result, at_ends(result, values))
    late = np.arange(ends.shape[-1])[-LAST:]
    return np.stack([ends[..., late[late % TASKS == task]].mean(axis=-1) for task in range(TASKS)], axis=2)


def diagonals(result: Any) -> Any:
    """Mean diagonals of both halves of the sorted second layer in late blocks: (run, arm, task shown, half)."""
    return at_late_ends(result, "sorted_gates")


def overlap(result: Any) -> Any:
    """The cosine between the second layer at the end of A blocks and at that of B blocks: (run, arm)."""
    first, second = np.moveaxis(at_late_ends(result, "second_layer"), 2, 0)
    product, squares = (first * second).sum((-2, -1)), (first**2).sum((-2, -1)) * (second**2).sum((-2, -1))
    return product / np.sqrt(squares)


def largest_share(result: Any) -> Any:
    """The share of the largest entry in the sum of squares of a row of the second layer, on average: (run, arm)."""
    squares = at_late_ends(result, "second_layer") ** 2
    return (squares.max(axis=-1) / squares.sum(axis=-1)).mean((-2, -1))


def speed_up(result: Any) -> Any:
    """Time to the level after the first switch over that in the last blocks (a block, if it takes longer)."""
    times = settled(result, adaptation_times(result, LEVEL))
    return times[..., 1] / times[..., -LAST:].mean(axis=-1)


def gradient_ratio(result: Any) -> Any:
    """Mean norm of ∂L/∂C over that of ∂L/∂W in the last blocks: (run, arm)."""
    config = settled(result, result.config)
    late = result["speeds"].sel(time=slice(block_edges(config)[-1 - LAST], None)).mean("time")
    second, first = (late.sel(of=of).transpose("run", "arm").values for of in ("second", "first"))
    return second * config.gate_timescale / (first * config.weight_timescale)
