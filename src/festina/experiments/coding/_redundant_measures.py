"""What `coding/redundant` reads off its chains, and what theory says of it."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import festina as fs
from festina._lazy import jax, np
from festina.claims import NotApplicable
from festina.experiments.coding._common import membership, readout_variance, world
from festina.experiments.coding._comparison import settled
from festina.experiments.coding._sampled import code_numbers

ON = 0.5  # mean activity in a class above which a neuron is on for it
FEW = 0.01  # share of neurons below which a code counts as empty


def predictions(config: Any) -> dict[str, Any]:
    """Theory in equilibrium, for each phase."""
    heats = {"equilibrium": config.temperature, "cooled": config.cold, "planted": config.cold}
    return {phase: _prediction(config.counts, config.amplitude, heat) for phase, heat in heats.items()}


@lru_cache
def _prediction(counts: tuple[int, ...], amplitude: float, temperature: float) -> Any:
    data = fs.worlds.orthogonal_classes(counts)
    return fs.theory.coding.redundant(
        counts, data.class_targets, temperature, fs.networks.bayesian.readout_variance(amplitude, sum(counts), 1)
    )


def several_codes(config: Any, number: int = 2) -> None:
    """Refuse low temperatures at which theory has fewer codes."""
    found = predictions(config)["planted"].codes
    have = 0 if found is None else len(found.weights)
    if have < number:
        raise NotApplicable(f"needs a lower --cold, at which theory has {number} codes; it has {have}")


@dataclass(frozen=True)
class EvenDraw:
    """Neurons of a prediction, with each code in its predicted number, up to rounding."""

    prediction: Any

    def draw_neurons(self, key: Any, count: int) -> tuple[Any, Any]:
        """Readouts and preactivations, chosen from four times as many."""
        codes = self.prediction.codes
        readouts, preactivations = self.prediction.draw_neurons(key, 4 * count)
        nearest = np.argmin(((readouts[:, None] - codes.readouts[None]) ** 2).sum(axis=-1), axis=1)
        limits = np.rint(count * np.cumsum(codes.weights)).astype(int)
        wanted = np.diff(limits, prepend=0)
        chosen = np.concatenate([np.flatnonzero(nearest == each)[:number] for each, number in enumerate(wanted)])
        others = np.setdiff1d(np.arange(len(readouts)), chosen)  # should a rare code lack candidates
        chosen = np.concatenate([chosen, others[: count - len(chosen)]])
        return readouts[chosen], preactivations[chosen]


def codes_in_time(result: Any, phase: str) -> Any:
    """The code of each neuron in each recording after warming up: (run, time, neuron)."""
    activity = settled(result.data)["activity"].sel(phase=phase)
    return code_numbers(activity.transpose("run", "time", "neuron", "class").values > ON)


def code_shares(result: Any, phase: str) -> Any:
    """The share of neurons with each code, over recordings after warming up: (run, 2^classes)."""
    codes = codes_in_time(result, phase)
    return np.stack([_shares(one, len(result.config.counts)) for one in codes])


def predicted_weights(config: Any) -> Any:
    """The share of neurons with each code at the low temperature, where readouts alone tell the code: (2^classes,)."""
    codes = predictions(config)["planted"].codes
    return np.bincount(code_numbers(codes.subsets), codes.weights, 2 ** len(config.counts))


@lru_cache
def predicted_shares(config: Any, phase: str, neurons: int = 40_000) -> Any:
    """The same at any temperature, for neurons drawn from the theory."""
    data = world(config)
    with fs.double():
        _, preactivations = predictions(config)[phase].draw_neurons(jax.random.key(0), neurons)
    activity = fs.theory.coding.SIGMOIDAL.function(preactivations) @ membership(data)
    return _shares(code_numbers(activity / np.asarray(data.counts)[None] > ON), len(data.counts))


def _shares(codes: Any, classes: int) -> Any:
    return np.bincount(np.ravel(codes), minlength=2**classes) / np.size(codes)


def share_difference(result: Any) -> Any:
    """The largest difference between measured and predicted shares in equilibrium, by run."""
    theirs = predicted_shares(result.config, "equilibrium")
    return np.abs(code_shares(result, "equilibrium") - theirs[None]).max(axis=1)


def turnover(result: Any, phase: str) -> Any:
    """The share of neurons with different codes first and last after warming up, over that of codes drawn anew."""
    codes, shares = codes_in_time(result, phase), code_shares(result, phase)
    changed, anew = (codes[:, 0] != codes[:, -1]).mean(axis=1), 1.0 - np.sum(shares**2, axis=1)
    if np.any(anew == 0.0):
        raise NotApplicable("needs neurons with different codes")
    return changed / anew


def distance_to_branches(result: Any) -> Any:
    """√⟨min_γ |a − a_γ|²⟩/√⟨|a|²⟩ of planted chains, by run."""
    readout = settled(result.data)["readout"].sel(phase="planted").transpose("run", "time", "neuron", "output").values
    branches = predictions(result.config)["planted"].codes.readouts
    distance = ((readout[..., None, :] - branches) ** 2).sum(axis=-1).min(axis=-1)
    return np.sqrt(distance.mean(axis=(1, 2)) / (readout**2).sum(axis=-1).mean(axis=(1, 2)))


def frozen_prediction(result: Any, run: int) -> Any:
    """Theory at the shares of codes that a cooled chain has."""
    late = settled(result.data).sel(phase="cooled").isel(run=run)
    return at_own_shares(late, result.config, result.config.cold)


def at_own_shares(late: Any, config: Any, temperature: float) -> Any:
    """Theory at the shares of codes that one network has, over recordings of its activity and readouts."""
    codes = code_numbers(late["activity"].transpose("time", "neuron", "class").values > ON)
    readout = late["readout"].transpose("time", "neuron", "output").values
    shares = _shares(codes, len(config.counts))
    held = np.flatnonzero(shares > FEW)
    centres = np.stack([readout[codes == each].mean(axis=0) for each in held])
    weights = tuple((shares[held] / shares[held].sum()).tolist())
    return _frozen(config, temperature, tuple(map(tuple, centres.tolist())), weights)


@lru_cache
def _frozen(config: Any, temperature: float, centres: tuple[tuple[float, ...], ...], weights: tuple[float, ...]) -> Any:
    return fs.theory.coding.frozen(
        config.counts,
        world(config).class_targets,
        temperature,
        readout_variance(config),
        np.array(centres),
        np.array(weights),
    )


def frozen_difference(result: Any) -> Any:
    """‖K − K_frozen‖/‖K_frozen‖ of each cooled chain, by run."""
    kernels = result["kernel"].sel(phase="cooled").transpose("run", "example", "other").values
    theirs = [frozen_prediction(result, run).kernels[-1] for run in range(len(kernels))]
    differences = [np.linalg.norm(ours - each) for ours, each in zip(kernels, theirs, strict=True)]
    return np.array(differences) / np.array([np.linalg.norm(each) for each in theirs])
