"""The world turns into its opposite: a saddle that balanced networks cannot pass, unless rounding errors carry them."""

from math import exp, log
from typing import Any

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, xr
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._fields import Duration, Strength
from festina.experiments._needs import needs
from festina.sources import BRAUN_2022, DOMINE_2025

AXES, NUDGED, ROTATED, REORDERED, SINGLE, EXPANDED = ARITHMETICS = (
    "along the axes",
    "along the axes, one weight off by 1e-15",
    "rotated",
    "rotated, units reordered",
    "rotated, start kept in float32",
    "rotated, W₂ᵀS − (W₂ᵀW₂)W₁",
)
DOUBLE = [ROTATED, EXPANDED, REORDERED]
FINEST = 1e-9  # the smallest λ that float64 tells from zero for as long as a reversal takes
SURELY = 45.0  # st by which rounding errors of float64 have grown to s, ln(1/ε) = 37, and a reserve


class Reversal(Experiment):
    """Asked for the opposite, a balanced network stops half-way for ever, and an unbalanced one waits for ln(1/λ)/2s.

    At t = 0 the network has learned S = U s Vᵀ exactly, with W₂ᵀW₂ − W₁W₁ᵀ = λI; from then on −S is asked for. Each
    mode is on its own, a = w₂w₁ with w₂² − w₁² = λ and τ ȧ = −√(λ² + 4a²)(s + a), started at a = s. While |a| ≫ λ it
    falls as e^(−2st), so that it crosses zero after about (1/2s) ln(1/λ), and takes as long again to grow: half of the
    new task is known after (1/s) ln(1/λ). With λ = 0 it never gets there: W ends at the saddle W = 0 with the loss
    ½|S|², a quarter of the 2|S|² it began with.

    A simulation of λ = 0 tells another story. At the saddle the part g = (W₁v − W₂ᵀu)/2 of the weights grows as e^(st),
    while all the rest, d = (W₁v + W₂ᵀu)/2, dies as e^(−st). Exactly, g = 0. Numerically g is as large as one rounding
    error ε, and overtakes d after (1/2s) ln(1/ε): about 18/s in float64, and 10/s earlier if the weights have once been
    kept in float32. That time is a property of the arithmetic, not of the network. Here one and the same network, with
    one and the same exact solution, is simulated six times:

    * with its modes along the axes, where both layers happen to be treated alike bit by bit, it stays at the saddle;
    * so written, but with one weight off by a few last bits (1e-15), that mode escapes;
    * rotated at random, every mode escapes; with the gradient written as W₂ᵀS − (W₂ᵀW₂)W₁ instead of W₂ᵀ(S − W₂W₁), or
      with the hidden units in reverse order, at other times; from weights that were kept in float32, much earlier.
    """

    name = "linear/reversal"
    sources = (BRAUN_2022, DOMINE_2025)
    variables = {
        "strength": Variable("strength uᵀW₂W₁v of a mode", ("rung", "mode")),
        "loss": Variable("loss ½|S + W₂W₁|²", ("rung",)),
        "level": Variable("strength of a mode, λ = 0", ("arithmetic", "mode")),
        "level_loss": Variable("loss ½|S + W₂W₁|², λ = 0", ("arithmetic",)),
        "growing": Variable("part of the weights that grows |W₁v − W₂ᵀu|/2, λ = 0", ("arithmetic", "mode")),
        "dying": Variable("part of the weights that dies |W₁v + W₂ᵀu|/2, λ = 0", ("arithmetic", "mode")),
    }
    seeds = 3
    quick = {"records": 450, "seeds": 2}

    class Config(ExperimentConfig):
        strengths: tuple[Strength, ...] = structural(
            (2.0, 1.5, 1.0), min_length=1, help="singular values s of the task"
        )
        decades: int = structural(6, ge=2, le=8, help="how many decades of λ below the largest")
        imbalance: float = continuous(
            1e-2, ge=1e-6, le=100, scale="log", help="the largest λ; others are 10, 100, … times smaller"
        )
        until: Duration = continuous(45.0, unit="τ", help="when to stop")
        records: int = structural(900, ge=100, le=100_000, help="recordings after the first, evenly spaced in time")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"mode": list(config.strengths), "arithmetic": list(ARITHMETICS)}

    def simulate(self, config: Any, key: Any) -> Any:
        rungs = config.decades + 1
        bases, targets, weights = _networks(config, key)

        def rate(weights: Any, stage: Any) -> Any:
            first, second = weights
            return _slopes(first, second, targets)

        def observe(state: Any) -> dict[str, Any]:
            strength, (growing, dying) = _strengths(*state.parameters, *bases), _parts(*state.parameters, *bases)
            loss = 0.5 * jnp.sum((strength + jnp.asarray(config.strengths)[None, :]) ** 2, axis=-1)
            return {
                "strength": strength[:rungs],
                "loss": loss[:rungs],
                "level": strength[rungs:],
                "level_loss": loss[rungs:],
                "growing": growing[rungs:],
                "dying": dying[rungs:],
            }

        times = config.until * jnp.linspace(0.0, 1.0, config.records + 1)
        return fs.learning.flow_process(rate, weights, times, observe)

    def theory(self, config: Any, key: Any) -> Any:
        strengths = np.asarray(config.strengths)
        imbalances = np.append(np.asarray(ladder_of(config)), 0.0)
        solution = fs.theory.imbalanced(-strengths[None, :], strengths[None, :], imbalances[:, None])

        def curves(time: Any) -> dict[str, Any]:
            product = np.asarray(solution(time)["product"])
            loss = 0.5 * np.sum((strengths + product) ** 2, axis=-1)
            return {
                "strength": product[:, :-1],
                "loss": loss[:, :-1],
                "level": np.repeat(product[:, -1:], len(ARITHMETICS), axis=1),
                "level_loss": np.repeat(loss[:, -1:], len(ARITHMETICS), axis=1),
            }

        return curves

    equations = (
        Equation(
            r"\tau \dot a = -\sqrt{\lambda^2 + 4a^2}\; (s + a), \qquad a(0) = s",
            "A mode that has learned s is asked for −s; at λ = 0 its speed vanishes at a = 0, and it never gets "
            "beyond.",
        ),
        Equation(
            r"t_{\text{zero}} \approx \frac{\tau}{2s} \ln \frac1\lambda, "
            r"\qquad t_{\text{half}} \approx \frac{\tau}{s} \ln \frac1\lambda",
            "With unequal layers zero is crossed after the first of these times, and half of the new task known after "
            "the second.",
        ),
    )
    presets = (
        Preset(
            "down to balance", "Each tenth of λ adds the same delay; λ = 0 escapes only where rounding errors let it."
        ),
        Preset(
            "unequal layers",
            "The network with λ = 1 crosses zero almost at once; each tenth of λ adds the same delay.",
            {"imbalance": 1.0},
        ),
    )

    @claims.theory(claims.below(1e-6), source=DOMINE_2025)
    def exact(self, result: Any) -> Any:
        """With λ ≠ 0 the reversal of a task follows the closed form, mode by mode."""
        if float(ladder_of(result.config)[-1]) < FINEST:
            raise claims.NotApplicable(f"needs a smallest λ of {FINEST:g} at least: rounding errors drown smaller ones")
        return result.errors("strength")

    @claims.theory(claims.near(0.25, 1e-6), source=BRAUN_2022)
    def stuck(self, result: Any) -> Any:
        """With λ = 0 the network ends at the saddle W = 0 with a quarter of the initial loss, if rounding errors treat
        both layers alike.
        """
        config = result.config
        if exp(-2.0 * min(config.strengths) * config.until) > 1e-7:
            raise claims.Undecided(f"not at the saddle yet: {needs(config, 'until', 8.1 / min(config.strengths))}")
        return loss_ratio(result.data, AXES)

    @claims.theory(claims.below(0.02))
    def crossing(self, result: Any) -> Any:
        """A mode crosses zero after (1/2s) ln(1/λ): the slope of that time against ln(1/λ), times 2s, is 1 (largest
        deviation over the modes).
        """
        return abs(2 * _slope_of_times(result, 0.0) - 1).max("mode")

    @claims.theory(claims.below(0.02))
    def relearning(self, result: Any) -> Any:
        """Half of the opposite task is known after (1/s) ln(1/λ): the slope of that time against ln(1/λ), times s, is 1
        (largest deviation over the modes).
        """
        return abs(_slope_of_times(result, 0.5) - 1).max("mode")

    @claims.theory(claims.below(0.01))
    def spurious(self, result: Any) -> Any:
        """Written in rotated coordinates, the network with λ = 0 escapes the saddle by rounding errors: the loss ends
        near zero, not at a quarter (ratio).
        """
        _require_escape(result, DOUBLE)
        return np.max([loss_ratio(result.data, name) for name in DOUBLE], axis=0)

    @claims.theory(claims.near(1.0, 0.01))
    def nudged(self, result: Any) -> Any:
        """One weight off by 1e-15 makes its mode escape the saddle at λ = 0: it ends at −s (as a share of −s)."""
        _require_escape(result, [NUDGED], modes=1)
        return -_known(result, NUDGED)[:, -1, 0] / result.config.strengths[0]

    @claims.theory(claims.above(0.01))
    def arbitrary(self, result: Any) -> Any:
        """Escape times from the saddle at λ = 0 (times s) differ by more than .01 between ways of writing one
        computation in float64 (largest difference).
        """
        _require_escape(result, DOUBLE)
        return np.ptp([escape_times(result, name) for name in DOUBLE], axis=0).max(axis=-1)

    @claims.theory(claims.near(0.5 * 29 * log(2.0), 2.0))
    def precision(self, result: Any) -> Any:
        """Having kept the weights in float32 brings the escape from the saddle at λ = 0 forward by ½ ln 2²⁹ = 10.05, in
        units of 1/s.
        """
        _require_escape(result, [ROTATED, SINGLE])
        return (escape_times(result, ROTATED) - escape_times(result, SINGLE)).mean(axis=-1)

    def figure(self, result: Any) -> Any:
        from festina.experiments.linear._reversal_figure import draw

        return draw(result)


