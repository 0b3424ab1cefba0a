"""Run an experiment: from the store if it was asked before, otherwise simulate, solve, judge and keep."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from festina.errors import ArgumentError, Interrupted, StoreError, require
from festina.experiment import Budget, Experiment, Result
from festina.lab import store as stores
from festina.lab.batch import Run, dataset, simulate, theory
from festina.lab.locks import exclusive
from festina.lab.provenance import code_digest, digest, own_code, provenance
from festina.lab.registry import find
from festina.learning.loop import Checkpoint, Outcome


def run(
    experiment: str | Experiment,
    *,
    budget: Budget = "full",
    seeds: int | None = None,
    first_seed: int = 0,
    store: str | Path | None = None,
    fresh: bool = False,
    **fields: Any,
) -> Result:
    """Simulate an experiment, put theory beside it, and judge its claims.

    Args:
        experiment: its name (`festina list` shows them), or an `Experiment`.
        budget: `full` for the sources' settings, `quick` for a look.
        seeds: how many independent runs.
        first_seed: the seed of the first; the others follow.
        store: a folder of results; a question asked before is answered from it, a killed run goes on from it.
        fresh: compute even if the store has the answer.
        **fields: configuration fields that differ from the budget's defaults.
    """
    experiment = as_experiment(experiment)
    require(budget in ("quick", "full"), "budget", "be 'quick' or 'full'", budget)
    count = experiment.seeds_at(budget) if seeds is None else seeds
    for name, number in (("seeds", count), ("first_seed", first_seed)):
        require(isinstance(number, int | np.integer), name, "be a whole number", number)
    require(count >= 1, "seeds", "be at least 1", count)
    require(first_seed >= 0, "first_seed", "be zero or positive", first_seed)
    config = experiment.configure(budget, **fields)
    runs = [Run(config, first_seed + k) for k in range(count)]
    if store is None:
        return _compute(experiment, config, runs, budget, None)
    question = (experiment.name, config.model_dump(mode="json"), count, first_seed, budget)
    key = digest(*question, code_digest(), own_code(experiment))
    folder = stores.result_folder(Path(store), experiment, key)
    stores.check_writable(Path(store))
    with exclusive(stores.lock_of(folder)):
        known = None if fresh else stores.load(folder, experiment)
        return known or _compute(experiment, config, runs, budget, folder)


def as_experiment(experiment: Any) -> Experiment:
    """An experiment from its name, from itself, or from its class."""
    if isinstance(experiment, str):
        return find(experiment)
    if isinstance(experiment, type) and issubclass(experiment, Experiment):
        return experiment()
    if not isinstance(experiment, Experiment):
        raise ArgumentError(f"Argument `experiment` must be a name or an Experiment, but is {experiment!r}.")
    return experiment


def _compute(experiment: Experiment, config: Any, runs: list[Run], budget: Budget, folder: Path | None) -> Result:
    checkpoint = None if folder is None else Checkpoint(folder / "checkpoint.npz", mark=folder.name)
    outcome = simulate(experiment, runs, label=experiment.name, checkpoint=checkpoint)
    if outcome.interrupted:
        kept = f"; kept in {checkpoint.path}, ask again to go on" if checkpoint else ""
        done = outcome.records / outcome.times.shape[1]
        raise Interrupted(f"{experiment.name} interrupted at {done:.0%}{kept}")
    data, card = recorded(experiment, runs, budget, outcome)
    result = judged(Result(experiment, config, data, theory(experiment, runs, outcome.times), path=folder), budget)
    if folder is not None:
        _keep(folder, result, card)
    return result


def recorded(
    experiment: Experiment, runs: Sequence[Run], budget: Budget, outcome: Outcome
) -> tuple[xr.Dataset, dict[str, Any]]:
    """The data of a finished batch, with where it comes from among its attributes; and the same as a card to store."""
    data = dataset(experiment, runs, outcome)
    card = provenance() | {
        "experiment": experiment.name,
        "config": runs[0].config.model_dump(mode="json"),
        "budget": budget,
        "seeds": [run.seed for run in runs],
        "seconds": outcome.seconds,
        "steps": outcome.steps,
        "failures": [str(failure) for failure in outcome.failures],
    }
    data.attrs = _flat(card)
    return data, card


def judged(result: Result, budget: Budget) -> Result:
    """The same result with a verdict on each claim."""
    return replace(result, verdicts=tuple(claim.judge(result, budget) for claim in result.experiment.claims))


def _keep(folder: Path, result: Result, card: dict[str, Any]) -> None:
    """Store a result; if that fails, the error carries the result, so that nothing computed is lost."""
    try:
        stores.save(folder, result, card)
    except StoreError as error:
        error.result = result
        raise
    (folder / "checkpoint.npz").unlink(missing_ok=True)


def _flat(card: dict[str, Any]) -> dict[str, Any]:
    """A card as attributes a data set can hold: the configuration is spelled out field by field."""
    config = {f"config_{name}": str(value) for name, value in card["config"].items()}
    return {name: value for name, value in card.items() if name != "config"} | config
