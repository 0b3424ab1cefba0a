"""Networks of JAX: a function of named parameters and inputs, as Equinox, Flax or the user has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from festina.errors import require
from festina.measures.arrays import as_numpy
from festina.precision import double
from festina.watching.outside import (
    Answers,
    Linearised,
    Outside,
    Parameters,
    check_activations,
    check_layers,
    flat_answers,
    libraries_of,
    parent,
)

Named = dict[str, jax.Array]
Apply = Callable[[Named, Any], Any]


class JaxNetwork(Outside):
    """A network as a function of its parameters, on its probes.

    Args:
        apply: answers to all probes at once, from parameters by name.
        read: parameters by name, from what the user trains.
        start: what the user trains, as it is now.
        inputs: the probes, one a row.
        layers: activations by name of the layer, from parameters by name, likewise.
        inputs_first: whether weights are (inputs, outputs), as in Flax.
    """

    def __init__(
        self,
        apply: Apply,
        read: Callable[[Any], Mapping[str, Any]],
        start: Any,
        inputs: Any,
        layers: Mapping[str, Apply],
        inputs_first: bool = False,
    ) -> None:
        self.read, self.start, self.layers, self.inputs_first = read, start, layers, inputs_first
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.kinds: dict[str, np.dtype] = {}
        known = self.parameters()
        require(bool(known), "model", "have parameters that are trained", "without any")
        self.shapes = {name: value.shape for name, value in known.items()}
        imaginary = [name for name, value in known.items() if value.dtype.kind == "c"]
        require(not imaginary, "model", "have real parameters", f"with complex ones, {', '.join(imaginary)}")
        self.kinds = {name: _long_enough(value.dtype) for name, value in known.items()}
        probes = as_numpy("inputs", inputs)
        kind = next(iter(self.kinds.values()))
        self.inputs = probes.astype(kind) if probes.dtype.kind == "f" else probes
        self.apply = lambda point: flat_answers(apply(point, self.inputs), len(self.inputs))
        self._forward = jax.jit(jax.vmap(self._pushed, (None, None, 0)))
        self._pull = jax.jit(self._pulled)
        self._backward = jax.jit(lambda point, changes: jax.vmap(jax.vjp(self.apply, point)[1])(changes)[0])

    def parameters(self, now: Any = None) -> Parameters:
        found = {name: np.array(value) for name, value in self.read(self.start if now is None else now).items()}
        if self.shapes:
            shapes = {name: value.shape for name, value in found.items()}
            require(shapes == self.shapes, "now", f"have the parameters of the start, {self.shapes}", shapes)
        return {name: value.astype(self.kinds.get(name, value.dtype)) for name, value in found.items()}

    def answers(self, parameters: Parameters) -> Answers:
        with double():
            return np.asarray(jax.jit(self.apply)(_arrays(parameters)))

    def linearised(self, parameters: Parameters) -> Linearised:
        def forward(changes: Mapping[str, np.ndarray]) -> np.ndarray:
            with double():
                tangents = {name: jnp.asarray(value, self.kinds[name]) for name, value in changes.items()}
                part = {name: point[name] for name in changes}
                return np.asarray(self._forward(point, part, tangents))

        def backward(changes: np.ndarray) -> Parameters:
            with double():
                found = self._backward(point, jnp.asarray(changes, kind))
                return {name: np.asarray(value) for name, value in found.items()}

        def pull(change: np.ndarray) -> np.ndarray:
            with double():
                return np.asarray(self._pull(point, jnp.asarray(change, kind)))

        with double():
            point, kind = _arrays(parameters), next(iter(parameters.values())).dtype
        return Linearised(self.answers(parameters), forward, backward, pull)

    def _pulled(self, point: Named, change: jax.Array) -> jax.Array:
        """J Jᵀ df; what both products need of the network is computed once."""
        _, push = jax.linearize(self.apply, point)
        (back,) = jax.linear_transpose(push, point)(change)
        return push(back)

    def _pushed(self, point: Named, part: Named, change: Named) -> jax.Array:
        """J dθ of a change of some parameters; those that stay cost nothing."""
        return jax.jvp(lambda part: self.apply(point | part), (part,), (change,))[1]

    def activations(self, parameters: Parameters) -> dict[str, np.ndarray]:
        with double():
            point, inputs = _arrays(parameters), jnp.asarray(self.inputs)
            found = {name: np.asarray(layer(point, inputs)) for name, layer in self.layers.items()}
        check_activations(found, self.layers, len(self.inputs))
        return found

    def layer_of(self, name: str) -> str:
        return parent(name)

    def matrix(self, name: str, values: np.ndarray) -> np.ndarray:
        if not self.inputs_first or values.ndim < 2:
            return values
        return np.moveaxis(values, (-1, -2), (0, 1))  # (positions …, inputs, outputs)


def _long_enough(kind: np.dtype) -> np.dtype:
    """Half precision is too short for differences, and the network is looked at in single precision."""
    return np.dtype(np.float32) if kind.itemsize < 4 else kind


def _arrays(parameters: Parameters) -> Named:
    return {name: jnp.asarray(value) for name, value in parameters.items()}


def _named(tree: Any) -> Named:
    """The floating-point leaves of a tree, by their dotted paths."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves if _trained(leaf)}


