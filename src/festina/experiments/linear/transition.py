"""From sigmoidal to exponential learning as two layers become unequal."""

from math import log
from typing import Annotated, Any

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, xr
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._fields import Distinct, Imbalance, LogDuration, Share, Start, Strength
from festina.experiments._needs import needs
from festina.experiments.linear._regimes_networks import draw_arm, loss_of, maps_of, split
from festina.sources import DOMINE_2025, LECTURE

FIRST = 1e-4  # time of the first recording after the start
LARGE = 10.0  # an imbalance is large from this multiple of the strength on
EARLY, LATE = 0.1, 0.9
EXPONENTIAL = log(1 / (1 - EARLY)) / log(1 / (1 - LATE))  # t10/t90 = .0458 of 1 − e^(−t)


class Transition(Experiment):
    """Balanced layers wait and then jump; the more unequal they are, the more learning is a plain exponential.

    Two weights a = w₂w₁ learn s from white inputs. Gradient flow conserves λ = w₂² − w₁² and turns into one equation,
    τȧ = √(λ² + 4a²)(s − a), solved by `festina.theory.imbalanced`. At λ = 0 it is the sigmoid τȧ = 2a(s − a), which
    spends most of its time near the saddle at a = 0; for |λ| ≫ 2s it is τȧ = |λ|(s − a), whose rate depends neither on
    a nor on s. The ratio t10/t90 of the times at which a tenth and nine tenths are learned tells the two apart: .517 at
    λ = 0 (with s = 1, a₀ = 10⁻³; it goes to 1 with a₀), ln(10/9)/ln(10) = .0458 for an exponential from zero.

    The same holds for a whole network with W₂ᵀW₂ − W₁W₁ᵀ = λI and a random initial map of size a₀, for which theory is
    the exact solution of `festina.theory.balanced`: at λ = 0 each mode of the task is learned in a stage of its own,
    strong ones first, while at large |λ| all are learned at the same time, at the rate |λ|.
    """

    name = "linear/transition"
    sources = (DOMINE_2025, LECTURE)
    variables = {
        "product": Variable("product of the two weights a", ("imbalance",)),
        "loss": Variable("loss ½(a − s)²", ("imbalance",)),
        "learned": Variable("share of each mode learned by the network", ("imbalance", "mode")),
        "network_loss": Variable("loss ½|S − W₂W₁|² of the network", ("imbalance",)),
    }
    seeds = 5
    quick = {"seeds": 2, "records": 400}

    class Config(ExperimentConfig):
        imbalance: Annotated[tuple[Imbalance, ...], Distinct] = structural(
            (0.0, 0.01, 0.1, 1.0, 10.0, 100.0), min_length=1, help="imbalances λ of the layers, one or several"
        )
        strength: Strength = continuous(1.0, help="input-output correlation s; the network's strongest mode")
        weakest: Share = continuous(0.4, help="the network's weakest mode, as a share of the strongest")
        initial: Start = continuous(
            1e-3, scale="log", help="product of the weights at t = 0; s.d. of the network's map"
        )
        modes: int = structural(3, ge=1, le=64, help="inputs, hidden units and outputs of the network")
        until: LogDuration = continuous(40.0, unit="τ", help="when to stop")
        records: int = structural(800, ge=10, le=100_000, help="recordings, evenly spaced in log time")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"imbalance": list(config.imbalance), "mode": list(range(1, config.modes + 1))}

    def simulate(self, config: Any, key: Any) -> Any:
        chain = split(config.initial * jnp.ones(len(config.imbalance)), jnp.asarray(config.imbalance))
        task, network = _draw(config, key)
        directions = _directions(task)

        def losses(parameters: Any) -> tuple[Any, Any]:
            (first, second), network = parameters
            return 0.5 * (first * second - config.strength) ** 2, loss_of(task, maps_of(network))

        def rate(parameters: Any, stage: Any) -> Any:
            return jax.grad(lambda parameters: -sum(loss.sum() for loss in losses(parameters)))(parameters)

        def observe(state: Any) -> dict[str, Any]:
            (first, second), network = state.parameters
            loss, network_loss = losses(state.parameters)
            learned = _learned(directions, maps_of(network))
            return {"product": first * second, "loss": loss, "learned": learned, "network_loss": network_loss}

        later = jnp.exp(jnp.linspace(log(FIRST), jnp.log(config.until), config.records))
        return fs.learning.flow_process(rate, (chain, network), jnp.concatenate([jnp.zeros(1), later]), observe)

    def theory(self, config: Any, key: Any) -> Any:
        from festina.precision import to_numpy
        from festina.theory.balanced import balanced

        chain = fs.theory.imbalanced(config.strength, config.initial, np.asarray(config.imbalance))
        task, network = to_numpy(jax.jit(_draw, static_argnums=0)(config, key))
        solutions = [balanced(first, second, task) for first, second in zip(*network.weights, strict=True)]

        def curves(time: Any) -> dict[str, Any]:
            maps = np.stack([solution(time)["map"] for solution in solutions], axis=1)
            learned = _learned(np.asarray(_directions(task)), maps)
            return {**chain(time), "learned": learned, "network_loss": loss_of(task, maps)}

        return curves

    equations = (
        Equation(
            r"\tau \dot a = \sqrt{\lambda^2 + 4a^2}\; (s - a), \qquad \lambda = w_2^2 - w_1^2",
            "The product a of two weights has a saddle at zero if they are equal, and a constant rate if they are very "
            "unequal.",
        ),
        Equation(
            r"p(t) = \frac{p_+ (p_0 - p_-) - p_- (p_0 - p_+)\, E}{(p_0 - p_-) - (p_0 - p_+)\, E}, "
            r"\qquad a = \tfrac12 \Bigl(p - \frac{\lambda^2}{4p}\Bigr)",
            "This solves it for every λ, with r = √(s² + λ²/4), p± = s ± r and E = exp(−2rt/τ).",
        ),
    )
    presets = (
        Preset(
            "sigmoid to exponential", "Balanced layers wait and jump; from λ = 10 on learning is a plain exponential."
        ),
        Preset(
            "small start",
            "A start of 10⁻⁶ makes balanced layers wait twice as long; very unequal ones do not care.",
            {"initial": 1e-6},
        ),
        Preset("large start", "From a start of 0.05 little is left of the wait.", {"initial": 0.05}),
        Preset(
            "equal modes",
            "With equal modes a balanced network learns all of them at about the same time.",
            {"weakest": 1.0},
        ),
    )

    @claims.theory(claims.below(1e-8), source=DOMINE_2025)
    def exact(self, result: Any) -> Any:
        """The product of two weights, and the loss, follow the closed form for every imbalance λ."""
        return result.errors("product", "loss")

    @claims.theory(claims.below(1e-8), source=LECTURE.at("Partitioned solution"))
    def exact_network(self, result: Any) -> Any:
        """The modes of a λ-balanced network, and its loss, follow the exact solution for every λ."""
        return result.errors("learned", "network_loss")

    @claims.paper(LECTURE.at("From exponential to sigmoidal dynamics"), claims.above(5.0))
    def sigmoid(self, result: Any) -> Any:
        """At λ = 0 learning is sigmoidal, it waits and jumps: t10/t90 is more than five times (our threshold) that of
        an exponential from the same start.
        """
        return _ratio_at(result, _balanced(result)) / exponential_ratio(result.config)

    @claims.paper(LECTURE.at("From exponential to sigmoidal dynamics"), claims.near(1.0, 0.02))
    def exponential(self, result: Any) -> Any:
        """At the largest |λ| learning is exponential: t10/t90 is that of an exponential from the same start (ratio;
        the tolerance is ours).
        """
        return _ratio_at(result, _largest(result)) / exponential_ratio(result.config)

    @claims.theory(claims.below(0.0))
    def gradual(self, result: Any) -> Any:
        """From sigmoidal to exponential there is no threshold: every increase of |λ| lowers t10/t90 (its steps)."""
        sizes, found = ratios(result)
        _require_learned(result, np.abs(result.config.imbalance))
        if len(sizes) < 2:
            raise claims.NotApplicable("needs imbalances of two sizes at least")
        return xr.DataArray(np.diff(found), dims="step")

    @claims.theory(claims.above(1.5))
    def one_after_another(self, result: Any) -> Any:
        """At λ = 0 a network learns its strong modes before its weak ones: half of the weakest takes 1.5 times as long
        as half of the strongest.
        """
        if result.config.weakest > 0.5:
            raise claims.NotApplicable("needs a weakest mode of at most half the strongest")
        return half_time_ratios(result, _balanced(result))

    @claims.theory(claims.near(1.0, 0.02))
    def together(self, result: Any) -> Any:
        """At the largest |λ| a network learns all modes at the same time: half of the weakest when half of the
        strongest (ratio).
        """
        return half_time_ratios(result, _largest(result))

    def figure(self, result: Any) -> Any:
        from festina.experiments.linear._transition_figure import draw

        return draw(result)


