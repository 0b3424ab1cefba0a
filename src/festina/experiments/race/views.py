"""Several views of one target: what data decide, and what is left to the start."""

from typing import Annotated, Any

from pydantic import Field

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, xr
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._fields import Distinct
from festina.experiments.race._log_time import LateDuration, log_time_flow
from festina.experiments.race._settled import at_the_end
from festina.experiments.race._views_networks import (
    gated_networks,
    gated_worlds,
    separate_network,
    slot_networks,
    slots,
    starts,
)
from festina.experiments.race._views_quantities import (
    bottleneck_gap,
    conservation_error,
    deep_ratio_change,
    distance_to_least_squares,
    explained_without_coverage,
    final_dominance,
    lotka_volterra_error,
    require_small_and_spread,
    shallow_ratio_change,
    sharpening,
    spread_apart,
    spread_together,
    transient,
    winners_entropy,
)
from festina.sources import JARVIS_2025, SAXE_2022

Depth = Annotated[int, Field(ge=2, le=8)]
Probability = Annotated[float, Field(ge=0, le=1)]
Strength = Annotated[float, Field(ge=1e-9, le=0.999)]
SUMMARY = "simulations of the author of a secondary summary of Jarvis et al. 2025: {}"


class Views(Experiment):
    """Views of one target share it as least squares demand; only among views never seen apart does the start decide.

    V views of one target each have a pathway of L layers. With probability p all are present, otherwise one at a time.
    From decoupled weights the strength π_m of a pathway obeys

        τ π̇_m = L π_m^(2−2/L) [S_m − Σ_j D_mj π_j],    S_m = p + (1−p)/V,    D_mj = p + δ_mj (1−p)/V.

    For p < 1, D is positive definite and every start ends in the one non-negative least-squares solution: a race may be
    run on the way there, but it leaves no trace. This is why seeds can give identical results to three digits, such as
    the dominance of .379 ± .000 over ten seeds that the author of a summary of Jarvis et al. reports of simulations of
    their own. (Its value depends on correlations that are not told, and is not judged here.) For p = 1 data do not care
    which view does the work, and the start decides. At depth 2 the ratios of the start are kept. From depth 3 on it is
    differences of π^(2/L−1), so that the smaller the start, the more of all goes to one view, and which one is up to
    the seed.

    Two statements of that summary, neither of which is known to be the paper's, do not hold. One is that views in a
    single task never race: a claim that is not reproduced. The other is that strengths are Lotka–Volterra species, ṡ_m
    = r_m s_m(1 − Σs²/K), and stands below as a misprint: that form keeps ratios at equal rates, and so has no winner
    who takes all. It is exact only at depth 2 with p = 1 and s = √π. And a measure can mislead: views that share a
    target get less than half of it each, so that a "coverage" which asks for more than half from each view alone reads
    0 in a network that has learned nearly all there is.

    Beside it, views on orthogonal slots with answers of their own. With pathways of their own, D = I and there is no
    competition at all. Through one hidden layer of r units, the r strongest are learned and no others; on the way they
    compete for units even if there are enough for all.
    """

    name = "race/views"
    sources = (SAXE_2022, JARVIS_2025)
    variables = {
        "strength": Variable("strength π of each view's pathway", ("depth", "together", "initial", "view")),
        "loss": Variable("loss ½⟨(y − h)²⟩", ("depth", "together", "initial")),
        "separate_strength": Variable("strength of each slot's own pathway", ("slot",)),
        "slot_strength": Variable("how much of each slot is learned through r units", ("bottleneck", "slot")),
    }
    seeds = 20
    quick = {
        "seeds": 10,
        "depth": (2, 3),
        "together": (0.5, 1.0),
        "initial": (1e-4, 1e-2),
        "until": 250.0,
        "records": 60,
    }

    class Config(ExperimentConfig):
        views: int = structural(3, ge=2, le=20, help="views V of the target; also the number of slots")
        depth: Annotated[tuple[Depth, ...], Distinct] = structural(
            (2, 3, 4), min_length=1, help="layers L of every pathway, one or several"
        )
        together: Annotated[tuple[Probability, ...], Distinct] = structural(
            (0.0, 0.5, 0.8, 1.0), min_length=1, help="probabilities p that all views are present, one or several"
        )
        initial: Annotated[tuple[Strength, ...], Distinct] = structural(
            (1e-4, 1e-3, 1e-2, 1e-1), min_length=1, help="typical strengths of the pathways at t = 0, rising"
        )
        width: int = structural(4, ge=1, le=256, help="hidden units in every layer of a pathway")
        spread: float = continuous(0.5, ge=1e-3, le=3, help="s.d. of the logarithm of a pathway's strength at t = 0")
        weakest: float = continuous(
            0.5, ge=1e-3, le=0.999, help="amplitude of the weakest slot; that of the strongest is 1"
        )
        until: LateDuration = continuous(2000.0, unit="τ", help="when to stop")
        records: int = structural(120, ge=10, le=10_000, help="recordings, evenly spaced in log time")

    def coordinates(self, config: Any) -> dict[str, Any]:
        numbers = list(range(1, config.views + 1))
        return {
            "depth": list(config.depth),
            "together": list(config.together),
            "initial": list(config.initial),
            "view": numbers,
            "slot": numbers,
            "bottleneck": numbers,
        }

    def simulate(self, config: Any, key: Any) -> Any:
        worlds = gated_worlds(config)
        moments, separate = slots(config).dataset.moments, slots(config).gated.samples

        def losses(networks: Any) -> Any:
            each = jax.vmap(jax.vmap(_loss, in_axes=(0, None)))
            return jnp.stack([each(network, worlds) for network in networks])

        def rate(parameters: Any, stage: Any) -> Any:
            def total(parameters: Any) -> Any:
                networks, apart, linear = parameters
                return losses(networks).sum() + separate.loss(apart) + sum(moments.loss(one) for one in linear)

            return jax.tree.map(lambda slope: -slope, jax.grad(total)(parameters))

        def observe(state: Any) -> dict[str, Any]:
            networks, apart, linear = state.parameters
            return {
                "strength": jnp.stack([jax.vmap(jax.vmap(_strengths))(network) for network in networks]),
                "loss": losses(networks),
                "separate_strength": _strengths(apart),
                "slot_strength": jnp.stack([jnp.diagonal(one.map) for one in linear]),
            }

        start = (
            [gated_networks(config, depth, key) for depth in config.depth],
            separate_network(config, key),
            slot_networks(config, key),
        )
        return log_time_flow(config, rate, start, observe)

    def theory(self, config: Any, key: Any) -> Any:
        from festina.precision import to_numpy

        worlds = gated_worlds(config)
        strengths, overlaps = (to_numpy(jax.vmap(part)(worlds)) for part in (_correlations, _overlaps))
        shown = to_numpy(jax.vmap(_shown)(worlds))
        lanes = (len(config.together), len(config.initial), config.views)
        begin = np.broadcast_to(to_numpy(starts(config, key)), lanes)
        moments = (
            np.broadcast_to(strengths[:, None], lanes),
            np.broadcast_to(overlaps[:, None], (*lanes, config.views)),
        )
        races = [fs.theory.views.competition(depth, *moments, begin) for depth in config.depth]
        free = to_numpy(slots(config))
        separate = fs.theory.views.competition(2, free.strengths, free.overlaps, begin[0, 0])

        def curves(time: Any) -> dict[str, Any]:
            strength = np.stack([race(time)["strength"] for race in races], axis=1)
            left = 1.0 - np.einsum("tnm,...tim->...tin", shown, strength)
            loss = 0.5 * np.einsum("tn,...tin->...ti", to_numpy(worlds.probabilities), left**2)
            return {"strength": strength, "loss": loss, "separate_strength": separate(time)["strength"]}

        return curves

    def measure(self, data: Any) -> dict[str, Any]:
        strength = data["strength"].transpose(..., "view")
        return {
            function.__name__: xr.DataArray(function(strength.values), dims=strength.dims[:-1])
            for function in (fs.measures.dominance, fs.measures.effective_number, fs.measures.coverage)
        }

    equations = (
        Equation(
            r"\tau \dot \pi_m = L\, \pi_m^{2 - 2/L} \Bigl[S_m - \sum_j D_{mj} \pi_j\Bigr], \quad "
            r"S_m = p + \frac{1 - p}{V}, \quad D_{mj} = p + \delta_{mj} \frac{1 - p}{V}",
            "Each of V views has a pathway of L layers, and learns what the others have not yet explained.",
        ),
    )
    presets = (
        Preset(
            "seen apart or never",
            "Views that are sometimes seen alone end alike; of views never seen apart one takes most at depth 3.",
        ),
        Preset(
            "nearly equal starts",
            "With hardly any spread the winner among deep pathways is less clear.",
            {"spread": 0.05},
        ),
        Preset(
            "unequal starts",
            "With a wide spread one view dominates at depth 2 as well, if views are never seen apart.",
            {"spread": 1.5, "until": 4000.0},
        ),
    )

    @claims.theory(claims.below(1e-6), source=SAXE_2022)
    def exact(self, result: Any) -> Any:
        """Gated linear networks follow the race reduction at every depth, co-occurrence and start."""
        return result.errors("strength", "loss")

    @claims.theory(claims.below(1e-3))
    @at_the_end
    def one_end(self, result: Any) -> Any:
        """Views that are sometimes seen apart, p < 1, end in the non-negative least-squares solution from every seed
        (largest distance of a strength).
        """
        return distance_to_least_squares(result)

    @claims.reference(SUMMARY.format("dominance .379 ± .000 over ten seeds"), claims.below(5e-4))
    @at_the_end
    def identical_seeds(self, result: Any) -> Any:
        """Views that are sometimes seen apart, p < 1, have at the end a dominance that is the same for all seeds to
        three digits (s.d. over seeds).
        """
        return spread_apart(result)

    @claims.reference(
        SUMMARY.format("no race in a single task"),
        claims.below(5e-4),
        reason="the summary's scope: views that are never seen apart do race; see the experiment's description",
    )
    @at_the_end
    def never_a_race(self, result: Any) -> Any:
        """Views of a single task never race, and seeds always agree (s.d. over seeds of the dominance at p = 1, from
        depth 3 on).
        """
        return spread_together(result)

    @claims.theory(claims.below(1e-6))
    def ratios_kept(self, result: Any) -> Any:
        """At depth 2 views that always co-occur keep the ratios of their start (largest change of ln π_i/π_j)."""
        return shallow_ratio_change(result)

    @claims.theory(claims.below(1e-6))
    def differences_kept(self, result: Any) -> Any:
        """From depth 3 on views that always co-occur keep differences of π^(2/L−1) (largest change, relative to its
        size at the start).
        """
        return conservation_error(result)

    @claims.theory(claims.above(0.8))
    @at_the_end
    def winner_takes_all(self, result: Any) -> Any:
        """From the smallest start one of the views that always co-occur has nearly all at depth 3 and beyond (mean
        dominance of each depth; our threshold).
        """
        require_small_and_spread(result)
        return final_dominance(result).isel(initial=0)

    @claims.theory(claims.above(0.0))
    @at_the_end
    def sharpening(self, result: Any) -> Any:
        """The smaller the start, the more one of the views that always co-occur takes, from depth 3 on (steps of the
        mean dominance as the start shrinks).
        """
        return sharpening(result)

    @claims.theory(claims.above(0.8))
    @at_the_end
    def winner_by_seed(self, result: Any) -> Any:
        """Which of the views that always co-occur wins is up to the seed (entropy of the winner, in units of that of a
        fair draw; our threshold).
        """
        return winners_entropy(result)

    @claims.theory(claims.above(0.2))
    @at_the_end
    def transient(self, result: Any) -> Any:
        """Deep pathways of views that are sometimes seen apart race in passing: dominance on the way exceeds that at
        the end (difference at the largest p < 1; our threshold).
        """
        require_small_and_spread(result)
        return transient(result)

    @claims.misprint(
        JARVIS_2025.at("competitive Lotka–Volterra form, as a secondary summary prints it"), claims.above(0.05)
    )
    @at_the_end
    def lotka_volterra(self, result: Any) -> Any:
        """The Lotka–Volterra form, in which strengths keep their ratios at equal rates, fails at depth 3 and beyond
        (mean change of ln π_max/π_min from the smallest start, p = 1).
        """
        require_small_and_spread(result)
        return deep_ratio_change(result)

    @claims.theory(claims.below(1e-6))
    def lotka_volterra_once(self, result: Any) -> Any:
        """At depth 2 and p = 1, and there only, the roots √π of the strengths are Lotka–Volterra species (largest
        distance).
        """
        return lotka_volterra_error(result)

    @claims.theory(claims.above(0.75))
    @at_the_end
    def coverage_misleads(self, result: Any) -> Any:
        """No view alone gets more than half of the answer in networks that have learned most of what there is (share
        of the target explained where coverage reads 0, at the largest p < 1).
        """
        return explained_without_coverage(result)

    @claims.theory(claims.below(1e-6))
    def no_competition(self, result: Any) -> Any:
        """Slots with pathways and answers of their own learn as if alone (distance from the closed form)."""
        return result.errors("separate_strength")

    @claims.theory(claims.below(1e-3))
    def bottleneck(self, result: Any) -> Any:
        """Through r hidden units the r strongest slots are learned and no other (largest distance at the end)."""
        return bottleneck_gap(result)

    def figure(self, result: Any) -> Any:
        from festina.experiments.race._views_figure import draw

        return draw(result)


def _loss(network: Any, world: Any) -> Any:
    return world.dataset.samples.loss(network)


def _strengths(network: Any) -> Any:
    """The product of the weights along each view's pathway: what is answered to the view alone."""
    names = network.graph.inputs
    alone = {name: jnp.eye(len(names))[:, number, None] for number, name in enumerate(names)}
    return sum(answer[:, 0] for answer in network(alone).values())


def _correlations(world: Any) -> Any:
    return world.strengths


def _overlaps(world: Any) -> Any:
    return world.overlaps


def _shown(world: Any) -> Any:
    return world.inputs
