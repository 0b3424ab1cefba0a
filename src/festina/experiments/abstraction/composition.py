"""New tasks made of old ones: gates that have learned tasks recombine them at once."""

from typing import Any

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina import claims
from festina._lazy import jnp, np, xr
from festina.experiment import Equation, Experiment, Preset, Variable, continuous, structural
from festina.experiments._labelled import labelled
from festina.experiments._side_by_side import side_by_side
from festina.experiments.abstraction._common import (
    ARMS,
    SEPARATE,
    VARIABLES,
    AbstractionConfig,
    arms,
    keys,
    observe,
    process,
    rule,
    sort_by_teacher,
)
from festina.experiments.abstraction._composition_measures import (
    change,
    final,
    gates_in_pairs,
    loss_soon,
    novel_mean,
    novel_times,
    of_sum,
    times_ratio,
)
from festina.experiments.abstraction._composition_rows import ROWS, observe_rows, sort_rows
from festina.experiments.abstraction._equations import JOINT_DESCENT
from festina.experiments.abstraction._latent import PAIRS, TEACHERS, seen_with
from festina.ranges import Coefficient, Duration, StepSize, Timescale, countable
from festina.sources import SANDBRINK_2024

SETTINGS = ("task", "task-unit", "subtask")
BY_PATH = SETTINGS[:2]  # those with one gate for each path
NOTEBOOK = SANDBRINK_2024.at("repository aproca/neural_task_abstraction, figA12_comp_generalization.ipynb")
OTHER_SCALE = (
    "likely the source: its figure was evidently made with unit rows and a mean over outputs, see the experiment's "
    "description"
)