def ladder_of(config: Any) -> Any:
    """The values of λ, from the largest down."""
    return config.imbalance * jnp.asarray(10.0 ** -np.arange(config.decades + 1.0))


def _converged(config: Any, imbalance: Any, left: Any, right: Any, turn: Any) -> tuple[Any, Any]:
    """W₁ = R w₁ Vᵀ and W₂ = U w₂ Rᵀ with w₂w₁ = s and w₂² − w₁² = λ."""
    strengths = jnp.asarray(config.strengths)
    outward = jnp.sqrt((jnp.hypot(2 * strengths, imbalance) + imbalance) / 2)
    inward = jnp.where(imbalance == 0, outward, strengths / outward)
    return turn * inward[None, :] @ right.T, left * outward[None, :] @ turn.T


def _networks(config: Any, key: Any) -> tuple[Any, Any, Any]:
    """Output and input modes, targets and weights of all networks: the ladder of λ, then λ = 0 as in `ARITHMETICS`."""
    modes, rungs = len(config.strengths), config.decades + 1
    draw = jax.random.normal(key, (3 * modes * modes,))  # flat: compiles faster
    left, right, turn = jnp.linalg.qr(draw.reshape((3, modes, modes)))[0]
    imbalances = jnp.append(ladder_of(config), 0.0)
    firsts, seconds = jax.vmap(lambda imbalance: _converged(config, imbalance, left, right, turn))(imbalances)
    first, second = firsts[-1], seconds[-1]
    plain = jnp.diag(jnp.sqrt(jnp.asarray(config.strengths)))
    kept = [jax.lax.reduce_precision(layer, exponent_bits=8, mantissa_bits=23) for layer in (first, second)]
    level = (
        jnp.stack([plain, plain.at[0, 0].multiply(1.0 + 1e-15), first, first[::-1], kept[0], first]),
        jnp.stack([plain, plain, second, second[:, ::-1], kept[1], second]),
    )
    axes = np.array([False] * rungs + [name in (AXES, NUDGED) for name in ARITHMETICS])[:, None, None]
    bases = tuple(jnp.where(axes, jnp.eye(modes)[None], basis[None]) for basis in (left, right))
    targets = -(bases[0] * jnp.asarray(config.strengths)[None, None, :]) @ jnp.swapaxes(bases[1], -1, -2)
    return (
        bases,
        targets,
        tuple(jnp.concatenate([most[:-1], rest]) for most, rest in zip((firsts, seconds), level, strict=True)),
    )


