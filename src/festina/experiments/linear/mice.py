"""Mice that learn a visual decision, each in its own way: a deep network with a tutor and an executor."""

from typing import Any

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, xr
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments.linear import _mice_cohort as cohort
from festina.ranges import LearningRate, Start
from festina.sources import LECTURE, LIEBANA_2025

SIMULATED = "a separate simulation of the published rule, without spread at birth"
REANALYSED = "a third party's analysis of the published behaviour of 30 mice (aeronjl/unspool, cell2025)"
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

    In 30 mice, early bias (sessions 4 to 8) has a correlation of .69 with the late right − left slope, and of −.53
    with late bias (the last five sessions), as published. A third party's analysis of the same data has animals right
    in 51.7 % of trials with a grating in the first session and in 75.8 % in the last one, blank trials not counted.
    Simulated animals end at 85 %, with nothing fitted to these numbers. Of the 133,545 trials of 26 mice that the
    authors published 10.09 % are blank; here a tenth are.

    Robust: deep networks (with either rule and any start) end up far more diverse than shallow ones, and the late
    asymmetry of an animal follows its early bias. Not robust: the sign of the correlation between early and late
    bias, which is negative without spread and goes to zero and beyond with it (late bias is one and the same curve of
    early bias, falling in the middle and rising at both ends, and a spread puts more animals at the ends). Nor do
    these correlations speak for partial errors, for the total error gives them too. Beyond {const} the published rule
    has no finite rest point: the one-sided saddle and its rate .086 are those of the total error (whose rate at
    {const} is .112, not .159, for its weights cannot become negative); these rates are our own. Animals come nearer
    to it than shallow learners do, but do not reach it in 6400 trials. Stimulus pathways grow at the linearised rate
    .159 in the expected update and in animals without much bias; over all animals they grow more slowly
    (`growth-cohort` fails), for bias takes an animal away from {const} and starves the pathway of the other side.
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

    @claims.paper(LECTURE.at("Saddle points arise through depth"), claims.above(5.0))
    def diverse(self, result: Any) -> Any:
        """Deep networks end up diverse, shallow ones alike: the SD of the late slope difference is more than five
        times larger (our threshold).
        """
        deep = cohort.diversity(result, "tutor-executor")
        shallow = ["shallow", "slow shallow"]
        ratios = [deep / cohort.diversity(result, model) for model in shallow]
        return xr.DataArray(ratios, dims="model", coords={"model": shallow})

    @claims.paper(
        LIEBANA_2025.at("Fig. 1I"),
        claims.near(0.69, cohort.CHANCE_OF_SLOPE),
        loosely=claims.above(0.0),
        reason="the model's scope: nothing but chance in the first sessions makes its animals differ",
    )
    def systematic(self, result: Any) -> Any:
        """The late right − left slope follows the early bias with the correlation r = .69 of 30 mice (give or take
        two of its standard errors).
        """
        return cohort.bias_to_slope(result, "tutor-executor")

    @claims.reference(SIMULATED, claims.near(0.95, 0.05))
    def systematic_simulated(self, result: Any) -> Any:
        """The late right − left slope of simulated animals follows their early bias with r = .95."""
        return cohort.bias_to_slope(_default(result), "tutor-executor")

    @claims.theory(claims.above(0.8))
    def systematic_total_error(self, result: Any) -> Any:
        """With the total error in both layers the late right − left slope follows the early bias, r > .8: this
        correlation does not speak for partial errors.
        """
        return cohort.bias_to_slope(result, "total error")

    @claims.paper(
        LIEBANA_2025.at("Fig. 1G"),
        claims.near(-0.53, cohort.CHANCE_OF_BIAS),
        loosely=claims.below(0.0),
        reason="its sign depends on the unpublished spread of the first weights; see the experiment's description",
    )
    def flip(self, result: Any) -> Any:
        """The bias changes sides: early and late bias have the correlation r = −.53 of 30 mice (give or take two of
        its standard errors).
        """
        return cohort.bias_to_bias(result, "tutor-executor")

    @claims.reference(SIMULATED, claims.near(-0.67, 0.26))
    def flip_simulated(self, result: Any) -> Any:
        """Early and late bias of simulated animals without spread at birth have r = −.67 (± .26, the standard
        deviation over cohorts).
        """
        return cohort.bias_to_bias(_default(result), "tutor-executor")

    @claims.theory(claims.above(0.2))
    def flip_not_robust(self, result: Any) -> Any:
        """A spread of the first constant weights undoes the change of sides: r of early and late bias rises by more
        than .2.
        """
        if result.config.scatter <= result.config.initial_spread:
            raise claims.NotApplicable("needs a larger spread in `scattered start` than in the published model")
        return cohort.bias_to_bias(result, "scattered start") - cohort.bias_to_bias(result, "tutor-executor")

    @claims.reference(REANALYSED, claims.near(0.517, 0.02))
    def accuracy_first(self, result: Any) -> Any:
        """In their first session mice are right in 51.7 % of trials with a grating (± 2 %, our tolerance)."""
        return cohort.accuracy(result, 1)

    @claims.reference(
        REANALYSED,
        claims.near(0.758, 0.05),
        loosely=claims.near(0.758, 0.15),
        reason="the model's scope: nothing in it is fitted to this accuracy; see the experiment's description",
    )
    def accuracy_last(self, result: Any) -> Any:
        """In their last session mice are right in 75.8 % of trials with a grating (± 5 %, our tolerance)."""
        return cohort.accuracy(cohort.trained(result), result.config.sessions)

    @claims.theory(
        claims.near(1.0, 0.125),
        reason="bias takes animals away from {const}, where the rate is linearised; see the experiment's description",
    )
    def growth_cohort(self, result: Any) -> Any:
        """In sessions 8–12 stimulus pathways grow at the linearised rate of the saddle {const}, on average over all
        animals (ratio).
        """
        return cohort.measured_growth(cohort.at_saddle(result)) / cohort.linear_rate(result)

    @claims.theory(claims.near(1.0, 0.125))
    def growth_near(self, result: Any) -> Any:
        """In animals near the saddle {const}, of early bias within ± .1, stimulus pathways grow at its linearised
        rate in sessions 8–12 (ratio).
        """
        near = np.abs(cohort.early_bias(result, "tutor-executor")) < 0.1
        if not near.any():
            raise claims.Undecided("no animal has an early bias within ± .1: needs more --seeds")
        return cohort.measured_growth(cohort.at_saddle(result))[near] / cohort.linear_rate(result)

    @claims.theory(claims.near(1.0, 0.0625))
    def growth_expected(self, result: Any) -> Any:
        """In the expected update, which knows no chance and so no bias, stimulus pathways grow at the linearised rate
        of the saddle {const} in sessions 8–12 (ratio).
        """
        return cohort.measured_growth(cohort.at_saddle(result), theory=True) / cohort.linear_rate(result)

    @claims.paper(
        LECTURE.at("Dynamics pass near a hierarchy of saddle points"),
        claims.below(0.5),
        loosely=claims.below(0.75),
        reason="the length of training: few animals arrive there in 6400 trials; see the experiment's description",
    )
    def near_saddles(self, result: Any) -> Any:
        """Deep learners pass near a one-sided saddle: the median of their nearest distance to one is less than half
        (our threshold) of that of shallow ones.
        """
        deep, shallow = (cohort.closest(cohort.trained(result), model) for model in ("tutor-executor", "shallow"))
        return np.median(deep) / np.median(shallow)

    @claims.theory(claims.below(0.1))
    def chance(self, result: Any) -> Any:
        """Individuality is born of chance: from animals' first weights the expected update gives less than a tenth of
        the SD of their late slope difference.
        """
        if result.config.initial_spread > 0:
            raise claims.NotApplicable("needs animals born alike")
        return cohort.diversity(result, "tutor-executor", theory=True) / cohort.diversity(result, "tutor-executor")

    @claims.theory(claims.above(0.9), loosely=claims.above(0.7))
    def fate(self, result: Any) -> Any:
        """After session 8 little is left to chance: the expected update from an animal's weights foretells its late
        slope difference (r).
        """
        return cohort.across_cohort(
            cohort.asymmetry(cohort.trained(result), "tutor-executor"),
            cohort.forecast(result, "tutor-executor")["asymmetry"],
        )

    def figure(self, result: Any) -> Any:
        from festina.experiments.linear import _mice_figure

        return _mice_figure.draw(result)


def _default(result: Any) -> Any:
    """The result, if it is of the configuration that was simulated elsewhere; other numbers of seeds will do."""
    if result.config != type(result.config)():
        raise claims.NotApplicable("needs the default configuration, which the separate simulation had")
    return result


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