class Composition(Experiment):
    """Gates that have learned three tasks solve combinations of them almost at once; gates without bounds do not.

    Three teachers A, B, C are shown in turn, then pairs of them (CA, AB, BC, in turn). In *task composition* a pair is
    the mean of two teachers, and each of three paths has one gate. In *subtask composition* a pair takes its rows from
    two teachers alternately, and every row of every path has a gate of its own; students are then matched with
    teachers row by row. The *forgetful* arm differs in nothing but its gates, which are not bounded.

    The source shows task composition twice, and by all signs under two conventions of scale (`worlds.tasks`): the loss
    of fig. 3 as the published code has it (`sum`), gates and alignments of fig. A.12 with unit teachers and a mean over
    outputs (`mean`). Both run here: `task` with the field `convention`, `task-unit` always with `mean`. It matters.
    Under `mean` all but a few runs specialise (37 of 40 with a total alignment above .99, nine of the first ten). Under
    `sum` the loss falls just as fast, but students specialise only in part (.53 to .97 in 40 runs, median .76) and the
    gate of the absent teacher stays open at .2: the claims `specialised-sum` and `gate-off-sum` are not reproduced.
    Rows of the forgetful network agree a little more with teachers (.45) than the reference value has it (.35 to .41).
    (The paper prints no numbers; reference values are those of a separate simulation of its settings.)

    "A+B" of the source is (A + B)/2 in its code. There, 30 blocks are followed by a stub, and new tasks begin with the
    24th; here there are 30 whole blocks, and `training_blocks` of them (23) come first. The source sorts each row to
    the teacher row it resembles most, which need not be one to one; here it is.
    """

    name = "abstraction/composition"
    sources = (SANDBRINK_2024,)
    time_unit = "t"
    variables = (
        {name: Variable(known.label, ("by_path", *known.dims)) for name, known in VARIABLES.items()}
        | {"loss": Variable("expected loss on the task shown", ("setting", "arm"))}
        | ROWS
    )
    seeds = 10
    quick = {"seeds": 3, "training_blocks": 14, "novel_blocks": 4, "until": 18.0, "records": 1800}

    class Config(AbstractionConfig):
        outputs: int = structural(6, ge=1, le=1000, help="outputs d_out of the tasks")
        weight_timescale: Timescale = continuous(0.2, scale="log", unit="t", help="timescale τ_w of the students")
        nonnegativity: Coefficient = continuous(0.5, help="coefficient of Σ max(0, −c), task composition")
        normalization: Coefficient = continuous(1.25, help="coefficient of (‖c‖₁ − 1)², task composition")
        until: Duration = structural(30.0, unit="t", help="when to stop")
        records: int = structural(3000, ge=1, le=1_000_000, help="recordings, evenly spaced; must divide the steps")
        training_blocks: int = structural(23, ge=1, le=1000, help="blocks of single teachers before new tasks begin")
        novel_blocks: int = structural(7, ge=1, le=1000, help="blocks of new tasks")
        subtask_gate_timescale: Timescale = continuous(
            0.005, scale="log", unit="t", help="timescale τ_c of the gates, subtask composition"
        )
        subtask_nonnegativity: Coefficient = continuous(1 / 44, help="coefficient of Σ max(0, −c), subtask composition")
        subtask_normalization: Coefficient = continuous(1 / 88, help="coefficient of (‖c‖₂ − 1)², subtask composition")
        subtask_step_size: StepSize = structural(0.01, unit="t", help="length dt of steps, subtask composition")

        _countable_too = field_validator("subtask_step_size")(countable)

        @field_validator("subtask_step_size")
        @classmethod
        def _whole_too(cls, step_size: float, info: ValidationInfo) -> float:
            records = info.data.get("records", 1)
            if round(info.data.get("until", 0) / step_size) % records:
                raise ValueError(f"leave a whole number of steps between any two of the {records} recordings")
            return step_size

        @property
        def order(self) -> tuple[int, ...]:
            """The task of each block: teachers are 0, 1, 2 and their pairs 3, 4, 5."""
            blocks = range(self.training_blocks + self.novel_blocks)
            return tuple(k % TEACHERS + TEACHERS * (k >= self.training_blocks) for k in blocks)

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"setting": list(SETTINGS), "by_path": list(BY_PATH), "arm": list(ARMS)}

    def simulate(self, config: Any, key: Any) -> Any:
        return side_by_side(
            [
                _task_composition(config, key),
                _task_composition(config.model_copy(update={"convention": "mean"}), key),
                _subtask_composition(config, key),
            ],
            _join,
        )

    def measure(self, data: Any) -> dict[str, Any]:
        found = [sort_by_teacher(data.sel(by_path=setting)) for setting in BY_PATH] + [sort_rows(data)]
        return {name: xr.concat([one[name] for one in found], "setting") for name in found[0]}

    equations = (
        JOINT_DESCENT,
        Equation(
            r"W^*_{AB} = \tfrac12 (W^*_A + W^*_B)",
            "A new task is the mean of two teachers; in subtask composition its rows come from the two alternately "
            "instead.",
        ),
    )
    presets = (
        Preset(
            "Figures 3 and A.12",
            "New combinations of known tasks are solved almost at once by the network with bounded gates.",
        ),
        Preset(
            "slow gates",
            "With gates as slow as the students new tasks take the flexible network long as well.",
            {"gate_timescale": 0.2},
        ),
    )

    @claims.reference(SEPARATE, claims.near(0.0013, 0.001), loosely=claims.below(0.01), budget="full")
    def new_task_soon(self, result: Any) -> Any:
        """The flexible network has all but solved the first new task at t = .1 (mean loss, `sum`)."""
        return loss_soon(result, "flexible").mean()

    @claims.reference(SEPARATE, claims.near(0.05, 0.01))
    def new_task_late(self, result: Any) -> Any:
        """The forgetful network has not solved the first new task at t = .1 (mean loss, `sum`)."""
        return loss_soon(result, "forgetful").mean()

    @claims.paper(SANDBRINK_2024.at("section 4, fig. 3C"), claims.above(2.0))
    def task_faster(self, result: Any) -> Any:
        """New tasks are reached much faster by the flexible network (time to L = .02, forgetful over flexible; our
        threshold).
        """
        return times_ratio(result, "task", 0.02)

    @claims.paper(SANDBRINK_2024.at("app. A.8, fig. A.12G"), claims.above(0.99), loosely=claims.above(0.9))
    def specialised(self, result: Any) -> Any:
        """In task composition every student agrees with one teacher (total alignment at the end, `mean`; our
        threshold).
        """
        return final(result, "task-unit", "flexible")

    @claims.code(NOTEBOOK, claims.above(0.99), budget="full", reason=OTHER_SCALE)
    def specialised_sum(self, result: Any) -> Any:
        """In task composition every student agrees with one teacher at the scale of the published code, too (total
        alignment at the end, `sum`; our threshold).
        """
        return of_sum(result, final(result, "task", "flexible"))

    @claims.theory(claims.below(0.65))
    def unspecialised(self, result: Any) -> Any:
        """Without bounds students share the teachers (total alignment at the end, at most 1/√3 = .58 for equal
        students; our threshold).
        """
        return final(result, "task-unit", "forgetful")

    @claims.theory(claims.near(0.5, 0.05), source=SANDBRINK_2024.at("app. A.8"))
    def gates_on(self, result: Any) -> Any:
        """A mean of two teachers opens both their gates by one half in the flexible network (`mean`)."""
        return gates_in_pairs(result, "task-unit")[0]

    @claims.paper(SANDBRINK_2024.at("app. A.8, fig. A.12E"), claims.near(0.0, 0.05))
    def gate_off(self, result: Any) -> Any:
        """A mean of two teachers turns off the gate of the third in the flexible network (`mean`; our tolerance)."""
        return gates_in_pairs(result, "task-unit")[1]

    @claims.code(NOTEBOOK, claims.near(0.0, 0.05), budget="full", reason=OTHER_SCALE)
    def gate_off_sum(self, result: Any) -> Any:
        """A mean of two teachers turns off the gate of the third at the scale of the published code, too (`sum`; our
        tolerance).
        """
        return of_sum(result, gates_in_pairs(result, "task")[1])

    @claims.paper(SANDBRINK_2024.at("app. A.8, fig. A.12H"), claims.above(0.95))
    def subtask_specialised(self, result: Any) -> Any:
        """In subtask composition rows keep to their teachers throughout the new tasks (mean total alignment; our
        threshold).
        """
        return novel_mean(result, "flexible")

    @claims.reference(SEPARATE, claims.between(0.35, 0.41), loosely=claims.below(0.65), budget="full")
    def subtask_unspecialised(self, result: Any) -> Any:
        """In subtask composition rows of the forgetful network keep to no teacher (mean total alignment during new
        tasks).
        """
        return novel_mean(result, "forgetful")

    @claims.reference(SEPARATE, claims.near(0.01, 0.005), budget="full")
    def subtask_soon(self, result: Any) -> Any:
        """New subtasks take the flexible network one step or so (time to L = .1 in new blocks, `sum`)."""
        return of_sum(result, novel_times(result, "subtask", 0.1)[:, 0].mean("block", skipna=False))

    @claims.reference(SEPARATE, claims.between(0.12, 0.16), budget="full")
    def subtask_late(self, result: Any) -> Any:
        """New subtasks take the forgetful network more than ten times as long as the flexible one (time to L = .1 in
        new blocks, `sum`).
        """
        return of_sum(result, novel_times(result, "subtask", 0.1)[:, 1].mean("block", skipna=False))

    @claims.paper(SANDBRINK_2024.at("app. A.8"), claims.near(1.0, 0.2))
    def subtask_gates(self, result: Any) -> Any:
        """The two teachers of a new subtask have equal gates (smaller over larger, averaged over rows; our
        tolerance).
        """
        return gates_in_pairs(result, "subtask")[2]

    @claims.paper(SANDBRINK_2024.at("app. A.8"), claims.near(0.0, 0.02))
    def kept(self, result: Any) -> Any:
        """New tasks leave specialisation as it was (change of total alignment in the flexible networks of both
        settings; our tolerance).
        """
        both = [change(result, name) for name in ("task-unit", "subtask")]
        return labelled(np.stack(both), "setting", "run")

    def figure(self, result: Any) -> Any:
        from festina.experiments.abstraction._composition_figure import draw

        return draw(result)


