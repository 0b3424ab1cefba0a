"""The expected update and its saddles: against enumeration, simulated averages, scipy and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from festina.errors import ArgumentError
from festina.networks.tutor import Rule, TutorExecutor, trial
from festina.theory.saddles import amplitudes, expected_course, growth, mean_field, saddle
from festina.worlds.gratings import inputs

TUTOR = np.array([0.5, 0.3, 0.9])
EXECUTOR = np.array([[0.4, 0.2, 0.5], [0.1, 0.6, 0.3]])
RULES = {0.0: Rule.partial_errors, 1.0: Rule.total_error}


def drift(crosstalk, tutor, executor, blank=0.1, beta=9.0):
    """The expected update once more, by loops over stimuli, choices and rewarded sides."""
    on_tutor, on_executor = np.zeros(3), np.zeros((2, 3))
    side = (1 - blank) / 2
    cases = [((1, 0, 1), 0, side), ((0, 1, 1), 1, side), ((0, 0, 1), 0, blank / 2), ((0, 0, 1), 1, blank / 2)]
    for seen, rewarded, chance in cases:
        value = (executor * tutor) @ np.array(seen, float)
        right = 1 / (1 + np.exp(-beta * (value[1] - value[0])))
        for choice, probability in ((0, 1 - right), (1, right)):
            reward = float(choice == rewarded)
            constant = executor[choice, 2] * tutor[2]
            stimulus = value[choice] - constant
            errors = [reward - stimulus - crosstalk * constant] * 2 + [reward - constant - crosstalk * stimulus]
            weight = chance * probability
            on_tutor += weight * (reward - value[choice]) * executor[choice] * seen
            on_executor[choice] += weight * np.array(errors) * tutor * seen
    return on_tutor, on_executor


@pytest.mark.parametrize("crosstalk", RULES)
def test_the_expected_update_is_the_sum_over_all_that_can_happen(crosstalk):
    field = mean_field(crosstalk=crosstalk, blank=0.3, inverse_temperature=5.0)
    for ours, literal in zip(field(TUTOR, EXECUTOR), drift(crosstalk, TUTOR, EXECUTOR, 0.3, 5.0), strict=True):
        np.testing.assert_allclose(ours, literal, atol=1e-14)


@pytest.mark.parametrize("crosstalk", RULES)
def test_the_expected_update_is_the_average_of_simulated_ones(crosstalk):
    uniforms = jnp.asarray(np.random.default_rng(2).uniform(size=(100_000, 2)))
    network, rate = TutorExecutor(jnp.asarray(TUTOR), jnp.asarray(EXECUTOR)), 1e-3
    play = jax.jit(jax.vmap(trial, in_axes=(None, None, None, None, 0)))
    after, _ = play(network, RULES[crosstalk](rate), jnp.asarray(0.1), jnp.asarray(9.0), uniforms)
    expected = mean_field(crosstalk=crosstalk)(TUTOR, EXECUTOR)
    for weights, before, mean in zip((after.tutor, after.executor), (TUTOR, EXECUTOR), expected, strict=True):
        change = (np.asarray(weights) - before) / rate
        error = change.std(axis=0) / np.sqrt(len(uniforms))
        assert np.all(np.abs(change.mean(axis=0) - mean) < 5 * error + 1e-12)


@pytest.mark.parametrize("crosstalk", RULES)
def test_small_steps_go_where_scipy_goes(crosstalk):
    """The error of Euler's method halves with the step, and Richardson's extrapolation removes it."""

    def flow(_, weights):
        on_tutor, on_executor = drift(crosstalk, weights[:3], weights[3:].reshape(2, 3))
        return np.concatenate([on_tutor, on_executor.ravel()])

    start = np.concatenate([TUTOR, EXECUTOR.ravel()])
    exact = solve_ivp(flow, (0, 4.0), start, "DOP853", rtol=1e-10, atol=1e-12).y[:, -1]

    def ours(trials):
        field, rate = mean_field(crosstalk=[crosstalk]), np.array([2.0 / trials])
        course = expected_course(field, TUTOR[None], EXECUTOR[None], rate, sessions=2, trials=trials)
        return np.concatenate([course["tutor"][0, -1], course["executor"][0, -1].ravel()])

    coarse, fine = ours(500), ours(1000)
    assert np.max(np.abs(fine - exact)) < 0.6 * np.max(np.abs(coarse - exact)) < 0.01
    np.testing.assert_allclose(2 * fine - coarse, exact, atol=2e-5)


def test_a_course_averages_over_sessions_and_strides_hardly_matter():
    field, rate = mean_field(crosstalk=[0.0]), np.array([0.0026])
    courses = [
        expected_course(field, TUTOR[None], EXECUTOR[None], rate, sessions=3, trials=20, stride=s) for s in (1, 5)
    ]
    assert courses[0]["right"].shape == (1, 4, 3)
    np.testing.assert_allclose(courses[0]["right"], courses[1]["right"], atol=2e-3)
    tutor, executor, total = TUTOR, EXECUTOR, 0.0
    for _ in range(20):
        total = total + np.asarray(mean_field().right(executor * tutor)) / 20
        on_tutor, on_executor = drift(0.0, tutor, executor)
        tutor, executor = np.abs(tutor + 0.0026 * on_tutor), np.abs(executor + 0.0026 * on_executor)
    np.testing.assert_allclose(courses[0]["right"][0, 1], total, atol=1e-12)
    np.testing.assert_allclose(courses[0]["executor"][0, 1], executor, atol=1e-12)


def test_expected_signals_are_averaged_over_the_choices_that_are_made():
    """E[π δ] / E[π] over the session, trial by trial, for graded gratings and some crosstalk."""
    seen, m, beta = inputs((0.25, 0.5), 1.0), 0.4, 9.0
    field = mean_field(crosstalk=[m], seen=seen)
    course = expected_course(field, TUTOR[None], EXECUTOR[None], np.array([0.05]), sessions=1, trials=4)
    tutor, executor, chosen, sums = TUTOR, EXECUTOR, np.zeros((5, 2)), np.zeros((3, 5, 2))
    one = jax.jit(mean_field(crosstalk=m, seen=seen).__call__)
    for _ in range(4):
        for s, a in np.ndindex(5, 2):
            parts = executor[a] * tutor * seen[s]
            gap = beta * float((executor[1] - executor[0]) @ (tutor * seen[s]))
            chance = 1 / (1 + np.exp(-gap if a else gap))
            reward = [1.0, 1.0, 0.5, 0.0, 0.0][s] if a == 0 else [0.0, 0.0, 0.5, 1.0, 1.0][s]
            stimulus, const = parts[0] + parts[1], parts[2]
            errors = reward - parts.sum(), reward - stimulus - m * const, reward - const - m * stimulus
            chosen[s, a] += chance
            sums[:, s, a] += chance * np.array(errors)
        on_tutor, on_executor = (np.asarray(it) for it in one(tutor, executor))
        tutor, executor = np.abs(tutor + 0.05 * on_tutor), np.abs(executor + 0.05 * on_executor)
    np.testing.assert_allclose(course["signals"][0, 1], sums / chosen, atol=1e-12)
    np.testing.assert_allclose(course["right"][0, 1], chosen[:, 1] / 4, atol=1e-12)


def weights_at(products):
    """Weights with the given products: tutor weights so that the correct choice's pair is balanced."""
    tutor = np.sqrt(products.max(axis=0))
    return tutor, np.divide(products, tutor, out=np.zeros((2, 3)), where=tutor > 0)


