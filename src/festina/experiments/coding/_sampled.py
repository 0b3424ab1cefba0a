"""Chains that are recorded in their own way."""

from collections.abc import Callable, Sequence
from typing import Any

import festina as fs
from festina._lazy import jnp, np


def posterior(
    network: Any,
    data: Any,
    key: Any,
    heat: Callable[[Any], Any],
    *,
    records: int,
    draws_per_record: int,
    warm_up: int,
    observe: Callable[[Any, Any], dict[str, Any]],
    average: Callable[[Any], Any] = lambda network: (),
    conclude: Callable[[Any, Any], dict[str, Any]] = lambda network, state: {},
) -> Any:
    """One chain of the posterior of a network; ``observe`` and ``average`` see a network, not its weights.

    Args:
        network: where it starts.
        data: inputs and targets.
        key: of all draws.
        heat: temperature of each draw, by its number.
        records: recordings after the first.
        draws_per_record: draws between two of them.
        warm_up: draws during which the step adapts and nothing is averaged.
        observe: what is recorded, from a network and the state of its chain.
        average: what is averaged over all later draws, to be found in ``state.memory.means``.
        conclude: what is recorded at the end only, from a network and the state of its chain.
    """
    shown = (jnp.asarray(data.inputs), jnp.asarray(data.targets))
    return fs.learning.posterior_process(
        lambda whitened, seen, temperature: network.having(whitened).energy(*seen, temperature),
        network.whitened,
        shown,
        key,
        records,
        draws_per_record,
        lambda state: observe(network.having(state.parameters), state),
        heat,
        warm_up,
        average=lambda whitened: average(network.having(whitened)),
        conclude=lambda state: conclude(network.having(state.parameters), state),
    )


def stacked(seen: list[dict[str, Any]]) -> dict[str, Any]:
    """What several chains record, with the chain as the first dimension."""
    return {name: jnp.stack([one[name] for one in seen]) for name in seen[0]}


def class_activity(network: Any, inputs: Any, labels: Any) -> Any:
    """The mean activity of each neuron in each class, ``labels`` being 1 for members: (neurons, classes)."""
    return network.hidden(inputs)[-1].T @ labels / labels.sum(axis=0)[None]


def class_variance(kernel: Any, counts: Sequence[int]) -> Any:
    """Σ_c p_c κ_cc − Σ_cc' p_c p_c' κ_cc': how much of a kernel κ between classes tells them apart; 0 for the prior."""
    portions = np.asarray(counts, float) / np.sum(counts)
    return np.einsum("...cc,c->...", kernel, portions) - mean_kernel(kernel, counts)


def mean_kernel(kernel: Any, counts: Sequence[int]) -> Any:
    """Σ_cc' p_c p_c' κ_cc': the mean of a kernel between classes over all pairs of examples."""
    portions = np.asarray(counts, float) / np.sum(counts)
    return np.einsum("...cd,c,d->...", kernel, portions, portions)
