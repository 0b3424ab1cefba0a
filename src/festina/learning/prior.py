"""A Gaussian prior of the weights of any network, and weights in units of it: θ = σ z, with z standard normal."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np

from festina.errors import ArgumentError, require
from festina.networks.bayesian import Bayesian


@dataclass(frozen=True)
class Parts:
    """A network, taken apart; ``eqx.combine`` puts it together again.

    Attributes:
        weights: θ, which has a prior: all real arrays, of a `Bayesian` network its weights and its readout.
        fixed: other arrays, such as whole numbers, or the variance of a `Bayesian` network's readout.
        static: everything else, such as activation functions and sizes.
    """

    weights: Any
    fixed: Any
    static: Any

    @classmethod
    def of(cls, network: Any) -> "Parts":
        chosen = jax.tree.map(eqx.is_inexact_array, network)
        if isinstance(network, Bayesian):
            chosen = eqx.tree_at(lambda own: own.readout_variance, chosen, False)
        weights, rest = eqx.partition(network, chosen)
        require(len(jax.tree.leaves(weights)) > 0, "network", "hold at least one real array", type(network).__name__)
        return cls(weights, *eqx.partition(rest, _is_array))

    @property
    def names(self) -> list[str]:
        """Of the weights, one for each array: `layers.0.weight`, for example."""
        return [_name(path) for path, _ in jax.tree_util.tree_leaves_with_path(self.weights)]


def deviations(prior: Any, weights: Any) -> Any:
    """σ, one number for each weight: a tree of arrays in the shapes of the weights.

    Args:
        prior: one number for all weights; or a tree with the network's structure of numbers or arrays (what in it is
            neither, such as activation functions, counts for nothing), where a number may stand for a whole branch.
        weights: the network's.
    """
    numbers = eqx.filter(prior, _is_number)
    try:
        matched = jax.tree.map(lambda sigma, part: jax.tree.map(lambda leaf: sigma, part), numbers, weights)
    except (ValueError, TypeError):
        raise ArgumentError(
            "Argument `prior` must be one standard deviation, or a tree of them with the network's structure "
            f"{jax.tree.structure(weights)}, but is {prior!r}."
        ) from None
    return jax.tree_util.tree_map_with_path(_spread, weights, matched)


def _spread(path: Any, weight: Any, sigma: Any) -> np.ndarray:
    """One standard deviation for each entry of an array of weights."""
    name, shape = _name(path), np.shape(weight)
    name = "prior" if np.ndim(sigma) == 0 else f"prior.{name}"
    values = np.asarray(sigma, dtype=float)
    require(bool(np.all((values > 0) & np.isfinite(values))), name, "be positive and finite", sigma)
    try:
        return np.ascontiguousarray(np.broadcast_to(values, shape))
    except ValueError:
        raise ArgumentError(f"Argument `{name}` must fit weights of shape {shape}, but is {values.shape}.") from None


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".") or "weights"


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray | np.generic | jax.Array)


def _is_number(leaf: Any) -> bool:
    return _is_array(leaf) or (isinstance(leaf, int | float) and not isinstance(leaf, bool))
