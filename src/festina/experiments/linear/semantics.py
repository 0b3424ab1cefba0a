"""Items and their features: how a deep linear network acquires the structure of a semantic world."""

from typing import Any, Literal

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np
from festina.errors import require
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._fields import Duration, Start
from festina.experiments.linear import _semantics_measures as measures
from festina.experiments.linear._semantics_world import build_world, owned_features
from festina.sources import LECTURE, SAXE_2019

NETWORKS = ("deep", "deep from a tenth", "decoupled", "shallow")
LEARNERS_OF_OWNED = ("owned, deep", "owned, shallow")


class Semantics(Experiment):
    """Deep linear networks learn broad distinctions first, in stages, and with illusory correlations on the way.

    P items, shown one at a time, have N features whose covariance over items comes from a tree, a partition, a ring
    or a grid. Its eigenspaces are the levels of the world, from broad to fine; level l enters the input-output
    correlation with singular value s_l = √(N μ_l)/P, and inputs have variance λ = 1/P. With T_l the part of the
    features that belongs to level l, a network with map W has learned the share ⟨T_l, W⟩/⟨T_l, T_l⟩ of it. Spectra are
    degenerate, so everything is measured with projectors, never with single singular vectors.

    Two layers learn each level as a chain of two weights does, τ ȧ = 2a(s_l − λa), and half of it by
    t½ = τ/(2s_l) ln(s_l/(λa₀) − 1): broad levels first, each in a stage of its own. Small random weights begin at
    a₀ = |W₂ᵀu + W₁v|²/4, the part of them that grows; where levels nearly coincide, as some of a grid do, the spread of
    a₀ can swap them. One layer learns all levels at one rate, t½ = (τ/λ) ln 2.

    Illusory correlations need features that an item can lack. For these, each neighbourhood of the world (a subtree, a
    class, an arc of the ring, a diamond of the grid) owns features that are 1 inside it and 0 outside. While a deep
    network knows only the broader levels, items just outside seem to have them.
    """

    name = "linear/semantics"
    sources = (SAXE_2019, LECTURE)
    variables = {
        "learned": Variable("share of the level learned", ("network", "level")),
        "growing": Variable("growing part of the weights, as a share of the level", ("network", "level")),
        "loss": Variable("loss ½⟨|y − Wx|²⟩", ("network",)),
        "similarity": Variable("similarity of the items' hidden representations", ("item", "other")),
        "illusion": Variable("feature seen in the items just outside its neighbourhood", ("learner", "radius")),
    }
    seeds = 3
    quick = {"records": 150, "seeds": 2}

    class Config(ExperimentConfig):
        structure: Literal["tree", "partition", "ring", "grid"] = structural("tree", help="what relates the items")
        branching: tuple[int, ...] = structural((2, 2, 2), help="tree: branches at each level")
        classes: int = structural(4, ge=2, le=64, help="partition: how many classes")
        members: int = structural(3, ge=2, le=64, help="partition: items in each class")
        items: int = structural(9, ge=3, le=256, help="ring: how many items")
        rows: int = structural(3, ge=2, le=16, help="grid: rows of items")
        columns: int = structural(4, ge=2, le=16, help="grid: columns of items")
        features: int = structural(32, ge=3, le=10_000, help="features of an item, at least as many as items")
        hidden: int = structural(64, ge=3, le=4096, help="hidden units, at least as many as items")
        flip: float = continuous(0.1, ge=1e-3, le=0.499, help="tree: probability that a feature flips on an edge")
        correlation: float = continuous(0.5, ge=1e-3, le=0.999, help="partition: correlation of items in one class")
        length: float = continuous(1.0, ge=0.01, le=100, unit="items", help="ring and grid: how far correlations reach")
        scale: Start = continuous(0.01, scale="log", help="size of the initial weights")
        until: Duration = continuous(60.0, unit="τ", help="when to stop")
        records: int = structural(300, ge=10, le=100_000, help="recordings after the first, evenly spaced in time")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"network": list(NETWORKS), "learner": ["deep", "shallow"]}

    def simulate(self, config: Any, key: Any) -> Any:
        world, (owned, shells) = build_world(config), owned_features(config)
        networks = _networks(config, world, owned, key)
        moments = {name: (owned if name in LEARNERS_OF_OWNED else world).moments for name in networks}

        def losses(networks: Any) -> Any:
            return {name: moments[name].loss(network) for name, network in networks.items()}

        def rate(networks: Any, stage: Any) -> Any:
            return jax.grad(lambda networks: -sum(losses(networks).values()))(networks)

        def observe(state: Any) -> dict[str, Any]:
            networks, loss = state.parameters, losses(state.parameters)
            first = networks["deep"].weights[0]
            return {
                "learned": jnp.stack([_learned(world, networks[name].map) for name in NETWORKS]),
                "growing": jnp.stack([_growing(world, networks[name]) for name in NETWORKS]),
                "loss": jnp.stack([loss[name] for name in NETWORKS]),
                "similarity": first.T @ first,
                "illusion": jnp.stack([_illusion(shells, networks[name].map) for name in LEARNERS_OF_OWNED]),
            }

        times = config.until * jnp.linspace(0.0, 1.0, config.records + 1)
        return fs.learning.flow_process(rate, networks, times, observe)

    def theory(self, config: Any, key: Any) -> Any:
        world, (owned, shells) = build_world(config), owned_features(config)
        networks = _networks(config, world, owned, key)
        solutions = [fs.theory.modes(world, networks[name]) for name in NETWORKS]
        of_owned = [fs.theory.modes(owned, networks[name]) for name in LEARNERS_OF_OWNED]
        right = solutions[0].right

        def curves(time: Any) -> dict[str, Any]:
            answers = [solution(time) for solution in solutions]
            return {
                "learned": jnp.stack([_learned(world, answer["map"]) for answer in answers], axis=-2),
                "loss": jnp.stack([answer["loss"] for answer in answers], axis=-1),
                "similarity": jnp.einsum("tk,ik,jk->tij", answers[0]["strength"], right, right),
                "illusion": jnp.stack([_illusion(shells, solution(time)["map"]) for solution in of_owned], axis=-2),
            }

        return curves

    equations = (
        Equation(
            r"\tau \dot a = 2a\, (s_l - \lambda a), \qquad s_l = \frac{\sqrt{N \mu_l}}{P}, \qquad \lambda = \frac1P",
            "Two layers learn each level l of the world as a chain of two weights, and the broad levels have the "
            "larger s.",
        ),
        Equation(
            r"t_{1/2} = \frac{\tau}{2 s_l} \ln\Bigl(\frac{s_l}{\lambda a_0} - 1\Bigr)",
            "Half of a level is learned by this time: broad distinctions come first, each in a stage of its own.",
        ),
    )
    presets = (
        Preset(
            "tree",
            "Broad branches are told apart before fine ones, each in a stage; a shallow network learns all at once.",
        ),
        Preset("partition", "Classes are told apart before their members are.", {"structure": "partition"}),
        Preset("ring", "Slow waves round the ring are learned before fast ones.", {"structure": "ring"}),
        Preset(
            "grid",
            "Broad gradients come before fine ones, but levels that nearly coincide may swap.",
            {"structure": "grid"},
        ),
    )

    @claims.theory(claims.below(1e-8), source=SAXE_2019)
    def exact(self, result: Any) -> Any:
        """From decoupled weights every level follows the closed form of a chain of two weights."""
        return measures.errors(result, "decoupled")

    @claims.theory(claims.below(0.05), source=SAXE_2019, loosely=claims.below(0.15))
    def random(self, result: Any) -> Any:
        """From small random weights the closed form of decoupled weights holds to 5 %, with a₀ the part of them that
        grows.
        """
        return measures.errors(measures.require_small(result), "deep")

    @claims.paper(
        LECTURE.at("Progressive differentiation"),
        claims.above(0.0),
        reason="the source's scope: where levels nearly coincide random weights can swap them; "
        "see the experiment's description",
    )
    def progressive(self, result: Any) -> Any:
        """Progressive differentiation: a deep network learns broad levels before fine ones (smallest step of the
        half-times from one level to the next).
        """
        times = measures.all_half_times(result, "deep")
        if times.sizes["level"] < 2:
            raise claims.NotApplicable("needs two levels at least")
        return times.diff("level").min("level")

    @claims.theory(claims.below(0.05), source=SAXE_2019)
    def half_time(self, result: Any) -> Any:
        """Half of a level is learned by t½ = τ/(2s) ln(s/(λa₀) − 1), from small random weights (largest relative
        error over the levels).
        """
        times = measures.all_half_times(measures.require_small(result), "deep")
        return abs(times / measures.predicted_half_times(result) - 1).max("level")

    @claims.theory(claims.below(0.01), source=SAXE_2019)
    def one_rate(self, result: Any) -> Any:
        """A shallow network learns all levels at one rate, half of each by t½ = (τ/λ) ln 2 (largest relative
        error).
        """
        small = measures.require_small(measures.require_fine(result))
        return abs(measures.all_half_times(small, "shallow") / measures.shallow_half_time(result) - 1).max("level")

    @claims.paper(LECTURE.at("Depth introduces stage-like transitions"), claims.below(0.05))
    def stages(self, result: Any) -> Any:
        """Depth introduces stage-like transitions: (t90 − t10)/t10 of every level is below 5 % (our threshold) of the
        shallow network's.
        """
        return measures.stages(result, "deep") / measures.stages(result, "shallow")

    @claims.theory(claims.below(0.85))
    def sharper(self, result: Any) -> Any:
        """From a tenth of the initial weights a deep network's transitions are more stage-like: (t90 − t10)/t10 is
        below .85 of that from the whole of them.
        """
        return measures.stages(result, "deep from a tenth") / measures.stages(result, "deep")

    @claims.paper(SAXE_2019.at("Illusory correlations"), claims.above(0.3), loosely=claims.above(0.05))
    def illusions(self, result: Any) -> Any:
        """Illusory correlations: a deep network ascribes a neighbourhood's features to items just outside it by more
        than .3 (our threshold), and unlearns this.
        """
        return measures.rise_and_fall(measures.require_small(result), "deep").min("radius")

    @claims.paper(SAXE_2019.at("Illusory correlations"), claims.below(1e-9))
    def no_illusions(self, result: Any) -> Any:
        """A shallow network has no illusory correlations: what it ascribes to items outside a neighbourhood only
        decays from where it began.
        """
        return measures.rise(result, "shallow").max("radius")

    def figure(self, result: Any) -> Any:
        from festina.experiments.linear._semantics_figure import draw

        return draw(result)