def _trained(leaf: Any) -> bool:
    return eqx.is_inexact_array(leaf) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f")


def _filled(tree: Any, values: Mapping[str, Any]) -> Any:
    """The same tree with other values for its trained leaves."""
    paths, structure = jax.tree_util.tree_flatten_with_path(tree)
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in paths]
    leaves = [values.get(name, leaf) for name, (_, leaf) in zip(names, paths, strict=True)]
    return jax.tree_util.tree_unflatten(structure, leaves)


def equinox_network(module: Any, inputs: Any, layers: tuple[str, ...] = ()) -> JaxNetwork:
    """A module of Equinox, which answers one input at a time; layers are known by their place, as in "layers.0"."""
    resting = eqx.nn.inference_mode(module)
    places = {parent(name) for name in _named(module)}
    check_layers(layers, places)

    def apply(point: Named, inputs: jax.Array) -> jax.Array:
        return jax.vmap(_filled(resting, point))(inputs)

    return JaxNetwork(apply, _named, module, inputs, {name: _layer(resting, name) for name in layers})


def _layer(module: Any, name: str) -> Apply:
    """What one layer of a module of Equinox makes of inputs; units are second, as in a `Conv1d`."""
    nodes = jax.tree.leaves(module, is_leaf=lambda node: isinstance(node, eqx.nn.Conv))
    flat_maps = any(isinstance(node, eqx.nn.Conv) and node.num_spatial_dims == 1 for node in nodes)

    def inner(tree: Any) -> Any:
        for part in name.split("."):
            tree = tree[int(part)] if part.isdigit() else getattr(tree, part)
        return tree

    def activations(point: Named, inputs: jax.Array) -> jax.Array:
        def one(x: jax.Array) -> jax.Array:
            heard: list[jax.Array] = []
            whole = _filled(module, point)
            eqx.tree_at(inner, whole, _Heard(inner(whole), heard))(x)
            return heard[-1]

        found = jax.vmap(one)(inputs)
        return found if found.ndim != 3 or flat_maps else jnp.moveaxis(found, -1, 1)

    return activations


class _Heard(eqx.Module):
    """A layer whose last answer is noted."""

    layer: Any
    heard: list[Any] = eqx.field(static=True)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.heard.append(self.layer(*arguments, **options))
        return self.heard[-1]


def applied_network(apply: Any, parameters: Any, inputs: Any, layers: Any = ()) -> JaxNetwork:
    """A function of parameters and inputs, or a module of Flax, with its parameters."""
    is_flax = "flax" in libraries_of(apply)
    if is_flax:
        found = {name: _flax_layer(apply, parameters, name) for name in layers}
        check_layers(layers, {parent(name).removeprefix("params.") for name in _named(parameters)})
        call = lambda point, x: apply.apply(_filled(parameters, point), x)  # noqa: E731
    else:
        require(callable(apply), "model", "be (apply, parameters) with a function apply(parameters, inputs)", apply)
        by_name = isinstance(layers, Mapping)
        require(by_name or not layers, "layers", "be functions (parameters, inputs) by name", layers)
        call = lambda point, x: apply(_filled(parameters, point), x)  # noqa: E731
        found = {
            name: lambda point, x, layer=layer: layer(_filled(parameters, point), x)
            for name, layer in dict(layers).items()
        }
    return JaxNetwork(call, _named, parameters, inputs, found, inputs_first=is_flax)


def _flax_layer(module: Any, parameters: Any, name: str) -> Apply:
    def activations(point: Named, inputs: jax.Array) -> jax.Array:
        kept = module.apply(_filled(parameters, point), inputs, capture_intermediates=True, mutable=["intermediates"])
        tree = kept[1]["intermediates"]
        for part in name.split("."):
            tree = tree[part]
        return jnp.moveaxis(tree["__call__"][0], -1, 1)  # channels are last in Flax

    return activations
