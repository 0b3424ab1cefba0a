"""Teachers of many dimensions drive gates harder, and spare networks the need for fast gates."""

from typing import Annotated, Any

from pydantic import Field, field_validator

import festina as fs
from festina import claims
from festina._lazy import np, xr
from festina.experiment import Equation, Experiment, Preset, Variable, continuous, structural
from festina.experiments._labelled import labelled
from festina.experiments.abstraction._common import (
    AbstractionConfig,
    Data,
    block_edges,
    keys,
    need_blocks,
    process,
    rule,
)
from festina.experiments.abstraction._processes import alongside
from festina.experiments.abstraction._reduced import arms_of
from festina.experiments.abstraction._rising import rising
from festina.ranges import Timescale
from festina.sources import SANDBRINK_2024

CONDITIONS = ("fast gates", "equal timescales", "equal, unbounded")
BLOCKS = 20  # that the source shows
HIGH = 12  # ranks from here on count as high
LAST = 4  # switches at the end over which speeds are averaged
Rank = Annotated[int, Field(ge=1, le=1000)]
SPECIALISED = 0.99  # total alignment from which the closed form for complete specialisation is compared


class Dimension(Experiment):
    """The drive of a gate is a sum over all modes of its task, so that many modes make gates fast by themselves.

    For a student aligned with its teacher τ_c dc/dt = ⟨W* − W, W⟩ = Σ_α (s*_α s_α − s_α²), in which the rank of the
    task counts, while no mode of W has more to learn for the others' sake (app. A.2). Here M = 2 teachers of size
    30 → 30 have between one and fifteen singular values of 1, and all ranks and three conditions learn side by side:
    gates that are faster than the weights (τ_c = .1, τ_w = .5, as tabulated), gates that are not (τ_c = τ_w), and the
    latter without bounds on the gates.

    Right after a switch between tasks that are completely specialised for, |dc/dt| = √2 r/τ_c at rank r and
    |dW/dt|/|W| = 1/τ_w. (From the lowest rank, where specialisation is incomplete, to the highest the gates' speed
    grows somewhat more than linearly.) At equal timescales low ranks remain unspecialised and high ones do not, as the
    paper says in passing. Not said there: bounds are needed at any rank; and the cost of a negative gate, λ₁|c|, does
    not grow with the drive, so that fast gates at high ranks turn negative and specialise *less* than at middle ones.
    With `nonnegativity=1` they specialise completely.
    """

    name = "abstraction/dimension"
    sources = (SANDBRINK_2024,)
    time_unit = "t"
    variables = {
        "loss": Variable("expected loss on the task shown", ("rank", "condition")),
        "gates": Variable("gates c", ("rank", "condition", "path")),
        "components": Variable("length of each student along each teacher", ("rank", "condition", "teacher", "path")),
        "norms": Variable("norm of each student", ("rank", "condition", "path")),
        "speeds": Variable("norm of dW/dt and of dc/dt", ("rank", "condition", "of")),
    }
    seeds = 10
    quick = {"seeds": 3, "records": 1000}

    class Config(AbstractionConfig):
        inputs: int = structural(30, ge=2, le=1000, help="inputs d_in of the tasks")
        outputs: int = structural(30, ge=1, le=1000, help="outputs d_out of the tasks")
        weight_timescale: Timescale = continuous(0.5, scale="log", unit="t", help="timescale τ_w of the students")
        gate_timescale: Timescale = continuous(0.1, scale="log", unit="t", help="timescale τ_c of fast gates")
        ranks: tuple[Rank, ...] = structural(
            (1, 2, 4, 8, 12, 15),
            min_length=1,
            help="ranks of the teachers, rising; at most half the inputs for orthogonality",
        )
        data: Data = structural(
            "closure",
            help="what a step sees: a `sampled` batch, its law (`wishart`), all inputs (`population`, `closure`)",
        )

        _rising = field_validator("ranks")(rising)

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"rank": list(config.ranks), "condition": list(CONDITIONS), "of": ["weights", "gates"]}

    def simulate(self, config: Any, key: Any) -> Any:
        for_teachers, for_weights, for_data = keys(key)
        convention = fs.worlds.convention(config.convention)
        network = fs.networks.PathGated.init(for_weights, 2, config.outputs, config.inputs, config.scale)
        fast = rule(config)
        equal = fs.learning.JointDescent(config.weight_timescale, config.weight_timescale, fast.regularizer)
        arms = arms_of(config, (0, 1), fast, equal, equal.forgetful())
        exact = config.model_copy(update={"data": "population"})

        def of_rank(rank: int) -> Any:
            tasks = fs.worlds.Tasks.of_rank(for_teachers, rank, 2, config.outputs, config.inputs, convention)
            if config.data != "closure":
                return process(config, for_data, network, arms, tasks, _observe)
            small, goals = fs.learning.compressed(network, tasks)
            return process(exact, for_data, small, arms, goals, _observe)

        return alongside(*(of_rank(rank) for rank in config.ranks))

    def measure(self, data: Any) -> dict[str, Any]:
        axes = ("run", "rank", "condition", "time")
        components = data["components"].transpose(*axes, "teacher", "path").values
        norms = data["norms"].transpose(*axes, "path").values
        return {"total_alignment": xr.DataArray(fs.measures.total_alignment(components, norms), dims=axes)}

    equations = (
        Equation(
            r"\tau_c\, \dot c = \langle W^* - W, W \rangle = \sum_\alpha \bigl(s^*_\alpha s_\alpha - s_\alpha^2\bigr)",
            "The gate of a student aligned with its teacher is driven by all modes α of the task together.",
        ),
        Equation(
            r"|\dot c| = \frac{\sqrt 2\, r}{\tau_c}, \qquad \frac{|\dot W|}{|W|} = \frac{1}{\tau_w}",
            "Right after a switch gates move in proportion to the rank r, and weights do not.",
        ),
    )
    presets = (
        Preset(
            "ranks 1 to 15", "At equal timescales students of low rank stay alike and those of high rank specialise."
        ),
        Preset(
            "firm bounds",
            "With a higher price of negative gates fast gates specialise at high ranks as well.",
            {"nonnegativity": 1.0},
        ),
        Preset(
            "slow weights",
            "With weights slower than a block, gates as slow as they are specialise at no rank.",
            {"weight_timescale": 2.0},
        ),
    )

    @claims.paper(SANDBRINK_2024.at("app. A.2, fig. A.2"), claims.near(1.0, 0.15), loosely=claims.above(0.5))
    def drive_grows(self, result: Any) -> Any:
        """After late switches fast gates change in proportion to the rank (power of r in |dc/dt|; our tolerance)."""
        return labelled(power(result, gate_speed(result)), "run")

    @claims.paper(SANDBRINK_2024.at("app. A.2"), claims.near(0.0, 0.15))
    def weights_do_not(self, result: Any) -> Any:
        """The relative change of the weights does not depend on the rank (power of r in |dW/dt|/|W|; our tolerance)."""
        return labelled(power(result, weight_speed(result)), "run")

    @claims.theory(claims.near(1.0, 0.1), source=SANDBRINK_2024.at("app. A.2"))
    def closed_form(self, result: Any) -> Any:
        """Where specialisation is complete, gates change as the sum over modes says (|dc/dt| over √2 r/τ_c)."""
        return labelled(over_closed_form(result), "network")

    @claims.paper(SANDBRINK_2024.at("section 3.2"), claims.below(0.8))
    def needed_at_low_rank(self, result: Any) -> Any:
        """At rank 1 gates that are no faster than weights do not specialise (total alignment; our threshold)."""
        if result.config.ranks[0] != 1:
            raise claims.NotApplicable("needs rank 1 among the ranks")
        return settled(result, "equal timescales")[:, 0]

    @claims.paper(SANDBRINK_2024.at("section 3.2, app. A.2"), claims.above(0.95), loosely=claims.above(0.85))
    def unnecessary_at_high_rank(self, result: Any) -> Any:
        """At the highest rank gates that are no faster than weights specialise (total alignment; our threshold)."""
        if result.config.ranks[-1] < HIGH:
            raise claims.NotApplicable(f"needs a rank of {HIGH} or more")
        return settled(result, "equal timescales")[:, -1]

    @claims.theory(claims.below(0.8))
    def bounds_needed(self, result: Any) -> Any:
        """Without bounds on the gates no rank is high enough for students to specialise (total alignment at each of
        them; our threshold).
        """
        return settled(result, "equal, unbounded")

    def figure(self, result: Any) -> Any:
        from festina.experiments.abstraction._dimension_figure import draw

        return draw(result)


