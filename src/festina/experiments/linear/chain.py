"""A chain of scalar weights: the smallest deep network."""

import math
from typing import Annotated, Any

from pydantic import Field

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np
from festina.config import OrInfinite
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._fields import Distinct, Start, Strength
from festina.experiments._needs import needs
from festina.sources import LECTURE, SAXE_2013

Depth = Annotated[float, Field(ge=1), OrInfinite(le=1000)]
VISIBLE = 0.01  # share of the final value by which a curve visibly misses another


class Chain(Experiment):
    """Depth adds a saddle at zero to a chain of D weights, and with it a plateau before learning.

    y = w_D ⋯ w_1 x with input variance λ and input-output correlation s. From equal weights the product a obeys
    τ ȧ = D a^(2−2/D) (s − λ a): exponential for D = 1, a sigmoid for D = 2, ever later and more abrupt beyond. For
    D = ∞ the rate is divided by D, τ ȧ = a² (s − λ a), so that there is a limit. Integer depths are simulated as the
    D weights they are; other depths through the equation for a, which is all that defines them.

    The lecture's slide prints two exponents incompletely. D = 1 has exp(−t/τ) for exp(−λt/τ), and D = ∞ has −t/τ for
    −(s²/λ)t/τ. Two claims below measure how much further the printed curves miss than the
    corrected ones. With λ = 1 the first is right as it is printed, with s² = λ the second.
    """

    name = "linear/chain"
    sources = (SAXE_2013, LECTURE)
    variables = {
        "product": Variable("product of the weights a", ("depth",)),
        "loss": Variable("loss ½λ(a − s/λ)²", ("depth",)),
    }
    quick = {"records": 500}

    class Config(ExperimentConfig):
        depth: Annotated[tuple[Depth, ...], Distinct] = structural(
            (1, 2, 4, math.inf), min_length=1, help="layers D, one or several, whole or not, or `inf`"
        )
        strength: Strength = continuous(3.0, help="input-output correlation s")
        input_variance: Strength = continuous(2.0, help="input variance λ")
        initial: Start = continuous(1e-2, scale="log", help="product a₀ of the weights at t = 0")
        until: float = continuous(100.0, ge=1e-6, le=1e5, unit="τ", help="when to stop")
        records: int = structural(1000, ge=10, le=100_000, help="recordings, evenly spaced in log time")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"depth": list(config.depth)}

    def simulate(self, config: Any, key: Any) -> Any:
        target = config.strength / config.input_variance
        weights = [_start(depth, config.initial) for depth in config.depth]

        def products(weights: list[Any]) -> Any:
            return jnp.stack([jnp.prod(weight) for weight in weights])

        def losses(weights: list[Any]) -> Any:
            return 0.5 * config.input_variance * (products(weights) - target) ** 2

        def rate(weights: list[Any], stage: Any) -> list[Any]:
            downhill = jax.grad(lambda weights: -losses(weights).sum())(weights)
            return [
                slope if _has_weights(depth) else slope * _mobility(depth, weight)
                for depth, slope, weight in zip(config.depth, downhill, weights, strict=True)
            ]

        return fs.learning.flow_process(
            rate,
            weights,
            _times(config),
            lambda state: {"product": products(state.parameters), "loss": losses(state.parameters)},
        )

    def theory(self, config: Any, key: Any) -> Any:
        solutions = [
            fs.theory.chain(depth, config.strength, config.initial, input_variance=config.input_variance)
            for depth in config.depth
        ]

        def curves(time: Any) -> dict[str, Any]:
            answers = [solution(time) for solution in solutions]
            return {name: np.stack([answer[name] for answer in answers], axis=-1) for name in ("product", "loss")}

        return curves

    equations = (
        Equation(
            r"\tau\, \dot a = D\, a^{2 - 2/D}\, (s - \lambda a)",
            "The product a of D equal weights goes to s/λ; from two layers on it has no speed at zero, which is the "
            "saddle.",
        ),
        Equation(
            r"a(t) = \frac{s\, a_0}{\lambda a_0 + (s - \lambda a_0)\, e^{-2st/\tau}} \qquad (D = 2)",
            "Two layers follow a sigmoid: the wait grows as the logarithm of 1/a₀, and the jump takes as long from any "
            "start.",
        ),
        Equation(
            r"a(t) = \frac{s/\lambda}{1 + \omega(L)}, \quad L = y_0 + \ln y_0 - \frac{s^2}{\lambda} \frac{t}{\tau}, "
            r"\quad y_0 = \frac{s}{\lambda a_0} - 1 \qquad (D = \infty)",
            "With the rate divided by D there is a limit of infinite depth, solved by Wright's ω, ω + ln ω = L.",
        ),
    )
    presets = (
        Preset(
            "one to infinitely many",
            "One layer learns at once; the deeper the chain, the longer the wait before the jump.",
        ),
        Preset(
            "small start",
            "From a product of 10⁻⁴ the infinitely deep chain waits about a hundred times as long.",
            {"initial": 1e-4, "until": 1e4},
        ),
        Preset("large start", "Away from the saddle depth makes no plateau, and no chain waits.", {"initial": 0.5}),
        Preset(
            "unit statistics",
            "With s = λ = 1 the two formulas that the lecture misprints are right as they are printed.",
            {"strength": 1.0, "input_variance": 1.0, "until": 200.0},
        ),
    )

    @claims.theory(claims.below(1e-8), source=LECTURE.at("Analytic learning trajectory"))
    def exact(self, result: Any) -> Any:
        """The closed form of every depth, corrected where the lecture misprints it, is the simulated curve."""
        return _relative_errors(result)

    @claims.paper(LECTURE.at("Depth introduces stage-like transitions"), claims.below(0.2))
    def plateau(self, result: Any) -> Any:
        """A chain of two and more layers learns in a stage-like transition: (t90 − t10)/t10 is less than a fifth
        (our threshold) of that of one layer.
        """
        product = _one_run(result)
        shallow, deep = _at_depth(product, 1.0), product.sel(depth=product["depth"] >= 2)
        if not deep.sizes["depth"]:
            raise claims.NotApplicable("needs a depth of two or more")
        return _stage_indices(result, deep) / _stage_indices(result, shallow.expand_dims("depth")).item()

    @claims.theory(claims.below(0.0))
    def sharper(self, result: Any) -> Any:
        """The deeper the chain, the more stage-like its transition: (t90 − t10)/t10 falls from each depth to the
        next.
        """
        product = _one_run(result)
        if product.sizes["depth"] < 2:
            raise claims.NotApplicable("needs two depths at least")
        indices = _stage_indices(result, product)
        _require_resolved(result, indices)
        return indices.diff("depth")

    @claims.misprint(LECTURE.at("Analytic learning trajectory, D = 1"), claims.above(VISIBLE))
    def misprint_shallow(self, result: Any) -> Any:
        """The printed formula of D = 1, without λ in its exponent, misses the simulation by a visible share of s/λ
        (ours: 1 %) more than the corrected one does.
        """
        return _misprint(result, 1.0, result.config.input_variance, _printed_shallow)

    @claims.misprint(LECTURE.at("Analytic learning trajectory, D → ∞"), claims.above(VISIBLE))
    def misprint_infinite(self, result: Any) -> Any:
        """The printed formula of D = ∞, without s²/λ in its exponent, misses the simulation by a visible share of
        s/λ (ours: 1 %) more than the corrected one does.
        """
        rate = result.config.strength**2 / result.config.input_variance
        return _misprint(result, math.inf, rate, _printed_infinite)

    def figure(self, result: Any) -> Any:
        from festina.experiments.linear._chain_figure import draw

        return draw(result)