@pytest.mark.parametrize("opened", [(), ("const",), ("right", "const"), ("left", "const"), ("left", "right", "const")])
def test_saddles_are_at_rest(opened):
    tutor, executor = weights_at(saddle(opened))
    on_tutor, on_executor = drift(1.0, tutor, executor)
    assert np.max(np.abs(on_tutor)) < 1e-10
    held = (executor == 0) & (on_executor < 0)  # driven against the bound at zero
    assert np.max(np.abs(np.where(held, 0.0, on_executor))) < 1e-10


def test_behaviour_at_the_saddles():
    right = {name: np.asarray(mean_field().right(saddle(name))) for name in (("const",), ("right", "const"))}
    everything = np.asarray(mean_field().right(saddle(("left", "right", "const"))))
    np.testing.assert_allclose(right["const",], 0.5, atol=1e-12)
    assert (1 - right["right", "const"][0] + right["right", "const"][2]) / 2 == pytest.approx(0.92, abs=0.005)
    assert right["right", "const"][1] < 0.01  # else left
    assert (1 - everything[0] + everything[2]) / 2 == pytest.approx(0.99, abs=0.005)


def finite_difference_rate(crosstalk, products, pathway, held):
    """The largest eigenvalue of the Jacobian of a closed pathway's weights, without those held at zero."""
    tutor, executor = weights_at(products)
    free = [0] + [1 + choice for choice in range(2) if not held[choice]]

    def motion(small):
        t, e = tutor.copy(), executor.copy()
        t[pathway], e[:, pathway] = small[0], small[1:]
        on_tutor, on_executor = drift(crosstalk, t, e)
        return np.concatenate([[on_tutor[pathway]], on_executor[:, pathway]])

    jacobian = np.stack([(motion(1e-5 * unit) - motion(-1e-5 * unit)) / 2e-5 for unit in np.eye(3)], axis=1)
    return np.linalg.eigvals(jacobian[np.ix_(free, free)]).real.max()


