"""Several views of one target: what data decide, and what is left to the start."""

from typing import Annotated, Any

from pydantic import Field

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, xr
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._fields import Distinct
from festina.experiments.race._log_time import LateDuration, log_time_flow
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


class Views(Experiment):
    """Views of one target share it as least squares demand; only among views never seen apart does the start decide.

    V views of one target each have a pathway of L layers. With probability p all are present, otherwise one at a time.
    From decoupled weights the strength π_m of a pathway obeys

        τ π̇_m = L π_m^(2−2/L) [S_m − Σ_j D_mj π_j],    S_m = p + (1−p)/V,    D_mj = p + δ_mj (1−p)/V.

    For p < 1, D is positive definite and every start ends in the one non-negative least-squares solution: a race may
    be run on the way there, but it leaves no trace. This is why seeds can give identical results to three digits, such
    as the dominance of .379 ± .000 over ten seeds that a summary of Jarvis et al. reports of its own views. (Its value
    depends on their correlations, which it does not tell, and is not judged here.) For p = 1 data do not care which
    view does the work, and the start decides. At depth 2 the ratios of the start are kept. From depth 3 on it is
    differences of π^(2/L−1), so that the smaller the start, the more of all goes to one view, and which one is up to
    the seed.

    Two readings of that summary do not hold, and are kept below as claims that are not reproduced. One is that views in
    a single task never race. The other is that strengths are Lotka–Volterra species, ṡ_m = r_m s_m(1 − Σs²/K): it keeps
    ratios at equal rates, and so has no winner who takes all. It is exact only at depth 2 with p = 1 and s = √π. And a
    measure can mislead: views that share a target get less than half of it each, so that a "coverage" which asks for
    more than half from each view alone reads 0 in a network that has learned nearly all there is.

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

    @claims.paper(SAXE_2022.at("race reduction"), claims.below(1e-6))
    def exact(self, result: Any) -> Any:
        """Gated networks follow the reduction at every depth, co-occurrence and start."""
        return result.errors("strength", "loss")

    @claims.paper(SAXE_2022.at("race reduction; derived here"), claims.below(1e-3))
    def one_end(self, result: Any) -> Any:
        """For p < 1 every seed ends in the non-negative least-squares solution (largest distance of a
        strength).
        """
        return distance_to_least_squares(result)

    @claims.paper(JARVIS_2025.at("in a secondary summary: .379 ± .000 over ten seeds"), claims.below(5e-4))
    def identical_seeds(self, result: Any) -> Any:
        """For p < 1 the dominance at the end is the same for all seeds to three digits (largest s.d. over
        seeds).
        """
        return spread_apart(result)

    @claims.paper(JARVIS_2025.at("in a secondary summary: no race in a single task"), claims.below(5e-4))
    def never_a_race(self, result: Any) -> Any:
        """Views of a single task never race, and so seeds always agree (s.d. over seeds of the dominance at p
        = 1).
        """
        return spread_together(result)

    @claims.paper(SAXE_2022.at("race reduction; derived here"), claims.below(1e-6))
    def ratios_kept(self, result: Any) -> Any:
        """At depth 2 views that always co-occur keep the ratios of their start (largest change of ln
        π_i/π_j).
        """
        return shallow_ratio_change(result)

    @claims.paper(SAXE_2022.at("race reduction; derived here"), claims.below(1e-6))
    def differences_kept(self, result: Any) -> Any:
        """From depth 3 on they keep differences of π^(2/L−1) (largest change, relative to its size at the
        start).
        """
        return conservation_error(result)

    @claims.paper(SAXE_2022.at("race reduction; derived here"), claims.above(0.8))
    def winner_takes_all(self, result: Any) -> Any:
        """From the smallest start one of them has nearly all at depth 3 and beyond (mean dominance of each
        depth).
        """
        return final_dominance(result)[:, 0]

    @claims.paper(SAXE_2022.at("race reduction; derived here"), claims.above(0.0))
    def sharpening(self, result: Any) -> Any:
        """The smaller the start, the more of it (steps of the mean dominance as the start shrinks)."""
        return sharpening(result)

    @claims.paper(SAXE_2022.at("race reduction; derived here"), claims.above(0.8))
    def winner_by_seed(self, result: Any) -> Any:
        """Which view wins is up to the seed (entropy of the winner, in units of that of a fair draw)."""
        return winners_entropy(result)

    @claims.paper(SAXE_2022.at("race reduction; derived here"), claims.above(0.2))
    def transient(self, result: Any) -> Any:
        """For p < 1 deep pathways race too, but in passing: dominance on the way exceeds that at the end."""
        return transient(result)

    @claims.paper(JARVIS_2025.at("in a secondary summary: competitive Lotka–Volterra form"), claims.below(0.05))
    def lotka_volterra(self, result: Any) -> Any:
        """Strengths are Lotka–Volterra species and at equal rates keep their ratios, at depth 3 and beyond as
        well (mean change of ln π_max/π_min from the smallest start).
        """
        return deep_ratio_change(result)

    @claims.paper(SAXE_2022.at("race reduction; derived here"), claims.below(1e-6))
    def lotka_volterra_once(self, result: Any) -> Any:
        """At depth 2 and p = 1, and there only, √π are such species."""
        return lotka_volterra_error(result)

    @claims.paper(SAXE_2022.at("race reduction; derived here"), claims.above(0.75))
    def coverage_misleads(self, result: Any) -> Any:
        """No view alone gets more than half of the answer in networks that have learned most of what there is
        (share of the target explained where coverage reads 0, at the largest p < 1).
        """
        return explained_without_coverage(result)

    @claims.paper(SAXE_2022.at("race reduction; derived here"), claims.below(1e-6))
    def no_competition(self, result: Any) -> Any:
        """Slots with pathways and answers of their own learn as if alone (distance from the closed form)."""
        return result.errors("separate_strength")

    @claims.paper(SAXE_2022.at("race reduction; derived here"), claims.below(1e-3))
    def bottleneck(self, result: Any) -> Any:
        """Through r hidden units the r strongest slots are learned and no other (largest distance at the
        end).
        """
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
