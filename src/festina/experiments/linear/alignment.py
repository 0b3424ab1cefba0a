"""Silent alignment: a network from small weights turns its kernel towards the task before the loss shows anything."""

from math import log, sqrt
from typing import Any

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._fields import Duration, Strength
from festina.experiments._needs import needs
from festina.sources import ATANASOV_2021

STARTS = ("random", "mirrored")
FALLEN = 0.1
LAZY = (1.0 - sqrt(1.0 - FALLEN)) ** 2


class Alignment(Experiment):
    """From small weights the kernel aligns with the task in silence; from large ones it hardly turns at all.

    y = aᵀWx with one output, white inputs, and the target s·ŝᵀx. The tangent kernel is K = WᵀW + |a|²I; its alignment
    with the target is A = ŝᵀKŝ/|K|. All weights start as σ/√Nh times normal numbers, so that K(0) ≈ 2σ²I. With w = Wŝ
    and c = aᵀw the flow along the target is τẇ = (s − c)a, τȧ = (s − c)w: while c ≪ s, the part g = (w + a)/2 grows as
    e^(st) and d = (w − a)/2 decays. After t₁ ≈ 1/s the growing part outweighs what K started with along ŝ, the loss
    falls only at t₂ = (1/2s) ln(s/σ²), and K ends as s(ŝŝᵀ + I), with A = 2/√(Ni + 3).

    Theory (right for small σ, derived here): with r = e^θ, τ dθ/dt = s − c, the weights along the target are
    w = gr + d/r and a = gr − d/r, so that c = |g|²r² − |d|²/r² is the product of a two-weight chain with imbalance
    4|g||d|, in closed form. The other columns W⊥ lose what would leak into the output: W⊥(t) = (I − (1 − q)ĝĝᵀ)W⊥(0)
    with q² = (s − c)/(s − c(0)). From mirrored weights with WᵀW ∝ I nothing leaks, and this is exact for every σ.

    The silent share (`festina.measures.alignment`) is how much of the alignment is done when the loss has fallen by
    10 %. Its distance from 1 goes as σ². For large σ it is small, but what it tends to depends on the start. Mirrored
    weights, where every hidden unit has a twin with opposite a, begin with the output zero: K then changes to second
    order only, in proportion to (1 − √(L/L₀))², and the share tends to (1 − √0.9)² = 0.0026. Plain random weights begin
    with a random output of size σ², so that beyond σ² ≈ s what is learned is mostly to undo it, and A may end below
    where it began; the share is then a few per cent and says little.
    """

    name = "linear/alignment"
    sources = (ATANASOV_2021,)
    variables = {
        "loss": Variable("loss ½|sŝ − Wᵀa|²", ("start", "rung")),
        "alignment": Variable("alignment of the kernel with the target", ("start", "rung")),
        "silent": Variable("share of the alignment done when the loss has fallen by 10 %", ("start", "rung")),
    }
    seeds = 3
    quick = {"records": 300, "seeds": 2}

    class Config(ExperimentConfig):
        inputs: int = structural(10, ge=2, le=1000, help="inputs Ni")
        hidden: int = structural(50, ge=2, le=10_000, multiple_of=2, help="hidden units Nh, even")
        rungs: int = structural(7, ge=1, le=20, help="how many initial scales, half a decade apart")
        scale: float = continuous(3e-3, ge=1e-9, le=0.03, scale="log", help="the smallest initial scale σ")
        strength: Strength = continuous(1.0, help="size s of the target")
        until: Duration = continuous(15.0, unit="τ", help="when to stop")
        records: int = structural(600, ge=90, le=100_000, help="recordings, a third of them in early logarithmic time")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"start": list(STARTS), "rung": _factors(config)}

    def simulate(self, config: Any, key: Any) -> Any:
        target = jnp.zeros(config.inputs).at[0].set(config.strength)

        def error(first: Any, second: Any) -> Any:
            return target[None, None] - jnp.sum(first * second[..., None], axis=-2)

        def rate(weights: Any, stage: Any) -> Any:
            first, second = weights
            rest = error(first, second)
            return second[..., None] * rest[..., None, :], jnp.sum(first * rest[..., None, :], axis=-1)

        def observe(state: Any) -> dict[str, Any]:
            first, second = state.parameters
            gram = jnp.swapaxes(first, -1, -2) @ first
            aligned = _alignment(gram, jnp.sum(second**2, axis=-1))
            return {"loss": 0.5 * jnp.sum(error(first, second) ** 2, axis=-1), "alignment": aligned}

        early = config.records // 3
        times = [
            jnp.zeros(1),
            jnp.geomspace(1e-6, 1e-2, early),
            jnp.linspace(1e-2, 1.0, config.records - early + 1)[1:],
        ]
        return fs.learning.flow_process(rate, weights_of(config, key), config.until * jnp.concatenate(times), observe)

    def theory(self, config: Any, key: Any) -> Any:
        first, second = (np.asarray(layer) for layer in jax.jit(weights_of, static_argnums=0)(config, key))
        return lambda time: small_start(config.strength, first, second, np.asarray(time))

    def measure(self, data: Any) -> dict[str, Any]:
        from festina.measures.alignment import silent_share

        share = silent_share(curves_of(data, "loss"), curves_of(data, "alignment"), FALLEN)
        like = data["loss"].isel(time=0, drop=True).transpose("run", "start", "rung")
        return {"silent": like.copy(data=share).assign_attrs(long_name=self.variables["silent"].label)}

    equations = (
        Equation(
            r"\tau \dot w = (s - c)\, a, \qquad \tau \dot a = (s - c)\, w, \qquad c = a^\top w",
            "Along the target the readout a and the first layer's w = Wŝ drive each other, until c has reached s.",
        ),
        Equation(
            r"K = W^\top W + |a|^2 I, \qquad A = \frac{\hat s^\top K \hat s}{|K|} \to \frac{2}{\sqrt{N_i + 3}}",
            "The tangent kernel K comes to favour the target's direction ŝ; from every small start A ends at this "
            "value.",
        ),
        Equation(
            r"t_1 \approx \frac{\tau}{s}, \qquad t_2 = \frac{\tau}{2s} \ln \frac{s}{\sigma^2}",
            "The kernel aligns by t₁, whatever the initial scale σ; the loss falls at t₂, the later the smaller σ is.",
        ),
    )
    presets = (
        Preset(
            "small to large", "The smallest weights align in silence, the largest learn while the kernel hardly turns."
        ),
        Preset(
            "small only",
            "All seven kernels align at the same time, and then wait for the loss, each as long as ln(1/σ) says.",
            {"scale": 1e-5, "until": 25.0},
        ),
        Preset(
            "strong target",
            "Both the alignment and the fall of the loss come about four times as early.",
            {"strength": 4.0},
        ),
    )

    @claims.paper(ATANASOV_2021.at("Fig. 2"), claims.above(0.99))
    def small(self, result: Any) -> Any:
        """Silent alignment: from small weights more than .99 (our threshold) of the kernel's alignment is done when the
        loss has fallen by 10 %.
        """
        _require_small(result.config, up_to=1, most=2e-4)
        return silent_shares(_learned(result))[:, :, 0].min(axis=-1)

    @claims.theory(claims.near(2.0, 0.1))
    def order(self, result: Any) -> Any:
        """What the silent share of the alignment lacks to 1 goes as σ²: slope of its logarithm against ln σ, over the
        smallest decade.
        """
        return _slope(np.log(1.0 - silent_shares(_decade(result))))

    @claims.theory(claims.near(LAZY, 0.001))
    def large(self, result: Any) -> Any:
        """From large mirrored weights the kernel turns with the loss: the silent share of the alignment is
        (1 − √0.9)² = 0.0026.
        """
        config = result.config
        if (config.scale * _factors(config)[-1]) ** 2 < 5.0 * config.strength:
            raise claims.NotApplicable("needs a largest scale with σ² ≥ 5s")
        return silent_shares(_learned(result))[:, STARTS.index("mirrored"), -1]

    @claims.theory(claims.below(0.1))
    def large_random(self, result: Any) -> Any:
        """From plain random weights with σ² ≈ s, as large as what is learned, the silent share of the alignment is
        below .1.
        """
        rung = _rung_at_strength(result.config)
        return silent_shares(_learned(result))[:, STARTS.index("random"), rung]

    @claims.paper(ATANASOV_2021.at("Fig. 2, t₁ ≈ 1/s"), claims.between(0.5, 2.0))
    def alignment_time(self, result: Any) -> Any:
        """Half of the kernel's alignment is done by t₁ ≈ 1/s, within a factor of two (our tolerance; times s, mean over
        the smallest decade).
        """
        return half_times(_decade(result), "alignment")[:, :, :3].mean(axis=(1, 2)) * result.config.strength

    @claims.theory(claims.below(0.05), source=ATANASOV_2021.at("Fig. 2, t₁ ≈ 1/s"))
    def alignment_constant(self, result: Any) -> Any:
        """The time t₁ of the kernel's alignment does not depend on the scale σ: its slope against ln(1/σ), in units of
        1/s, is zero.
        """
        return abs(_slope(half_times(_decade(result), "alignment"))) * result.config.strength

    @claims.theory(claims.near(1.0, 0.02), source=ATANASOV_2021.at("Fig. 2, t₂ = (1/2s) ln(s/σ²)"))
    def learning_time(self, result: Any) -> Any:
        """The loss falls at t₂ = (1/2s) ln(s/σ²): the slope of its half-time against ln(1/σ), times s, is 1."""
        return -_slope(half_times(_decade(result), "loss")) * result.config.strength

    @claims.theory(claims.below(1e-3), source=ATANASOV_2021)
    def final_kernel(self, result: Any) -> Any:
        """From small weights the tangent kernel ends as s(ŝŝᵀ + I), with alignment 2/√(Ni + 3) (relative
        deviation).
        """
        _require_small(result.config, up_to=1)
        return _final_deviation(_learned(result))

    @claims.theory(claims.below(1e-3), loosely=claims.below(1e-2))
    def small_weights(self, result: Any) -> Any:
        """The small-weight solution gives loss and alignment at all times (largest error, at the smallest scale)."""
        _require_small(result.config, up_to=1)
        return _errors(result)

    def figure(self, result: Any) -> Any:
        from festina.experiments.linear._alignment_figure import draw

        return draw(result)


