"""Effective sample sizes, and how samples compare with theory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import festina as fs
from festina._lazy import np, xr
from festina.claims import Claim, NotApplicable, Undecided
from festina.errors import ArgumentError
from festina.relations import Relation, above, below

if TYPE_CHECKING:
    from festina.experiment import Result
    from festina.measures.coding import Coding
    from festina.models.wide_bayesian import WideBayesian

FEWEST_RECORDINGS = 4  # for a sample size
SHORT = "our budget: longer chains have a larger effective sample size"
SCHEMES = {"linear": "analog", "sigmoidal": "redundant", "rectified": "sparse"}
"""The code of each nonlinearity."""


def settled(data: Any) -> Any:
    """The recordings after warming up; there must be four of them at least."""
    kept = data["kept"].transpose("run", "time", ...).values
    warm = kept.reshape(*kept.shape[:2], -1).min(axis=(0, 2)) > 0
    if warm.sum() < FEWEST_RECORDINGS:
        raise Undecided(
            f"needs {FEWEST_RECORDINGS} recordings after warming up, of which there are {warm.sum()}: "
            "more draws then, or more recordings of them"
        )
    return data.isel(time=np.flatnonzero(warm))


def long_enough(result: Any) -> Any:
    """The result itself, unless its chains are too short to average anything."""
    settled(result.data)
    return result


def sample_sizes(data: Any) -> dict[str, Any]:
    """Effective sample size and split-R̂ of kernel and readouts, over the recordings after warming up; for `measure`.

    Each chain is a run; the kernel's numbers are those of all runs together. Single readouts are those of the first
    neurons of each chain, which need not agree between chains: their sample size is that within chains. Further
    dimensions, as of several chains in one run, are kept. Without enough recordings, or if a chain failed, there is
    nothing to say.
    """
    late = _sound(data, "class_kernel", "readout")
    if late is None:
        return {}
    readout = late["readout"].isel(neuron=slice(0, 20)).transpose("run", "time", ..., "neuron", "output")
    within = np.stack([fs.measures.effective_sample_size(one[None]) for one in readout.values])
    moves = np.isfinite(within).any(axis=(-1, -2), keepdims=True)  # a chain that never moved counts as no draw
    return sample_sizes_of(data, "class_kernel", "kernel") | {
        "readout_sample_size": xr.DataArray(
            np.nanmedian(np.where(moves, within, 0.0), axis=(-1, -2)), dims=("run", *readout.dims[2:-2])
        ),
    }


def _sound(data: Any, *names: str) -> Any:
    """The recordings after warming up; none if there are too few, or if a chain failed."""
    try:
        late = settled(data)
    except Undecided:
        return None
    return late if all(np.all(np.isfinite(late[name])) for name in names) else None


def sample_sizes_of(data: Any, variable: str, name: str) -> dict[str, Any]:
    """Effective sample size and split-R̂ of every entry of a variable, over the recordings after warming up.

    Each run is a chain; entries that never move have no sample size. Without enough recordings, or if a chain failed,
    there is nothing to say.
    """
    late = _sound(data, variable)
    if late is None:
        return {}
    chains = late[variable].transpose("run", "time", ...)
    return {
        f"{name}_sample_size": xr.DataArray(fs.measures.effective_sample_size(chains.values), dims=chains.dims[2:]),
        f"{name}_r_hat": xr.DataArray(fs.measures.split_r_hat(chains.values), dims=chains.dims[2:]),
    }


def sampling_checks(
    suffix: str = "",
    variable: str = "class_kernel",
    what: str = "the kernel between classes",
    reason: str = SHORT,
    **where: Any,
) -> tuple[Claim, ...]:
    """What every comparison of samples with theory rests on: chains that agree, and large effective sample sizes.

    Args:
        suffix: of the checks' names, where an experiment has several such pairs.
        variable: that is asked for its numbers, each run being a chain; entries that never move have none.
        what: they are about, in words.
        reason: why they may not be passed.
        where: picks one of several chains, as ``phase="equilibrium"``.
    """

    agree = f"Split-R̂ of {what} is near 1: independent chains agree (largest of all entries)."
    size = f"Effective sample size of {what}: chains move (smallest of all entries, all recordings together)."
    return _health(suffix, variable, (agree, size), (_largest, _smallest), reason, where)


def readout_checks(suffix: str, what: str, reason: str = "", **where: Any) -> tuple[Claim, ...]:
    """The same of single readouts, of which the median is asked for: of many the worst is off by chance."""

    agree = f"Split-R̂ of {what} is near 1: neurons forget what they coded for (median of neurons and outputs)."
    size = f"Effective sample size of {what}: neurons move (median of neurons and outputs, all recordings together)."
    return _health(suffix, "readout", (agree, size), (_median, _median), reason, where)


def _largest(entries: np.ndarray) -> Any:
    return entries.max()


def _smallest(entries: np.ndarray) -> Any:
    return np.nanmin(entries)


def _median(entries: np.ndarray) -> Any:
    return np.nanmedian(entries)


def _health(
    suffix: str,
    variable: str,
    statements: tuple[str, str],
    summaries: tuple[Callable[..., Any], Callable[..., Any]],
    reason: str,
    where: Mapping[str, Any],
) -> tuple[Claim, ...]:
    """That chains agree, and that they move: two statements, and how each sums up the entries of a variable."""

    def checked(name: str, statement: str, measure: Callable[[np.ndarray], Any], expect: Relation) -> Claim:
        return Claim(
            f"{name}{suffix}",
            "check",
            "health of the computation",
            statement,
            lambda experiment, result: measure(_chains(result, variable, **where)),
            expect,
            budget="full",
            reason=reason,
        )

    (agree, size), (of_r_hats, of_sizes) = statements, summaries
    return (
        checked("agreement", agree, lambda chains: of_r_hats(fs.measures.split_r_hat(chains)), below(1.05)),
        checked("sample-size", size, lambda chains: of_sizes(fs.measures.effective_sample_size(chains)), above(100.0)),
    )


def checks_along(
    dim: str,
    entries: Iterable[str],
    what: str,
    variable: str = "class_kernel",
    reasons: Mapping[str, str] | None = None,
) -> tuple[Claim, ...]:
    """The checks of every entry of a dimension, called by its last word.

    ``what`` they are about names the {entry}; some entries have reasons of their own why they may not be passed.
    """
    return tuple(
        check
        for entry in entries
        for check in sampling_checks(
            f"-{entry.split()[-1]}",
            variable,
            what.format(entry=entry),
            (reasons or {}).get(entry, SHORT),
            **{dim: entry},
        )
    )


def disagreement(result: Result, variable: str = "class_kernel", **where: Any) -> float:
    """Split-R̂ of some of several chains, the largest of all entries."""
    return float(fs.measures.split_r_hat(_chains(result, variable, **where)).max())


def _chains(result: Result, variable: str, **where: Any) -> np.ndarray:
    """Recordings after warming up as (runs, recordings, entries), of entries that some arm is large enough for."""
    late = picked(settled(result.data), **where)[variable].transpose("run", "time", ...).values
    entries = late.reshape(*late.shape[:2], -1)
    entries = entries[..., ~np.isnan(entries).all(axis=(0, 1))]
    if not np.all(np.isfinite(entries)) or not entries.size:
        raise Undecided("needs chains that stay finite")
    return entries


def picked(data: Any, **where: Any) -> Any:
    """Some of several chains; refused if they are not among them."""
    for dim, labels in where.items():
        missing = [str(label) for label in np.atleast_1d(labels) if label not in data[dim].values]
        if missing:
            raise NotApplicable(f"needs --{dim} with {' and '.join(missing)}")
    return data.sel(**where)


def place_of(result: Result, **labels: Any) -> int:
    """The number of an arm, the first with these labels; refused if there is none."""
    for number, arm in enumerate(result.arms):
        if labels.items() <= arm.labels.items():
            return number
    raise NotApplicable("needs " + " and ".join(f"--{dim} with {label}" for dim, label in labels.items()))


def network_of(result: Result, **labels: Any) -> WideBayesian:
    """The model of an arm."""
    return cast("WideBayesian", result.arms[place_of(result, **labels)].model)


def theory_of(network: Any, temperature: float | None = None) -> Any:
    """The theory of a network, at its own temperature unless another is given; refused where there is none."""
    try:
        return network.prediction(network.temperature if temperature is None else temperature)
    except ArgumentError as error:
        raise NotApplicable(f"needs a theory, which refuses: {error}") from None


def of_three_classes(result: Any, value: Any) -> Any:
    """A value that is expected of three classes only."""
    if len(result.config.counts) != 3:
        raise NotApplicable("needs three classes")
    return value


def analysed(data: xr.Dataset, labels: np.ndarray, prior_kernel: np.ndarray | None = None) -> list[Coding]:
    """What the analyser says of the hidden layer at the end, from activations and readouts, if it has any; by run."""
    hidden, readouts = data["hidden"].transpose("run", "example", "neuron").values, [None] * data.sizes["run"]
    if "readout" in data:
        readouts = data["readout"].isel(time=-1).transpose("run", "output", "neuron").values
    terms = {"prior_kernel": prior_kernel, "resamples": 0, "shuffles": 0}
    return [fs.measures.coding(one, labels, a, **terms) for one, a in zip(hidden, readouts, strict=True)]


def share_called(schemes: Sequence[str], scheme: str) -> float:
    """The share of layers that the analyser calls so; one of them at least must have learned something."""
    if all(each == "lazy" for each in schemes):
        raise Undecided("needs a lower --temperature, or longer chains: no layer has learned a code")
    return float(np.mean([each == scheme for each in schemes]))


def top_share(result: Result, **where: Any) -> np.ndarray:
    """The share of the class signal in the top tenth of the neurons, mean over recordings after warming up, by run."""
    late = picked(settled(result.data), **where)
    readout = late["readout"].transpose("run", "time", "neuron", "output").values
    activity = late["activity"].transpose("run", "time", "neuron", "class").values
    return fs.measures.top_share(readout, activity, result.config.counts).mean(axis=-1)


def kernel_difference(result: Result, **where: Any) -> np.ndarray:
    """‖K − K_theory‖/‖K_theory‖ of each run, K being the mean over draws; ``where`` picks one of several chains."""
    ours, theirs = (each.transpose("run", "example", "other").values for each in both(result, "kernel", **where))
    return np.linalg.norm(ours - theirs, axis=(1, 2)) / np.linalg.norm(theirs, axis=(1, 2))


def class_kernel_difference(ours: xr.DataArray, theirs: xr.DataArray) -> xr.DataArray:
    """‖κ − κ_theory‖/‖κ_theory‖ of kernels between classes; classes that an arm does not have do not count."""
    pair = ("class", "other_class")
    return (((ours - theirs) ** 2).sum(pair) / (theirs**2).sum(pair)) ** 0.5


def answer_difference(result: Result, **where: Any) -> np.ndarray:
    """The largest |⟨f⟩ − ⟨f⟩_theory| over examples and outputs of each run, ⟨f⟩ being the mean over draws."""
    ours, theirs = both(result, "answer", **where)
    return abs(ours - theirs).max(("example", "output")).values


def both(result: Result, name: str, **where: Any) -> tuple[xr.DataArray, xr.DataArray]:
    """What was averaged over draws, and what theory says of it."""
    settled(result.data)
    if result.theory is None or name not in result.theory:
        raise NotApplicable("needs a theory, and there is none in this configuration")
    return picked(result.data, **where)[name], picked(result.theory, **where)[name]