CASES = [
    (0.0, (), 2, (False, False), 0.354),
    (0.0, (), 0, (False, False), 0.225),
    (1.0, (), 1, (False, False), 0.225),
    (0.0, ("const",), 0, (False, False), 0.159),
    (0.0, ("const",), 1, (False, False), 0.159),
    (1.0, ("const",), 0, (False, True), 0.1125),
    (1.0, ("right", "const"), 0, (False, True), 0.086),
    (1.0, ("left", "const"), 1, (True, False), 0.086),
]


@pytest.mark.parametrize(("crosstalk", "opened", "pathway", "held", "reference"), CASES)
def test_growth_rates_are_eigenvalues_of_the_jacobian(crosstalk, opened, pathway, held, reference):
    products = saddle(opened)
    rate = growth(mean_field(crosstalk=crosstalk), products)[0][pathway]
    assert rate == pytest.approx(finite_difference_rate(crosstalk, products, pathway, held), abs=1e-8)
    assert rate == pytest.approx(reference, abs=6e-4)


@pytest.mark.parametrize(("crosstalk", "opened"), [(0.0, ("const",)), (1.0, ("right", "const"))])
def test_a_closed_pathway_grows_as_linearised(crosstalk, opened):
    """Opened by a hair's breadth with unequal weights, its amplitude grows as e^{λt} from the first moment on."""
    tutor, executor = weights_at(saddle(opened))
    tutor[0], executor[0, 0] = 1e-6, 3e-6
    field = mean_field(crosstalk=[crosstalk])
    course = expected_course(field, tutor[None], executor[None], np.array([1e-3]), sessions=2, trials=2000)
    rates, coefficients = growth(mean_field(crosstalk=crosstalk), saddle(opened))
    heights = amplitudes(coefficients, course["tutor"][0], course["executor"][0])[:, 0]
    if crosstalk == 1.0:  # partial errors are not at rest elsewhere
        assert np.max(np.abs(course["right"][0] - course["right"][0, 0])) < 1e-4
    np.testing.assert_allclose(np.diff(np.log(heights)) / 2.0, rates[0], rtol=2e-3)


def test_partial_errors_find_no_rest_with_two_pathways_open():
    """Stimulus and constant part each claim the whole reward: executor weights grow, tutor weights shrink."""
    tutor, executor = weights_at(saddle(("left", "right", "const")))
    course = expected_course(
        mean_field(crosstalk=[0.0]), tutor[None], executor[None], np.array([0.01]), sessions=4, trials=2000
    )
    largest, smallest = course["executor"][0].max(axis=(1, 2)), course["tutor"][0].max(axis=1)
    assert largest[-1] > 3 * largest[0] and smallest[-1] < smallest[0] / 3
    assert np.all(course["right"][0, :, 0] < 0.05) and np.all(course["right"][0, :, 2] > 0.95)


def test_unknown_pathways_are_refused():
    with pytest.raises(ArgumentError, match="`opened` must be among"):
        saddle(("up",))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"blank": 1.5}, "`blank` must be a share"),
        ({"blank": np.nan}, "`blank` must be finite and not negative"),
        ({"tutor_speed": -1.0}, "`tutor_speed` must be finite and not negative"),
        ({"inverse_temperature": [1.0, np.inf]}, "`inverse_temperature` must be finite and not negative"),
    ],
)
def test_tasks_that_are_none_are_refused(fields, message):
    with pytest.raises(ArgumentError, match=message):
        mean_field(**fields)
