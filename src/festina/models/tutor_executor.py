"""An animal that learns a visual decision by trial and error: a deep network with a tutor and an executor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field, field_validator

import festina as fs
from festina._lazy import jax, jnp, np, xr
from festina.config import continuous, structural
from festina.model import Equation, Model, Preset, Variable
from festina.ranges import LearningRate, Start
from festina.sources import LIEBANA_2025

if TYPE_CHECKING:
    from festina.models._types import (
        Array,
        Curves,
        Float,
        Key,
        MeanField,
        Observed,
        Process,
        Rule,
        Solution,
        State,
        Task,
        Trial,
        Tutor,
        UInt32,
    )

EARLY, LATE = (4, 8), 5  # sessions of the early window, and how many the late one has
STRIDE = 5  # trials of the expected update at once
Contrast = Annotated[float, Field(ge=0.01, le=1)]


class Begin(NamedTuple):
    """The network at birth, and the key of all stimuli and choices."""

    network: Tutor
    luck: UInt32[Array, " words"]


class Session(NamedTuple):
    """What happened in a session.

    Attributes:
        right: P(right), by contrast; the mean over all trials, whatever was shown.
        accuracy: the share of correct choices among trials with a grating.
        choices: how many trials there were, by contrast and choice.
        signals: mean teaching signals of those; not a number where there was none.
    """

    right: Float[Array, " contrast"]
    accuracy: Float[Array, ""]
    choices: Float[Array, "contrast choice"]
    signals: Float[Array, "signal contrast choice"]


def _summary(trials: Trial, count: int) -> Session:
    """A session from its trials, of ``count`` stimuli."""
    right = trials.right
    cell = jnp.where(trials.chose_right, 2 * trials.stimulus + 1, 2 * trials.stimulus)
    cells = jax.nn.one_hot(cell, 2 * count, dtype=right.dtype)
    choices, signals = cells.sum(axis=0), trials.signals.T @ cells
    accuracy = jnp.sum(trials.correct & trials.grating) / jnp.sum(trials.grating)
    return Session(right.mean(axis=0), accuracy, choices.reshape(-1, 2), (signals / choices[None]).reshape(3, -1, 2))


class TutorExecutor(Model):
    """An animal that chooses left or right by the values that two layers make of what it sees.

    It chooses by softmax of the values Q = W2 diag(w1) x, whose input x = (grating left, grating right, 1) has three
    pathways. Reward R is 1 for the side of the grating. The tutor w1 learns from the total error R − Q, and each part
    of the executor W2 from a partial one (R minus the stimulus part of Q, R minus its constant part), to which a
    crosstalk m adds m times the other part: with m = 1 both layers descend the gradient of (R − Q)²/2. A shallow
    network has one layer, and the delta rule. Time is in sessions; see `festina.networks.tutor`.

    Gratings have contrasts c, and drive their pathway with (c / c_max)^γ. In the published model only its presence
    matters (γ = 0), so that a psychometric curve has one step on each side; with γ = 1 it is graded. All that
    happens in a session is recorded by contrast and choice: how many trials, and their mean teaching signals δ_tot
    (the tutor's), δ_stim and δ_const (the executor's), which are not a number where there was no such trial.

    The expected update has a hierarchy of saddles, {} → {const} → {right, const} or {left, const} → all, from each of
    which closed pathways grow at a rate found by linearisation. Theory is the expected update from the animal's own
    first weights. Stimulus pathways leave {const} at the rate .159 with partial errors, and .112 with the total one.
    Beyond {const} partial errors have no finite rest point: the one-sided saddle, which the other side leaves at the
    rate .086, is that of the total error.

    Behaviour is measured early (sessions 4 to 8) and late (the last five): its bias is P(right) − ½ without a grating,
    its slopes are how much a grating on the left, or on the right, changes the choice.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> model = fs.models.TutorExecutor(layers=2, sessions=16)
        >>> model.theory()(np.array([0.0, 16.0]))["accuracy"].round(2)
        array([0.5 , 0.62])
    """

    name = "tutor-executor"
    sources = (LIEBANA_2025,)
    variables = {
        "right": Variable("P(right), mean of the session", ("contrast",)),
        "choices": Variable("trials of the session", ("contrast", "choice")),
        "signals": Variable("teaching signals δ, mean of the session", ("signal", "contrast", "choice")),
        "accuracy": Variable("share of correct choices among trials with a grating"),
        "tutor": Variable("tutor weights w1", ("pathway",)),
        "executor": Variable("executor weights W2", ("choice", "pathway")),
        "early_bias": Variable("early bias", final=True),
        "late_bias": Variable("late bias", final=True),
        "asymmetry": Variable("late right − left slope", final=True),
    }
    time_unit = "session"

    layers: int = structural(2, ge=1, le=2, help="layers: tutor and executor, or one that is shallow")
    learning_rate: LearningRate = continuous(0.0026, scale="log", help="learning rate η of both layers")
    crosstalk: float = continuous(
        0.0, ge=0, le=1, help="how much of the other pathways' value enters an executor's error: 0 partial, 1 total"
    )
    tutor_speed: float = continuous(1.0, ge=0, le=10, help="the tutor's learning rate in units of the executor's")
    inverse_temperature: float = continuous(
        9.0, ge=1e-3, le=1e3, help="inverse temperature β of the choice between two values"
    )
    contrasts: tuple[Contrast, ...] = structural(
        (0.25, 0.5), min_length=1, max_length=20, help="contrasts of gratings, rising; each on both sides"
    )
    grading: float = continuous(
        0.0, ge=0, le=10, help="exponent γ of what a grating's contrast does: 0 nothing, 1 in proportion"
    )
    blank: float = continuous(0.1, ge=0.01, le=0.99, help="share of trials with nothing to see")
    initial_spread: float = continuous(0.0, ge=0, le=10, help="s.d. of the constant executor weights at the start")
    noise: Start = continuous(1e-5, scale="log", help="s.d. of what is added to every weight at the start")
    sessions: int = structural(32, ge=16, le=1000, help="sessions, one for each day")
    trials: int = structural(200, ge=10, le=10_000, multiple_of=STRIDE, help="trials of each session")

    equations = (
        Equation(
            r"P(\text{right}) = \sigma\bigl(\beta\, (Q_R - Q_L)\bigr), \qquad Q = W_2\, \mathrm{diag}(w_1)\, x",
            "An animal chooses by the values Q of the two sides, which two layers make of what it sees and of a "
            "constant.",
        ),
        Equation(
            r"\Delta w_1^k = \eta\, \delta\, W_2^{ak} x_k, \qquad \Delta W_2^{ak} = \eta\, \delta_k\, w_1^k x_k",
            "After choosing a, the tutor w₁ learns from the total error δ, each pathway k of the executor W₂ from a "
            "partial one.",
        ),
    )
    presets = (
        Preset("published rule", "Chance in the first sessions decides which stimulus is learned first."),
        Preset(
            "shallow", "One layer has no saddles: both stimuli are learned together.", {"layers": 1, "crosstalk": 1.0}
        ),
        Preset("graded", "Weak gratings are seen less well, and the psychometric curve is graded.", {"grading": 1.0}),
    )

    @field_validator("contrasts")
    @classmethod
    def _rising(cls, contrasts: tuple[float, ...]) -> tuple[float, ...]:
        if any(after <= before for before, after in pairwise(contrasts)):
            raise ValueError("rise")
        return contrasts

    def coordinates(self) -> dict[str, Any]:
        world, signals = fs.worlds.gratings, fs.networks.tutor.SIGNALS
        contrasts = world.signed_contrasts(self.contrasts)
        return {"contrast": contrasts, "pathway": world.PATHWAYS, "choice": world.CHOICES, "signal": signals}

    @property
    def seen(self) -> Float[Any, "contrast pathway"]:
        """What every stimulus switches on."""
        return fs.worlds.gratings.inputs(self.contrasts, self.grading)

    def start(self, key: Key) -> Begin:
        birth, life = jax.random.split(key)
        newborn = fs.networks.TutorExecutor.newborn(birth, self.initial_spread, self.noise)
        return Begin(newborn if self.layers > 1 else newborn.flattened, jax.random.key_data(life))

    def process(self, start: Begin) -> Process:
        rule = fs.networks.tutor.Rule(*map(jnp.asarray, (self.learning_rate, self.crosstalk, self._speed)))
        life, seen = jax.random.wrap_key_data(jnp.asarray(start.luck)), self.seen
        times = jnp.arange(self.sessions + 1).astype(float)

        def trial(network: Tutor, number: Array) -> Any:
            luck = jax.random.uniform(jax.random.fold_in(life, number), (2,))
            return fs.networks.tutor.trial(network, rule, self.blank, self.inverse_temperature, luck, seen)

        def advance(state: State, index: Array) -> State:
            network, trials = jax.lax.scan(trial, state.parameters, state.step + jnp.arange(self.trials))
            return fs.learning.State(times[index], state.step + self.trials, network, _summary(trials, len(seen)))

        def step(state: State) -> State:
            network, _ = trial(state.parameters, state.step)
            return fs.learning.State(state.time + 1.0 / self.trials, state.step + 1, network, state.memory)

        def observe(state: State) -> Observed:
            network = state.parameters
            return {**state.memory._asdict(), "tutor": network.tutor, "executor": network.executor}

        initial = fs.learning.State.start(start.network, times[0], self._before(start.network, rule))
        return fs.learning.Process(initial, advance, observe, times, step)

    def _before(self, network: Tutor, rule: Rule) -> Session:
        """What is to be expected of a network in its first trial; none has happened yet."""
        by_choice = jax.vmap(rule.signals, in_axes=(None, None, 0, 0), out_axes=-1)
        by_stimulus = jax.vmap(by_choice, in_axes=(None, 0, None, 0), out_axes=-2)
        right, count = network.right(self.inverse_temperature, self.seen), len(self.seen)
        accuracy = 0.5 * (1.0 - right[: count // 2].mean() + right[count // 2 + 1 :].mean())
        rewards, sides = jnp.asarray(fs.worlds.gratings.rewards(count)), jnp.array([False, True])
        signals = jnp.stack(by_stimulus(network, jnp.asarray(self.seen), sides, rewards))
        return Session(right, accuracy, jnp.zeros((count, 2)), signals)

    def solution(self, start: Begin) -> Solution:
        return lambda time: next(type(self).solutions([self], [start], [time]))

    @classmethod
    def solutions(cls, models: Sequence[TutorExecutor], starts: Sequence[Begin], times: Any) -> Iterator[Curves]:
        """Expected updates of many animals at once."""
        tutor, executor = (
            np.stack([getattr(start.network, layer) for start in starts]) for layer in ("tutor", "executor")
        )
        course = expected_course(models, tutor, executor, models[0].sessions)
        for place, time in enumerate(times):
            sessions = np.rint(np.asarray(time)).astype(int)
            yield {name: values[place][sessions] for name, values in course.items()}

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        """Early and late behaviour."""
        behaviour, course = fs.measures.behaviour, data["right"]
        last = course.sizes["time"] - 1
        windows = {"early_bias": EARLY, "late_bias": (last - LATE + 1, last), "asymmetry": (last - LATE + 1, last)}

        def measured(name: str, first: int, last: int) -> xr.DataArray:
            what = behaviour.slope_difference if name == "asymmetry" else behaviour.bias
            core = [["time", "contrast"]]
            found = xr.apply_ufunc(
                lambda right: what(behaviour.window(right, first, last)), course, input_core_dims=core
            )
            return found.assign_attrs(long_name=cls.variables[name].label)

        return {name: measured(name, *window) for name, window in windows.items()}

    @property
    def _speed(self) -> Any:
        """A shallow network's tutor weights stay what they are, ones."""
        return self.tutor_speed if self.layers > 1 else 0.0

    @property
    def field(self) -> MeanField:
        """The expected update."""
        return fs.theory.saddles.mean_field(crosstalk=self.crosstalk, tutor_speed=self._speed, **self._task)

    @property
    def _task(self) -> dict[str, Any]:
        return {"blank": self.blank, "inverse_temperature": self.inverse_temperature, "seen": self.seen}

    def saddle(self, *opened: str) -> Float[np.ndarray, "choice pathway"]:
        """The rest point with the named pathways open: products of its weights."""
        return fs.theory.saddles.saddle(opened, **self._task)

    def saddle_slopes(self, *opened: str) -> Float[np.ndarray, " slopes"]:
        """Where a saddle lies in the plane of left and right slope."""
        values = self.seen @ self.saddle(*opened).T
        right = 1.0 / (1.0 + np.exp(-self.inverse_temperature * (values[:, 1] - values[:, 0])))
        return fs.measures.behaviour.slopes(right)

    def growth(self, *opened: str) -> tuple[Float[np.ndarray, " pathway"], Float[np.ndarray, "pathway weight"]]:
        """Rates at which pathways, were they closed, grow out of a saddle, and how to see them growing."""
        return fs.theory.saddles.growth(self.field, self.saddle(*opened))

    @property
    def naive_task(self) -> Task:
        """The task of an animal that chooses by chance, whatever its weights: with it, learning descends a loss."""
        world, count = fs.worlds.gratings, len(self.seen)
        by_chance = world.shares(count, self.blank)[:, None] * np.full(2, 0.5)
        return fs.theory.stationary.Task(self.seen, world.rewards(count), by_chance)


def expected_course(
    models: Sequence[TutorExecutor],
    tutor: Float[np.ndarray, "animals pathway"],
    executor: Float[np.ndarray, "animals choice pathway"],
    sessions: int,
) -> Curves:
    """What the expected update makes of animals in some sessions; arrays of (animals, sessions, …)."""
    fields = jax.tree.map(lambda *leaves: np.stack(leaves), *(model.field for model in models))
    rates, time = np.array([model.learning_rate for model in models]), {"trials": models[0].trials, "stride": STRIDE}
    course = fs.theory.saddles.expected_course(fields, tutor, executor, rates, sessions=sessions, **time)
    return course | {"accuracy": fs.measures.behaviour.accuracy(np.asarray(course["right"]))}
