"""Which of two features to report: pathways for each context against one that is always on."""

from typing import Annotated, Any

from pydantic import Field

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, xr
from festina.config import Distinct
from festina.experiment import Equation, Experiment, Preset, Variable, continuous, structural
from festina.experiments._side_by_side import side_by_side
from festina.experiments.race._settled import longer, require_settled
from festina.experiments.race._small_steps import SMALL, SmallStepsConfig, small_steps
from festina.ranges import Duration, Start
from festina.sources import LECTURE, SAXE_2022

Cue = Annotated[float, Field(ge=0, le=10)]
ALONE = ("always on", "contexts")
PATHWAYS = ("always on", "motion", "colour")
START, STALLED = 0.5, 0.25  # the loss of answering 0, and of the best answer that ignores the context
EXAMPLES = 4  # in each context


class Context(Experiment):
    """A linear pathway is first to learn half of a context-dependent decision; pathways for contexts learn the rest.

    Motion and colour are ±1, and a cue says which to report: x = (motion, colour, κ·e_context), y the cued feature, all
    P = 8 examples alike. (The lecture shows no data; this is the smallest choice.) A gated pathway that is always on
    sees s = 1/√2 and λ = 1, and stops at L = ¼. Two pathways, each on in one context, see s = ½ and λ = ½: slower at
    first, but exact, with L = ½(1 − a)². In one network they race. The linear pathway is first, and leaves to the
    others what it cannot explain, which they learn more slowly than they would have learned all of it.

    Rectified networks are not told the context, they have to get it from the cue. Without one (κ = 0) they stall at L =
    ¼; the weaker the cue, the longer they stay there. Their gates are not those of the gated network. A rectified unit
    that is on in exactly one context grows along the feature cued there, which is as often on in the other context:
    gates for one context are none that a unit can keep. What is found instead are half-spaces of features and cue
    together; the typical unit is on for three examples of one context and one of the other. (Early on, units slide
    along the edges of such half-spaces, and their gates flicker.) This was observed here first, and is no prediction:
    at κ = 1 the only sets that would keep themselves at the start have three examples of either context. That gates
    depend on the context says little by itself: so do those of more than half of all units before anything is learned.
    What learning adds is claimed here. Accordingly the loss does not follow that of the gated network, whatever the
    shift in time (it is off by .07 of .5): here the gated network is a model of what is computed, and not of how a
    rectified network learns it.
    """

    name = "race/context"
    sources = (SAXE_2022, LECTURE)
    variables = {
        "alone_loss": Variable("loss of pathways of one kind alone", ("gating",)),
        "race_loss": Variable("loss of a network with all pathways"),
        "strength": Variable("strength of racing pathways", ("pathway",)),
        "rectified_loss": Variable("loss of rectified networks", ("cue",)),
        "contextual": Variable("share of strength in units whose gates depend on the context", ("cue",)),
        "gates": Variable("share of strength by examples a unit is on for", ("cue", "on_motion", "on_colour")),
    }
    seeds = 5
    quick = {"seeds": 2, "cue": (0.0, 1.0), "until": 30.0, "records": 150}

    class Config(SmallStepsConfig):
        cue: Annotated[tuple[Cue, ...], Distinct] = structural(
            (0.0, 0.5, 1.0, 2.0), min_length=1, help="size κ of the context's indicator, one or several"
        )
        initial: Start = continuous(1e-3, scale="log", help="strength of every gated pathway at t = 0")
        scale: Start = continuous(1e-2, scale="log", help="s.d. of a rectified network's weights at t = 0")
        width: int = structural(100, ge=4, le=10_000, help="hidden units of the rectified network")
        until: Duration = structural(60.0, unit="τ", help="when to stop")
        records: int = structural(300, ge=10, le=10_000, help="recordings, evenly spaced")

    def coordinates(self, config: Any) -> dict[str, Any]:
        counts = list(range(EXAMPLES + 1))
        return {
            "gating": list(ALONE),
            "pathway": list(PATHWAYS),
            "cue": list(config.cue),
            "on_motion": counts,
            "on_colour": counts,
        }

    def simulate(self, config: Any, key: Any) -> Any:
        rectified = _rectified(config, key)
        return side_by_side([_gated(config, rectified.times), rectified], lambda seen: seen[0] | seen[1])

    def theory(self, config: Any, key: Any) -> Any:
        strength, variance = np.array([0.5**0.5, 0.5]), np.array([1.0, 0.5])
        chains = fs.theory.chain(2, strength, config.initial, input_variance=variance)
        floor, count = np.array([STALLED, 0.0]), np.array([1.0, 2.0])
        return lambda time: {"alone_loss": floor + count * chains(time)["loss"]}

    equations = (
        Equation(
            r"\tau \dot a = 2a\, (s - \lambda a), \qquad (s, \lambda) = \bigl(\tfrac{1}{\sqrt 2}, 1\bigr) "
            r"\ \text{or}\ \bigl(\tfrac12, \tfrac12\bigr)",
            "A pathway that is always on sees the first pair of values, and one that is on in one context only the "
            "second.",
        ),
        Equation(
            r"L_{\text{always}} = \tfrac14 + \tfrac12 \bigl(a - \tfrac{1}{\sqrt 2}\bigr)^2, "
            r"\qquad L_{\text{context}} = \tfrac12 (1 - a)^2",
            "The pathway that is always on is faster, but explains no more than half; pathways for each context "
            "explain all.",
        ),
    )
    presets = (
        Preset(
            "with and without a cue",
            "Without a cue rectified networks stall at L = ¼; with one they go on to solve the task.",
        ),
        Preset(
            "weak and strong cues",
            "The weaker the cue, the longer a rectified network stays where a linear one would.",
            {"cue": (0.0, 0.5, 1.0, 2.0), "until": 60.0, "records": 300},
        ),
        Preset(
            "large start",
            "From large pathways the order of the race is hardly to be seen.",
            {"initial": 0.1, "scale": 0.1},
        ),
    )

    @claims.theory(claims.below(1e-8))
    def exact(self, result: Any) -> Any:
        """Gated pathways of one kind alone follow the closed form, with s = .707 always on and s = .5 in one context
        (largest error of the loss).
        """
        return result.errors("alone_loss")

    @claims.theory(claims.near(STALLED, 1e-6))
    def half(self, result: Any) -> Any:
        """A gated pathway that is always on explains half of a context-dependent decision (loss at the end)."""
        return _end(result, "alone_loss", 1e-6, gating="always on")

    @claims.paper(LECTURE.at("the neural race reduction: larger input-output correlation faster"), claims.above(2.0))
    def linear_first(self, result: Any) -> Any:
        """In a race the pathway with the larger input-output correlation, the linear one, is first (its strength over
        that of those for contexts when half the loss is gone; our threshold).
        """
        return lead(result)

    @claims.theory(claims.below(1e-4))
    def solved(self, result: Any) -> Any:
        """In a race gated pathways for each context learn what the linear pathway leaves (loss at the end)."""
        return _end(result, "race_loss", 1e-4)

    @claims.theory(claims.near(STALLED, 1e-3))
    def no_cue(self, result: Any) -> Any:
        """Without a cue a rectified network stalls at the loss of the best answer that ignores the context, ¼ (loss at
        the end).
        """
        return _at(result, "rectified_loss", 0.0)

    @claims.theory(claims.below(1e-3))
    def cued(self, result: Any) -> Any:
        """With a cue of size 1 a rectified network solves the context-dependent decision (loss at the end)."""
        return _at(result, "rectified_loss", 1.0)

    @claims.paper(
        LECTURE.at("assumptions & caveats: can approximate ReLU networks with small random weights, but not always"),
        claims.below(0.02),
        reason="the lecture's own caveat: gates for one context are none that a rectified unit can keep; see the "
        "experiment's description",
    )
    def follows(self, result: Any) -> Any:
        """A rectified network from small weights follows the gated one with all pathways, up to a shift in time
        (largest |ΔL|, κ = 1; our threshold).
        """
        return _left_of_shifts(result)

    @claims.theory(claims.between(0.1, 1.0))
    def contextual(self, result: Any) -> Any:
        """Learning makes gates of a rectified network depend on the context (gain in the share of strength of such
        units, κ = 1; our threshold).
        """
        return _at(result, "contextual", 1.0) - _select(result, "contextual", 1.0).isel(time=0)

    @claims.reference("earlier runs of this experiment, which suggested the claim", claims.between(0.5, 1.0))
    def three_and_one(self, result: Any) -> Any:
        """Units of a rectified network that are on for three examples of one context and one of the other have most
        strength (share at the end, κ = 1).
        """
        return three_and_one(_at(result, "gates", 1.0))

    def figure(self, result: Any) -> Any:
        from festina.experiments.race._context_figure import draw

        return draw(result)


