"""Where networks are flexible and where they are forgetful: a map over gate speed, block length and regularisation."""

from typing import Any, Literal

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np
from festina.experiment import Equation, Experiment, Preset, Variable, continuous, structural
from festina.experiments._fields import Coefficient, Duration, Timescale
from festina.experiments.abstraction._common import AbstractionConfig, clock, keys, statistics
from festina.experiments.abstraction._equations import JOINT_DESCENT
from festina.experiments.abstraction._regimes_measures import (
    LARGE,
    PANELS,
    alignments,
    at,
    fastest,
    from_print,
    gap,
    longest,
    rank_correlation,
    span_of_blocks,
    strong,
    without_noise,
)
from festina.sources import SANDBRINK_2024

NONNEGATIVITY, NORMALIZATION = 5.0 / 3.0, 25.0 / 6.0  # coefficients of the two terms at strength 1
NOTEBOOK = SANDBRINK_2024.at("repository aproca/neural_task_abstraction, fig5_NTA_hpam.ipynb")
UNLIKE_PRINT = (
    "likely the source: its published code, run anew, differs from its own print as much, see the experiment's "
    "description"
)


class Regimes(Experiment):
    """Students specialise only if gates are fast, gates are bounded and blocks are long enough.

    Two maps of the total alignment after a fixed time: over gate timescale τ_c and block length at one strength s of
    the regulariser, and over s and block length at one τ_c, with coefficients 5s/3 of Σ max(0, −c) and 25s/6 of
    (‖c‖₁ − 1)². All cells of a seed start from one network and see one stream of data.

    The map runs with literal batches (`sampled`), with the law of their second moments (`wishart`, the default), with
    infinitely many inputs (`population`), or with the exact closure of the latter in P + M coordinates (`closure`), in
    which a map of 100 × 100 cells and 10 seeds takes seconds. Beside every map of moderate size stands its limit for
    infinitely many inputs, from the inner products of students and teachers alone.

    The published figure was evidently made with the `mean` convention: under `sum`, the panel of gate speeds does not
    specialise at all. The authors' notebook prints both maps, as means of ten seeds. Ten seeds of ours differ from
    them by .10 (root mean square over the 25 cells) in each map, most of all

    - with τ_c = .06 and more at the longest blocks (.90 .74 .71 for a printed .993 .917 .919 at τ_B = 1, .78 .71 for
      .987 .919 at τ_B = .8, and .74 for .920 at τ_c = .06, τ_B = .6),
    - just beyond the edge of specialisation, where .60 to .64 is printed and .71 to .75 found,
    - at the edge of the second map (strength .05), and at its shortest blocks, where .82 to .90 is found for a printed
      .62 to .69 with any regulariser.

    The notebook's numbers are not those of the code beside it: run anew, that code differs from the print as much, and
    from the maps here by .01 and .02. What made the print is not known. One candidate is a larger start: with
    `scale=0.05`, five times the published one, the first row becomes 1.00 1.00 .97 .86 .75, the shortest blocks fall to
    .74 to .83, and the first map is off by .08 (the second by .09). No other scale was tried.
    """

    name = "abstraction/regimes"
    sources = (SANDBRINK_2024,)
    time_unit = "t"
    variables = {
        "total_alignment": Variable("cosine of all students with all teachers", ("cell",)),
        "separation": Variable("distance of the gates |c¹ − c²|", ("cell",)),
        "loss": Variable("expected loss on the task shown", ("cell",)),
    }
    seeds = 10
    quick = {"seeds": 3, "data": "closure"}

    class Config(AbstractionConfig):
        block_lengths: tuple[Duration, ...] = structural(
            (1.0, 0.8, 0.6, 0.4, 0.1), min_length=1, unit="t", help="block lengths τ_B"
        )
        gate_timescales: tuple[Timescale, ...] = structural(
            (0.02, 0.04, 0.06, 0.08, 0.1),
            unit="t",
            help="timescales τ_c of the gates in the first map; none to leave it out",
        )
        strengths: tuple[Coefficient, ...] = structural(
            (0.0, 0.05, 0.1, 0.15, 0.2), help="strengths s of the bounds in the second map; none to leave it out"
        )
        nonnegativity: Coefficient = continuous(1 / 11, help="not used: bounds are set by their strengths s")
        normalization: Coefficient = continuous(5 / 11, help="not used: bounds are set by their strengths s")
        block_length: Duration = continuous(1.0, unit="t", help="not used: see the block lengths τ_B")
        strength: Coefficient = continuous(0.3, help="strength s of the bounds in the first map")
        gate_timescale: Timescale = continuous(
            0.005, scale="log", unit="t", help="timescale τ_c of the gates in the second map"
        )
        weight_timescale: Timescale = continuous(0.1, scale="log", unit="t", help="timescale τ_w of the students")
        until: Duration = structural(7.0, unit="t", help="when to stop")
        records: int = structural(70, ge=1, le=100_000, help="recordings, evenly spaced; must divide the steps")
        convention: Literal["sum", "mean"] = structural(
            "mean", help="`sum`: loss summed over outputs, rows of norm 1/√d_in; `mean`: averaged, unit rows"
        )
        precision: Literal["single", "double"] = structural("double", help="precision of weights and gates")

        @field_validator("block_lengths")
        @classmethod
        def _long_enough(cls, lengths: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
            if min(lengths) < info.data.get("step_size", 0.0):
                raise ValueError(f"each hold at least one step of {info.data['step_size']:g}")
            return lengths

    def simulate(self, config: Any, key: Any) -> Any:
        network, tasks, for_data = draw(config, key)
        dtype = jnp.float32 if config.precision == "single" else jnp.float64
        if config.data == "closure":
            return fs.learning.closed_process(
                network, cells(config), tasks, for_data, observe=_observe, dtype=dtype, **clock(config)
            )
        return fs.learning.joint_process(
            network,
            cells(config),
            tasks,
            for_data,
            observe=_observe,
            dtype=dtype,
            statistics=statistics(config),
            **clock(config),
        )

    def theory(self, config: Any, key: Any) -> Any:
        timescales, strengths, lengths = (np.asarray(values) for values in grid(config))
        if len(lengths) > LARGE:
            return None
        network, tasks, _ = draw(config, key)
        solution = fs.theory.closure(
            np.stack(network.students),
            tasks.maps,
            weight_timescale=config.weight_timescale,
            gate_timescale=timescales,
            nonnegativity=NONNEGATIVITY * strengths,
            normalization=NORMALIZATION * strengths,
            block_length=lengths,
            step_size=config.step_size,
            loss_share=tasks.loss_share,
        )

        def limit(time: Any) -> dict[str, Any]:
            seen = solution(time)
            total = fs.measures.total_alignment(seen["components"], seen["norms"])
            separation = np.abs(seen["gates"][..., 0] - seen["gates"][..., 1])
            return {"total_alignment": total, "separation": separation, "loss": seen["loss"]}

        return limit

    equations = (
        JOINT_DESCENT,
        Equation(
            r"L = L_{\text{task}} + s \Bigl[\tfrac53 \sum_p \max(0, -c^p) "
            r"+ \tfrac{25}{6} \bigl(\|c\|_1 - 1\bigr)^2\Bigr]",
            "The strength s of the bounds is one axis of the maps, the gates' timescale and the block length are the "
            "others.",
        ),
    )
    presets = (
        Preset("Figure 5", "Students specialise where gates are fast, gates are bounded and blocks are long."),
        Preset(
            "larger start",
            "From weights five times larger the first map comes nearer to the one that the authors' notebook prints.",
            {"scale": 0.05},
        ),
        Preset("free gates", "Without bounds the whole first map is unspecialised.", {"strength": 0.0}),
        Preset(
            "slow students",
            "Students three times slower hardly specialise anywhere in the same time.",
            {"weight_timescale": 0.3},
        ),
    )

    @claims.theory(claims.below(1e-10))
    def closed(self, result: Any) -> Any:
        """With infinitely many inputs the dynamics closes on the inner products of students and teachers (largest
        error).
        """
        return without_noise(result)

    @claims.theory(claims.below(0.05), source=SANDBRINK_2024.at("section 5.1"))
    def many_samples(self, result: Any) -> Any:
        """Batches of 200 inputs act nearly as infinitely many do (difference of each cell's mean total alignment from
        that limit; our threshold).
        """
        return np.abs(gap(result, ("sampled", "wishart")).mean("run"))

    @claims.paper(SANDBRINK_2024.at("fig. 5"), claims.above(0.98))
    def fast_gates(self, result: Any) -> Any:
        """With the fastest gates and the longest blocks students specialise (total alignment, 1 at most; our
        threshold).
        """
        return alignments(result, "speed").isel(timescale=fastest(result), block_length=longest(result))

    @claims.paper(SANDBRINK_2024.at("fig. 5"), claims.below(-0.85))
    def slow_gates(self, result: Any) -> Any:
        """Students specialise less, the slower the gates (rank correlation of total alignment with τ_c at the longest
        blocks; our threshold).
        """
        ends = alignments(result, "speed").isel(block_length=longest(result)).mean("run")
        return rank_correlation(result.config.gate_timescales, ends.values)

    @claims.paper(SANDBRINK_2024.at("section 6, fig. 5"), claims.above(0.2))
    def long_blocks(self, result: Any) -> Any:
        """In equal time long blocks specialise more than short ones (total alignment of the longest less the
        shortest, fastest gates; our threshold).
        """
        return span_of_blocks(alignments(result, "speed").isel(timescale=fastest(result)), result)

    @claims.paper(SANDBRINK_2024.at("fig. 5"), claims.below(0.75))
    def unbounded(self, result: Any) -> Any:
        """Without a regulariser nothing specialises, however fast the gates (largest total alignment over block
        lengths; our threshold).
        """
        column = at(result.config.strengths, 0.0)
        return alignments(result, "strength").isel(strength=column).max("block_length")

    @claims.paper(SANDBRINK_2024.at("fig. 5"), claims.above(0.98))
    def bounded(self, result: Any) -> Any:
        """With a regulariser of strength .1 or more, and blocks of .4 or more, all networks specialise (mean total
        alignment of each cell; our threshold).
        """
        return strong(result)

    @claims.code(NOTEBOOK, claims.near(0.919, 0.02), reason=UNLIKE_PRINT)
    def slowest_gates(self, result: Any) -> Any:
        """Even the slowest gates, τ_c = .1, reach a total alignment of .919 at the longest blocks, τ_B = 1."""
        column, row = at(result.config.gate_timescales, 0.1), at(result.config.block_lengths, 1.0)
        return alignments(result, "speed").isel(timescale=column, block_length=row)

    @claims.code(NOTEBOOK, claims.near(0.642, 0.02), reason=UNLIKE_PRINT)
    def short_blocks(self, result: Any) -> Any:
        """At the shortest blocks, τ_B = .1, a regulariser of strength .2 leaves a total alignment of only .642."""
        column, row = at(result.config.strengths, 0.2), at(result.config.block_lengths, 0.1)
        return alignments(result, "strength").isel(strength=column, block_length=row)

    @claims.code(NOTEBOOK, claims.below(0.05), reason=UNLIKE_PRINT, each={"which": PANELS})
    def printed_table(self, result: Any, which: str) -> Any:
        """All 25 cells of the printed table of the {which} map are met (root mean square over cells of the difference
        of mean total alignments; our threshold).
        """
        return np.sqrt((from_print(result, which) ** 2).mean())

    def figure(self, result: Any) -> Any:
        from festina.experiments.abstraction._regimes_figure import draw

        return draw(result)


def grid(config: Any) -> tuple[Any, Any, Any]:
    """Gate timescale, strength and block length of every cell: first the map of speeds, then that of strengths."""
    lengths = len(config.block_lengths)
    first, second = (lengths * len(rows) for rows in (config.gate_timescales, config.strengths))
    timescales = jnp.concatenate([np.repeat(config.gate_timescales, lengths), _full(second, config.gate_timescale)])
    strengths = jnp.concatenate([_full(first, config.strength), np.repeat(config.strengths, lengths)])
    return timescales, strengths, np.tile(config.block_lengths, (first + second) // lengths)


def cells(config: Any) -> Any:
    """One arm for every cell."""

    def cell(timescale: Any, strength: Any, length: Any) -> Any:
        bounds = fs.networks.Regularizer(NONNEGATIVITY * strength, NORMALIZATION * strength)
        rule = fs.learning.JointDescent(jnp.asarray(config.weight_timescale, float), timescale, bounds)
        return fs.learning.Arm(rule, fs.worlds.Blocks.of((0, 1), length, config.step_size))

    return jax.vmap(cell)(*grid(config))


def _full(count: int, value: Any) -> Any:
    return jnp.broadcast_to(jnp.asarray(value, float), (count,))


def _observe(view: Any) -> dict[str, Any]:
    """The better of the two ways to match two students with two teachers."""
    components, norms, gates = view.components, view.norms, view.gates
    straight, crossed = components[0, 0] + components[1, 1], components[0, 1] + components[1, 0]
    total = jnp.maximum(straight, crossed) / jnp.sqrt(2.0 * jnp.sum(norms**2))
    return {"total_alignment": total, "separation": jnp.abs(gates[0] - gates[1]), "loss": view.loss}


def draw(config: Any, key: Any) -> tuple[Any, Any, Any]:
    """The network and the tasks of a seed, and the key of its data."""
    for_teachers, for_weights, for_data = keys(key)
    convention = fs.worlds.convention(config.convention)
    tasks = fs.worlds.Tasks.orthogonal(for_teachers, 2, config.outputs, config.inputs, convention)
    network = fs.networks.PathGated.init(for_weights, 2, config.outputs, config.inputs, config.scale)
    return network, tasks, for_data