def _networks(config: Any, world: Any, owned: Any, key: Any) -> dict[str, Any]:
    """Every network at the start: those that learn the world, and two that learn the owned features.

    Random weights are normal with standard deviation scale/√(inputs of the layer),
    all cut from one draw, which compiles much faster than many.
    """
    linear, items, features = fs.networks.DeepLinear, world.items, config.features
    owned_features = owned.targets.shape[1]
    most = max(features, owned_features)
    require(config.hidden >= items, "hidden", f"be at least the {items} items", config.hidden)
    draw = config.scale * jax.random.normal(key, (items + 2 * most, config.hidden))
    first, second = draw[:items].T / items**0.5, draw[items : items + most] / config.hidden**0.5
    only = draw[items + most :, :items] / items**0.5
    return {
        "deep": linear((first, second[:features])),
        "deep from a tenth": linear((0.1 * first, 0.1 * second[:features])),
        "decoupled": _decoupled(config, world),
        "shallow": linear((only[:features],)),
        "owned, deep": linear((first, second[:owned_features])),
        "owned, shallow": linear((only[:owned_features],)),
    }


def _decoupled(config: Any, world: Any) -> Any:
    """Balanced weights along the modes of the world, each of strength scale²."""
    levels = np.einsum("l,lij->ij", np.arange(1.0, len(world.projectors) + 1), np.asarray(world.projectors))
    right = np.linalg.eigh(levels)[1]
    left = jnp.asarray(world.dataset.targets).T @ right
    left = left / jnp.linalg.norm(left, axis=0, keepdims=True)
    return fs.networks.DeepLinear.aligned(left, config.scale**2 * jnp.ones(world.items), right, (config.hidden,))