def _gated(config: Any, times: Any) -> Any:
    """Gradient flow of three parts that share nothing but the input: linear, for contexts, and all together."""
    world = fs.worlds.decision().gated
    parts = {"linear": ("all",), "contexts": ("motion", "colour"), "race": ("all2", "motion2", "colour2")}
    directions = {"all": np.array([0.5, 0.5, 0, 0]) ** 0.5, "motion": np.eye(4)[0], "colour": np.eye(4)[1]}
    gates = {node: world.gates[name] for name in ("motion", "colour") for node in (name, f"{name}2")}
    targets = dict.fromkeys(parts, world.targets["y"])
    samples = fs.worlds.GatedDataset(world.inputs, targets, gates).samples
    root = jnp.sqrt(config.initial)
    weights = {f"x->{node}": root * directions[node.rstrip("2")][None] for nodes in parts.values() for node in nodes}
    weights |= {f"{node}->{part}": root * jnp.ones((1, 1)) for part, nodes in parts.items() for node in nodes}
    widths = {"x": 4} | {name: 1 for part, nodes in parts.items() for name in (part, *nodes)}
    graph = fs.networks.Graph.of(
        *(f"x -> {', '.join(nodes)} -> {part}" for part, nodes in parts.items()), widths=widths
    )

    def rate(network: Any, stage: Any) -> Any:
        return jax.grad(lambda network: -samples.loss(network))(network)

    def observe(state: Any) -> dict[str, Any]:
        answers, weights = state.parameters(samples.inputs, samples.gates), state.parameters.weights
        loss = {part: 0.5 * jnp.mean((targets[part] - answers[part]) ** 2) for part in parts}
        strength = [jnp.linalg.norm(weights[f"{node}->race"] @ weights[f"x->{node}"]) for node in parts["race"]]
        alone = jnp.stack([loss["linear"], loss["contexts"]])
        return {"alone_loss": alone, "race_loss": loss["race"], "strength": jnp.stack(strength)}

    return fs.learning.flow_process(rate, fs.networks.Gated.of(graph, weights), times, observe)