def _factors(config: Any) -> Any:
    return 10.0 ** (0.5 * np.arange(config.rungs))


def weights_of(config: Any, key: Any) -> tuple[Any, Any]:
    """W (start, rung, hidden, input) and a (start, rung, hidden); the target lies along the first input."""
    shape = (config.hidden, config.inputs + 1)
    draw = jax.random.normal(key, (shape[0] * shape[1],)).reshape(shape) / config.hidden**0.5  # flat: compiles faster
    twins = jnp.concatenate([draw[: config.hidden // 2]] * 2)
    signs = np.where(np.arange(config.hidden) < config.hidden // 2, 1.0, -1.0)
    mirrored = jnp.concatenate([twins[:, :-1], twins[:, -1:] * signs[:, None]], axis=1)
    scales = config.scale * jnp.asarray(_factors(config))
    weights = scales[None, :, None, None] * jnp.stack([draw, mirrored])[:, None]
    return weights[..., :-1], weights[..., -1]


def _alignment(gram: Any, size: Any) -> Any:
    """ŝᵀKŝ/|K| of K = WᵀW + |a|²I, with ŝ the first input."""
    target = np.zeros((1, gram.shape[-1]))
    target[0, 0] = 1.0
    return fs.measures.target_alignment(gram, size[..., None, None], target)


def small_start(strength: float, first: Any, second: Any, time: Any) -> dict[str, Any]:
    """Loss and alignment of the small-weight solution; see the docstring of the experiment. (time, start, rung)"""
    along, rest = first[..., 0], first[..., 1:]
    growing, decaying = (along + second) / 2, (along - second) / 2
    grown, decayed = (np.sum(part**2, axis=-1) for part in (growing, decaying))
    chain = fs.theory.imbalanced(strength, grown - decayed, 4 * np.sqrt(grown * decayed))
    product = np.asarray(chain(time)["product"])
    ratio = np.sqrt((product + np.hypot(product, 2 * np.sqrt(grown * decayed))) / (2 * grown))[..., None]
    inward, outward = growing * ratio + decaying / ratio, growing * ratio - decaying / ratio
    lost = 1.0 - np.sqrt(np.maximum((strength - product) / (strength - (grown - decayed)), 0.0))  # 0 up to rounding
    direction = growing / np.sqrt(grown)[..., None]
    leak = np.einsum("skhi,skh->ski", rest, direction)

    def seen(part: Any) -> Any:  # W⊥ᵀ times a vector of the hidden layer
        through = np.einsum("skhi,tskh->tski", rest, part)
        return through - (lost * np.einsum("skh,tskh->tsk", direction, part))[..., None] * leak

    gram = np.empty((*product.shape, first.shape[-1], first.shape[-1]))
    gram[..., 0, 0] = np.sum(inward**2, axis=-1)
    gram[..., 0, 1:] = gram[..., 1:, 0] = seen(inward)
    shrunk = np.einsum("ski,skj->skij", leak, leak) * (1.0 - (1.0 - lost) ** 2)[..., None, None]
    gram[..., 1:, 1:] = np.einsum("skhi,skhj->skij", rest, rest) - shrunk
    loss = 0.5 * (strength - product) ** 2 + 0.5 * np.sum(seen(outward) ** 2, axis=-1)
    return {"loss": loss, "alignment": np.asarray(jax.jit(_alignment)(gram, np.sum(outward**2, axis=-1)))}


def curves_of(data: Any, name: str) -> Any:
    """A variable as (run, start, rung, time)."""
    return data[name].transpose("run", "start", "rung", "time").values


def silent_shares(result: Any) -> Any:
    """The silent share of every network; (run, start, rung)."""
    return result["silent"].transpose("run", "start", "rung").values


def predicted_shares(result: Any, factor: float) -> Any:
    """The same as theory has it for the first run, from weights multiplied by a factor; (start, rung)."""
    from festina.measures.alignment import silent_share
    from festina.precision import double

    with double():
        weights = jax.jit(weights_of, static_argnums=0)(result.config, jax.random.key(int(result["seed"].values[0])))
        first, second = (factor * np.asarray(layer) for layer in weights)
        exact = small_start(result.config.strength, first, second, result["time"].values)
    loss, alignment = (np.moveaxis(exact[name], 0, -1) for name in ("loss", "alignment"))
    return silent_share(loss, alignment, FALLEN)


def half_times(result: Any, name: str) -> Any:
    """When half of the change of a variable is done; (run, start, rung)."""
    curves = curves_of(result.data, name)
    start, end = curves[..., :1], curves[..., -1:]
    return fs.measures.crossing_time(result["time"].values, (curves - start) / (end - start), 0.5)


def _require_small(config: Any, up_to: int, most: float = 2e-3) -> None:
    """Whether there are so many scales, and σ² is at most a share of the target."""
    if config.rungs < up_to:
        raise claims.NotApplicable(f"needs {up_to} scales at least")
    if (config.scale * _factors(config)[up_to - 1]) ** 2 > most * config.strength:
        raise claims.NotApplicable("needs a smaller --scale, or a larger --strength: σ² ≪ s")


def _learned(result: Any) -> Any:
    """The result, if every loss has fallen; by theory the smallest weights take longest, (1/2s) ln(s/σ²)."""
    loss, config = curves_of(result.data, "loss"), result.config
    if np.any(loss[..., -1] > 1e-3 * loss[..., 0]):
        waiting = 0.5 * log(max(config.strength / config.scale**2, 1.0))
        needed = needs(config, "until", (waiting + 5.0) / config.strength)
        raise claims.Undecided(f"the loss has not fallen yet from every scale: {needed}")
    return result


def _decade(result: Any) -> Any:
    """The result, if the first three scales, a decade, are small and have learned."""
    _require_small(result.config, up_to=3)
    return _learned(result)


def _slope(values: Any) -> Any:
    """Slope of (run, start, rung) against ln σ over the first three rungs, both starts together."""
    return (values[:, :, 2] - values[:, :, 0]).mean(axis=-1) / log(10.0)


def _rung_at_strength(config: Any) -> int:
    distance = np.abs(np.log(config.scale * _factors(config) / np.sqrt(config.strength)))
    if distance.min() > log(2.0):
        raise claims.NotApplicable("needs a scale σ with σ² ≈ s")
    return int(np.argmin(distance))


def _final_deviation(result: Any) -> Any:
    final = curves_of(result.data, "alignment")[:, :, 0, -1]
    return abs(final * np.sqrt(result.config.inputs + 3.0) / 2.0 - 1.0).max(axis=-1)


def _errors(result: Any) -> Any:
    """Largest error of the alignment, and of the loss relative to its start, at the smallest scale."""
    gaps = [
        abs(curves_of(result.data, name) - curves_of(result.theory, name))[:, :, 0] for name in ("alignment", "loss")
    ]
    start = curves_of(result.data, "loss")[:, :, 0, :1]
    return np.maximum(gaps[0], gaps[1] / start).max(axis=(1, 2))