def _parts(world: Any) -> Any:
    """T_l: the part of the features that belongs to each level."""
    return jnp.einsum("if,lij->lfj", jnp.asarray(world.dataset.targets), jnp.asarray(world.projectors))


def _learned(world: Any, mapping: Any) -> Any:
    """⟨T_l, W⟩/⟨T_l, T_l⟩ of each level."""
    parts = _parts(world)
    return jnp.einsum("lfi,...fi->...l", parts / jnp.sum(parts**2, axis=(1, 2), keepdims=True), jnp.asarray(mapping))


def _growing(world: Any, network: Any) -> Any:
    """|W₂ᵀu + W₁v|²/4, the mean over the modes of each level, as a share of their final strength; of one layer, W's."""
    if network.depth == 1:
        return _learned(world, network.map)
    first, second = network.weights
    parts, sizes = _parts(world), jnp.asarray(world.multiplicities, float)
    final = jnp.sqrt(jnp.sum(parts**2, axis=(1, 2)) / sizes)
    above = jnp.einsum("fh,lfi->lhi", second, parts / final[:, None, None])
    both = above + jnp.einsum("hj,lji->lhi", first, jnp.asarray(world.projectors))
    return jnp.sum(both**2, axis=(1, 2)) / (4.0 * sizes * final)


def _illusion(shells: Any, mapping: Any) -> Any:
    return jnp.einsum("rfi,...fi->...r", shells, jnp.asarray(mapping))