def _observe(view: Any) -> dict[str, Any]:
    return {
        "loss": view.loss,
        "gates": view.gates,
        "components": view.components,
        "norms": view.norms,
        "speeds": view.speeds,
    }


def _at_late_switches(result: Any, name: str) -> Any:
    """A variable of the condition with fast gates at the last switches: (run, rank, switch, …)."""
    need_blocks(result, BLOCKS, "the settled state")
    starts = block_edges(result.config)[:-1]
    at = np.searchsorted(result["time"].values, starts[-LAST:] - 1e-9)
    return result[name].sel(condition="fast gates").transpose("run", "rank", "time", ...).values[:, :, at]


def gate_speed(result: Any) -> Any:
    """|dc/dt| right after late switches, (run, rank)."""
    return _at_late_switches(result, "speeds")[..., 1].mean(axis=2)


def weight_speed(result: Any) -> Any:
    """|dW/dt|/|W| right after late switches, (run, rank)."""
    norms = np.sqrt((_at_late_switches(result, "norms") ** 2).sum(axis=-1))
    return (_at_late_switches(result, "speeds")[..., 0] / norms).mean(axis=2)


def power(result: Any, values: Any) -> Any:
    """The slope of log values over log rank, in each run."""
    if len(result.config.ranks) < 2:
        raise claims.NotApplicable("needs at least two ranks")
    return np.polyfit(np.log(result.config.ranks), np.log(values).T, 1)[0]


def final_alignment(result: Any, condition: str) -> Any:
    """Total alignment at the end, (run, rank)."""
    return result["total_alignment"].sel(condition=condition).isel(time=-1).transpose("run", "rank").values


def settled(result: Any, condition: str) -> Any:
    """The same of runs as long as the source's, labelled."""
    need_blocks(result, BLOCKS, "the settled state")
    return labelled(final_alignment(result, condition), "run", "rank")


def lowest_gate(result: Any, condition: str) -> Any:
    """The smaller gate at the end, (run, rank)."""
    gates = result["gates"].sel(condition=condition).isel(time=-1).transpose("run", "rank", "path").values
    return gates.min(axis=-1)


def closed_form(config: Any, ranks: Any) -> Any:
    """√2 r s²κ/τ_c: both gates feel the square of a teacher's norm, with opposite signs."""
    convention = fs.worlds.convention(config.convention)
    square = config.inputs * convention.row_norm(config.inputs) ** 2 * convention.loss_share(config.outputs)
    return np.sqrt(2) * np.asarray(ranks) * square / config.gate_timescale


def over_closed_form(result: Any) -> Any:
    """Measured gate speed over the closed form, for all runs and ranks that are completely specialised."""
    complete = final_alignment(result, "fast gates") > SPECIALISED
    if not complete.any():
        raise claims.NotApplicable("needs complete specialisation")
    return (gate_speed(result) / closed_form(result.config, result.config.ranks))[complete]
