"""From models written for one run to compiled batches: every seed with every arm, one batch for each structure."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import jax
import numpy as np

from festina.compiling import brief_jit
from festina.config import STRUCTURE_ONLY, ExperimentConfig
from festina.experiment import Experiment
from festina.journal import journal
from festina.lab.identity import model_code
from festina.lab.unknown import UNKNOWN, NotKnown, known_key, taken
from festina.learning.crossed import Crossed, alone, every_run
from festina.learning.failure import Failure
from festina.learning.loop import Checkpoint, Recording, drive
from festina.learning.native import Together
from festina.learning.outlook import followed_by
from festina.learning.process import Process
from festina.model import Model
from festina.platforms import check_platforms
from festina.precision import bytes_of, double, to_numpy
from festina.wording import duration

JOURNAL = journal(__name__)
Listen = Callable[[int, dict[str, np.ndarray]], None]


@dataclass(frozen=True)
class Run:
    """One run: its configuration and its seed. It has all arms of the experiment."""

    config: Any
    seed: int


@dataclass(frozen=True)
class Builder:
    """Builds the process of one arm. Two builders of one structure are equal, and so share one compilation.

    Attributes:
        kind: of the model.
        structure: its structural fields, as JSON.
        hands_back: whether the start of a run is handed back, for its theory.
        code: a hash of all code that the process depends on, if that is known; programs are kept by it.
    """

    kind: type[Model]
    structure: str
    hands_back: bool = False
    code: str = ""

    @property
    def program_mark(self) -> str:
        """What a program of this process is to be known by; nothing, if it cannot be known."""
        return self.code and f"{self.code} {self.kind.__qualname__} {self.structure} {self.hands_back}"

    @classmethod
    def of(cls, model: Model) -> "Builder":
        return cls(type(model), _structure(model))

    def model(self, inputs: dict[str, Any]) -> Model:
        """The model with traced values for its continuous fields."""
        model = self.kind.model_validate(json.loads(self.structure), context=STRUCTURE_ONLY)
        return model.model_copy(update={name: value for name, value in inputs.items() if name != "seed"})

    def together(self, inputs: Crossed) -> Together | None:
        """All runs as one, without JAX, if the model knows how and if its starts depend on nothing but seeds."""
        make = getattr(self.kind, "together", None)
        if make is None:
            return None
        given = to_numpy(inputs)
        seeds, arms = given.counts
        varied = {name: np.repeat(values, arms) for name, values in given.seeds.items() if name != "seed"}
        varied |= {name: np.tile(values, seeds) for name, values in given.arms.items()}
        numbers, start_of = np.unique(np.repeat(given.seeds["seed"], arms), return_inverse=True)
        by_seed = self.model(given.shared | dict.fromkeys(varied, UNKNOWN))
        try:
            starts = [by_seed.start(known_key(int(number))) for number in numbers]
        except NotKnown:
            return None
        begun = make(self.model(given.shared | varied), starts, start_of)
        return begun and (replace(begun, drawn=taken(starts, start_of)) if self.hands_back else begun)

    def __call__(self, inputs: dict[str, Any]) -> Process:
        model = self.model(inputs)
        start = model.start(jax.random.key(inputs["seed"]))
        process = model.process(start)
        return replace(process, drawn=start) if self.hands_back else process


def _structure(config: ExperimentConfig) -> str:
    values = config.model_dump(mode="json")
    return json.dumps({name: values[name] for name in config.fields_of_kind("structural")})


@dataclass(frozen=True)
class Batch:
    """Arms of one structure, of all runs: what is compiled and driven as one.

    Attributes:
        builder: of the process of each.
        inputs: what differs.
        arms: which of the experiment's arms they are.
        order: where each is among what the loop drives (runs × arms).
        models: their models (runs × arms).
    """

    builder: Builder
    inputs: Any
    arms: list[int]
    order: np.ndarray
    models: list[list[Model]]


def batches(experiment: Experiment, runs: Sequence[Run]) -> list[Batch]:
    """All arms of all runs, batch by batch (inside `double`)."""
    configs = {id(run.config): [arm.model for arm in experiment.arms_at(run.config)] for run in runs}
    models = [configs[id(run.config)] for run in runs]
    by_structure: dict[Any, list[int]] = {}
    for number, model in enumerate(models[0]):
        by_structure.setdefault(_shape_of(model), []).append(number)
    by_builder: dict[Builder, list[int]] = {}
    for arms in by_structure.values():
        model = models[0][arms[0]]
        builder = _builder(experiment, model)
        by_builder[builder] = sorted(by_builder.get(builder, []) + arms)
    found = []
    for builder, arms in by_builder.items():
        own = _of_each(models, lambda row, arms=arms: [row[arm] for arm in arms])
        found.append(make_batch(builder, arms, own, [run.seed for run in runs]))
    return found


def _builder(experiment: Experiment, model: Model) -> Builder:
    """Builds a model of an experiment, and knows its code."""
    return replace(Builder.of(model), code=model_code(experiment, type(model)))


def _shape_of(model: Model) -> Any:
    """What models of one structure have in common, found without writing it out: there may be ten thousand of them."""
    return type(model), tuple(getattr(model, name) for name in _structural(type(model)))


@cache
def _structural(kind: type[Model]) -> tuple[str, ...]:
    return kind.fields_of_kind("structural")


def _of_each(rows: Sequence[Any], work: Callable[[Any], Any]) -> list[Any]:
    """``work(row)`` of every row; rows that are one and the same, as for all seeds of a map, are worked on once."""
    done = {id(row): work(row) for row in {id(row): row for row in rows}.values()}
    return [done[id(row)] for row in rows]


def make_batch(builder: Builder, arms: list[int], models: list[list[Model]], seeds: list[int]) -> Batch:
    """Every seed with every point and arm, where each seed meets the same points; else run by run."""
    names = models[0][0].fields_of_kind("continuous")
    distinct = list(dict.fromkeys(seeds))
    points = len(seeds) // len(distinct)
    rows = _of_each(models, lambda row: np.asarray([[getattr(model, name) for name in names] for model in row], float))
    values = np.stack(rows).reshape(len(models), len(arms), len(names))
    by_seed = (
        values.reshape(len(distinct), points * len(arms), len(names)) if points * len(distinct) == len(seeds) else None
    )
    same = by_seed is not None and seeds == list(np.repeat(distinct, points)) and bool(np.all(by_seed == by_seed[:1]))
    if same and by_seed is not None:
        inputs = _crossed(names, by_seed[0], distinct)
    else:
        inputs = _crossed(names, values.reshape(-1, len(names)), [seed for seed in seeds for _ in arms], of_seeds=True)
    order = np.arange(len(seeds) * len(arms)).reshape(len(seeds), len(arms))
    return Batch(builder, inputs, arms, order, models)


def _crossed(names: Sequence[str], values: np.ndarray, seeds: list[int], of_seeds: bool = False) -> Crossed:
    """Fields that differ along their axis, and those that do not."""
    differs = {name: bool(np.any(values[:, k] != values[0, k])) for k, name in enumerate(names)}
    varied = {name: values[:, k] for k, name in enumerate(names) if differs[name]}
    shared = {name: values[0, k] for k, name in enumerate(names) if not differs[name]}
    # cut by NumPy, since JAX would compile a program for it, and put where the programs are, once for all chunks
    own, varied, shared = jax.device_put(({"seed": np.asarray(seeds)}, varied, shared))
    if of_seeds:
        return Crossed(own | varied, {}, shared, (len(seeds), 1))
    return Crossed(own, varied, shared, (len(seeds), len(values)))


@dataclass
class Simulated:
    """What all batches left behind, arm by arm.

    Attributes:
        times: of the recordings (runs × arms × records).
        observed: by name, (runs × arms × records × …); NaN where an arm does not record it, or not that far.
        concluded: by name, (runs × arms × …).
        failures: by run.
        records: how many recordings are done by all arms.
        seconds: that it took.
        warm_seconds: that it would take with everything compiled.
        steps: of all runs and arms together.
        drawn: the starts of every batch that has a theory (runs × arms leading), None for the others.
    """

    times: np.ndarray
    observed: dict[str, np.ndarray]
    concluded: dict[str, np.ndarray]
    failures: list[Failure] = field(default_factory=list)
    records: int = 0
    seconds: float = 0.0
    warm_seconds: float = 0.0
    steps: int = 0
    drawn: list[Any] = field(default_factory=list)

    @property
    def interrupted(self) -> bool:
        return self.records < self.times.shape[2]


def simulate(
    experiment: Experiment,
    runs: Sequence[Run],
    *,
    label: str,
    checkpoint: Checkpoint | None = None,
    listen: Listen | None = None,
    hand_back: bool = False,
) -> Simulated:
    """Drive all arms of all runs, batch by batch; ``listen`` hears of every chunk, as in `drive`, of all arms.

    With ``hand_back`` the starts come back, too, so that theory need not draw them again.
    """
    check_platforms()
    with double():
        work = batches(experiment, runs)
        outcomes: list[Recording] = []
        for number, batch in enumerate(work):
            kept = checkpoint and _own_checkpoint(checkpoint, number, len(work))
            heard = listen and _heard(listen, work, outcomes)
            with followed_by(sum(len(later.arms) for later in work[number + 1 :]) / len(batch.arms)):
                build = replace(batch.builder, hands_back=hand_back and batch.builder.kind.has_theory())
                outcomes.append(drive(build, batch.inputs, label=label, checkpoint=kept, listen=heard))
            _tell(label, number, work, outcomes[-1])
            if outcomes[-1].interrupted:
                break
        return _joined(experiment, runs, work, outcomes)


def _tell(label: str, number: int, work: Sequence[Batch], outcome: Recording) -> None:
    """Of a batch that is done, as far as it was."""
    which = f"{label}: batch {number + 1} of {len(work)}"
    if outcome.resumed_from:
        recordings = outcome.times.shape[1]
        JOURNAL.info("%s went on from a checkpoint, recording %d of %d", which, outcome.resumed_from, recordings)
    JOURNAL.debug("%s: %d steps in %s", which, outcome.steps, duration(outcome.seconds))


def _own_checkpoint(checkpoint: Checkpoint, number: int, count: int) -> Checkpoint:
    """Of one batch; one that ends before others begin is kept to its end."""
    path = checkpoint.path
    own = path if number == 0 else path.with_name(f"{path.stem}-{number}{path.suffix}")
    return replace(checkpoint, path=own, last=number + 1 < count)


def _heard(listen: Listen, work: list[Batch], done: list[Recording]) -> Listen:
    """Tell of all arms; those whose batch has not begun have recorded nothing."""

    def hear(records: int, observed: dict[str, np.ndarray]) -> None:
        parts = [*(outcome.observed for outcome in done), observed]
        furthest = max([records, *(outcome.records for outcome in done)])
        listen(furthest, _by_arm(work[: len(parts)], parts, sum(len(batch.arms) for batch in work)))

    return hear


def _joined(experiment: Experiment, runs: Sequence[Run], work: list[Batch], outcomes: list[Recording]) -> Simulated:
    arms, done = sum(len(batch.arms) for batch in work), work[: len(outcomes)]
    times = _by_arm(done, [{"times": outcome.times} for outcome in outcomes], arms)["times"]
    begun = len(outcomes) == len(work)
    return Simulated(
        times,
        _by_arm(done, [outcome.observed for outcome in outcomes], arms),
        _by_arm(done, [outcome.concluded for outcome in outcomes], arms) if begun else {},
        [
            _placed(failure, batch, experiment, runs)
            for batch, outcome in zip(done, outcomes, strict=True)
            for failure in outcome.failures
        ],
        min(outcome.records for outcome in outcomes) if begun else 0,
        sum(outcome.seconds for outcome in outcomes),
        sum(outcome.warm_seconds for outcome in outcomes),
        sum(outcome.steps for outcome in outcomes),
        [outcome.drawn for outcome in outcomes],
    )


def _placed(failure: Failure, batch: Batch, experiment: Experiment, runs: Sequence[Run]) -> Failure:
    """A failure with the number of its run, and the arm it happened in if there are several."""
    run, place = (int(at) for at in np.argwhere(batch.order == failure.run)[0])
    if not experiment.arms.dims:
        return replace(failure, run=run)
    labels = experiment.arms_at(runs[run].config)[batch.arms[place]].labels
    where = ", ".join(f"{name} {value}" for name, value in labels.items())
    return replace(failure, run=run, arm=where)


def _by_arm(work: Sequence[Batch], parts: Sequence[dict[str, np.ndarray]], arms: int) -> dict[str, np.ndarray]:
    """What batches hold by name, as (runs × arms × …); where sizes differ, NaN (or zero) fills up."""
    found: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        own = [(batch, part[name]) for batch, part in zip(work, parts, strict=True) if name in part]
        if len(own) == 1 and len(own[0][0].arms) == arms:
            found[name] = own[0][1][own[0][0].order]
            continue
        shape = tuple(np.max([values.shape[1:] for _, values in own], axis=0))
        kind = np.result_type(*(values.dtype for _, values in own))
        fill = np.nan if np.issubdtype(kind, np.floating) else 0
        found[name] = np.full((len(work[0].order), arms, *shape), fill, kind)
        for batch, values in own:
            inner = tuple(slice(0, size) for size in values.shape[1:])
            for place, arm in enumerate(batch.arms):
                found[name][(slice(None), arm, *inner)] = values[batch.order[:, place]]
    return found


@partial(brief_jit, static_argnums=0)
def _starts(builder: Builder, inputs: Any) -> Any:
    def one(inputs: dict[str, Any]) -> Any:
        return builder.model(inputs).start(jax.random.key(inputs["seed"]))

    return every_run(one, inputs)


def starts_of(batch: Batch) -> Any:
    """The starts of all runs and arms of a batch of models, drawn as the simulation draws them."""
    return _starts(batch.builder, batch.inputs)


def times_of(experiment: Experiment, run: Run) -> np.ndarray:
    """When the first arm of a run is recorded, without running it; compiled once for each structure."""
    model = experiment.arms_at(run.config)[0].model
    inputs = {name: np.float64(getattr(model, name)) for name in model.fields_of_kind("continuous")}
    with double():
        return np.asarray(_times(_builder(experiment, model), inputs | {"seed": np.int64(run.seed)}))


@partial(brief_jit, static_argnums=0)
def _times(builder: Builder, inputs: Any) -> Any:
    return builder(inputs).times


def bytes_per_run(experiment: Experiment, run: Run) -> int:
    """How much memory the recordings of one run take, all arms together, found without computing it."""

    def recordings(process: Process) -> Any:
        return process.observe(process.initial), process.conclude(process.initial), process.times

    def needed(shapes: Any) -> int:
        seen, last, times = shapes
        return bytes_of(seen) * times.shape[0] + bytes_of(last)

    return _total(experiment, run, recordings, needed)


def bytes_of_state(experiment: Experiment, run: Run) -> int:
    """How much memory the state of one run takes, all arms together, found without computing it."""
    return _total(experiment, run, lambda process: process.initial, bytes_of)


def _total(experiment: Experiment, run: Run, look: Callable[[Process], Any], size: Callable[[Any], int]) -> int:
    """The size of what is looked at in the processes of all arms of one run."""
    check_platforms()
    with double():
        return sum(
            len(batch.arms)
            * size(jax.eval_shape(lambda inputs, b=batch: look(b.builder(inputs)), alone(batch.inputs, 0)))
            for batch in batches(experiment, [run])
        )
