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
from festina.sources import SANDBRINK_2024

PANELS = ("speed", "strength")
NONNEGATIVITY, NORMALIZATION = 5.0 / 3.0, 25.0 / 6.0  # coefficients of the two terms at strength 1
LARGE = 200  # cells above which the limit of infinitely many inputs is not computed beside the map


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
    specialise at all. Two of its features are not found under any convention: specialisation of .92 at the slowest
    gates, and alignments as low as .62–.69 at the shortest blocks under a strong regulariser.
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
        Preset("free gates", "Without bounds the whole first map is unspecialised.", {"strength": 0.0}),
        Preset(
            "slow students",
            "Students three times slower hardly specialise anywhere in the same time.",
            {"weight_timescale": 0.3},
        ),
    )

    @claims.paper(SANDBRINK_2024.at("app. A.1"), claims.below(1e-10))
    def closed(self, result: Any) -> Any:
        """With infinitely many inputs the dynamics closes on the inner products of students and teachers."""
        return _without_noise(result)

    @claims.paper(SANDBRINK_2024.at("app. A.1"), claims.below(0.05))
    def many_samples(self, result: Any) -> Any:
        """A batch of 200 inputs is nearly as good as infinitely many (largest difference of mean alignments)."""
        return np.abs(_gap(result, ("sampled", "wishart")).mean("run")).max()

    @claims.paper(SANDBRINK_2024.at("fig. 5, left"), claims.above(0.98))
    def fast_gates(self, result: Any) -> Any:
        """With the fastest gates and the longest blocks students specialise (total alignment)."""
        return panel(result, "speed")[:, _fastest(result), _longest(result)]

    @claims.paper(SANDBRINK_2024.at("fig. 5, left"), claims.below(-0.85))
    def slow_gates(self, result: Any) -> Any:
        """They specialise less, the slower the gates (rank correlation with τ_c at the longest blocks)."""
        return _rank_correlation(
            result.config.gate_timescales, panel(result, "speed")[:, :, _longest(result)].mean(axis=0)
        )

    @claims.paper(SANDBRINK_2024.at("fig. 5, left"), claims.above(0.2))
    def long_blocks(self, result: Any) -> Any:
        """They specialise more, the longer the blocks, in equal time (longest less shortest, fastest gates)."""
        return _span_of_blocks(panel(result, "speed")[:, _fastest(result)], result)

    @claims.paper(SANDBRINK_2024.at("fig. 5, right"), claims.below(0.75))
    def unbounded(self, result: Any) -> Any:
        """Without a regulariser nothing specialises, however fast the gates (largest alignment over block
        lengths).
        """
        return panel(result, "strength")[:, _at(result.config.strengths, 0.0)].max(axis=1)

    @claims.paper(SANDBRINK_2024.at("fig. 5, right"), claims.above(0.98))
    def bounded(self, result: Any) -> Any:
        """With a strength of .1 and more, and blocks of .4 and more, everything does (smallest mean
        alignment).
        """
        return _strong(result).min()

    @claims.paper(SANDBRINK_2024.at("fig. 5, left"), claims.near(0.919, 0.02))
    def slowest_gates(self, result: Any) -> Any:
        """Even the slowest gates, τ_c = .1, reach an alignment of .92 at the longest blocks."""
        return panel(result, "speed")[:, _at(result.config.gate_timescales, 0.1), _longest(result)]

    @claims.paper(SANDBRINK_2024.at("fig. 5, right"), claims.near(0.655, 0.05))
    def short_blocks(self, result: Any) -> Any:
        """At the shortest blocks a strong regulariser leaves an alignment of only .62 to .69."""
        return panel(result, "strength")[:, _at(result.config.strengths, 0.2), _at(result.config.block_lengths, 0.1)]

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


def panel(result: Any, which: str, name: str = "total_alignment") -> Any:
    """A variable at the end of one map, with dimensions (run, gate timescale or strength, block length)."""
    config = result.config
    first, lengths = len(config.gate_timescales), len(config.block_lengths)
    rows = first if which == "speed" else len(config.strengths)
    if rows == 0:
        raise claims.NotApplicable(f"needs the map of the {which}")
    begin = 0 if which == "speed" else first * lengths
    final = result[name].isel(time=-1).transpose("run", "cell").values
    return final[:, begin : begin + rows * lengths].reshape(-1, rows, lengths)


def draw(config: Any, key: Any) -> tuple[Any, Any, Any]:
    """The network and the tasks of a seed, and the key of its data."""
    for_teachers, for_weights, for_data = keys(key)
    convention = fs.worlds.convention(config.convention)
    tasks = fs.worlds.Tasks.orthogonal(for_teachers, 2, config.outputs, config.inputs, convention)
    network = fs.networks.PathGated.init(for_weights, 2, config.outputs, config.inputs, config.scale)
    return network, tasks, for_data


def _gap(result: Any, data: tuple[str, ...]) -> Any:
    """Alignments at the end less those in the limit of infinitely many inputs."""
    if result.config.data not in data or result.theory is None:
        raise claims.NotApplicable(f"needs {' or '.join(data)} data, and at most {LARGE} cells")
    name = "total_alignment"
    return (result[name] - result.theory[name]).isel(time=-1)


def _without_noise(result: Any) -> Any:
    _gap(result, ("population", "closure"))
    return result.errors("total_alignment", "loss")


def _longest(result: Any) -> int:
    return int(np.argmax(result.config.block_lengths))


def _at(values: Any, wanted: float) -> int:
    places = np.flatnonzero(np.isclose(values, wanted))
    if len(places) == 0:
        raise claims.NotApplicable(f"needs {wanted:g} among {values}")
    return int(places[0])


def _fastest(result: Any) -> int:
    if len(result.config.gate_timescales) == 0:
        raise claims.NotApplicable("needs the map of the speed")
    return int(np.argmin(result.config.gate_timescales))


def _rank_correlation(one: Any, other: Any) -> Any:
    if len(one) < 3:
        raise claims.NotApplicable("needs at least three gate timescales")
    first, second = (np.argsort(np.argsort(values)) for values in (one, other))
    return np.corrcoef(first, second)[0, 1]


def _span_of_blocks(values: Any, result: Any) -> Any:
    return values[:, _longest(result)] - values[:, int(np.argmin(result.config.block_lengths))]


def _strong(result: Any) -> Any:
    strong, long = (
        np.asarray(values) >= least - 1e-9
        for values, least in ((result.config.strengths, 0.1), (result.config.block_lengths, 0.4))
    )
    if not (strong.any() and long.any()):
        raise claims.NotApplicable("needs strengths of .1 and more, and blocks of .4 and more")
    return panel(result, "strength")[:, strong][:, :, long].mean(axis=0)
