"""ONE answer for every question: from the store if it was asked before, else simulate, solve, judge and keep.

Who asks may follow: `tell` hears of what is recorded while it is recorded, of the data when they are whole, of the
theory, and of the verdicts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from festina.compiling import programs_compiled
from festina.errors import Interrupted, StoreError
from festina.experiment import Experiment, Result
from festina.journal import journal
from festina.lab import compiled as _compiled  # noqa: F401, listens from now on
from festina.lab import store as stores
from festina.lab.batch import Run, Simulated, simulate
from festina.lab.labelled import dataset, theory
from festina.lab.locks import exclusive
from festina.lab.provenance import provenance
from festina.lab.question import Question
from festina.learning.loop import Checkpoint
from festina.wording import duration

JOURNAL = journal(__name__)


@dataclass(frozen=True)
class Recorded:
    """Some more recordings, of all arms that have begun: by name (runs × arms × records × …)."""

    records: int
    observed: dict[str, np.ndarray]


@dataclass(frozen=True)
class Whole:
    """All runs are done; ``times`` of the recordings (runs × arms × records)."""

    data: xr.Dataset
    times: np.ndarray
    compiling: float


@dataclass(frozen=True)
class Predicted:
    """What theory says, if it says anything."""

    theory: xr.Dataset | None


Event = Recorded | Whole | Predicted
Tell = Callable[[Event], None]


def answer(question: Question, *, store: Path | None = None, fresh: bool = False, tell: Tell | None = None) -> Result:
    """The answer to a question.

    Args:
        question: what is asked.
        store: a folder of results; a question asked before is answered from it, a killed run goes on from it.
        fresh: compute even if the store has the answer.
        tell: hears of every step on the way; of an answer from the store, of its data and theory.
    """
    if store is None:
        return _computed(question, None, tell)
    folder = stores.result_folder(store, question.experiment, question.key)
    stores.check_writable(store)
    with exclusive(stores.lock_of(folder)):
        known = None if fresh else stores.load(folder, question.experiment)
        if known is None:
            return _computed(question, folder, tell)
    JOURNAL.info("%s: the store has the answer, %s", question.experiment.name, folder)
    if tell is not None:
        tell(Whole(known.data, _times_in(known.data), 0.0))
        tell(Predicted(known.theory))
    return known


def recorded(
    experiment: Experiment,
    runs: Sequence[Run],
    *,
    label: str,
    checkpoint: Checkpoint | None = None,
    tell: Tell | None = None,
    hand_back: bool = False,
) -> tuple[Simulated, xr.Dataset]:
    """Simulate runs of one structure and label what was recorded; an interrupted simulation has no data yet."""
    listen = None if tell is None else lambda records, observed: tell(Recorded(records, observed))
    simulated = simulate(experiment, runs, label=label, checkpoint=checkpoint, listen=listen, hand_back=hand_back)
    return simulated, xr.Dataset() if simulated.interrupted else dataset(experiment, runs, simulated)


def _computed(question: Question, folder: Path | None, tell: Tell | None) -> Result:
    experiment, runs = question.experiment, question.runs
    checkpoint = None if folder is None else Checkpoint(folder / "checkpoint.npz", mark=folder.name)
    before = programs_compiled()
    _tell_of_beginning(question)
    simulated, data = recorded(
        experiment, runs, label=experiment.name, checkpoint=checkpoint, tell=tell, hand_back=True
    )
    if simulated.interrupted:
        kept = f"; kept in {checkpoint.path}, ask again to go on" if checkpoint else ""
        done = simulated.records / simulated.times.shape[2]
        raise Interrupted(f"{experiment.name} interrupted at {done:.0%}{kept}")
    JOURNAL.info("%s: simulated in %s", experiment.name, duration(simulated.seconds))
    card = _card(question, simulated)
    data.attrs = _flat(card)
    if tell is not None:
        tell(Whole(data, simulated.times, simulated.seconds - simulated.warm_seconds))
    predicted = theory(experiment, runs, simulated.times, simulated.drawn)
    JOURNAL.debug(
        "%s: theory says %s", experiment.name, "nothing" if predicted is None else ", ".join(map(str, predicted))
    )
    if tell is not None:
        tell(Predicted(predicted))
    result = judged(Result(experiment, question.config, data, predicted, path=folder), question)
    JOURNAL.debug("%s: %d claims are judged", experiment.name, len(result.verdicts))
    data.attrs["programs"] = card["programs"] = programs_compiled() - before
    if folder is not None:
        _keep(folder, result, card)
        JOURNAL.info("%s: kept in %s", experiment.name, folder)
    return result


def _tell_of_beginning(question: Question) -> None:
    name, seeds = question.experiment.name, question.seeds
    JOURNAL.info("%s: begins with seeds %d to %d at the %s budget", name, seeds[0], seeds[-1], question.budget)
    JOURNAL.debug("%s: settings are %s", name, question.config)


def judged(result: Result, question: Question) -> Result:
    """The same result with a verdict on each claim."""
    verdicts = tuple(claim.judge(result, question.budget) for claim in result.experiment.claims)
    return replace(result, verdicts=verdicts)


def _card(question: Question, simulated: Simulated) -> dict[str, Any]:
    """Where a result comes from, and what it took."""
    return provenance(question.experiment) | question.as_json() | {
        "seconds": simulated.seconds,
        "steps": simulated.steps,
        "failures": [str(failure) for failure in simulated.failures],
    }  # fmt: skip


def _keep(folder: Path, result: Result, card: dict[str, Any]) -> None:
    """Store a result; if that fails, the error carries the result, so that nothing computed is lost."""
    try:
        stores.save(folder, result, card)
    except StoreError as error:
        error.result = result
        raise
    for path in folder.glob("checkpoint*.npz"):
        path.unlink(missing_ok=True)


def _times_in(data: xr.Dataset) -> np.ndarray:
    """The times of stored recordings, of the first arm of every run."""
    clock = data["clock"] if "clock" in data.coords else data["time"].expand_dims(run=data.sizes["run"])
    arms = [dim for dim in clock.dims if dim not in ("run", "time")]
    return clock.isel(dict.fromkeys(arms, 0)).transpose("run", "time").values[:, None]


def _flat(card: dict[str, Any]) -> dict[str, Any]:
    """A card as attributes a data set can hold: the configuration is spelled out field by field."""
    config = {f"config_{name}": str(value) for name, value in card["config"].items()}
    return {name: value for name, value in card.items() if name != "config"} | config
