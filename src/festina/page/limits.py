"""What the page allows, and when it asks before it begins: one place for every number."""

import math
from dataclasses import dataclass
from threading import Lock
from typing import Any

from festina.errors import FestinaError
from festina.experiment import Budget, Experiment
from festina.lab.batch import Builder, Run, bytes_of_state, bytes_per_run

BODY_BYTES = 64 * 1024
RECORDING_BYTES = 512 * 2**20
STATE_BYTES = 128 * 2**20  # of which a step of an integrator makes a dozen copies
KEPT_BYTES = 2**30  # of finished runs, for downloads
KEPT_JOBS = 32
MOST_SEEDS = 50
MOST_VALUES = 64  # of a field that takes several
LARGEST_SEED = 2**32 - 1
MOST_CELLS = 33  # of a map, along each axis
AT_ONCE = 2
QUEUE = 16
WINDING_DOWN = 4  # cancelled jobs whose threads have not come to their next chunk yet
SECONDS = 600.0
GRACE = 2.0  # seconds after the last listener has gone
FIRST_GRACE = 20.0  # seconds for the first listener to come
BODY_SECONDS = 10.0  # for a body to arrive
DOWNLOADS_AT_ONCE, DOWNLOADS_WAITING = 2, 8
MOST_WORK = 200.0  # times that of the full budget
LONG = 10.0  # seconds that need no question


Structure = tuple[Builder, ...]
_KNOWN_SIZES: dict[Structure, tuple[int, int]] = {}
_LOCK = Lock()


class TooLarge(FestinaError):
    """A run whose recordings would not fit."""


def check_memory(experiment: Experiment, config: Any, count: int) -> None:
    """Say before anything is compiled that the recordings of so many runs, or the runs themselves, would not fit."""
    recordings, state = _bytes_per_run(experiment, config)
    runs = f"{count} {'run' if count == 1 else 'runs'}"
    for what, needed, allowed in (
        (f"recordings of {runs}", recordings * count, RECORDING_BYTES),
        (f"weights of {runs}", state * count, STATE_BYTES),
    ):
        if needed > allowed:
            sizes = f"{needed / 2**20:.0f} MB, but at most {allowed // 2**20} MB are allowed"
            raise TooLarge(f"The {what} would take {sizes}; ask for fewer seeds, fewer recordings or smaller sizes.")


def check_work(experiment: Experiment, config: Any) -> None:
    """Refuse what would take far longer than the sources' own settings.

    Nobody can say beforehand how long a run takes, but it grows with every count in its configuration (sizes, steps,
    recordings, entries), with the time it covers, and with one over the length of a step: with their product, relative
    to the full budget, if they are independent.
    """
    usual = experiment.configure("full")
    ratios = {name: _ratio(name, getattr(config, name), getattr(usual, name)) for name in type(config).model_fields}
    work = math.prod(max(1.0, ratio) for ratio in ratios.values())
    if not work <= MOST_WORK:
        largest = max(ratios, key=lambda name: ratios[name])
        raise TooLarge(
            f"This would be about {work:.3g} times the work of the full budget, but at most {MOST_WORK:g} times are "
            f"allowed on the page; `{largest}` is {ratios[largest]:.3g} times as large. Longer runs: `festina run`."
        )


def _ratio(name: str, asked: Any, usual: Any) -> float:
    """How much more work one field asks for; a float is no count, unless it says how long a run or a step is."""
    if isinstance(usual, float) and "step" in name:
        return usual / asked
    if isinstance(usual, float) and name == "until":
        return asked / usual
    return _count(asked) / max(_count(usual), 1.0)


def _count(value: Any) -> float:
    """A count, the sum of several, or how many values of another kind there are."""
    if isinstance(value, tuple):
        return sum(_count(part) for part in value)
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return float(max(value, 1)) if is_count else 1.0


@dataclass(frozen=True)
class Confirmation:
    """Why a run should not start unasked, and how long it may take, if that is known."""

    reason: str
    seconds: float | None


class Timings:
    """How long each structure took in this process, and so which need no question."""

    def __init__(self) -> None:
        self._seconds_per_seed: dict[Structure, float] = {}
        self._lock = Lock()

    def note(self, experiment: Experiment, config: Any, seeds: int, seconds: float) -> None:
        """Remember what so many seeds took once everything was compiled."""
        with self._lock:
            self._seconds_per_seed[_structure(experiment, config)] = seconds / seeds

    def estimate(self, experiment: Experiment, config: Any, seeds: int) -> float | None:
        with self._lock:
            known = self._seconds_per_seed.get(_structure(experiment, config))
        return None if known is None else known * seeds

    def question(self, experiment: Experiment, config: Any, seeds: int, budget: Budget) -> Confirmation | None:
        """What to ask before a run begins; nothing if it is as quick as a look, or was when last asked."""
        reason = _why_long(experiment, config, budget)
        if reason is None:
            return None
        seconds = self.estimate(experiment, config, seeds)
        return None if seconds is not None and seconds < LONG else Confirmation(reason, seconds)


def _why_long(experiment: Experiment, config: Any, budget: Budget) -> str | None:
    if budget == "full":
        return "the full budget has the settings of the sources and may take minutes"
    usual = experiment.configure("quick")
    larger = [name for name in config.fields_of_kind("structural") if _exceeds(config, usual, name)]
    return f"`{larger[0]}` is larger than at the quick budget" if larger else None


def _exceeds(config: Any, usual: Any, name: str) -> bool:
    asked, known = _magnitudes(getattr(config, name)), _magnitudes(getattr(usual, name))
    return any(mine > yours for mine, yours in zip(asked, known, strict=True))


def _magnitudes(value: Any) -> tuple[float, float]:
    """How many numbers a field has, and the largest; what is no number has no magnitude."""
    if isinstance(value, tuple):
        parts = [_magnitudes(part) for part in value]
        return sum(count for count, _ in parts), max((size for _, size in parts), default=0.0)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return 1.0, float(value) if is_number else 0.0


def _structure(experiment: Experiment, config: Any) -> Structure:
    """What decides how long a run takes, and how large it is: the structure of every arm."""
    return tuple(Builder.of(arm.model) for arm in experiment.arms_at(config))


def _bytes_per_run(experiment: Experiment, config: Any) -> tuple[int, int]:
    """The size of one run's recordings and of its state, which are its structure's alone."""
    structure = _structure(experiment, config)
    with _LOCK:
        known = _KNOWN_SIZES.get(structure)
    if known is None:
        run = Run(config, 0)
        known = bytes_per_run(experiment, run), bytes_of_state(experiment, run)
        with _LOCK:
            _KNOWN_SIZES[structure] = known
    return known
