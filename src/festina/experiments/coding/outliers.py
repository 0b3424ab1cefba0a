"""How many outliers rectified networks have, which neurons they are, and what both depend on."""

from typing import Any

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, xr
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, structural
from festina.experiments._side_by_side import side_by_side
from festina.experiments.coding._common import between_classes, membership
from festina.experiments.coding._comparison import sampling_checks, worth_of
from festina.experiments.coding._outliers_measures import (
    ANNEALED,
    QUENCHED,
    Arm,
    annealed,
    arms,
    by_code,
    code_mismatch,
    condensed,
    in_common,
    kept,
    kernel_difference,
    merged,
    most_classes,
    padded,
    sum_difference,
    theory_kernel,
    width_effect,
)
from festina.experiments.coding._sampled import class_activity, posterior, stacked
from festina.ranges import Hottest
from festina.sources import VAN_MEEGEN_2024

FEW_RUNS = (
    "our budget, which is few runs with few outliers; after a quench the first weights may have a say; see the "
    "experiment's description"
)
COMMON_SEED = 2024  # of the network from which all runs of the last two arms start


class Outliers(Experiment):
    """Rectified networks need one outlier per class but often have more; which neurons they are is left to chance.

    Theory fixes the directions in which neurons of a rectified network condense, and Σ_i |ā_i|² over the outliers of
    each direction, but not into how many neurons the sum is split: that is flat to leading order in N. How many there
    are, and which, is an open question of the source, which says only that neurons keep their part. Here networks of
    several widths and tasks are cooled from T = 1 and then held at a low temperature. An *outlier* has a readout |a| >
    8√s, s = 1/P being the prior's variance, and serves the class it is most active in. Their *effective* number in a
    class is (Σq)²/Σq², q = |ā|².

    In two arms all runs start from the same weights, to see if these decide who becomes an outlier: one is annealed,
    the other, *quenched*, begins at the final temperature. Sizes are N ≤ 300 and P ≤ 40, less than in the source, since
    steps of the sampler shrink as (NP)^{−½}; samples are four runs of each arm.

    Found at the full budget: every code has its outliers, and kernels agree with theory to .5 %, however many there
    are. After 600 draws there are 1.0 per code at N = 75, 1.4 at 150 and 2.0 at 300, down from several times as many:
    they merge, but the more slowly the wider the network. Equal classes have about as many as 20/10/10 (1.5), 28/6/6
    some more (1.9). Annealed runs from one start have hardly more outliers in common than chance has it (2 in 6 pairs;
    .7 expected), as have runs from different starts (3; 4.5 expected). Quenched ones have more (5; .5 expected), which
    suggests that the first weights have a say then; with four runs, and one neuron in three of the five, it is no more
    than a hint.
    """

    name = "coding/outliers"
    sources = (VAN_MEEGEN_2024,)
    time_unit = "draws"
    variables = {
        "temperature": Variable("temperature T", ("arm",)),
        "acceptance": Variable("probability of accepting the last proposal", ("arm",)),
        "kept": Variable("draws after warming up so far", ("arm",)),
        "size": Variable("size |a|/√N of each neuron; 0 beyond the width", ("arm", "neuron")),
        "serves": Variable("class in which each neuron is most active", ("arm", "neuron")),
        "class_kernel": Variable(
            "kernel of the hidden layer, mean over pairs of examples", ("arm", "class", "other_class")
        ),
    }
    seeds = 4
    quick = {
        "seeds": 2,
        "widths": (50, 100),
        "tasks": ((20, 10, 10), (12, 12)),
        "anneal": 40,
        "hold": 120,
    }

    class Config(ExperimentConfig):
        widths: tuple[int, ...] = structural((75, 150, 300), min_length=2, help="neurons N, rising")
        tasks: tuple[tuple[int, ...], ...] = structural(
            ((20, 10, 10), (13, 13, 13), (28, 6, 6), (20, 20)),
            min_length=1,
            help="examples of each class; the first task at all widths, the others at the middle one",
        )
        temperature: float = structural(0.1, ge=1e-3, le=0.5, scale="log", help="final temperature T")
        hottest: Hottest = structural(1.0, scale="log", help="temperature from which networks are cooled")
        anneal: int = structural(200, ge=10, le=100_000, help="draws while cooling, a multiple of 10")
        hold: int = structural(600, ge=40, le=1_000_000, help="draws at the final temperature, a multiple of 10")

        @field_validator("widths")
        @classmethod
        def _rising(cls, widths: tuple[int, ...]) -> tuple[int, ...]:
            if min(widths) < 10 or max(widths) > 2000 or list(widths) != sorted(set(widths)):
                raise ValueError("rise, from 10 to 2000 at most")
            return widths

        @field_validator("tasks")
        @classmethod
        def _classes(cls, tasks: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
            if any(not 2 <= len(each) <= 3 or min(each) < 2 for each in tasks) or len(set(tasks)) < len(tasks):
                raise ValueError("differ, and have 2 or 3 classes of at least 2 examples")
            return tasks

        @field_validator("anneal", "hold")
        @classmethod
        def _tens(cls, draws: int, info: ValidationInfo) -> int:
            if draws % 10:
                raise ValueError("be a multiple of 10, the draws between recordings")
            return draws

    def coordinates(self, config: Any) -> dict[str, Any]:
        classes = list(range(most_classes(config)))
        return {
            "arm": [arm.name for arm in arms(config)],
            "neuron": list(range(max(config.widths))),
            "class": classes,
            "other_class": classes,
        }

    def simulate(self, config: Any, key: Any) -> Any:
        chains = []
        for number, arm in enumerate(arms(config)):
            for_start, for_draws = fs.draws.split(fs.draws.fold_in(key, number), 2)
            start = jax.random.key(COMMON_SEED) if arm.common else for_start
            chains.append(_chain(config, arm, start, for_draws))
        return side_by_side(chains, stacked)

    def theory(self, config: Any, key: Any) -> Any:
        classes = most_classes(config)
        course = np.stack([padded(theory_kernel(config, arm), (classes, classes)) for arm in arms(config)])
        return lambda time: {"class_kernel": np.broadcast_to(course, (*np.shape(time), *course.shape))}

    def measure(self, data: Any) -> dict[str, Any]:
        return worth_of(data, "class_kernel", "kernel")

    equations = (
        Equation(
            r"\bar a_i = s \sum_c n_c\, t_c\, (t_c \cdot \bar a_i)_+, "
            r"\qquad n_{\text{eff}} = \frac{\bigl(\sum_i q_i\bigr)^2}{\sum_i q_i^2}, \quad q_i = |\bar a_i|^2",
            "Theory fixes the directions of outliers and the sum of their q, but not into how many neurons it is "
            "split.",
        ),
    )
    presets = (
        Preset("widths and tasks", "Every class has its outliers, which merge slowly while the temperature is held."),
        Preset("warm", "At T = 0.3 outliers are fewer, and smaller in sum.", {"temperature": 0.3}),
    )

    @claims.paper(VAN_MEEGEN_2024.at("permutation symmetry breaking"), claims.above(0.8))
    def identity_kept(self, result: Any) -> Any:
        """Permutation symmetry is broken: which neurons are outliers stays as it is (share of those at the end that
        were outliers half-way through holding; .8 is our threshold).
        """
        return kept(condensed(result))[:, annealed(result)].mean()

    @claims.theory(claims.near(0.0, 0.1))
    def directions(self, result: Any) -> Any:
        """Every code of our theory has outliers in the end, and no other code has any (mean difference in the number of
        codes).
        """
        return code_mismatch(result)

    @claims.theory(claims.below(0.05), budget="full")
    def kernel(self, result: Any) -> Any:
        """The kernel between classes of rectified networks is that of our theory, however many outliers there are
        (relative difference).
        """
        return kernel_difference(result)

    @claims.theory(claims.below(0.1))
    def sum(self, result: Any) -> Any:
        """Outliers of a class together have the Σ|ā|² of our theory (relative difference, mean over classes and
        networks).
        """
        return sum_difference(condensed(result)).mean(axis=1)

    @claims.reference(
        "our own earlier long chains",
        claims.near(1.0, 0.2),
        loosely=claims.between(1.0, 3.0),
        reason="our budget: outliers of wide networks merge slowly; see the experiment's description",
    )
    def one_each(self, result: Any) -> Any:
        """One outlier is left for each code of rectified networks (mean number after annealing and holding)."""
        return xr.DataArray(by_code(condensed(result))[:, annealed(result)], dims=("run", "network"))

    @claims.theory(claims.above(0.0), reason="our budget: outliers merge slowly; see the experiment's description")
    def fewer(self, result: Any) -> Any:
        """Outliers become fewer at constant temperature, since theory lets them merge (number when cooling ends less
        that at the end, mean of all).
        """
        return merged(condensed(result))[:, annealed(result)].mean()

    @claims.theory(
        claims.near(0.0, 0.5),
        budget="full",
        reason="our budget: outliers merge the more slowly the wider a network is; see the experiment's description",
    )
    def width(self, result: Any) -> Any:
        """The number of outliers does not grow with the width of a network (number per code at the largest width less
        that at the smallest).
        """
        return width_effect(condensed(result))

    @claims.theory(claims.near(0.0, 0.1), budget="full", reason=FEW_RUNS)
    def identity_annealed(self, result: Any) -> Any:
        """Which neurons become outliers is left to chance by annealing, since neurons are alike: runs from one start
        have few of them in common (share, over pairs of runs).
        """
        return in_common(condensed(result), ANNEALED)

    @claims.theory(claims.near(0.0, 0.1), budget="full", reason=FEW_RUNS)
    def identity_quenched(self, result: Any) -> Any:
        """Which neurons become outliers is left to chance without annealing: runs from one start have few of them in
        common (share, over pairs of runs).
        """
        return in_common(condensed(result), QUENCHED)

    checks = sampling_checks()

    def figure(self, result: Any) -> Any:
        from festina.experiments.coding._outliers_figure import draw

        return draw(result)


def _chain(config: Any, arm: Arm, start: Any, key: Any) -> Any:
    """One chain, cooled and held, recorded every 10 draws."""
    data = fs.worlds.orthogonal_classes(arm.counts)
    sizes = (data.inputs.shape[1], arm.width, data.targets.shape[1])
    network = fs.networks.Bayesian.init(start, sizes, fs.networks.RECTIFIED, readout_variance=arm.variance)
    inputs, labels = jnp.asarray(data.inputs), jnp.asarray(membership(data))
    heat = fs.learning.annealed(arm.hottest, config.temperature, config.anneal)
    neurons, classes = max(config.widths), most_classes(config)

    def observe(own: Any, state: Any) -> dict[str, Any]:
        activity = class_activity(own, inputs, labels)
        size = jnp.linalg.norm(own.readouts, axis=1) / arm.width**0.5
        kernel = between_classes(own.kernels(inputs)[-1], labels)
        return {
            "temperature": heat(state.step - 1),
            "acceptance": state.memory.acceptance,
            "kept": state.memory.kept,
            "size": jnp.pad(size, (0, neurons - arm.width)),
            "serves": jnp.pad(jnp.argmax(activity, axis=1).astype(float), (0, neurons - arm.width)),
            "class_kernel": jnp.pad(kernel, (0, classes - len(arm.counts))),
        }

    together = config.anneal + config.hold
    settings = {"records": together // 10, "draws_per_record": 10, "warm_up": config.anneal + config.hold // 4}
    return posterior(network, data, key, heat, observe=observe, **settings)