def _times(config: Any) -> Any:
    """Zero, then evenly spaced in log time, from where one layer, which is as fast as λ, has hardly begun."""
    first = jnp.minimum(1e-4, 0.02 / (config.input_variance * config.until))
    shares = jnp.exp(jnp.linspace(jnp.log(first), 0.0, config.records))
    return jnp.concatenate([jnp.zeros(1), config.until * shares])


def _has_weights(depth: float) -> bool:
    return math.isfinite(depth) and float(depth).is_integer()


def _start(depth: float, initial: Any) -> Any:
    """Equal weights whose product is ``initial``; the product itself where there is no whole number of weights."""
    if _has_weights(depth):
        return jnp.full((int(depth),), 1.0) * initial ** (1.0 / depth)
    return jnp.ones((1,)) * initial


def _mobility(depth: float, product: Any) -> Any:
    """How fast the product follows its own gradient: D a^(2−2/D), or a² at infinite depth."""
    return product**2 if math.isinf(depth) else depth * product ** (2.0 - 2.0 / depth)


def final_of(result: Any) -> float:
    return result.config.strength / result.config.input_variance


def _relative_errors(result: Any) -> Any:
    """Largest |simulation − theory| of each depth, relative to the largest value that is passed."""
    gap = abs(result["product"] - result.theory["product"]).max(["run", "time"], skipna=False)
    return gap / max(final_of(result), result.config.initial)


