"""Two tasks in alternation: fast and bounded gates let students specialise, free and slow ones do not."""

from typing import Any

import festina as fs
from festina import claims
from festina._lazy import np
from festina.experiment import Experiment, Preset, Variable, structural
from festina.experiments._labelled import labelled
from festina.experiments.abstraction._common import (
    ARMS,
    SEPARATE,
    VARIABLES,
    AbstractionConfig,
    adaptation_times,
    arms,
    at_ends,
    block_edges,
    by_block,
    final_alignment,
    keys,
    need_blocks,
    observe,
    process,
    rule,
    sort_by_teacher,
)
from festina.experiments.abstraction._equations import BOUNDS, JOINT_DESCENT
from festina.sources import SANDBRINK_2024

LEVEL = 0.1  # the loss at which a task counts as adapted to
ROUNDS = 10  # of all tasks, which the source shows
LAST = 4  # blocks at the end over which the settled state is averaged


class Specialization(Experiment):
    """Fast, bounded gates turn relearning into switching: each student keeps one task, and gates choose among them.

    A network y = Σ_p c^p W^p x learns M linear tasks in blocks that are never announced, by joint descent
    τ_w Ẇ = −∂L/∂W, τ_c ċ = −∂L/∂c on L = ½⟨|y* − y|²⟩ + λ₁ Σ max(0, −c) + λ₂ (‖c‖₁ − 1)².

    The *flexible* arm has fast gates (τ_c ≪ τ_w) with bounds. Its students come to agree with one teacher each, and a
    switch of tasks is answered by the gates alone. The *forgetful* arm has no bounds and gates as slow as its weights:
    both students follow the task of the moment, and everything is learned anew in every block.

    The paper prints neither losses nor times of its figure; those expected here are of a separate simulation of the
    published settings.
    """

    name = "abstraction/specialization"
    sources = (SANDBRINK_2024,)
    time_unit = "t"
    variables = VARIABLES | {"speeds": Variable("norm of dW/dt and of dc/dt", ("arm", "of"))}
    seeds = 10
    quick = {"seeds": 4}

    class Config(AbstractionConfig):
        tasks: int = structural(2, ge=2, le=20, help="tasks M; as many paths as tasks")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"arm": list(ARMS), "of": ["weights", "gates"]}

    def simulate(self, config: Any, key: Any) -> Any:
        for_teachers, for_weights, for_data = keys(key)
        convention = fs.worlds.convention(config.convention)
        tasks = fs.worlds.Tasks.orthogonal(for_teachers, config.tasks, config.outputs, config.inputs, convention)
        network = fs.networks.PathGated.init(for_weights, config.tasks, config.outputs, config.inputs, config.scale)
        flexible = rule(config)
        both = arms(config, range(config.tasks), flexible, flexible.forgetful(config.weight_timescale))
        return process(config, for_data, network, both, tasks, lambda view: observe(view) | {"speeds": view.speeds})

    def measure(self, data: Any) -> dict[str, Any]:
        return sort_by_teacher(data)

    equations = (JOINT_DESCENT, BOUNDS)
    presets = (
        Preset("Figure 2", "Students of the flexible network keep one task each, and its gates answer every switch."),
        Preset(
            "slow gates",
            "Bounds alone do not help: with gates as slow as weights nothing specialises.",
            {"gate_timescale": 1.3},
        ),
        Preset(
            "free gates",
            "Speed alone does not help: fast gates without bounds leave students alike.",
            {"nonnegativity": 0.0, "normalization": 0.0},
        ),
        Preset(
            "short blocks",
            "Blocks of a fifth are too short: in the same time nothing specialises.",
            {"block_length": 0.2},
        ),
    )

    @claims.paper(SANDBRINK_2024.at("section 4, fig. 2C"), claims.above(0.99))
    def specialised(self, result: Any) -> Any:
        """In the flexible network every student agrees with one teacher (total alignment at the end; our threshold)."""
        need_rounds(result)
        return final_alignment(result, "flexible")

    @claims.paper(SANDBRINK_2024.at("section 4"), claims.below(0.8))
    def unspecialised(self, result: Any) -> Any:
        """In the forgetful network students never do better than share the teachers (largest total alignment at any
        time, .71 for two equal students; our threshold).
        """
        need_rounds(result)
        return result["total_alignment"].sel(arm="forgetful").max("time")

    @claims.reference(SEPARATE, claims.below(1e-4))
    def solved(self, result: Any) -> Any:
        """At the end of the last block the flexible network has solved the task (mean loss)."""
        need_rounds(result)
        return by_block(result)[:, 0, -1].mean()

    @claims.reference(SEPARATE, claims.near(0.06, 0.01))
    def unsolved(self, result: Any) -> Any:
        """The forgetful network runs out of time in every block (loss at the ends of late blocks)."""
        ends = by_block(result)
        need_rounds(result)
        return labelled(ends[:, 1, -LAST:].mean(axis=1), "run")

    @claims.paper(SANDBRINK_2024.at("section 5.2, fig. 2B"), claims.near(1.0, 0.05))
    def gates_open(self, result: Any) -> Any:
        """The gate of the current task approaches 1 in the flexible network (at the ends of late blocks; our
        tolerance).
        """
        return gates_by_task(result)[0][:, 0]

    @claims.paper(SANDBRINK_2024.at("section 5.2, fig. 2B"), claims.near(0.0, 0.05))
    def gates_closed(self, result: Any) -> Any:
        """All gates but that of the current task are closed in the flexible network (at the ends of late blocks; our
        tolerance).
        """
        return gates_by_task(result)[1][:, 0]

    @claims.reference(SEPARATE, claims.near(18.0, 4.0), loosely=claims.above(5.0))
    def accelerating(self, result: Any) -> Any:
        """Adaptation of the flexible network becomes 18 times faster with practice (time to L = .1 in the first block
        over that in late ones).
        """
        return speed_up(result)

    @claims.reference(SEPARATE, claims.near(0.57, 0.1))
    def not_accelerating(self, result: Any) -> Any:
        """Adaptation of the forgetful network stays slow (time to L = .1 in late blocks)."""
        need_rounds(result)
        return labelled(adaptation_times(result, LEVEL)[:, 1, -LAST:].mean(axis=1), "run")

    def figure(self, result: Any) -> Any:
        from festina.experiments.abstraction._specialization_figure import draw

        return draw(result)


def need_rounds(result: Any) -> None:
    """What is claimed takes as many rounds of all tasks as the source shows."""
    need_blocks(result, ROUNDS * result.config.tasks, "the settled state")


def gates_by_task(result: Any) -> tuple[Any, Any]:
    """Mean gate of the current task's student at the end of late blocks, and mean of the others: (run, arm) each."""
    edges = block_edges(result.config)
    gates = result["sorted_gates"].transpose("run", "arm", "student", "time").values
    ends = at_ends(result, gates)[..., -LAST:]
    need_rounds(result)
    task = (np.arange(len(edges) - 1) % result.config.tasks)[-LAST:]
    chosen = np.eye(result.config.tasks)[task].T
    current = (ends * chosen).sum(axis=2).mean(axis=-1)
    others = (ends * (1 - chosen)).sum(axis=2).mean(axis=-1) / (result.config.tasks - 1)
    return labelled(current, "run", "arm"), labelled(others, "run", "arm")


def speed_up(result: Any) -> Any:
    """Time to the level in the first block over that in the last blocks."""
    need_rounds(result)
    times = adaptation_times(result, LEVEL)[:, 0]
    return labelled(times[:, 0] / times[:, -LAST:].mean(axis=-1), "run")