def _slopes(first: Any, second: Any, targets: Any) -> tuple[Any, Any]:
    """W₂ᵀ(S − W₂W₁) and (S − W₂W₁)W₁ᵀ; for the last network, `EXPANDED`, written out."""
    over, under = jnp.swapaxes(second, -1, -2), jnp.swapaxes(first, -1, -2)
    error = (targets - second @ first)[:-1]
    expanded = over[-1] @ targets[-1] - (over[-1] @ second[-1]) @ first[-1]
    other = targets[-1] @ under[-1] - second[-1] @ (first[-1] @ under[-1])
    return jnp.concatenate([over[:-1] @ error, expanded[None]]), jnp.concatenate([error @ under[:-1], other[None]])


def _strengths(first: Any, second: Any, left: Any, right: Any) -> Any:
    """uᵀW₂W₁v of each mode."""
    return jnp.sum(left * (second @ (first @ right)), axis=-2)


def _parts(first: Any, second: Any, left: Any, right: Any) -> tuple[Any, Any]:
    """|W₁v − W₂ᵀu|/2 and |W₁v + W₂ᵀu|/2 of each mode."""
    inward, outward = first @ right, jnp.swapaxes(second, -1, -2) @ left
    return tuple(0.5 * jnp.linalg.norm(part, axis=-2) for part in (inward - outward, inward + outward))


