"""A gated linear network in a world with contexts: pathways that are on in given contexts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import jnp, np
from festina.config import structural
from festina.model import Equation, Preset, Variable
from festina.models._context_descent import MODES, ContextDescent
from festina.sources import JARVIS_2025

if TYPE_CHECKING:
    from festina.models._types import Array, ContextWorld, Float, Gated, GatedSamples, Graph, Key, Observed, Process

OBJECT, CONTEXT, OUTPUT = "object", "context", "y"
SHARED = "shared"  # the name of the layer that all paths have in common


class GatedContexts(ContextDescent):
    """Linear paths, each on in given contexts alone, that learn what objects are like in C contexts on one joint loss.

    The world is that of `rectified-contexts`. Paths are on in one context each, in all but one, or one for every subset
    of contexts; beside them there may be a common path, which is always on. As in the source, the common path sees the
    whole input and the others the object only, unless they are shown everything. A layer without gates may come before
    that of the paths, one that all of them share, half as wide as the width says, or one each. The target may be the
    *residual*, what the best linear map of the input leaves. The *energy* of a path is the sum of squares of what it
    adds to the output over all samples.

    Example:
        >>> import festina as fs
        >>> model = fs.models.GatedContexts(contexts=3, width=12, deviation=1e-2, steps=500, records=10)
        >>> model.names  # the common path, and one for all contexts but one
        ['path 123', 'path 12', 'path 13', 'path 23']
        >>> model.run()["energy"].isel(run=0, time=-1).values.round(2)  # the common path is first
        array([0., 0., 0., 1.], dtype=float32)
    """

    name = "gated-contexts"
    sources = (JARVIS_2025,)
    variables = {
        "loss": Variable("mean loss"),
        "energy": Variable("share of energy in paths of exactly k contexts", ("size",)),
    } | MODES
    quick = {"width": 120, "deviation": 4e-5}

    paths: Literal["all but one", "single", "all subsets", "none"] = structural(
        "all but one", help="in which contexts paths are on"
    )
    common: bool = structural(True, help="whether there is a path that is always on, too")
    seen: Literal["objects", "everything"] = structural("objects", help="what all other paths see of the input")
    target: Literal["whole", "residual"] = structural("whole", help="what is learned")
    counted: Literal["in all", "of each path"] = structural(
        "in all", help="whose units the width counts; if of all, the common path has half of them"
    )
    first_layer: Literal["none", "shared", "of each path"] = structural(
        "none", help="whether a layer without gates comes before that of the paths, one for all or one each"
    )
    width: int = structural(600, ge=1, le=10_000, help="hidden units of each layer")

    equations = (
        Equation(
            r"S_{\text{start}} = \sqrt{k^2 + k}\; \frac{\sigma}{P}, "
            r"\qquad S_{\text{residual}} = \sqrt{\frac{k (C - k)}{C}}\; \frac{\sigma}{P}",
            "A path that is on in k of C contexts sees the first correlation at the start, and the second when the "
            "common path is done.",
        ),
    )
    presets = (
        Preset("all but one", "Common and all-but-one paths have the loss of a rectified network."),
        Preset("single", "Paths of single contexts take longer.", {"paths": "single"}),
        Preset(
            "race of all subsets",
            "Paths of all contexts but one win the race of all subsets.",
            {"paths": "all subsets", "seen": "everything", "counted": "of each path", "width": 10},
        ),
    )

    @field_validator("common")
    @classmethod
    def _some_path(cls, common: bool, info: ValidationInfo) -> bool:
        if not common and info.data.get("paths") == "none":
            raise ValueError("be true: without it, and with `paths` none, there is no path at all")
        return common

    @field_validator("width")
    @classmethod
    def _some_for_each(cls, width: int, info: ValidationInfo) -> int:
        fields = info.data
        if fields.get("counted") == "in all" and {"contexts", "paths", "common"} <= set(fields):
            count = len(subsets(fields["contexts"], fields["paths"]))
            least = max(2, count * (2 if fields["common"] else 1))
            if width < least:
                raise ValueError(f"leave a unit for each of the {count} paths, and so be {least} or more")
        return width

    def coordinates(self) -> dict[str, list[int]]:
        return {"size": list(range(self.contexts + 1))} | super().coordinates()

    @property
    def sets(self) -> Float[np.ndarray, "paths contexts"]:
        """The contexts of every path, the common one first."""
        partial = subsets(self.contexts, self.paths)
        return np.concatenate([np.ones((int(self.common), self.contexts)), partial])

    @property
    def names(self) -> list[str]:
        """`path 13` is on in the first and in the third context."""
        return ["path " + "".join(str(1 + context) for context in np.flatnonzero(chosen)) for chosen in self.sets]

    @property
    def widths(self) -> list[int]:
        """Hidden units of every path."""
        if self.counted == "of each path":
            return [self.width] * len(self.sets)
        partial = len(self.sets) - self.common
        half = self.width // 2
        if not partial:
            return [self.width]
        return [half, *[half // partial] * partial] if self.common else [self.width // partial] * partial

    @property
    def graph(self) -> Graph:
        sees_all = [self.seen == "everything" or bool(chosen.all()) for chosen in self.sets]
        layers = {"none": "", "shared": f"{SHARED} -> ", "of each path": "first {} -> "}[self.first_layer]
        routes = [
            f"{f'{OBJECT}, {CONTEXT}' if everything else OBJECT} -> {layers.format(name)}{name} -> {OUTPUT}"
            for name, everything in zip(self.names, sees_all, strict=True)
        ]
        world, own = self.world_at(), dict(zip(self.names, self.widths, strict=True))
        ends = {OBJECT: world.object_count, OUTPUT: world.dataset.targets.shape[1]}
        ends |= {CONTEXT: self.contexts} if any(sees_all) else {}
        first = {f"first {name}": width for name, width in own.items()} if self.first_layer == "of each path" else {}
        first |= {SHARED: max(1, self.width // 2)} if self.first_layer == "shared" else {}
        return fs.networks.Graph.of(*routes, widths=ends | first | own)

    def start(self, key: Key) -> Gated:
        """Independent normal weights in float32, all with the same standard deviation, as in the source."""
        graph = self.graph
        shapes = [(graph.width(group.targets), graph.width(group.sources)) for group in graph.groups]
        keys = fs.draws.split(key, len(shapes))
        drawn = [fs.draws.normal(one, shape, np.float32) for one, shape in zip(keys, shapes, strict=True)]
        return fs.networks.Gated(tuple(jnp.asarray(self.deviation, np.float32) * block for block in drawn), graph)

    def process(self, start: Gated) -> Process:
        samples = self.samples

        def observe(network: Gated) -> Observed:
            answers = network(samples.inputs, samples.gates)[OUTPUT]
            seen = {"loss": samples.loss(network), "energy": self.energy(network)}
            return seen | self.mode_strengths(answers)

        return self.descend(start, samples.loss, observe)

    @property
    def samples(self) -> GatedSamples:
        """The world with the gates of all paths; those that are on always need none."""
        world = self.world
        inputs, objects = jnp.asarray(world.dataset.inputs), world.object_count
        shown = {OBJECT: inputs[:, :objects], CONTEXT: inputs[:, objects:]}
        shown = {name: shown[name] for name in self.graph.inputs}
        named = zip(self.names, self.sets, strict=True)
        gates = {name: np.asarray(on[world.contexts], np.float32) for name, on in named if not on.all()}
        targets = (
            world.dataset.targets if self.target == "whole" else np.asarray(left_over(self.world_at()), np.float32)
        )
        return fs.worlds.GatedDataset(shown, {OUTPUT: targets}, gates).samples

    def energy(self, network: Gated) -> Float[Array, " sizes"]:
        """The share of energy in paths of 0, 1, … C contexts: Σ over samples of |g_p W_p x|²."""
        samples, weights = self.samples, network.weights
        hidden = network.activity(samples.inputs, samples.gates)
        energy = jnp.stack([jnp.sum((hidden[path] @ weights[f"{path}->{OUTPUT}"].T) ** 2) for path in self.names])
        sizes = self.sets.sum(axis=1)[None] == np.arange(self.contexts + 1)[:, None]
        by_size = sizes.astype(np.float32) @ energy
        return by_size / by_size.sum()


def subsets(contexts: int, paths: str) -> Float[np.ndarray, "paths contexts"]:
    """The subsets of contexts in which paths are on, all contexts together not among them."""
    sizes = {"all but one": [contexts - 1], "single": [1], "all subsets": list(range(1, contexts))}
    return fs.worlds.contexts.context_subsets(contexts, *sizes[paths]) if paths in sizes else np.zeros((0, contexts))


def left_over(world: ContextWorld) -> Float[np.ndarray, "samples features"]:
    """What the best linear map of the input leaves of the targets, the same for inputs of any size κ."""
    inputs, targets = world.dataset.inputs, world.dataset.targets
    return targets - inputs @ np.linalg.lstsq(inputs, targets)[0]
