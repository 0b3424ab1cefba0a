"""Many domains through one hidden layer: what is shared is learned fast, and wins the race."""

from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np
from festina.config import Distinct
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments.race._routing_measures import (
    balanced_errors,
    conditions,
    predicted_speed_ups,
    race_errors,
    racing,
    separate,
    small_start_shares,
    speed_ups,
)
from festina.experiments.race._routing_networks import (
    Arm,
    decoupled,
    mode_strengths,
    private,
    racing_maps,
    shared_maps,
    stacked,
    start_of,
    trained_strengths,
)
from festina.ranges import Duration
from festina.sources import LECTURE, SAXE_2022

Count = Annotated[int, Field(ge=1, le=50)]
Product = Annotated[float, Field(ge=1e-9, le=1.499)]
STARTS = ("equal", "balanced")
FIRST = 1e-3  # of the duration: the first recording after the start


class Routing(Experiment):
    """A hidden layer shared by many domains learns faster than a network for every pair, and wins a race against them.

    M input and M output domains are joined by one shared matrix, y_o = W3_o W2 W1_i x_i, as translations between many
    languages by a common representation. Each input is trained on K of the M outputs; L = M⁻² Σ_trained ½|Y − W_oi|².
    From decoupled weights (the formulas were derived here; the lecture shows the network, the domains, and that race
    dynamics favor shared structure) each mode follows τḃ1 = (K/M²) b2 b3 E, τḃ2 = (K/M) b1 b3 E, τḃ3 = (K/M²) b1 b2 E
    with E = s − b1 b2 b3. From a balanced start, b2 = √M b1, the product obeys τu̇ = 3K M^(−5/3) u^(4/3) (s − u), which
    is faster by K·M^(1/3) than a network of its own for every pair. The normalisation matters: with the loss averaged
    over *trained* pairs all dependence on K is gone (see `festina.worlds.routing`).

    The race: a network has a shared pathway and a private one for every pair. Both see the same error, and from
    balanced starts u^(−1/3) − K M^(1/3) v^(−1/3) is conserved (u shared, v private; derived here). It says where the
    race ends, u + v = s: the smaller the start, the more the shared pathway takes.

    What random weights do, and what becomes of pairs that are never trained, is in `race/systematic`.
    """

    name = "race/routing"
    sources = (SAXE_2022, LECTURE)
    variables = {
        "strength": Variable("mode strengths b1 b2 b3 of the shared network", ("start", "condition", "mode")),
        "loss": Variable("loss of the shared network", ("start", "condition")),
        "separate_strength": Variable("mode strengths of a network for one pair", ("domains", "mode")),
        "racing_share": Variable("share of the shared pathway in s", ("racing", "race_initial", "mode")),
        "racing_total": Variable("share of s learned in the race", ("racing", "race_initial", "mode")),
    }
    quick = {"domains": (2, 7), "trained": (1, 2, 7), "race_initial": (1e-3, 0.5), "records": 150}

    class Config(ExperimentConfig):
        domains: Annotated[tuple[Count, ...], Distinct] = structural(
            (2, 4, 7), min_length=1, help="domains M, one or several"
        )
        trained: Annotated[tuple[Count, ...], Distinct] = structural(
            (1, 2, 4, 7), min_length=1, help="trained outputs K of each input; K above M is left out"
        )
        initial: Product = continuous(0.2, help="product of the three layers at t = 0")
        race_domains: int = structural(4, ge=1, le=20, help="domains of the network whose pathways race")
        race_initial: Annotated[tuple[Product, ...], Distinct] = structural(
            (1e-3, 1e-2, 0.1, 0.5), min_length=1, help="products of the layers at t = 0 of each racing pathway"
        )
        until: Duration = continuous(50.0, unit="τ", help="when to stop")
        records: int = structural(300, ge=10, le=100_000, help="recordings, evenly spaced in log time")

        @field_validator("trained")
        @classmethod
        def _some_fit(cls, trained: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
            if min(trained) > max(info.data.get("domains", trained)):
                raise ValueError("hold a number not above the domains")
            return trained

        @field_validator("race_domains")
        @classmethod
        def _some_race(cls, domains: int, info: ValidationInfo) -> int:
            if min(info.data.get("trained", (1,))) > domains:
                raise ValueError("not be smaller than all numbers of trained outputs")
            return domains

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {
            "start": list(STARTS),
            "condition": [f"M = {domains}, K = {trained}" for domains, trained in conditions(config)],
            "domains": list(config.domains),
            "racing": racing(config),
            "race_initial": list(config.race_initial),
            "mode": [1, 2, 3, 4],
        }

    def simulate(self, config: Any, key: Any) -> Any:
        arms = {"alone": _alone(config), "race": _race(config)}
        later = config.until * jnp.geomspace(FIRST, 1.0, config.records)

        def rate(weights: dict[str, Any], stage: Any) -> dict[str, Any]:
            return jax.grad(lambda weights: -sum(arms[name].total(weights[name]) for name in arms))(weights)

        return fs.learning.flow_process(
            rate,
            {name: arm.weights for name, arm in arms.items()},
            jnp.concatenate([jnp.zeros(1), later]),
            lambda state: _observe(config, arms, state.parameters),
            tolerance=fs.learning.Tolerance(1e-12, 1e-14),
        )

    def theory(self, config: Any, key: Any) -> Any:
        strengths = mode_strengths()
        shared = [
            [
                fs.theory.routing.reduction(strengths, start_of(kind, config.initial, domains), domains, trained)
                for domains, trained in conditions(config)
            ]
            for kind in STARTS
        ]
        alone = separate(config)

        def curves(time: Any) -> dict[str, Any]:
            solved = [[solution(time) for solution in row] for row in shared]
            return {
                "strength": np.stack([np.stack([one["strength"] for one in row], axis=1) for row in solved], axis=1),
                "loss": np.stack([np.stack([one["loss"] for one in row], axis=1) for row in solved], axis=1),
                "separate_strength": alone(time)["product"],
            }

        return curves

    equations = (
        Equation(
            r"\tau \dot u = 3K M^{-5/3}\, u^{4/3}\, (s - u)",
            "The product u of three shared layers learns faster by K·M^(1/3) than a network of its own for every pair "
            "would.",
        ),
        Equation(
            r"u^{-1/3} - K M^{1/3}\, v^{-1/3} = \text{const}",
            "A shared pathway u and a private one v race under this law: the smaller the start, the more the shared "
            "one takes.",
        ),
    )
    presets = (
        Preset(
            "sharing is faster",
            "The more domains, and the more of them are trained, the further the shared network is ahead.",
        ),
        Preset(
            "small start",
            "From a product of 0.02 all wait longer, by the same factor.",
            {"initial": 0.02, "until": 200.0},
        ),
        Preset("large start", "From a product of 1 there is no wait.", {"initial": 1.0}),
    )

    @claims.theory(claims.below(1e-8), source=LECTURE.at("reduction and (occasionally) exact solutions"))
    def reduction(self, result: Any) -> Any:
        """A routing network of decoupled weights follows the reduction to three numbers a mode, for every number M of
        domains and K of trained outputs (largest error).
        """
        return result.errors()

    @claims.theory(claims.below(1e-8))
    def balanced(self, result: Any) -> Any:
        """From a balanced start a routing network follows τu̇ = 3K M^(−5/3) u^(4/3) (s − u), a chain of depth 3 (largest
        error for each M and K).
        """
        return balanced_errors(result)

    @claims.theory(claims.below(0.01))
    def speed_up(self, result: Any) -> Any:
        """A shared network learns faster than a network per pair by K·M^(1/3) (largest relative error over M, K and
        modes).
        """
        return np.abs(speed_ups(result) / predicted_speed_ups(result)[:, None] - 1.0).max()

    @claims.theory(claims.below(1e-6))
    def race_law(self, result: Any) -> Any:
        """What shared and private pathways end with is given by the conserved u^(−1/3) − K M^(1/3) v^(−1/3) (largest
        error of the shared pathway's share).
        """
        return race_errors(result)

    @claims.paper(LECTURE.at("race dynamics favor shared structure"), claims.above(0.9))
    def race_won(self, result: Any) -> Any:
        """Race dynamics favor shared structure: from a small start the shared pathway takes nearly all of every mode,
        for every K (its share; our threshold).
        """
        return small_start_shares(result)

    def figure(self, result: Any) -> Any:
        from festina.experiments.race._routing_figure import draw

        return draw(result)


def _alone(config: Any) -> Arm:
    """Shared networks for each kind of start and each (M, K), then a network for one pair for each M.

    All have as many domains as the largest; those beyond M are never trained, and stay what they are.
    """
    most = max(config.domains)

    def world(domains: int, pairs: Any) -> Any:
        padded = np.zeros((most, most))
        padded[: len(pairs), : len(pairs)] = pairs
        return fs.worlds.Routing(fs.worlds.routing.HIERARCHY, padded, fs.worlds.ALL_PAIRS.weight(domains, 1))

    shared = [(kind, *condition) for kind in STARTS for condition in conditions(config)]
    starts = [start_of(kind, config.initial, domains) for kind, domains, _ in shared]
    starts += [start_of("equal", config.initial, 1)] * len(config.domains)
    learned = [world(domains, fs.worlds.routing.trained_pairs(domains, trained)) for _, domains, trained in shared]
    learned += [world(domains, np.ones((1, 1))) for domains in config.domains]
    return Arm(stacked([decoupled(start, most) for start in starts]), stacked(learned))


def _race(config: Any) -> Arm:
    """Shared and private pathways in one network, from equal products: for each K, one for each start.

    The loss is averaged over trained pairs, which sets the clock and not the outcome.
    """
    domains = config.race_domains
    entries = [(trained, initial) for trained in racing(config) for initial in config.race_initial]
    weights = [
        (decoupled(start_of("balanced", initial, domains), domains), private(initial, domains))
        for _, initial in entries
    ]
    learned = [fs.worlds.Routing.of(domains, trained, normalisation=fs.worlds.TRAINED_PAIRS) for trained, _ in entries]
    return Arm(stacked(weights), stacked(learned), racing_maps)


def _observe(config: Any, arms: dict[str, Arm], weights: dict[str, Any]) -> dict[str, Any]:
    strengths, losses = arms["alone"].strengths(weights["alone"]), arms["alone"].losses(weights["alone"])
    count = len(STARTS) * len(conditions(config))
    shape = (len(STARTS), len(conditions(config)))
    grid = (len(racing(config)), len(config.race_initial), -1)
    full = jnp.asarray(mode_strengths())[None]
    shared = jax.vmap(lambda world, weights: trained_strengths(world, shared_maps(weights)))(
        arms["race"].worlds, weights["race"][0]
    )
    return {
        "strength": strengths[:count].reshape(*shape, -1),
        "loss": losses[:count].reshape(shape),
        "separate_strength": strengths[count:],
        "racing_share": (shared / full).reshape(grid),
        "racing_total": (arms["race"].strengths(weights["race"]) / full).reshape(grid),
    }
