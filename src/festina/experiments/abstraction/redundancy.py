"""More paths than tasks: which of them fall silent, and what that takes."""

from typing import Any, Literal

import festina as fs
from festina import claims
from festina._lazy import np, xr
from festina.experiment import Equation, Experiment, Preset, continuous, structural
from festina.experiments._labelled import labelled
from festina.experiments.abstraction._common import (
    VARIABLES,
    AbstractionConfig,
    block_edges,
    keys,
    need_blocks,
    observe,
    process,
    side,
)
from festina.experiments.abstraction._equations import BOUNDS
from festina.ranges import Coefficient
from festina.sources import SANDBRINK_2024

ARMS = ("no cost", "cost of columns", "cost of squares", "no cost, weak bounds")
TASKS = 2
BLOCKS = 20  # that the source shows
LAST = 4  # blocks at the end over which the settled state is judged
SILENCE = 0.1  # of a gate, and of a path's contribution |c| |W| in units of the teachers' norm
NOTEBOOK = SANDBRINK_2024.at("repository aproca/neural_task_abstraction, figA3_representational_cost.ipynb")
ONE_RUN = "the scope of the source: it shows one run, and runs differ, see the experiment's description"
SLOW_DECAY = (
    "likely the source: the cost in its text decays weights within 135 units of time, its code has another one, see "
    "the experiment's description"
)