def _draw(config: Any, key: Any) -> tuple[Any, Any]:
    """A task with evenly spaced singular values, and one square network for every imbalance."""
    drawn = jax.random.normal(key, (2, config.modes, config.modes))
    target = config.strength * jnp.linspace(1.0, config.weakest, config.modes)
    return draw_arm(drawn, target, config.initial, jnp.asarray(config.imbalance))


def _directions(task: Any) -> Any:
    """u_k v_kᵀ/s_k of each mode, strongest first."""
    left, strength, right = jnp.linalg.svd(task)
    return jnp.einsum("ok,ki->koi", left / strength[None, :], right)


def _learned(directions: Any, mapping: Any) -> Any:
    """u_kᵀ W₂W₁ v_k / s_k."""
    return jnp.einsum("koi,...oi->...k", directions, mapping)


def level_time(config: Any, imbalance: Any, level: float) -> Any:
    """When a(t) = level·s: the closed form p(t) of `festina.theory.imbalanced`, solved for t.

    t = ln[(p − p₋)(p₊ − p₀)/((p₀ − p₋)(p₊ − p))]/2R with p = a + √(a² + λ²/4), p± = s ± R, R = √(s² + λ²/4).
    """
    strength, half = config.strength, np.asarray(imbalance) / 2
    root = np.hypot(strength, half)
    begin, then = (a + np.hypot(a, half) for a in (config.initial, level * strength))
    grown = (then - (strength - root)) / (begin - (strength - root))
    return np.log(grown * (strength + root - begin) / (strength + root - then)) / (2 * root)