def _task_composition(config: Any, key: Any) -> Any:
    for_teachers, for_weights, for_data = keys(key)
    teachers = _teachers(config, for_teachers)
    network = fs.networks.PathGated.init(for_weights, TEACHERS, config.outputs, config.inputs, config.scale)
    both = _arms(config, order=1)
    tasks = teachers.followed_by(teachers.averaged(PAIRS))
    return process(config, for_data, network, both, tasks, lambda view: observe(seen_with(view)))


def _subtask_composition(config: Any, key: Any) -> Any:
    for_teachers, for_weights, for_data = keys(key)
    own = ("gate_timescale", "nonnegativity", "normalization", "step_size")
    config = config.model_copy(update={name: getattr(config, f"subtask_{name}") for name in own})
    teachers = _teachers(config, for_teachers)
    network = fs.networks.NeuronGated.init(for_weights, TEACHERS, config.outputs, config.inputs, config.scale)
    both = _arms(config, order=2)
    tasks = teachers.followed_by(teachers.alternating(PAIRS))
    return process(config, for_data, network, both, tasks, lambda view: observe_rows(seen_with(view)))


def _teachers(config: Any, key: Any) -> Any:
    convention = fs.worlds.convention(config.convention)
    return fs.worlds.Tasks.orthogonal(key, TEACHERS, config.outputs, config.inputs, convention)


def _arms(config: Any, order: int) -> Any:
    flexible = rule(config, order)
    return arms(config, config.order, flexible, flexible.forgetful())


def _join(observed: list[dict[str, Any]]) -> dict[str, Any]:
    """What the three settings record as one: the loss of all, paths of the first two, rows of the third."""
    *by_path, by_row = observed
    paths = {name: jnp.stack([one[name] for one in by_path]) for name in VARIABLES if name != "loss"}
    return paths | {name: by_row[name] for name in ROWS} | {"loss": jnp.stack([one["loss"] for one in observed])}
