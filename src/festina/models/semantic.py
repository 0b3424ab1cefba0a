"""A linear network that learns which items have which features: one layer or two, in a world with a structure."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import LazyModule, jax, jnp, np, xr
from festina.config import continuous, structural
from festina.errors import ArgumentError
from festina.model import Equation, Model, Preset, Variable
from festina.ranges import Duration, Start
from festina.sources import LECTURE, SAXE_2019

if TYPE_CHECKING:
    from collections.abc import Callable

    from festina.models._types import Array, Curves, DeepLinear, Float, Key, Observed, Process, Solution, State
    from festina.worlds.neighbourhoods import OwnedFeatures
    from festina.worlds.semantic import SemanticWorld
    from festina.worlds.world import Dataset

near = LazyModule("festina.worlds.neighbourhoods")


class Semantic(Model):
    """A linear network that learns the features of items in a world with a structure.

    P items, shown one at a time, have N features whose covariance over items comes from a tree, a partition, a ring
    or a grid. Its eigenspaces are the levels of the world, from broad to fine; level l enters the input-output
    correlation with singular value s_l = √(N μ_l)/P, and inputs have variance λ = 1/P. With T_l the part of the
    features that belongs to level l, a network with map W has learned the share ⟨T_l, W⟩/⟨T_l, T_l⟩ of it. Spectra are
    degenerate, so everything is measured with projectors, never with single singular vectors.

    Two layers learn each level as a chain of two weights does, τ ȧ = 2a(s_l − λa), and half of it by
    t½ = τ/(2s_l) ln(s_l/(λa₀) − 1): broad levels first, each in a stage of its own. Small random weights begin at
    a₀ = |W₂ᵀu + W₁v|²/4, the part of them that grows; where levels nearly coincide, as some of a grid do, the spread of
    a₀ can swap them. One layer learns all levels at one rate, t½ = (τ/λ) ln 2.

    Illusory correlations need features that an item can lack. With features of neighbourhoods (a subtree, a class, an
    arc of the ring, a diamond of the grid), each neighbourhood owns features that are 1 inside it and 0 outside. While
    a deep network knows only the broader levels, items just outside seem to have them: an illusory correlation.

    Example:
        >>> import festina as fs
        >>> model = fs.models.Semantic(structure="tree", branching=(2, 2))
        >>> model.theory()(60.0)["learned"].round(3)  # of the three levels of the tree
        array([1., 1., 1.])
    """

    name = "semantic"
    sources = (SAXE_2019, LECTURE)
    variables = {
        "learned": Variable("share of the level learned", ("level",)),
        "growing": Variable("growing part of the weights, as a share of the level", ("level",)),
        "loss": Variable("loss ½⟨|y − Wx|²⟩"),
        "similarity": Variable("similarity of the items' hidden representations", ("item", "other")),
        "illusion": Variable("feature seen in the items just outside its neighbourhood", ("radius",)),
        "half_time": Variable("when half of the level is learned", ("level",), "τ", final=True),
        "stage": Variable("(t90 − t10)/t10 of the level", ("level",), final=True),
    }
    quick = {"records": 150}

    structure: Literal["tree", "partition", "ring", "grid"] = structural("tree", help="what relates the items")
    branching: tuple[int, ...] = structural((2, 2, 2), help="tree: branches at each level")
    classes: int = structural(4, ge=2, le=64, help="partition: how many classes")
    members: int = structural(3, ge=2, le=64, help="partition: items in each class")
    items: int = structural(9, ge=3, le=256, help="ring: how many items")
    rows: int = structural(3, ge=2, le=16, help="grid: rows of items")
    columns: int = structural(4, ge=2, le=16, help="grid: columns of items")
    features: int = structural(32, ge=3, le=10_000, help="features of an item, at least as many as items")
    hidden: int = structural(64, ge=3, le=4096, help="hidden units, at least as many as items")
    depth: int = structural(2, ge=1, le=2, help="layers of the network")
    weights: Literal["random", "decoupled"] = structural(
        "random", help="initial weights: normal, or balanced along the modes of the world"
    )
    features_of: Literal["structure", "neighbourhoods"] = structural(
        "structure", help="where features come from: the structure, or neighbourhoods that own them"
    )
    flip: float = continuous(0.1, ge=1e-3, le=0.499, help="tree: probability that a feature flips on an edge")
    correlation: float = continuous(0.5, ge=1e-3, le=0.999, help="partition: correlation of items in one class")
    length: float = continuous(1.0, ge=0.01, le=100, unit="items", help="ring and grid: how far correlations reach")
    scale: Start = continuous(0.01, scale="log", help="size of the initial weights")
    until: Duration = continuous(60.0, unit="τ", help="when to stop")
    records: int = structural(300, ge=10, le=100_000, help="recordings after the first, evenly spaced in time")

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
        Preset("deep", "Two layers learn broad distinctions first, each in a stage of its own."),
        Preset("shallow", "One layer learns all levels at one rate.", {"depth": 1}),
        Preset(
            "illusions",
            "Two layers ascribe features to items that lack them, until these illusory correlations are unlearned.",
            {"features_of": "neighbourhoods"},
        ),
    )

    @field_validator("features", "hidden")
    @classmethod
    def _enough(cls, count: int, info: ValidationInfo) -> int:
        items = _items(info.data)
        if count < items:
            raise ValueError(f"be at least the {items} items")
        return count

    @field_validator("features_of")
    @classmethod
    def _decoupled_in_structure_only(cls, source: str, info: ValidationInfo) -> str:
        if source == "neighbourhoods" and info.data.get("weights") == "decoupled":
            raise ValueError("be `structure` if weights are decoupled: along the modes of the structure")
        return source

    def world(self) -> SemanticWorld:
        """Items and features, which realise the limit of many features exactly."""
        match self.structure:
            case "tree":
                return _made(fs.worlds.tree, self.branching, self.flip, self.features)
            case "partition":
                return _made(fs.worlds.partition, self.classes, self.members, self.correlation, self.features)
            case "ring":
                return _made(fs.worlds.ring, self.items, self.length, self.features)
            case "grid":
                return _made(fs.worlds.grid, self.rows, self.columns, self.length, self.features)

    def apart(self) -> np.ndarray:
        """How far items are from each other: levels up to the common ancestor, or steps along the ring or grid."""
        match self.structure:
            case "tree":
                return near.steps_in_tree(self.branching)
            case "partition":
                return near.steps_in_tree((self.classes, self.members))
            case "ring":
                return near.steps_on_ring(self.items)
            case "grid":
                return near.steps_on_grid(self.rows, self.columns)

    def owned(self) -> OwnedFeatures:
        """Features that neighbourhoods own."""
        return near.owned_features(self.apart(), self.features)

    def coordinates(self) -> dict[str, Any]:
        return {"level": list(self.world().level_names)}

    def start(self, key: Key) -> DeepLinear:
        """Normal weights with standard deviation scale/√(inputs of the layer), or balanced ones along the modes.

        Networks of either depth and of either kind of features are cut from one draw.
        """
        world = self.world()
        if self.weights == "decoupled":
            return self._decoupled(world)
        items, owned = world.items, self.owned().dataset.targets.shape[1]
        most = max(self.features, owned)
        outputs = owned if self.features_of == "neighbourhoods" else self.features
        draw = self.scale * jax.random.normal(key, (items + 2 * most, self.hidden))
        if self.depth == 1:
            return fs.networks.DeepLinear((draw[items + most :, :items][:outputs] / items**0.5,))
        second = draw[items : items + most][:outputs] / self.hidden**0.5
        return fs.networks.DeepLinear((draw[:items].T / items**0.5, second))

    def _decoupled(self, world: SemanticWorld) -> DeepLinear:
        """Balanced weights along the modes of the world, each of strength scale²."""
        levels = np.einsum("l,lij->ij", np.arange(1.0, len(world.projectors) + 1), np.asarray(world.projectors))
        right = np.linalg.eigh(levels)[1]
        left = jnp.asarray(world.dataset.targets).T @ right
        left = left / jnp.linalg.norm(left, axis=0, keepdims=True)
        strengths, hidden = self.scale**2 * jnp.ones(world.items), (self.hidden,) * (self.depth - 1)
        return fs.networks.DeepLinear.aligned(left, strengths, right, hidden)

    def _dataset(self) -> Dataset:
        return self.owned().dataset if self.features_of == "neighbourhoods" else self.world().dataset

    def process(self, start: DeepLinear) -> Process:
        moments, parts = self._dataset().moments, self._parts()

        def rate(network: DeepLinear, stage: Array) -> DeepLinear:
            return jax.grad(lambda network: -moments.loss(network))(network)

        def observe(state: State) -> Observed:
            network = state.parameters
            seen = {"loss": moments.loss(network)} | self._seen(parts, network.map)
            if self.features_of == "structure":
                seen["growing"] = self._growing(parts, network)
            if self.depth > 1:
                seen["similarity"] = network.weights[0].T @ network.weights[0]
            return seen

        times = self.until * jnp.linspace(0.0, 1.0, self.records + 1)
        return fs.learning.flow_process(rate, start, times, observe)

    def solution(self, start: DeepLinear) -> Solution | None:
        """Mode by mode: exact from decoupled weights and for one layer, nearly so from small random ones.

        There is none where modes share too many directions of the hidden layer.
        """
        from festina.precision import precise, to_numpy

        try:
            modes, parts = fs.theory.modes(self._dataset(), start), to_numpy(self._parts())
        except ArgumentError:
            return None
        growing = self._growing(parts, start) if self.features_of == "structure" else None

        def curves(time: Float[np.ndarray, " *times"]) -> Curves:
            answer = modes(time)
            seen = {"loss": answer["loss"]} | self._seen(parts, answer["map"])
            if self.depth > 1:
                seen["similarity"] = np.einsum("...k,ik,jk->...ij", answer["strength"], modes.right, modes.right)
            if growing is not None:
                seen["half_time"] = np.full(
                    (*np.shape(time), len(growing)), self.time_to_learn(np.asarray(growing), 0.5)
                )
            return seen

        return precise(curves)

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        early, half, late = (fs.measures.crossings(data["learned"], share) for share in (0.1, 0.5, 0.9))
        found = {"half_time": half, "stage": (late - early) / early}
        kinds = cls.variables
        return {n: x.assign_attrs(long_name=kinds[n].label, units=kinds[n].unit) for n, x in found.items()}

    def time_to_learn(self, growing: np.ndarray, share: float) -> np.ndarray:
        """When theory has a share of each level learned, from the part of the weights that grows at the start."""
        world = self.world()
        if self.depth == 1:
            return np.log((1.0 - growing) / (1.0 - share)) / world.input_variance
        odds = np.log(1.0 / growing - 1.0) + np.log(share / (1.0 - share))
        return odds / (2.0 * np.asarray(world.strengths))

    def time_of_all(self) -> float:
        """How long two layers take for the weakest mode of their features, up to e^(−5), from a₀ = scale²."""
        cross = np.linalg.svd(np.asarray(self._dataset().moments.cross), compute_uv=False)
        weakest, variance = float(np.min(cross[cross > 1e-9 * cross[0]])), self.world().input_variance
        return (np.log(max(weakest / (variance * self.scale**2), 1.0)) + 5.0) / (2.0 * weakest)

    def _parts(self) -> Float[Array, "levels features items"]:
        """T_l: the part of the features that belongs to each level."""
        from festina.arrays import xp

        return xp.einsum("if,lij->lfj", self._dataset().targets, self.world().projectors)

    def _seen(self, parts: Array | np.ndarray, mapping: Array | np.ndarray) -> Observed:
        """⟨T_l, W⟩/⟨T_l, T_l⟩ of each level; of owned features also what is seen of them just outside."""
        from festina.precision import namespace

        numpy = namespace(parts, mapping)  # theory has plain arrays, for which nothing is compiled
        parts = parts / numpy.sum(parts**2, axis=(1, 2), keepdims=True)
        seen = {"learned": numpy.einsum("lfi,...fi->...l", parts, numpy.asarray(mapping))}
        if self.features_of == "neighbourhoods":
            shells = numpy.asarray(self.owned().shells)
            seen["illusion"] = numpy.einsum("rfi,...fi->...r", shells, numpy.asarray(mapping))
        return seen

    def _growing(self, parts: Array | np.ndarray, network: DeepLinear) -> Float[Array, " levels"]:
        """|W₂ᵀu + W₁v|²/4, the mean over the modes of each level, as a share of their final strength; of one, W's."""
        from festina.precision import namespace

        if self.depth == 1:
            return self._seen(parts, network.map)["learned"]
        (first, second), world, numpy = network.weights, self.world(), namespace(parts, network)
        sizes = numpy.asarray(world.multiplicities, float)
        final = numpy.sqrt(numpy.sum(parts**2, axis=(1, 2)) / sizes)
        above = numpy.einsum("fh,lfi->lhi", second, parts / final[:, None, None])
        both = above + numpy.einsum("hj,lji->lhi", first, numpy.asarray(world.projectors))
        return numpy.sum(both**2, axis=(1, 2)) / (4.0 * sizes * final)


def _made(make: Callable[..., SemanticWorld], *given: Any) -> SemanticWorld:
    """A world; of plain numbers it is made once, for theory looks at it a dozen times in every arm."""
    from festina.compiling import is_tracing
    from festina.precision import is_traced

    return make(*given) if is_tracing() or is_traced(given) else _known(make, *given)


@lru_cache(maxsize=32)
def _known(make: Callable[..., SemanticWorld], *given: Any) -> SemanticWorld:
    return make(*given)


def _items(fields: dict[str, Any]) -> int:
    """How many items the structure has."""
    match fields["structure"]:
        case "tree":
            return prod(fields.get("branching", ()))
        case "partition":
            return fields.get("classes", 1) * fields.get("members", 1)
        case "ring":
            return fields.get("items", 1)
        case _:
            return fields.get("rows", 1) * fields.get("columns", 1)
