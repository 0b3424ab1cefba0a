"""Mice that learn a visual decision, each in its own way: a deep network with a tutor and an executor."""

from typing import Any

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._fields import LearningRate, Start
from festina.experiments.linear import _mice_cohort as cohort
from festina.sources import LECTURE, LIEBANA_2025

MODELS = ("tutor-executor", "scattered start", "total error", "shallow", "slow shallow")


class Mice(Experiment):
    """Deep networks that learn a decision from chance choices go individual yet systematic ways; shallow ones do not.

    A simulated mouse chooses left or right, by softmax of the values Q = W2 diag(w1) x of a two-layer network whose
    input x = (grating left, grating right, 1) has three pathways. Reward R is 1 for the side of the grating. With
    the published rule the tutor w1 learns from the total error R − Q, and each part of the executor W2 from a
    partial one (R minus the stimulus part of Q, R minus its constant part); see `festina.networks.tutor`. Time is in
    sessions. Next to the published model each animal, with the same stimuli and the same luck, is
    - a *scattered start*: the same with constant weights that begin with a spread, of which nothing is published;
    - a *total error* network: both layers descend the gradient of (R − Q)²/2;
    - a *shallow* one and a *slow shallow* one: the delta rule on one layer.

    The expected update has a hierarchy of saddles, {} → {const} → {right, const} or {left, const} → all, from each of
    which closed pathways grow at a rate found by linearisation. Theory is the expected update from the animal's own
    first weights, and, in the figure and one claim, from its weights after the early window.

    Robust: deep networks (with either rule and any start) end up far more diverse than shallow ones, and the late
    asymmetry of an animal follows its early bias. Not robust: the sign of the correlation between early and late
    bias, which is negative without spread and goes to zero and beyond with it (late bias is one and the same curve of
    early bias, falling in the middle and rising at both ends, and a spread puts more animals at the ends). Nor do
    these correlations speak for partial errors, for the total error gives them too. Beyond {const} the published rule
    has no finite rest point: the one-sided saddle and its rate .086 are those of the total error (whose rate at
    {const} is .112, not .159, for its weights cannot become negative). Animals come nearer to it than shallow
    learners do, but do not reach it in 6400 trials. Stimulus pathways grow at the linearised rate .159 in the
    expected update and in animals without much bias; over all animals they grow more slowly (`growth-cohort` fails),
    for bias takes an animal away from {const} and starves the pathway of the other side.
    """

    name = "linear/mice"
    sources = (LIEBANA_2025, LECTURE)
    variables = {
        "right": Variable("P(right), mean of the session", ("model", "stimulus")),
        "accuracy": Variable("share of correct choices among trials with a grating", ("model",)),
        "tutor": Variable("tutor weights w1", ("model", "pathway")),
        "executor": Variable("executor weights W2", ("model", "choice", "pathway")),
    }
    seeds = 200
    time_unit = "session"
    quick = {"seeds": 40}

    class Config(ExperimentConfig):
        learning_rate: LearningRate = continuous(0.0026, scale="log", help="learning rate η of both layers")
        inverse_temperature: float = continuous(
            9.0, ge=1e-3, le=1e3, help="inverse temperature β of the choice between two values"
        )
        blank: float = continuous(0.1, ge=0.01, le=0.99, help="share of trials with nothing to see")
        initial_spread: float = continuous(0.0, ge=0, le=10, help="s.d. of the constant executor weights at the start")
        scatter: float = continuous(0.05, ge=0, le=10, help="the same, in the model `scattered start`")
        noise: Start = continuous(1e-5, scale="log", help="s.d. of what is added to every weight at the start")
        slowdown: float = continuous(8.0, ge=1e-3, le=1e3, help="how many times slower `slow shallow` learns")
        sessions: int = structural(32, ge=16, le=1000, help="sessions, one for each day")
        trials: int = structural(200, ge=10, le=10_000, multiple_of=5, help="trials of each session")

    def coordinates(self, config: Any) -> dict[str, Any]:
        names = {
            "stimulus": fs.networks.tutor.STIMULI,
            "pathway": fs.networks.tutor.PATHWAYS,
            "choice": fs.networks.tutor.CHOICES,
        }
        return {"model": MODELS} | names

    def simulate(self, config: Any, key: Any) -> Any:
        birth, life = jax.random.split(key)
        rules, blank, beta = _rules(config), config.blank, config.inverse_temperature
        newborn = _newborn(config, birth)
        trial = jax.vmap(fs.networks.tutor.trial, in_axes=(0, 0, None, None, None))

        def luck(number: Any) -> Any:
            return jax.random.uniform(jax.random.fold_in(life, number), (2,))

        def live(carry: Any, uniforms: Any) -> Any:
            networks, (right, correct, gratings) = carry
            networks, seen = trial(networks, rules, blank, beta, uniforms)
            scored = (seen.correct & seen.grating).astype(right.dtype)
            return networks, (right + seen.right, correct + scored, gratings + seen.grating.astype(right.dtype))

        def advance(state: Any, index: Any) -> Any:
            zero = jnp.zeros(len(MODELS))
            uniforms = jax.vmap(luck)(state.step + jnp.arange(config.trials))
            start = (state.parameters, (jnp.zeros((len(MODELS), 3)), zero, zero))
            body = lambda carry, uniforms: (live(carry, uniforms), None)  # noqa: E731
            networks, (right, correct, gratings) = jax.lax.scan(body, start, uniforms)[0]
            memory = (right / config.trials, correct / gratings)
            return fs.learning.State(times[index], state.step + config.trials, networks, memory)

        def step(state: Any) -> Any:
            networks, _ = trial(state.parameters, rules, blank, beta, luck(state.step))
            return fs.learning.State(state.time + 1.0 / config.trials, state.step + 1, networks, state.memory)

        def observe(state: Any) -> dict[str, Any]:
            networks, (right, accuracy) = state.parameters, state.memory
            return {"right": right, "accuracy": accuracy, "tutor": networks.tutor, "executor": networks.executor}

        times = jnp.arange(config.sessions + 1).astype(float)
        right = jax.vmap(lambda network: network.right(beta))(newborn)
        memory = (right, 0.5 * (1.0 - right[:, 0] + right[:, 2]))
        initial = fs.learning.State.start(newborn, times[0], memory)
        return fs.learning.Process(initial, advance, observe, times, step)

    def theory(self, config: Any, key: Any) -> Any:
        newborn, rules = _newborn(config, jax.random.split(key)[0]), _rules(config)
        field = cohort.mean_field(config, rules.crosstalk, rules.tutor_speed)
        course = fs.theory.saddles.expected_course(
            field, newborn.tutor, newborn.executor, rules.rate, sessions=config.sessions, trials=config.trials, stride=5
        )
        course["accuracy"] = fs.measures.behaviour.accuracy(course["right"])

        def recorded(time: Any) -> dict[str, Any]:
            sessions = np.rint(np.asarray(time)).astype(int)
            return {name: np.moveaxis(values, 0, 1)[sessions] for name, values in course.items()}

        return recorded

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
        Preset(
            "published model", "Animals born alike go different ways: chance decides which stimulus is learned first."
        ),
        Preset(
            "scattered births",
            "Born with unequal constant weights, animals of the published model no longer change the side of their "
            "bias.",
            {"initial_spread": 0.05},
        ),
        Preset(
            "undecided",
            "Animals that choose more at random learn less, and differ less from each other.",
            {"inverse_temperature": 3.0},
        ),
    )

    @claims.theory(claims.above(5.0), source=LIEBANA_2025)
    def diverse(self, result: Any) -> Any:
        """Deep networks end up diverse, shallow ones all alike: SD of the late slope difference, deep over
        shallow.
        """
        return [
            cohort.diversity(result, "tutor-executor") / cohort.diversity(result, model)
            for model in ("shallow", "slow shallow")
        ]

    @claims.theory(claims.near(0.95, 0.05), source=LIEBANA_2025, loosely=claims.above(0.5))
    def systematic(self, result: Any) -> Any:
        """The late right − left slope follows the early bias: r = .695 in mice, .95 in the published model."""
        return cohort.bias_to_slope(result, "tutor-executor")

    @claims.theory(claims.above(0.8), source=LIEBANA_2025)
    def systematic_total_error(self, result: Any) -> Any:
        """The same holds with the total error in both layers: it does not speak for partial errors."""
        return cohort.bias_to_slope(result, "total error")

    @claims.theory(claims.near(-0.67, 0.26), source=LIEBANA_2025, loosely=claims.below(0.0))
    def flip(self, result: Any) -> Any:
        """The bias changes sides: r(early, late bias) = −.528 in mice, −.67 ± .26 in the model without
        spread.
        """
        return cohort.bias_to_bias(result, "tutor-executor")

    @claims.theory(claims.above(0.2), source=LIEBANA_2025)
    def flip_not_robust(self, result: Any) -> Any:
        """A spread of .05 in the constant weights undoes the change of sides: r rises by more than .2,
        towards 0.
        """
        return cohort.bias_to_bias(result, "scattered start") - cohort.bias_to_bias(result, "tutor-executor")

    @claims.theory(claims.near(0.517, 0.02), source=LIEBANA_2025)
    def accuracy_early(self, result: Any) -> Any:
        """Early in learning, mice are right in 51.7 % of trials."""
        return cohort.sessions_of(result, "accuracy", "tutor-executor", *cohort.EARLY).mean("time")

    @claims.theory(claims.near(0.758, 0.05), source=LIEBANA_2025, loosely=claims.near(0.758, 0.15))
    def accuracy_late(self, result: Any) -> Any:
        """At the end mice are right in 75.8 % of trials."""
        return cohort.sessions_of(result, "accuracy", "tutor-executor", *cohort.late(result)).mean("time")

    @claims.paper(LECTURE.at("saddle points arise through depth"), claims.below(1e-3))
    def rates(self, result: Any) -> Any:
        """Closed pathways grow at .354 (const) and .225 from {}, .159 from {const}, .086 from {right, const}."""
        return np.abs(cohort.linear_rates(result) - np.array([0.354, 0.225, 0.159, 0.086]))

    @claims.paper(LECTURE.at("dynamics pass near a hierarchy of saddle points"), claims.near(0.159, 0.02))
    def growth_cohort(self, result: Any) -> Any:
        """In sessions 8–12 stimulus pathways grow at the {const} saddle's rate .159 on average over all
        animals.
        """
        return cohort.measured_growth(result)

    @claims.paper(LECTURE.at("dynamics pass near a hierarchy of saddle points"), claims.near(0.159, 0.02))
    def growth_near(self, result: Any) -> Any:
        """They do in animals near that saddle, where both choices are alike: early bias within ± .1."""
        return cohort.measured_growth(result)[np.abs(cohort.early_bias(result, "tutor-executor")) < 0.1]

    @claims.paper(LECTURE.at("dynamics pass near a hierarchy of saddle points"), claims.near(0.159, 0.01))
    def growth_expected(self, result: Any) -> Any:
        """Expected updates, which know no chance and so no bias, grow there at the linearised rate .159."""
        return cohort.measured_growth(result, theory=True)

    @claims.paper(
        LECTURE.at("dynamics pass near a hierarchy of saddle points"), claims.below(0.5), loosely=claims.below(0.75)
    )
    def near_saddles(self, result: Any) -> Any:
        """Animals come near a one-sided saddle: median of the nearest distance of slopes, deep over shallow."""
        return np.median(cohort.closest(result, "tutor-executor")) / np.median(cohort.closest(result, "shallow"))

    @claims.theory(claims.below(0.1), source=LIEBANA_2025)
    def chance(self, result: Any) -> Any:
        """Individuality is born of chance: from the first weights, expected updates give none (ratio of late
        SDs).
        """
        return cohort.diversity(result, "tutor-executor", theory=True) / cohort.diversity(result, "tutor-executor")

    @claims.theory(claims.above(0.9), source=LIEBANA_2025, loosely=claims.above(0.7))
    def fate(self, result: Any) -> Any:
        """After the early window the rest is fate: expected updates from there foretell the late slopes (r)."""
        return cohort.across_cohort(
            cohort.asymmetry(result, "tutor-executor"), cohort.forecast(result, "tutor-executor")["asymmetry"]
        )

    def figure(self, result: Any) -> Any:
        from festina.experiments.linear import _mice_figure

        return _mice_figure.draw(result)


def _rules(config: Any) -> Any:
    """The learning rules of the five models, stacked."""
    rule, rate = fs.networks.tutor.Rule, config.learning_rate
    rules = [
        rule.partial_errors(rate),
        rule.partial_errors(rate),
        rule.total_error(rate),
        rule.shallow(rate),
        rule.shallow(rate / config.slowdown),
    ]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *rules)


def _newborn(config: Any, key: Any) -> Any:
    """The networks of the five models, stacked; all are born with the same luck."""
    newborn = fs.networks.tutor.TutorExecutor.newborn
    plain, scattered = (newborn(key, spread, config.noise) for spread in (config.initial_spread, config.scatter))
    networks = [plain, scattered, plain, plain.flattened, plain.flattened]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *networks)