class Redundancy(Experiment):
    """With more paths than tasks, a cost of weights makes the redundant paths fall silent in most runs, but not in all.

    A network y = Σ_p c^p W^p x with P = 4 paths learns M = 2 tasks in unannounced blocks, as in
    `abstraction/specialization`, in four arms:

    - *no cost*: bounds on the gates, .545 Σ max(0, −c) + 2.727 (‖c‖₁ − 1)², and no cost of weights;
    - *cost of columns*: weaker bounds, .194 and .968, and .194 times the mean norm ‖W^p[:, j]‖ of a column. This is
      what the published code computes;
    - *cost of squares*: the same bounds, and λ_W/(2 P d_in) Σ (W^p_ij)² with λ_W = .77, which is what the text says;
    - *no cost, weak bounds*: the same bounds and no cost, a control that the paper lacks: its comparison changes the
      bounds together with the cost.

    A path is *silent* if at the ends of all of the last four blocks both its gate |c| and its contribution |c| |W|, in
    units of the teachers' norm, are below a tenth. The paper shows one run of each arm; a separate run of ten seeds
    had two silent paths in ten cases with the cost and in two without. Ten are too few to tell, so there are forty
    here. The contrast is there, but it is not one of all or nothing: the cost of columns leaves a redundant path in
    use in about one run of ten, and without any cost about half of the runs have two silent paths too. (Paths that are
    silent at the ends of blocks may be heard after a switch. If they must be closed throughout the last four blocks,
    two are so in two runs of three with the cost of columns, and in less than one of five in each of the other arms.)

    The two costs are not the same thing. A path that is not used loses weight at a constant rate under the cost of
    columns, its columns' norms by .194/(P d_in τ_w) = .0019 per unit of time, and so is gone after a while (after
    20 blocks the lightest path has less than a twentieth of a teacher's norm in all but 2 of 40 runs). Under the
    cost of squares it decays exponentially, with the time P d_in τ_w/λ_W = 135: in 20 blocks hardly anything
    happens, and the outcome is nearly that without a cost.
    """

    name = "abstraction/redundancy"
    sources = (SANDBRINK_2024,)
    time_unit = "t"
    variables = VARIABLES
    seeds = 40
    quick = {"seeds": 3, "data": "population"}

    class Config(AbstractionConfig):
        paths: int = structural(4, ge=TASKS, le=20, help="paths P; there are two tasks")
        nonnegativity: Coefficient = continuous(6 / 11, help="coefficient of Σ max(0, −c) without a cost of weights")
        normalization: Coefficient = continuous(30 / 11, help="coefficient of (‖c‖₁ − 1)² without a cost of weights")
        weak_nonnegativity: Coefficient = continuous(6 / 31, help="coefficient of Σ max(0, −c) in the other arms")
        weak_normalization: Coefficient = continuous(30 / 31, help="coefficient of (‖c‖₁ − 1)² in the other arms")
        column_cost: Coefficient = continuous(6 / 31, help="coefficient of the mean norm of the students' columns")
        square_cost: Coefficient = continuous(0.77, help="coefficient λ_W of Σ W²/(2 P d_in)")
        records: int = structural(1000, ge=1, le=1_000_000, help="recordings, evenly spaced; must divide the steps")
        data: Literal["sampled", "wishart", "population"] = structural(
            "wishart", help="what a step sees: a `sampled` batch, its law (`wishart`), all inputs (`population`)"
        )

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"arm": list(ARMS)}

    def simulate(self, config: Any, key: Any) -> Any:
        tasks, network, for_data = initial(config, key)
        blocks = fs.worlds.Blocks.of(range(TASKS), config.block_length, config.step_size)
        rules = [
            fs.learning.JointDescent(config.weight_timescale, config.gate_timescale, bounds)
            for bounds in regularizers(config).values()
        ]
        arms = side.stacked(*(side.Arm(rule, blocks) for rule in rules))
        return process(config, for_data, network, arms, tasks, observe)

    def measure(self, data: Any) -> dict[str, Any]:
        axes = ("run", "arm", "time")
        components = data["components"].transpose(*axes, "teacher", "path").values
        norms = data["norms"].transpose(*axes, "path").values
        # paths are matched by their lengths along the teachers, for the cosine of a path without weight says nothing
        return {"total_alignment": xr.DataArray(fs.measures.total_alignment(components, norms), dims=axes)}

    equations = (
        BOUNDS,
        Equation(
            r"\frac{\lambda_{\text{columns}}}{P d_{\text{in}}} \sum_{p, j} \bigl\|W^p_{:j}\bigr\| "
            r"\qquad \text{or} \qquad "
            r"\frac{\lambda_W}{2 P d_{\text{in}}} \sum_{p, i, j} \bigl(W^p_{ij}\bigr)^2",
            "What weights cost in the published code, and what they cost according to the text.",
        ),
    )
    presets = (
        Preset(
            "Figure A.3",
            "A cost of columns silences two of four paths in most runs; one of squares does little in 20 blocks.",
        ),
        Preset(
            "dear columns",
            "At three times the cost redundant paths are gone, and some of those in use fade as well.",
            {"column_cost": 0.6},
        ),
        Preset(
            "dear squares",
            "A cost of squares that is ten times higher makes unused paths decay as well.",
            {"square_cost": 7.7},
        ),
    )

    @claims.code(NOTEBOOK, claims.near(1.0, 0.1), budget="full", reason=ONE_RUN)
    def silent(self, result: Any) -> Any:
        """With the cost of weights of the published code all redundant paths fall silent (share of runs; our
        tolerance).
        """
        return _all_silent(result, "cost of columns")

    @claims.paper(SANDBRINK_2024.at("app. A.3"), claims.near(1.0, 0.1), budget="full", reason=SLOW_DECAY)
    def silent_text(self, result: Any) -> Any:
        """With the cost of weights that the text gives all redundant paths fall silent (share of runs; our
        tolerance).
        """
        return _all_silent(result, "cost of squares")

    @claims.paper(SANDBRINK_2024.at("app. A.3, fig. A.3B"), claims.between(0.0, 0.5), budget="full", reason=ONE_RUN)
    def split(self, result: Any) -> Any:
        """Without a cost of weights paths are in general split over the tasks (share of runs in which all redundant
        ones are silent; our threshold).
        """
        return _all_silent(result, "no cost")

    @claims.theory(claims.between(0.0, 0.5), budget="full", reason=ONE_RUN)
    def not_by_weak_bounds(self, result: Any) -> Any:
        """Weaker bounds alone, which come with the cost, do not silence paths (share of runs in which all redundant
        ones are silent; our threshold).
        """
        return _all_silent(result, "no cost, weak bounds")

    @claims.code(NOTEBOOK, claims.below(0.05), reason=ONE_RUN)
    def decayed(self, result: Any) -> Any:
        """Under the published code's cost an unused path decays (norm of the weakest path at the end, in units of the
        teachers' norm; our threshold).
        """
        return _weakest(result, "cost of columns")

    @claims.paper(SANDBRINK_2024.at("app. A.3"), claims.below(0.05), reason=SLOW_DECAY)
    def decayed_text(self, result: Any) -> Any:
        """Under the cost of weights that the text gives an unused path decays (norm of the weakest path at the end, in
        units of the teachers' norm; our threshold).
        """
        return _weakest(result, "cost of squares")

    @claims.paper(SANDBRINK_2024.at("fig. A.3A"), claims.above(0.95), reason=ONE_RUN)
    def specialised(self, result: Any) -> Any:
        """The paths that remain specialise on one teacher each (total alignment at the end, cost of columns; our
        threshold).
        """
        need_blocks(result, BLOCKS, "the settled state")
        return result["total_alignment"].sel(arm="cost of columns").isel(time=-1)

    def figure(self, result: Any) -> Any:
        from festina.experiments.abstraction._redundancy_figure import draw

        return draw(result)