def _rectified(config: Any, key: Any) -> Any:
    """One rectified network for each cue, all from the same weights."""
    worlds = [fs.worlds.decision(cue) for cue in config.cue]
    inputs, targets = jnp.stack([world.inputs for world in worlds]), jnp.asarray(worlds[0].targets)
    network = fs.networks.Rectified.init(key, (4, config.width, 1), config.scale)
    networks = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(worlds), *leaf.shape)), network)

    def losses(networks: Any) -> Any:
        answers = jax.vmap(lambda network, inputs: network(inputs))(networks, inputs)
        return 0.5 * jnp.mean((targets[None] - answers) ** 2, axis=(1, 2))

    def observe(networks: Any) -> dict[str, Any]:
        return {"rectified_loss": losses(networks)} | jax.vmap(_gates)(networks, inputs)

    return small_steps(config, key, networks, losses, observe)


def _gates(network: Any, inputs: Any) -> dict[str, Any]:
    """How the strength of all units is shared out among kinds of gates."""
    strength = fs.measures.activity.unit_strength(*network.weights)
    share = strength / jnp.sum(strength)
    on = network.gates(inputs)["h1"].reshape(2, EXAMPLES, -1)
    differs = jnp.any(on[0] != on[1], axis=0).astype(share.dtype)
    count = on.sum(axis=1).astype(int)
    motion, colour = (jax.nn.one_hot(count[context], EXAMPLES + 1, dtype=share.dtype) for context in (0, 1))
    return {"contextual": jnp.sum(share * differs), "gates": jnp.einsum("u,um,uc->mc", share, motion, colour)}


def lead(result: Any) -> Any:
    """Strength of the racing linear pathway over that of the others when half of the loss is gone."""
    if result.config.initial > SMALL:
        raise claims.NotApplicable(f"needs --initial {SMALL:g} or smaller: from large pathways there is no race")
    loss, time = result["race_loss"].isel(run=0).values, result["time"].values
    strength = result["strength"].isel(run=0).transpose("pathway", "time").values
    half = fs.measures.crossing_time(time, -loss, -0.5 * loss[0])
    if not np.isfinite(half):
        raise claims.Undecided(f"half of the loss of all pathways is not gone; {longer(result, None, None)}")
    linear, *others = (np.interp(half, time, one) for one in strength)
    return linear / np.mean(others)


def shifted(result: Any, run: int, cue: float = 1.0) -> tuple[float, float]:
    """The shift of time that brings the gated network nearest to a rectified one, and the largest |ΔL| that is left."""
    time, gated = result["time"].values, result["race_loss"].isel(run=0).values
    rectified = _select(result, "rectified_loss", cue).isel(run=run).values
    shifts = np.linspace(-0.5, 0.5, 401) * time[-1]
    curves = np.stack([np.interp(time - shift, time, gated) for shift in shifts])
    best = np.argmin(np.sum((curves - rectified) ** 2, axis=1))
    return float(shifts[best]), float(np.max(np.abs(curves[best] - rectified)))


def _left_of_shifts(result: Any) -> Any:
    _at(result, "rectified_loss", 1.0)
    return xr.DataArray([shifted(result, run)[1] for run in range(result.data.sizes["run"])], dims="run")


def three_and_one(gates: Any) -> Any:
    """The share of strength in units on for three examples of one context and one of the other."""
    return gates.sel(on_motion=3, on_colour=1) + gates.sel(on_motion=1, on_colour=3)


def _select(result: Any, name: str, cue: float) -> Any:
    if cue not in result.config.cue:
        raise claims.NotApplicable(f"needs the cue {cue:g} among the cues")
    return result[name].sel(cue=cue)


def _at(result: Any, name: str, cue: float) -> Any:
    """A variable at the end, runs first."""
    _select(result, name, cue)
    require_settled(result, "rectified_loss", cue=cue)
    return _select(result, name, cue).isel(time=-1)


def _end(result: Any, name: str, tolerance: float, **where: Any) -> Any:
    require_settled(result, name, tolerance, **where)
    return result[name].sel(where).isel(time=-1)