def loss_ratio(data: Any, arithmetic: str) -> Any:
    """The last loss over the first, λ = 0, for each run."""
    loss = data["level_loss"].sel(arithmetic=arithmetic)
    return (loss.isel(time=-1) / loss.isel(time=0)).values


def _known(result: Any, arithmetic: str) -> Any:
    return result["level"].sel(arithmetic=arithmetic).transpose("run", "time", "mode").values


def times_to_reach(result: Any, curves: Any, share: float) -> Any:
    """When −a/s first reaches a share, for curves (…, time, mode); (…, mode)."""
    turned = -np.moveaxis(curves, -2, -1) / np.asarray(result.config.strengths)[:, None]
    return fs.measures.crossing_time(result["time"].values, turned, share)


def crossing_times(result: Any, share: float) -> Any:
    """When each mode with λ ≠ 0 has reached a share of the new task; (run, rung, mode)."""
    return times_to_reach(result, result["strength"].transpose("run", "rung", "time", "mode").values, share)


def escape_times(result: Any, arithmetic: str) -> Any:
    """When each mode with λ = 0 crosses zero in simulation, in units of 1/s; (run, mode)."""
    return times_to_reach(result, _known(result, arithmetic), 0.0) * np.asarray(result.config.strengths)


def _require_escape(result: Any, arithmetics: list[str], modes: int | None = None) -> None:
    """Whether the networks with λ = 0 have left the saddle and arrived, for which theory gives 37/s in float64."""
    config = result.config
    if modes is None and len(config.strengths) < 2:
        raise claims.NotApplicable("needs two modes at least: one alone cannot be rotated")
    if config.until * min(config.strengths[:modes]) < SURELY:
        needed = needs(config, "until", SURELY / min(config.strengths[:modes]))
        arrived = [-_known(result, name)[:, -1, :modes] / np.asarray(config.strengths[:modes]) for name in arithmetics]
        if np.min(arrived) < 0.99:
            raise claims.Undecided(f"the slowest mode may still be on its way: {needed}")


def _slope_of_times(result: Any, share: float) -> Any:
    """The slope of crossing times against ln(1/λ), times s, over all λ ≪ s; (run, mode)."""
    config, rungs = result.config, np.asarray(ladder_of(result.config))
    small = rungs <= 0.02 * min(config.strengths)
    if small.sum() < 2:
        raise claims.NotApplicable("needs two values of λ at least that are small, λ ≤ s/50")
    times = crossing_times(result, share)[:, small]
    if not np.all(np.isfinite(times)):
        slowest = min(config.strengths)
        needed = (1.0 if share else 0.5) * log(slowest / rungs[-1]) + 2.0
        raise claims.Undecided(f"not every mode is there yet: {needs(config, 'until', needed / slowest)}")
    steps = log(10.0) * np.arange(times.shape[1])
    centred = (steps - steps.mean()) / np.sum((steps - steps.mean()) ** 2)
    slopes = np.einsum("r,srm->sm", centred, times) * np.asarray(config.strengths)
    return xr.DataArray(slopes, dims=("run", "mode"))