def _one_run(result: Any) -> Any:
    """The curves, in the order of depth; there is no chance in them, so that one run is like any other."""
    return result["product"].isel(run=0).sortby("depth").transpose("depth", "time")


def _at_depth(curves: Any, depth: float) -> Any:
    if depth not in curves["depth"]:
        raise claims.NotApplicable(f"needs the depth {_named(depth)} among the depths")
    return curves.sel(depth=depth)


def _named(depth: float) -> str:
    return "inf" if math.isinf(depth) else f"{depth:g}"


def _time_to_reach(config: Any, depth: float, share: float) -> float:
    """When theory has the product at a share of its final value."""
    statistics = {"input_variance": config.input_variance}
    return float(fs.theory.time_to_reach(depth, config.strength, config.initial, share, **statistics))


def _stage_indices(result: Any, product: Any) -> Any:
    """Measured (t90 − t10)/t10 of each depth."""
    config, depths, final = result.config, product["depth"].values, final_of(result)
    if config.initial >= 0.1 * final:
        raise claims.NotApplicable("needs a start below a tenth of the final value s/λ")
    late = {depth: _time_to_reach(config, depth, 0.9) for depth in depths[product.isel(time=-1).values < 0.9 * final]}
    if late:
        waiting = ", ".join(f"D = {_named(depth)}" for depth in late)
        raise claims.Undecided(f"90 % not reached at {waiting}: {needs(config, 'until', max(late.values()))}")
    indices = fs.measures.stage_index(product["time"].values, product.values, np.full(len(depths), final))
    return product.isel(time=-1, drop=True).copy(data=indices)


def _require_resolved(result: Any, indices: Any) -> None:
    """Jumps that are shorter than the time between two recordings cannot be compared with each other."""
    config, time = result.config, result["time"].values[1:]
    apart = math.log(time[-1] / time[0]) / (len(time) - 1)  # recordings are evenly spaced in the logarithm of time
    for depth, index, gap in zip(indices["depth"].values[1:], indices.values[1:], np.diff(indices), strict=True):
        if index < 3.0 * apart and abs(gap) < 2.0 * apart:
            early, late = (_time_to_reach(config, depth, share) for share in (0.1, 0.9))
            needed = 3.0 * math.log(time[-1] / time[0]) / math.log(late / early)
            raise claims.Undecided(f"D = {_named(depth)} jumps between recordings: {needs(config, 'records', needed)}")


def _misprint(result: Any, depth: float, rate: float, printed: Any) -> Any:
    """By how much more than the corrected curve the printed one misses the simulation, as a share of s/λ.

    Both curves are one and the same function, of the time and of ``rate`` times the time.
    """
    config, final = result.config, final_of(result)
    simulated = _at_depth(result["product"].isel(run=0), depth)
    if rate == 1.0:
        raise claims.NotApplicable("needs other statistics: with these the print is right")
    as_printed = printed(config, simulated["time"].values)
    corrected = _at_depth(result.theory["product"].isel(run=0), depth).values
    if np.max(np.abs(as_printed - corrected)) <= VISIBLE * final:
        arrival = min(rate, 1.0) * _time_to_reach(config, depth, 0.9)  # of the faster of the two
        if config.until < arrival:
            raise claims.Undecided(f"D = {_named(depth)} has hardly moved: {needs(config, 'until', arrival)}")
        raise claims.NotApplicable(
            "needs other statistics, or another start: with these the printed formula is right but for 1 %"
        )
    missed, left = (np.max(np.abs(simulated.values - curve)) / final for curve in (as_printed, corrected))
    return missed - left


def _printed_shallow(config: Any, time: Any) -> Any:
    decay = np.exp(-time)
    return config.strength / config.input_variance * (1 - decay) + config.initial * decay


def _printed_infinite(config: Any, time: Any) -> Any:
    from scipy.special import lambertw, wrightomega

    start = config.strength / (config.input_variance * config.initial) - 1.0
    if start <= 0:
        return config.strength / config.input_variance / (1.0 + lambertw(start * np.exp(start - time)).real)
    # ω(L) is W(e^L), and does not overflow.
    return config.strength / config.input_variance / (1.0 + wrightomega(start + np.log(start) - time).real)
