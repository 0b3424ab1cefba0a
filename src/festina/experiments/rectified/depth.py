"""Two hidden layers in a world with contexts: where the nonlinearity goes."""

from typing import Any

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np
from festina.experiment import Equation, Experiment, Preset, Variable, continuous, structural
from festina.experiments._fields import Start, Strength
from festina.experiments.rectified._pathways import DescentConfig, Learner, descend, single
from festina.sources import JARVIS_2025

LAYERS = (1, 2)
LEARNED = 0.05  # share of the first loss that may be left once the task is learned


class Depth(Experiment):
    """With two hidden layers the first stays nearly linear, and contexts are told apart in the second.

    The world of `rectified/selectivity` with three contexts, f(x) = W₃[W₂[W₁x]₊]₊, all weights from N(0, s²) with
    s = .0006, as in the source's published code. Of each layer we record how much of its variance over samples is
    linear in x (R² of the best linear map with a constant, all units together), in how many contexts its units are on,
    and how much of its strength |incoming||outgoing| is in units that treat the objects of a context alike. A unit
    belongs to a context if it is on for most of its objects.

    The source finds a first layer that is shared by all contexts and applies no nonlinearity, and mixed selectivity in
    the second; what counts as such here, R² above .99 and the other bounds, are thresholds of our own. Over ten runs
    the first layer is nearly linear (R² of .986 to .993), with no more than two thirds of its strength in units that
    are on in all contexts. The second layer bends (R² = .91), and no number of contexts dominates it: one, two and
    three contexts have about .3 each. Which one leads depends on the run; units of two contexts do in six of ten.
    """

    name = "rectified/depth"
    sources = (JARVIS_2025,)
    time_unit = "steps"
    variables = {
        "loss": Variable("mean loss"),
        "linearity": Variable("R² of a layer as a linear map of the input", ("layer",)),
        "strength": Variable("share of strength in units of exactly k contexts", ("layer", "size")),
        "whole": Variable("share of strength in units that treat all objects of a context alike", ("layer",)),
    }
    seeds = 10
    quick = {"seeds": 2, "width": 60, "deviation": 0.01, "steps": 10_000, "records": 100}

    class Config(DescentConfig):
        contexts: int = structural(3, ge=2, le=8, help="contexts C")
        context_scale: Strength = structural(1.0, help="size κ of the context's input")
        width: int = structural(420, ge=4, le=10_000, help="hidden units of each layer")
        deviation: Start = continuous(6e-4, scale="log", help="s.d. of initial weights")
        steps: int = structural(30_000, ge=10, le=1_000_000, help="steps of gradient descent")
        records: int = structural(150, ge=2, le=100_000, help="recordings; must divide the steps")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"layer": list(LAYERS), "size": list(range(config.contexts + 1))}

    def simulate(self, config: Any, key: Any) -> Any:
        world = fs.worlds.multitask(config.contexts, config.context_scale)
        data = single(world.dataset)
        sizes = (data.inputs.shape[1], config.width, config.width, data.targets.shape[1])
        network = fs.networks.Rectified.init(key, sizes, config.deviation, np.float32)
        loss = data.samples.loss

        def observe(networks: Any) -> dict[str, Any]:
            return _look(networks["relu"], world) | {"loss": loss(networks["relu"])}

        return descend(config, key, {"relu": Learner(network, loss, config.rate * len(world.contexts))}, observe)

    equations = (
        Equation(
            r"f(x) = W_3\, \bigl[W_2\, [W_1 x]_+\bigr]_+",
            "Two layers of rectified units, of which the first stays nearly linear.",
        ),
        Equation(
            r"R^2 = 1 - \frac{\min_{A, b} \sum |h - Ax - b|^2}{\sum |h - \bar h|^2}",
            "How linear a layer h is: the share of its variance over all samples that a linear map of the input "
            "explains.",
        ),
    )
    presets = (
        Preset(
            "small network",
            "The second layer bends more than the first; which contexts share units differs between runs.",
        ),
        Preset(
            "larger weights", "From weights five times as large the first layer is less linear.", {"deviation": 0.05}
        ),
        Preset(
            "as published", "Weights as small as in the published code, and 420 units in each layer.", budget="full"
        ),
    )

    @claims.check(claims.below(LEARNED), reason="the run is too short, or its networks are too narrow")
    def solved(self, result: Any) -> Any:
        """The network with two hidden layers has learned the task (loss at the end over that at the start)."""
        return _left(result)

    @claims.paper(
        JARVIS_2025.at("effect of depth: no nonlinearity applied in the first layer"),
        claims.above(0.99),
        reason="our threshold: R² lies between .986 and .993 over ten runs; see the experiment's description",
    )
    def linear_first_layer(self, result: Any) -> Any:
        """The first of two hidden layers applies no nonlinearity: what it does is linear in the input (R² at the end;
        our threshold).
        """
        return _final(result, "linearity").sel(layer=1)

    @claims.paper(
        JARVIS_2025.at("effect of depth: first layer completely shared"),
        claims.above(0.95),
        reason="the source's scope: a layer that is nearly linear need not be on everywhere; see the experiment's "
        "description",
    )
    def shared_first_layer(self, result: Any) -> Any:
        """The first of two hidden layers is shared by all contexts (share of strength in units on in all of them; our
        threshold).
        """
        return _final(result, "strength").sel(layer=1).isel(size=-1)

    @claims.paper(
        JARVIS_2025.at("effect of depth: nonlinearity and gating concentrated in deeper layers"), claims.below(0.95)
    )
    def nonlinear_second_layer(self, result: Any) -> Any:
        """Nonlinearity and gating are in the second of two hidden layers (R² of its best linear map of the input, at
        the end; our threshold).
        """
        return _final(result, "linearity").sel(layer=2)

    @claims.paper(
        JARVIS_2025.at("effect of depth: mixed selectivity persists"),
        claims.above(0.5),
        budget="full",
        reason="the source's scope or our measure of it: one, two and three contexts have about .3 each; see the "
        "experiment's description",
    )
    def mixed_persists(self, result: Any) -> Any:
        """Mixed selectivity persists: most strength of the second hidden layer is in units of several contexts, not all
        (share; our threshold).
        """
        return _final(_with_several(result), "strength").sel(layer=2).isel(size=slice(2, -1)).sum("size")

    @claims.theory(
        claims.above(0.0),
        budget="full",
        reason="our reading, from networks with one hidden layer: which number of contexts leads depends on the run; "
        "see the experiment's description",
    )
    def all_but_one(self, result: Any) -> Any:
        """Units on in all contexts but one lead the second of two hidden layers, as they do in a single one (their
        share of strength less the largest other).
        """
        return lead_of_but_one(_with_several(result))

    def figure(self, result: Any) -> Any:
        from festina.experiments.rectified._depth_figure import draw

        return draw(result)


