"""A chain of scalar weights: the smallest deep network."""

import math
from typing import Annotated, Any

from pydantic import Field

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, plt
from festina.config import OrInfinite
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._fields import Start, Strength
from festina.sources import LECTURE, SAXE_2013

Depth = Annotated[float, Field(ge=1), OrInfinite(le=1000)]
LINES = ("-", (0, (5, 1)), (0, (4, 1, 1, 1)), (0, (2, 1)))


class Chain(Experiment):
    """Depth adds a saddle at zero to a chain of D weights, and with it a plateau before learning.

    y = w_D ⋯ w_1 x with input variance λ and input-output correlation s. From equal weights the product a obeys
    τ ȧ = D a^(2−2/D) (s − λ a): exponential for D = 1, a sigmoid for D = 2, ever later and more abrupt beyond. For
    D = ∞ the rate is divided by D, τ ȧ = a² (s − λ a), so that there is a limit. Integer depths are simulated as the
    D weights they are; other depths through the equation for a, which is all that defines them.

    The lecture's slide prints two exponents incompletely. D = 1 has exp(−t/τ) for exp(−λt/τ), and D = ∞ has −t/τ for
    −(s²/λ)t/τ. Both claims below measure by how much the printed curves miss.
    """

    name = "linear/chain"
    sources = (SAXE_2013, LECTURE)
    variables = {
        "product": Variable("product of the weights a", ("depth",)),
        "loss": Variable("loss ½λ(a − s/λ)²", ("depth",)),
    }
    quick = {"records": 500}

    class Config(ExperimentConfig):
        depth: tuple[Depth, ...] = structural(
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
            jnp.concatenate([jnp.zeros(1), config.until * jnp.geomspace(1e-4, 1.0, config.records)]),
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

    @claims.paper(LECTURE.at("analytic learning trajectory"), claims.below(1e-8))
    def exact(self, result: Any) -> Any:
        """The closed form of every depth (corrected where misprinted) is the simulated curve."""
        return _relative_errors(result)

    @claims.paper(LECTURE.at("depth introduces a saddle point"), claims.below(0.2))
    def plateau(self, result: Any) -> Any:
        """A deep chain waits and then jumps: (t90 − t10)/t10 is a small share of the shallow chain's."""
        return _stage_indices(result)[1:] / _stage_indices(result, needs=1.0)[0].item()

    @claims.theory(claims.below(0.0), source=SAXE_2013)
    def sharper(self, result: Any) -> Any:
        """The deeper the chain, the more abrupt its transition: the stage index falls with depth."""
        return _stage_indices(result).diff("depth")

    @claims.misprint(LECTURE.at("D = 1"), claims.above(0.01))
    def misprint_shallow(self, result: Any) -> Any:
        """As printed, without λ in the exponent, the D = 1 curve misses the simulation visibly."""
        return _misprint(result, 1.0, _printed_shallow)

    @claims.misprint(LECTURE.at("D → ∞"), claims.above(0.01))
    def misprint_infinite(self, result: Any) -> Any:
        """As printed, without s²/λ in the exponent, the D = ∞ curve misses the simulation visibly."""
        return _misprint(result, math.inf, _printed_infinite)

    def figure(self, result: Any) -> Any:
        with fs.lab.style.style():
            figure, (curves, aligned, surface) = plt.subplots(1, 3, figsize=(7.2, 2.5), width_ratios=(1.15, 1, 1))
            _draw_curves(curves, result)
            _draw_aligned(aligned, result)
            _draw_surface(surface, result)
            fs.lab.style.letter(curves, aligned, surface)
        return figure


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


def _final(result: Any) -> float:
    return result.config.strength / result.config.input_variance


def _relative_errors(result: Any) -> Any:
    """Largest |simulation − theory| of each depth, relative to the final value."""
    return abs(result["product"] - result.theory["product"]).max(["run", "time"], skipna=False) / _final(result)


def _stage_indices(result: Any, needs: float | None = None) -> Any:
    """Measured (t90 − t10)/t10 of each depth, in the order of depth."""
    product = result["product"].isel(run=0).sortby("depth").transpose("depth", "time")
    if needs is not None:
        _at_depth(product, needs)
    finals = np.full(product.sizes["depth"], _final(result))
    return product.isel(time=-1, drop=True).copy(
        data=fs.measures.stage_index(product["time"].values, product.values, finals)
    )


def _at_depth(curves: Any, depth: float) -> Any:
    if depth not in curves["depth"]:
        raise claims.NotApplicable(f"needs the depth {depth:g} among the depths")
    return curves.sel(depth=depth)


def _misprint(result: Any, depth: float, printed: Any) -> Any:
    simulated = _at_depth(result["product"].isel(run=0), depth)
    return np.max(np.abs(simulated.values - printed(result.config, simulated["time"].values))) / _final(result)


def _printed_shallow(config: Any, time: Any) -> Any:
    decay = np.exp(-time)
    return config.strength / config.input_variance * (1 - decay) + config.initial * decay


def _printed_infinite(config: Any, time: Any) -> Any:
    from scipy.special import wrightomega

    start = config.strength / (config.input_variance * config.initial) - 1.0
    return config.strength / config.input_variance / (1.0 + wrightomega(start + np.log(start) - time).real)


def _label(depth: float) -> str:
    return "D = ∞" if math.isinf(depth) else f"D = {depth:g}"


def _draw_curves(axis: Any, result: Any) -> None:
    """Simulation as dots, theory as lines, on logarithmic time."""
    time = result["time"].values[1:]
    for number, depth in enumerate(result["depth"].values):
        color = fs.lab.style.PALETTE[number % len(fs.lab.style.PALETTE)]
        exact = result.theory["product"].isel(run=0).sel(depth=depth).values[1:]
        simulated = result["product"].isel(run=0).sel(depth=depth).values[1:]
        axis.plot(time, exact, color=color, ls=LINES[number % len(LINES)], label=_label(depth))
        axis.plot(time[::25], simulated[::25], "o", color=color, ms=2.6, mfc="white", mew=0.8)
    axis.axhline(_final(result), color="0.6", lw=0.7, ls=":")
    axis.plot([], [], "o", color="0.3", ms=2.6, mfc="white", mew=0.8, label="simulation")
    axis.set(xscale="log", xlabel="time t / τ", ylabel="product of weights a", title="Exact and simulated")
    axis.legend(loc="upper left", fontsize=6.5, handlelength=1.3)


def _draw_aligned(axis: Any, result: Any) -> None:
    """Every depth on its own clock: the plateau."""
    for number, depth in enumerate(result["depth"].values):
        product = result["product"].isel(run=0).sel(depth=depth)
        half = fs.measures.crossing_time(product["time"].values, product.values, 0.5 * _final(result))
        color = fs.lab.style.PALETTE[number % len(fs.lab.style.PALETTE)]
        axis.plot(product["time"] / half, product / _final(result), color=color, ls=LINES[number % len(LINES)])
    axis.set(xlim=(0, 3), xlabel="time / half-time", ylabel="share learned aλ/s", title="Wait, then jump")


def _draw_surface(axis: Any, result: Any) -> None:
    """The error surface of D = 2 with its saddle, its valley of solutions, and the way down."""
    final = _final(result)
    reach = 1.6 * math.sqrt(final)
    first, second = np.meshgrid(np.linspace(-reach, reach, 121), np.linspace(-reach, reach, 121))
    loss = 0.5 * result.config.input_variance * (first * second - final) ** 2
    axis.contourf(first, second, np.sqrt(loss), 14, cmap="Greys", alpha=0.75)
    branch = np.linspace(final / reach, reach, 200)
    for sign in (1, -1):
        axis.plot(sign * branch, sign * final / branch, color=fs.lab.style.PALETTE[0], lw=1.4)
    _draw_paths(axis, result.config, reach)
    axis.plot(0, 0, "X", color=fs.lab.style.PALETTE[1], ms=6, mec="white", mew=0.7)
    axis.text(0.07 * reach, -0.09 * reach, "saddle", va="top", fontsize=7)
    axis.text(0.97 * reach, 0.76 * reach, "minima", ha="right", va="bottom", fontsize=7)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title="Error surface, D = 2")
    axis.set(xlabel="weight $w_1$", ylabel="weight $w_2$")


def _draw_paths(axis: Any, config: Any, reach: float) -> None:
    world = fs.worlds.Dataset(np.full((1, 1), config.input_variance**0.5), np.full((1, 1), 1.0))
    target = config.strength / config.input_variance**0.5
    world = fs.worlds.Dataset(world.inputs, world.targets * target)
    for start in ((0.9, -0.75), (-0.2, 0.35), (0.12, 0.1), (-0.9, 0.7), (-0.12, -0.1)):
        weights = tuple(np.full((1, 1), part * reach) for part in start)
        run = fs.flow(fs.networks.DeepLinear(weights), world, until=5.0, observe=_weights)
        axis.plot(run["first"], run["second"], color=fs.lab.style.PALETTE[2], lw=1.1)
        axis.plot(run["first"][0], run["second"][0], "o", color=fs.lab.style.PALETTE[2], ms=2.5)


def _weights(network: Any, data: Any) -> dict[str, Any]:
    return {"first": network.weights[0][0, 0], "second": network.weights[1][0, 0]}
