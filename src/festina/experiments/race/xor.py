"""Exclusive-or in gated and in rectified networks."""

from typing import Annotated, Any

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, xr
from festina.experiment import Equation, Experiment, Preset, Variable, continuous, structural
from festina.experiments._fields import Distinct, Duration, SmallStepSize, Start
from festina.experiments._side_by_side import side_by_side
from festina.experiments.race._settled import longer, require_settled, theory_of
from festina.experiments.race._small_steps import SMALL, SmallStepsConfig, scaled, small_steps
from festina.sources import LECTURE, SAXE_2022

EXAMPLE = "one example"
GATINGS = (EXAMPLE, "half-planes", "classes", "always on")
CHANCE = 0.5  # the loss of answering 0
TINY = 1e-3  # strength of pathways that is as good as none
ROUNDING = 1e-15  # a loss below this share of that one is none
OCCUPIED = 0.156  # π₀/(Hσ²), an earlier estimate; the free growth of single units (`theory.margin.captured`) has .165


class Xor(Experiment):
    """A small rectified network learns exclusive-or as four linear pathways would, one for each example.

    Inputs z = (±1, ±1) ask for y = z₁z₂. A pathway that is on for one example alone sees s = √2/4 and the input
    variance d = ½, and grows as π(t) = (s/d)/(1 − (1 − s/(dπ₀))e^{−2st/τ}); the loss is ½(1 − √2π)². A gated linear
    network does exactly that. So does a rectified network from small random weights, once its start is expressed as one
    number π₀ ≈ .16 Hσ² (H units, standard deviation σ), which shifts the curve in time and does nothing else. What is
    left, some thousandths, comes from units that are not spread evenly over the four examples.

    *Which gating wins?* A pathway that is always on, or on for one class, sees no correlation at all, and is stuck. The
    lecture says that the gating that learns fastest dominates. Taken literally this does not hold: two pathways, one
    for each side of z₁ = 0, see s = ½ and learn faster than four pathways for one example each. But a rectified unit
    that is on for z₁ > 0 grows the weights (0, 1), with which it is on for z₂ > 0 instead: it cannot keep this gating.
    Among all 15 gatings, those for one example are the only ones a rectified unit can keep
    (`festina.theory.margin.self_consistent_sets`), and they are the ones the network finds. It reaches them in a
    sliding motion: at the diagonal, two neighbouring examples push a unit back from either side. For this reason
    rectified networks learn in small steps here; the gated ones follow gradient flow.
    """

    name = "race/xor"
    sources = (SAXE_2022, LECTURE)
    variables = {
        "strength": Variable("strength π of each pathway", ("example",)),
        "loss": Variable("loss of gated networks", ("gating",)),
        "rectified_loss": Variable("loss of rectified networks", ("scale",)),
        "alignment": Variable("cosine of incoming weights with the nearest example", ("scale",)),
    }
    seeds = 10
    quick = {"seeds": 3, "records": 200, "step_size": 0.01}

    class Config(SmallStepsConfig):
        initial: Start = continuous(1e-3, scale="log", help="strength π₀ of every gated pathway at t = 0")
        scale: Annotated[tuple[Start, ...], Distinct] = structural(
            (1e-3, 1e-2, 5e-2), min_length=1, help="s.d. σ of a rectified network's weights at t = 0, one or several"
        )
        width: int = structural(150, ge=4, le=10_000, help="hidden units H of the rectified network")
        until: Duration = structural(30.0, unit="τ", help="when to stop")
        step_size: SmallStepSize = structural(0.005, unit="τ", help="longest step of descent")
        records: int = structural(300, ge=10, le=10_000, help="recordings, evenly spaced")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"example": [1, 2, 3, 4], "gating": list(GATINGS), "scale": list(config.scale)}

    def simulate(self, config: Any, key: Any) -> Any:
        rectified = _rectified(config, key)
        return side_by_side([_gated(config, rectified.times), rectified], lambda seen: seen[0] | seen[1])

    def theory(self, config: Any, key: Any) -> Any:
        courses = {name: [*pathways(data).values()] for name, data in gatings().items()}

        def curves(time: Any) -> dict[str, Any]:
            answers = {name: _course(seen, config.initial, time) for name, seen in courses.items()}
            loss = np.stack([loss for _, loss in answers.values()], axis=-1)
            return {"strength": answers[EXAMPLE][0], "loss": loss}

        return curves

    equations = (
        Equation(
            r"\pi(t) = \frac{s/d}{1 - \bigl(1 - \frac{s}{d\,\pi_0}\bigr) e^{-2st/\tau}}, "
            r"\qquad s = \frac{\sqrt 2}{4}, \quad d = \frac12",
            "A pathway that is on for one example alone sees these statistics and follows a sigmoid.",
        ),
        Equation(
            r"L = \tfrac12 \bigl(1 - \sqrt 2\, \pi\bigr)^2, \qquad \pi_0 \approx 0.16\, H \sigma^2",
            "A rectified network of H small units follows the same loss, as if its pathways had started at this π₀.",
        ),
    )
    presets = (
        Preset(
            "three starts", "Rectified networks follow the gated one, shifted in time by the size of their weights."
        ),
        Preset(
            "small pathways", "Gated networks that start a hundred times smaller learn 6.5 τ later.", {"initial": 1e-5}
        ),
        Preset("large pathways", "Gated networks that start at a tenth wait less than 3 τ.", {"initial": 0.1}),
    )

    @claims.theory(claims.below(1e-8), source=LECTURE.at("XoR dynamics"))
    def exact(self, result: Any) -> Any:
        """A gated linear network follows the closed form under every gating (losses, and strengths of pathways for one
        example).
        """
        return result.errors("strength", "loss")

    @claims.paper(
        LECTURE.at("assumptions & caveats: can approximate ReLU networks with small random weights"),
        claims.below(0.005),
    )
    def rectified(self, result: Any) -> Any:
        """A small rectified network follows the closed form of four pathways, one for each example, shifted in time by
        one fitted number (largest |ΔL|; our threshold, a hundredth of the loss).
        """
        return _by_run(fits(result, _learned(result))[1])

    @claims.reference("an earlier simulation of our own, separate from this one", claims.near(OCCUPIED, 0.02))
    def start(self, result: Any) -> Any:
        """The time shift of a small rectified network is that of an effective start π₀ ≈ .156 Hσ² (fitted π₀ over Hσ²;
        free growth of single units gives .165).
        """
        smallest = _learned(result)
        return _by_run(fits(result, smallest)[0] / (result.config.width * smallest**2))

    @claims.theory(claims.above(0.99), source=LECTURE.at("gated DLN on XoR"))
    def aligned(self, result: Any) -> Any:
        """Units of a small rectified network end up with the weights of pathways for one example (mean cosine, weighted
        by strength).
        """
        return result["alignment"].sel(scale=_learned(result)).isel(time=-1)

    @claims.theory(claims.near(CHANCE, 1e-6))
    def stuck(self, result: Any) -> Any:
        """A pathway that is always on, or on for one class, sees no correlation and learns nothing (loss at the end;
        answering 0 has ½).
        """
        if result.config.initial > TINY:
            raise claims.NotApplicable(f"needs --initial {TINY:g} or smaller, for the loss to be that of answering 0")
        return result["loss"].sel(gating=["classes", "always on"]).isel(time=-1, run=0)

    @claims.paper(
        LECTURE.at("neural race reduction: the one which learns fastest dominates the solution"),
        claims.above(1.0),
        reason="the lecture's scope: its gates are given, and rectified units cannot keep those of half-planes; see "
        "the experiment's description",
    )
    def fastest(self, result: Any) -> Any:
        """The gating that a rectified network ends with, one pathway for each example, learns fastest (half-time of a
        network with half-planes over that of one with examples).
        """
        return half_time(result, "half-planes") / half_time(result, EXAMPLE)

    def figure(self, result: Any) -> Any:
        from festina.experiments.race._xor_figure import draw

        return draw(result)