def exponential_ratio(config: Any) -> float:
    """t10/t90 of an exponential that starts where the two weights do; .0458 if that is zero."""
    left = 1.0 - config.initial / config.strength
    return log(left / (1.0 - EARLY)) / log(left / (1.0 - LATE))


def ratios(result: Any) -> tuple[Any, Any]:
    """|λ|, rising, and the measured t10/t90 of the two weights; those that never get there are left out."""
    product = result["product"].isel(run=0).transpose("imbalance", "time").values / result.config.strength
    early, late = (fs.measures.crossing_time(result["time"].values, product, level) for level in (EARLY, LATE))
    size, first = np.unique(np.abs(result["imbalance"].values), return_index=True)
    ratio = (early / late)[first]
    return size[np.isfinite(ratio)], ratio[np.isfinite(ratio)]


def _require_learned(result: Any, wanted: Any) -> None:
    """Whether the two weights with |λ| as wanted began below a tenth, and got to nine tenths."""
    config = result.config
    if config.initial >= EARLY * config.strength:
        raise claims.NotApplicable("needs a start below a tenth of the strength")
    missing = sorted(set(wanted) - set(ratios(result)[0]))
    if missing:
        needed = max(float(level_time(config, size, LATE)) for size in missing)
        raise claims.Undecided(f"|λ| = {missing[0]:g} not learned to 90 %: {needs(config, 'until', needed)}")


def _ratio_at(result: Any, imbalance: float) -> Any:
    _require_learned(result, [abs(imbalance)])
    size, ratio = ratios(result)
    return ratio[size == abs(imbalance)]


def half_time_ratios(result: Any, imbalance: float) -> Any:
    """t½ of the weakest mode over that of the strongest, for each run."""
    config = result.config
    if config.modes < 2:
        raise claims.NotApplicable("needs two modes at least")
    learned = result["learned"].sel(imbalance=imbalance).isel(mode=[0, -1]).transpose("run", "mode", "time")
    if bool((learned.isel(time=-1) < 0.5).any()):
        weakest = config.weakest * config.strength
        rate = 2.0 * float(np.hypot(weakest, imbalance / 2.0))
        needed = log(max(100.0 * weakest / config.initial, 2.0)) / rate  # with a mode that begins at a hundredth of a₀
        raise claims.Undecided(f"modes at λ = {imbalance:g} not learned to a half: {needs(config, 'until', needed)}")
    halves = fs.measures.crossing_time(result["time"].values, learned.values, 0.5)
    return learned.isel(time=0, mode=0, drop=True).copy(data=halves[:, 1] / halves[:, 0])


def _balanced(result: Any) -> float:
    if 0.0 not in result.config.imbalance:
        raise claims.NotApplicable("needs λ = 0 among the imbalances")
    return 0.0


def _largest(result: Any) -> float:
    largest = max(result.config.imbalance, key=abs)
    if abs(largest) < LARGE * result.config.strength:
        raise claims.NotApplicable("needs an imbalance of at least ten times the strength")
    return largest