def initial(config: Any, key: Any) -> tuple[Any, Any, Any]:
    """The tasks of a run, its network, and the key of its data."""
    for_teachers, for_weights, for_data = keys(key)
    convention = fs.worlds.convention(config.convention)
    tasks = fs.worlds.Tasks.orthogonal(for_teachers, TASKS, config.outputs, config.inputs, convention)
    network = fs.networks.PathGated.init(for_weights, config.paths, config.outputs, config.inputs, config.scale)
    return tasks, network, for_data


def regularizers(config: Any) -> dict[str, Any]:
    """The bounds and costs of each arm; a cost of zero, where there is none, so that all arms have one structure."""

    def bounds(strong: bool, column_cost: Any = 0.0, square_cost: Any = 0.0) -> Any:
        nonnegativity = config.nonnegativity if strong else config.weak_nonnegativity
        normalization = config.normalization if strong else config.weak_normalization
        return fs.networks.Regularizer(nonnegativity, normalization, column_cost, square_cost)

    found = bounds(True), bounds(False, config.column_cost), bounds(False, 0.0, config.square_cost), bounds(False)
    return dict(zip(ARMS, found, strict=True))


def relative_norms(result: Any) -> Any:
    """|W^p| in units of the norm |W*| of a teacher."""
    config = result.config
    return result["norms"] / (config.outputs**0.5 * fs.worlds.convention(config.convention).row_norm(config.inputs))


def late_activity(result: Any) -> tuple[Any, Any]:
    """Gates |c| and contributions |c| |W|/|W*|, at the ends of the last blocks: (run, arm, path, block) each."""
    axes = ("run", "arm", "path", "time")
    gates = np.abs(result["gates"].transpose(*axes).values)
    both = (gates, gates * relative_norms(result).transpose(*axes).values)
    edges = block_edges(result.config)
    need_blocks(result, LAST, "activity at the ends of late blocks")
    first, second = (fs.measures.at_block_ends(result["time"].values, values, edges)[..., -LAST:] for values in both)
    return first, second


def silent_paths(result: Any) -> Any:
    """Which paths are silent: neither gate nor contribution ever exceeds the level at late ends of blocks."""
    gates, contributions = late_activity(result)
    return np.maximum(gates, contributions).max(axis=-1) < SILENCE


def _redundant(result: Any) -> int:
    """The number of paths that are not needed, once a run is as long as the source's."""
    redundant = result.config.paths - TASKS
    if redundant == 0:
        raise claims.NotApplicable("needs more paths than tasks")
    need_blocks(result, BLOCKS, "the settled state")
    return redundant


def _all_silent(result: Any, arm: str) -> Any:
    """1 for each run in which as many paths are silent as are redundant, 0 for each other."""
    redundant = _redundant(result)
    return labelled(silent_paths(result)[:, ARMS.index(arm)].sum(axis=-1) == redundant, "run").astype(float)


def _weakest(result: Any, arm: str) -> Any:
    _redundant(result)
    return relative_norms(result).sel(arm=arm).isel(time=-1).min("path")