def gatings() -> dict[str, Any]:
    """The examples under every gating."""
    logic = fs.worlds.logic
    functions = (logic.by_example, logic.by_half_plane, logic.by_class, logic.always_on)
    return {name: function(logic.xor()) for name, function in zip(GATINGS, functions, strict=True)}


def pathways(data: Any) -> dict[str, tuple[Any, float, float]]:
    """What each pathway sees: the direction v of ⟨g y x⟩ = s v, the strength s, and the input variance d = vᵀ⟨g x xᵀ⟩v.

    Where there is no correlation, v is the direction in which its inputs vary most.
    """
    seen = {}
    for node, gate in data.gates.items():
        inputs = gate[:, None] * data.inputs["x"]
        cross = np.mean(data.targets["y"] * inputs, axis=0)
        strength = float(np.linalg.norm(cross))
        direction = cross / strength if strength > 0 else np.linalg.svd(inputs)[2][0]
        seen[node] = direction, strength, float(np.mean((inputs @ direction) ** 2))
    return seen


def _gated(config: Any, times: Any) -> Any:
    """Gradient flow under all gatings at once, from decoupled weights of the same strength.

    Gatings are parts of one network that share nothing but the input: each has an output node of its own.
    """
    data, routes = gatings(), {name: f"y{number}" for number, name in enumerate(GATINGS)}
    seen = {output: pathways(data[name]) for name, output in routes.items()}
    world = fs.worlds.GatedDataset(
        data[EXAMPLE].inputs,
        {output: data[name].targets["y"] for name, output in routes.items()},
        {node: gate for one in data.values() for node, gate in one.gates.items()},
    )
    directions = [direction for direction, *_ in seen[routes[EXAMPLE]].values()]

    def rate(network: Any, stage: Any) -> Any:
        return jax.grad(lambda network: -world.samples.loss(network))(network)

    def observe(state: Any) -> dict[str, Any]:
        network = state.parameters
        answers = network(world.inputs, world.gates)
        losses = [0.5 * jnp.mean((world.targets[output] - answers[output]) ** 2) for output in routes.values()]
        weights, output = network.weights, routes[EXAMPLE]
        maps = [weights[f"{node}->{output}"] @ weights[f"x->{node}"] for node in seen[output]]
        strengths = [mapping @ direction for mapping, direction in zip(maps, directions, strict=True)]
        return {"strength": jnp.concatenate(strengths), "loss": jnp.stack(losses)}

    return fs.learning.flow_process(rate, _decoupled(seen, config.initial), times, observe)


