"""Networks of other libraries, seen in one way: named parameters, answers, and the linear map of small changes.

Answers f(x; θ) to n probes are (n, outputs). The linear map of a change dθ of parameters to the change of answers,
df = J dθ with J = ∂f/∂θ, is given by its products alone, forward (J dθ) and backward (Jᵀ df), many at a time: J itself
has n · outputs × parameters entries and is seldom wanted whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from festina.errors import UnknownName, require
from festina.measures.arrays import as_numpy, as_real

Parameters = dict[str, np.ndarray]
Answers = Float[np.ndarray, "n outputs"]


@dataclass(frozen=True)
class Linearised:
    """A network around one point θ of its parameters, on the probes.

    Attributes:
        answers: f(x; θ).
        forward: J dθ of several changes, by name (changes, …) → (changes, n, outputs); parameters without a name in it
            stay as they are.
        backward: Jᵀ df of several changes of answers, (changes, n, outputs) → by name (changes, …).
        pull: J Jᵀ df of one change of answers, (n, outputs) → (n, outputs); the product with the tangent kernel.
    """

    answers: Answers
    forward: Callable[[Mapping[str, np.ndarray]], Float[np.ndarray, "changes n outputs"]]
    backward: Callable[[Float[np.ndarray, "changes n outputs"]], Parameters]
    pull: Callable[[Answers], Answers]


class Outside(ABC):
    """A network of another library, with the probes on which it is watched."""

    changes_in_its_place: bool = False
    """Whether training changes the network that is watched, or makes another one, to be handed over at each look."""

    @abstractmethod
    def parameters(self, now: Any = None) -> Parameters:
        """A copy of all trainable parameters by name; ``now`` is what has become of a network that is a value."""

    @abstractmethod
    def answers(self, parameters: Parameters) -> Answers:
        """f(x; θ) on the probes."""

    @abstractmethod
    def linearised(self, parameters: Parameters) -> Linearised:
        """The network around θ."""

    @abstractmethod
    def activations(self, parameters: Parameters) -> dict[str, Shaped[np.ndarray, "n units *positions"]]:
        """What the layers that are watched have made of the probes, (n, units) or (n, units, positions …)."""

    @abstractmethod
    def layer_of(self, name: str) -> str:
        """The layer that a parameter belongs to, as in "encoder.0" of "encoder.0.weight"."""

    def matrix(self, name: str, values: np.ndarray) -> np.ndarray:
        """A weight as (outputs, inputs, positions …), the order of PyTorch and Equinox."""
        return values


def flat_answers(answers: Any, probes: int) -> Any:
    """Answers as (n, outputs), whatever shape the outputs of one probe have."""
    must = "answer with one array, a row for each probe"
    require(hasattr(answers, "shape"), "model", must, f"of answers of type {type(answers).__name__}")
    shape = tuple(answers.shape)
    fits = len(shape) >= 1 and shape[0] == probes
    require(fits, "model", must, f"of answers of shape {shape} to {probes} probes")
    return answers.reshape(probes, -1)


def parent(name: str) -> str:
    """All of a dotted name but its last part; the name itself if it has but one."""
    return name.rpartition(".")[0] or name


def check_layers(wanted: Any, known: Any) -> None:
    """Refuse the name of a layer that is not there, with the nearest that are."""
    for name in wanted:
        if name not in known:
            raise UnknownName("layer", name, known)


def check_activations(found: Mapping[str, np.ndarray], wanted: Any, probes: int) -> None:
    """Refuse a layer that the network does not use, or that has no row for each probe."""
    for name in wanted:
        require(name in found, "layers", "name layers that are used when the network answers", name)
        shape = found[name].shape
        fits = len(shape) >= 2 and shape[0] == probes
        require(fits, "layers", f"have one row for each of the {probes} probes", f"`{name}`, of shape {shape}")


def libraries_of(model: Any) -> set[str]:
    """The libraries that a network, or anything that it is a kind of, comes from."""
    return {kind.__module__.partition(".")[0] for kind in type(model).__mro__}


def read_probes(inputs: Any, argument: str = "inputs") -> Shaped[np.ndarray, "n ..."]:
    """Inputs of two probes or more, as numbers that are finite."""
    probes = as_numpy(argument, inputs)
    fits = probes.ndim >= 2 and len(probes) > 1
    require(fits, argument, "be two probes or more, one a row", f"of shape {probes.shape}")
    return as_real(argument, probes).astype(probes.dtype, copy=False)


def take_in(model: Any, inputs: Any, layers: Any = ()) -> Outside:
    """A network of any library that is known, on its probes.

    Args:
        model: a `torch.nn.Module`, a module of Equinox, or a pair (apply, parameters) with ``apply(parameters,
            inputs)`` for all inputs at once; in place of ``apply`` also a module of Flax.
        inputs: the probes, one a row.
        layers: names of layers whose activations are wanted, or one name; for (apply, parameters) functions by name,
            ``function(parameters, inputs)``.
    """
    kinds = libraries_of(model)
    layers = (layers,) if isinstance(layers, str) else layers
    if "torch" in kinds:
        from festina.watching.torch_network import TorchNetwork

        return TorchNetwork(model, inputs, tuple(layers))
    from festina.watching import jax_network

    if "equinox" in kinds:
        return jax_network.equinox_network(model, inputs, tuple(layers))
    pair = isinstance(model, tuple) and len(model) == 2
    must = "be a torch.nn.Module, a module of Equinox, or a pair (apply, parameters)"
    require(pair, "model", must, f"of type {type(model).__name__}")
    apply, parameters = model
    return jax_network.applied_network(apply, parameters, inputs, layers)
