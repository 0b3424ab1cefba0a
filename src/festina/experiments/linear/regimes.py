"""Lazy, rich and delayed rich learning: what the imbalance of two layers and the shape of a network decide."""

from math import log
from typing import Annotated, Any

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._fields import Distinct, Imbalance, LogDuration, Start, Strength
from festina.experiments.linear._regimes_measures import (
    RUNS,
    at_end,
    fast_times,
    large_arms,
    lazy_similarities,
    leaving_times,
    plateau_errors,
    simulated,
)
from festina.experiments.linear._regimes_networks import (
    ARCHITECTURES,
    compare_grams,
    draw_arms,
    exact,
    grams_of,
    loss_of,
    maps_of,
    rotation,
)
from festina.sources import BRAUN_2022, DOMINE_2025, LECTURE

FIRST = 1e-3  # time of the first recording after the start
TENTH = log(10.0) / 2.0  # |λ|t at which e^(−2|λ|t) is a tenth
SIMULATED = "a separate simulation of the same equations, means of ten runs"
STANDARD_ERROR = (2.0 / RUNS) ** 0.5  # of a difference of two means of ten, in standard deviations of a run


def _like(distance: float, deviation: float) -> dict[str, Any]:
    """What is expected of a distance whose standard deviation over runs is known.

    By chance two means of ten runs may differ by three standard errors of their difference. Twice as much is
    qualitatively so.
    """
    chance = 3.0 * STANDARD_ERROR * deviation
    return {"expect": claims.near(distance, chance), "loosely": claims.near(distance, 2.0 * chance), "budget": "full"}