def _decoupled(seen: dict[str, Any], initial: Any) -> Any:
    """One unit for each pathway to each output, which has the strength π₀ along the pathway's direction."""
    routes = [f"x -> {', '.join(nodes)} -> {output}" for output, nodes in seen.items()]
    widths = {"x": 2} | {node: 1 for output, nodes in seen.items() for node in (output, *nodes)}
    root = jnp.sqrt(initial)
    weights = {}
    for output, nodes in seen.items():
        weights |= {f"x->{node}": root * direction[None] for node, (direction, *_) in nodes.items()}
        weights |= {f"{node}->{output}": root * jnp.ones((1, 1)) for node in nodes}
    return fs.networks.Gated.of(fs.networks.Graph.of(*routes, widths=widths), weights)


def _rectified(config: Any, key: Any) -> Any:
    """One rectified network for each scale."""
    samples = fs.worlds.logic.xor().samples
    losses = jax.vmap(samples.loss)

    def observe(networks: Any) -> dict[str, Any]:
        return {"rectified_loss": losses(networks), "alignment": _alignment(networks.weights, samples.inputs)}

    networks = scaled(fs.networks.Rectified.init(key, (2, config.width, 1), 1.0), jnp.asarray(config.scale))
    return small_steps(config, key, networks, losses, observe)


def _alignment(weights: Any, inputs: Any) -> Any:
    """max_i cos(w, x_i), averaged over units with weights |w||a|."""
    incoming, outgoing = weights
    strength = fs.measures.activity.unit_strength(incoming, outgoing)
    length = jnp.linalg.norm(incoming, axis=-1)
    cosine = jnp.max(incoming @ inputs.T, axis=-1) / (length * np.linalg.norm(inputs[0]))
    return jnp.sum(strength * cosine, axis=-1) / jnp.sum(strength, axis=-1)


def _course(seen: list[tuple[Any, float, float]], initial: float, time: Any) -> tuple[Any, Any]:
    """The strength of pathways that share no example, each a chain of two weights, and the loss of their network."""
    _, strengths, variances = (np.asarray(part) for part in zip(*seen, strict=True))
    answer = fs.theory.chain(2, strengths, np.full(len(seen), initial), input_variance=variances)(time)
    floor = CHANCE - 0.5 * np.sum(strengths**2 / variances)
    floor = floor if floor > ROUNDING else 0.0
    return answer["product"], floor + np.sum(answer["loss"], axis=-1)


def fits(result: Any, scale: float) -> tuple[Any, Any]:
    """The start π₀ whose closed form lies nearest to each rectified run, and the largest |ΔL| that is left.

    Nearest in squares, on a fine grid of ln π₀ and between its points by a parabola.
    """
    time = result["time"].values
    runs = result["rectified_loss"].sel(scale=scale).transpose("time", "run").values
    offset = np.linspace(-1.0, 1.0, 401)
    grid = np.log(OCCUPIED * result.config.width * scale**2) + offset
    curves = fs.theory.margin.xor(np.exp(grid))(time)["loss"]
    squares = (runs**2).sum(axis=0)[:, None] - 2.0 * runs.T @ curves + (curves**2).sum(axis=0)
    best = np.clip(squares.argmin(axis=1), 1, len(grid) - 2)
    left, middle, right = (np.take_along_axis(squares, (best + k)[:, None], axis=1)[:, 0] for k in (-1, 0, 1))
    starts = np.exp(grid[best] + 0.5 * (grid[1] - grid[0]) * (left - right) / (left - 2.0 * middle + right))
    return starts, np.abs(fs.theory.margin.xor(starts)(time)["loss"] - runs).max(axis=0)


def half_time(result: Any, gating: str) -> Any:
    """When half the loss of a gated network is gone."""
    loss = result["loss"].sel(gating=gating).isel(run=0).values
    if loss[0] <= CHANCE / 2:
        raise claims.NotApplicable(f"needs a smaller --initial: half of the loss with {gating} is gone at the start")
    time = fs.measures.crossing_time(result["time"].values, -loss, -CHANCE / 2)
    if not np.isfinite(time):
        enough = longer(result, theory_of(result, "loss", gating=gating), lambda *seen: seen[-1] < CHANCE / 2)
        raise claims.Undecided(f"half of the loss with {gating} is not gone at the end; {enough}")
    return time


def _learned(result: Any) -> float:
    """The smallest start, from which all has been learned."""
    smallest = min(result.config.scale)
    if smallest > SMALL:
        raise claims.NotApplicable(f"needs a start of at most σ = {SMALL:g} among the scales")
    predicted = fs.theory.margin.xor(OCCUPIED * result.config.width * smallest**2)
    require_settled(result, "rectified_loss", curve=lambda time: predicted(time)["loss"], scale=smallest)
    return smallest


def _by_run(values: Any) -> Any:
    return xr.DataArray(values, dims="run")