def _look(network: Any, world: Any) -> dict[str, Any]:
    """Linearity and contexts of both layers."""
    inputs = single(world.dataset.inputs)
    seen = []
    for number, activity in enumerate(network.hidden(inputs)):
        strength = fs.measures.activity.unit_strength(*network.weights[number : number + 2])
        sets = fs.measures.activity.active_sets(activity, world.contexts)
        seen.append(
            {
                "linearity": fs.measures.activity.linearity(inputs, activity),
                "strength": fs.measures.activity.strength_by_size(sets, strength),
                "whole": fs.measures.activity.whole_context_share(activity, world.contexts, strength),
            }
        )
    return jax.tree.map(lambda *layers: jnp.stack(layers), *seen)


def _left(result: Any) -> Any:
    loss = result["loss"]
    return loss.isel(time=-1) / loss.isel(time=0)


def _final(result: Any, name: str) -> Any:
    """A variable at the end of runs that have learned the task."""
    left = _left(result)
    if bool((left > LEARNED).any()):
        raise claims.Undecided(
            f"{int((left > LEARNED).sum())} of {left.size} networks have more than {LEARNED:.0%} of the loss left; "
            f"needs more than --steps {result['time'].values[-1]:g}"
        )
    return result[name].isel(time=-1)


def _with_several(result: Any) -> Any:
    """The result, if all contexts but one are more than one."""
    if result.config.contexts < 3:
        raise claims.NotApplicable("needs three contexts or more")
    return result


def lead_of_but_one(result: Any) -> Any:
    """The second layer's share of strength on exactly C − 1 contexts, less the largest share of any other number."""
    last = _final(result, "strength").sel(layer=2)
    size = result.config.contexts - 1
    return last.sel(size=size, drop=True) - last.drop_sel(size=size).max("size")