class Regimes(Experiment):
    """Unequal layers learn lazily, unless the wide side of the network holds the large weights: then late, but richly.

    y = W₂W₁x learns S = U s Vᵀ from white inputs, τẆ₁ = W₂ᵀ(S − W₂W₁), τẆ₂ = (S − W₂W₁)W₁ᵀ, from weights with
    W₂ᵀW₂ − W₁W₁ᵀ = λI, which the flow conserves. The hidden layer is as wide as the narrower end of the network. The
    initial map is normal with standard deviation `scale`; its singular value α is split into d₁d₂ = α, d₂² − d₁² = λ.
    Theory is the exact solution of `festina.theory.balanced`. The tangent kernel K = I ⊗ W₁ᵀW₁ + W₂W₂ᵀ ⊗ I
    says how rich learning was: `distance` 1 − cos(K₀, K) is its change of direction, `movement` |K − K₀|/|K₀| that of
    direction and size. Both are needed: a square network at λ = 0 turns little, but its kernel grows manyfold.

    λ = 0 is rich. Large |λ| is lazy, except if (No − Ni)·λ > 0, where the larger of the two layers sees only a part of
    the wide side of the network. Learning within that part takes t = 1.15/|λ| (to a tenth) and ends on a plateau,
    ½|S − S W₁⁺W₁|² in a funnel and ½|S − W₂W₂⁺S|² in an anti-funnel. Then the visible part turns towards S, each
    mode at the rate √(s² + λ²/4) − |λ|/2 ≈ s²/|λ|: with visible part span Q₀ at the start it is span e^(Rt) Q₀, where
    R has these rates (`rotation` is the loss this leaves). That is Oja's rule for principal subspaces. In the end the
    kernel has turned by the distance of two random subspaces, on average 1 − Nh/max(Ni, No).

    In a square network with λ = 0 the map keeps the sign of its determinant; tasks are drawn with that sign, because
    with the other one learning ends at a saddle.

    Which networks are rich, lazy and delayed rich is the sources' statement. The five distances that claims name are
    not: they are means of ten runs of a separate simulation of the same equations.
    """

    name = "linear/regimes"
    sources = (DOMINE_2025, BRAUN_2022, LECTURE)
    variables = {
        "loss": Variable("loss ½|S − W₂W₁|²", ("architecture", "imbalance")),
        "distance": Variable("distance of the tangent kernel from its start", ("architecture", "imbalance")),
        "movement": Variable("movement of the tangent kernel", ("architecture", "imbalance")),
        "first_similarity": Variable("similarity of W₁ᵀW₁ and SᵀS", ("architecture", "imbalance")),
        "second_similarity": Variable("similarity of W₂W₂ᵀ and SSᵀ", ("architecture", "imbalance")),
        "rotation": Variable("loss that remains while the visible part turns", ("architecture", "imbalance")),
    }
    seeds = 10
    quick = {"seeds": 4, "records": 120, "until": 120.0, "imbalance": (-20.0, -5.0, 0.0, 5.0, 20.0)}

    class Config(ExperimentConfig):
        imbalance: Annotated[tuple[Imbalance, ...], Distinct] = structural(
            (-50.0, -5.0, 0.0, 5.0, 50.0), min_length=1, help="imbalances λ of the layers, one or several"
        )
        wide: int = structural(8, ge=2, le=64, help="inputs of the funnel, outputs of the anti-funnel")
        narrow: int = structural(
            4, ge=1, le=64, help="outputs of the funnel, inputs of the anti-funnel, hidden units of both"
        )
        square: int = structural(5, ge=1, le=64, help="inputs, hidden units and outputs of the square network")
        weakest: Strength = continuous(1.0, help="smallest singular value s of the task")
        strongest: Strength = continuous(2.0, help="largest singular value s; the others lie evenly between")
        scale: Start = continuous(0.1, scale="log", help="standard deviation of the initial map W₂W₁")
        until: LogDuration = continuous(300.0, unit="τ", help="when to stop")
        records: int = structural(200, ge=10, le=100_000, help="recordings, evenly spaced in log time")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"architecture": list(ARCHITECTURES), "imbalance": list(config.imbalance)}

    def simulate(self, config: Any, key: Any) -> Any:
        import diffrax

        arms = draw_arms(config, key)
        tasks = {name: task for name, (task, _) in arms.items()}
        networks = {name: network for name, (_, network) in arms.items()}
        starts = {name: grams_of(network) for name, network in networks.items()}

        def losses(networks: Any) -> dict[str, Any]:
            return {name: loss_of(tasks[name], maps_of(network)) for name, network in networks.items()}

        def rate(networks: Any, stage: Any) -> Any:
            return jax.grad(lambda networks: -sum(loss.sum() for loss in losses(networks).values()))(networks)

        def observe(state: Any) -> dict[str, Any]:
            loss = losses(state.parameters)
            seen = [
                {"loss": loss[name], **compare_grams(tasks[name], starts[name], grams_of(state.parameters[name]))}
                for name in ARCHITECTURES
            ]
            return jax.tree.map(lambda *values: jnp.stack(values), *seen)

        later = jnp.exp(jnp.linspace(log(FIRST), jnp.log(config.until), config.records))
        times = jnp.concatenate([jnp.zeros(1), later])
        tolerance = fs.learning.Tolerance(relative=1e-9, absolute=1e-11)
        return fs.learning.flow_process(rate, networks, times, observe, None, tolerance, diffrax.Tsit5())

    def theory(self, config: Any, key: Any) -> Any:
        from festina.precision import to_numpy

        arms, compare = to_numpy(jax.jit(draw_arms, static_argnums=0)(config, key)), jax.jit(compare_grams)

        def curves(time: Any) -> dict[str, Any]:
            found = []
            for task, network in (arms[name] for name in ARCHITECTURES):
                loss, grams = exact(task, network, time)
                seen = compare(task, grams_of(network), grams)
                found.append({"loss": loss, "rotation": rotation(config, task, network, time), **seen})
            return {name: np.stack([answer[name] for answer in found], axis=1) for name in found[0]}

        return curves

    equations = (
        Equation(
            r"\tau \frac{d}{dt} QQ^\top = F QQ^\top + QQ^\top F - (QQ^\top)^2, \quad "
            r"Q = \begin{pmatrix} W_1^\top \\ W_2 \end{pmatrix}, \quad "
            r"F = \begin{pmatrix} -\frac{\lambda}{2} I & S^\top \\ S & \frac{\lambda}{2} I \end{pmatrix}",
            "Stacked on each other, layers with W₂ᵀW₂ − W₁W₁ᵀ = λI obey a Riccati equation, which is solved exactly.",
        ),
        Equation(
            r"\tau r = \sqrt{s^2 + \lambda^2/4} - |\lambda|/2 \approx s^2/|\lambda|",
            "Where the wide side holds the large weights, mode s leaves the plateau at this slow rate r, by rotation.",
        ),
    )
    presets = (
        Preset(
            "three networks",
            "Learning is rich at λ = 0, late but rich where the wide side holds large weights, and lazy at other large "
            "|λ|.",
        ),
        Preset(
            "small start",
            "The smaller the initial map, the longer λ = 0 waits; lazy networks do not care.",
            {"scale": 0.01},
        ),
    )

    @claims.theory(claims.below(1e-8), source=LECTURE.at("Partitioned solution"))
    def exact(self, result: Any) -> Any:
        """Loss, tangent kernel and representations follow the exact solution in every network, for every λ."""
        return result.errors()

    @claims.paper(LECTURE.at("Architecture and learning regime"), claims.below(0.005))
    def lazy(self, result: Any) -> Any:
        """Learning is lazy with large |λ| and (No − Ni)·λ ≤ 0: the tangent kernel keeps its direction, up to a cosine
        distance of .005 (our threshold).
        """
        return at_end(result, "distance", large_arms(result, delayed=False))

    @claims.paper(LECTURE.at("Architecture and learning regime"), claims.below(0.02))
    def lazy_movement(self, result: Any) -> Any:
        """Learning is lazy with large |λ| and (No − Ni)·λ ≤ 0: the tangent kernel moves by less than 2 % of its norm
        (our threshold).
        """
        return at_end(result, "movement", large_arms(result, delayed=False))

    @claims.reference(SIMULATED, **_like(0.116, 0.04))
    def rich_square(self, result: Any) -> Any:
        """With λ = 0 the tangent kernel of the square network 5-5-5 ends at a cosine distance of .116 from its
        start.
        """
        return at_end(simulated(result), "distance", [("square", 0.0)])

    @claims.reference(SIMULATED, **_like(0.184, 0.04))
    def rich_funnel(self, result: Any) -> Any:
        """With λ = 0 the tangent kernel of the funnel 8-4-4 ends at a cosine distance of .184 from its start."""
        return at_end(simulated(result), "distance", [("funnel", 0.0)])

    @claims.reference(SIMULATED, **_like(0.176, 0.04))
    def rich_anti_funnel(self, result: Any) -> Any:
        """With λ = 0 the tangent kernel of the anti-funnel 4-4-8 ends at a cosine distance of .176 from its start."""
        return at_end(simulated(result), "distance", [("anti-funnel", 0.0)])

    @claims.reference(SIMULATED, **_like(0.501, 0.08))
    def delayed_funnel(self, result: Any) -> Any:
        """With λ = −50 the tangent kernel of the funnel 8-4-4 ends far from its start, at a cosine distance of
        .501.
        """
        return at_end(simulated(result), "distance", [("funnel", -50.0)])

    @claims.reference(SIMULATED, **_like(0.564, 0.08))
    def delayed_anti_funnel(self, result: Any) -> Any:
        """With λ = 50 the tangent kernel of the anti-funnel 4-4-8 ends far from its start, at a cosine distance of
        .564.
        """
        return at_end(simulated(result), "distance", [("anti-funnel", 50.0)])

    @claims.paper(LECTURE.at("Delayed rich regime"), claims.above(0.2))
    def delayed_rich(self, result: Any) -> Any:
        """Learning is rich in the end with large |λ| and (No − Ni)·λ > 0: the tangent kernel turns by a cosine
        distance of more than .2 (our threshold) in the mean over runs.
        """
        return at_end(result, "distance", large_arms(result, delayed=True)).mean("run")

    @claims.paper(LECTURE.at("Rich and lazy learning"), claims.above(2.0))
    def rich_movement(self, result: Any) -> Any:
        """Learning is rich at λ = 0 from a small start: every tangent kernel moves by more than twice its first norm
        (our threshold).
        """
        if result.config.scale > 0.1 * result.config.weakest:
            raise claims.NotApplicable("needs a start of at most a tenth of the weakest mode")
        return at_end(result, "movement", [(name, 0.0) for name in ARCHITECTURES])

    @claims.theory(claims.near(TENTH, 0.1))
    def fast_phase(self, result: Any) -> Any:
        """Delayed rich learning begins lazily and fast: what can be learned without turning is, but for a tenth, at
        |λ|t = 1.15.
        """
        return fast_times(result)

    @claims.theory(claims.below(0.05))
    def plateau(self, result: Any) -> Any:
        """The fast phase of delayed rich learning ends at the loss of the directions that the large layer cannot see
        (relative error at t = 4/|λ|).
        """
        return plateau_errors(result)

    @claims.theory(claims.below(0.05))
    def rotation(self, result: Any) -> Any:
        """In the delayed rich regime the plateau is left by rotation at rate √(s² + λ²/4) − |λ|/2 (relative error of
        the time to halve it).
        """
        return abs(leaving_times(result, "loss") / leaving_times(result, "rotation") - 1.0)

    @claims.theory(claims.above(0.99))
    def small_layer(self, result: Any) -> Any:
        """Even in a lazy network the layer with the small weights comes to represent the task (similarity of its
        representation and the task's).
        """
        return lazy_similarities(result)[0]

    @claims.theory(claims.below(0.01))
    def large_layer(self, result: Any) -> Any:
        """In a lazy network the representation of the layer with the large weights stays as similar to the task's as
        it was (change of the similarity).
        """
        return lazy_similarities(result)[1]

    def figure(self, result: Any) -> Any:
        from festina.experiments.linear._regimes_figure import draw

        return draw(result)
