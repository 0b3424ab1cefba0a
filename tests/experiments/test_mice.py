"""linear/mice: its claims, and what they cannot check."""

from dataclasses import replace

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.linear import _mice_cohort as cohort
from festina.experiments.linear import mice
from festina.lab.batch import Run, simulate
from festina.measures import behaviour
from festina.networks.tutor import SEEN
from shared import quick

pytestmark = pytest.mark.full

LOOSELY = {"systematic", "accuracy-last", "near-saddles"}
FAILS = {"growth-cohort"}


@pytest.fixture(scope="module")
def result():
    return quick("linear/mice")


def test_quick_claims_hold_but_for_those_known_to_hold_loosely_or_not_at_all(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    known = dict.fromkeys(LOOSELY, "reproduced qualitatively") | dict.fromkeys(FAILS, "not reproduced")
    assert outcomes == {claim: known.get(claim, "reproduced") for claim in outcomes}, result


def literal_animal(result, seed, rate):
    """The published model of one animal, trial by trial in NumPy, with the random numbers of its seed."""
    first = result.data.sel(model="tutor-executor").isel(run=seed, time=0)
    tutor, executor = first["tutor"].values.copy(), first["executor"].values.copy()
    life = jax.random.split(jax.random.key(seed))[1]
    draw = jax.jit(jax.vmap(lambda number: jax.random.uniform(jax.random.fold_in(life, number), (2,))))
    sessions = []
    for uniforms in np.asarray(draw(np.arange(6 * 200))).reshape(6, 200, 2):
        right, correct = np.zeros(3), []
        for world, chance in uniforms:
            stimulus = 0 if world < 0.45 else 2 if world >= 0.55 else 1
            values = SEEN @ (executor * tutor).T
            probabilities = 1 / (1 + np.exp(-9.0 * (values[:, 1] - values[:, 0])))
            choice = int(chance < probabilities[stimulus])
            reward = float(choice == (world >= 0.5))
            part = executor[choice] * tutor * SEEN[stimulus]
            errors = reward - np.array([part[0] + part[1], part[0] + part[1], part[2]])
            on_tutor = rate * (reward - part.sum()) * executor[choice] * SEEN[stimulus]
            executor[choice] = np.abs(executor[choice] + rate * errors * tutor * SEEN[stimulus])
            tutor = np.abs(tutor + on_tutor)
            right += probabilities / 200
            correct += [reward] if stimulus != 1 else []
        sessions.append((right, np.mean(correct), tutor.copy(), executor.copy()))
    return [np.stack(column) for column in zip(*sessions, strict=True)]


def test_an_animal_is_that_of_the_literal_equations(result):
    for name, values in zip(("right", "accuracy", "tutor", "executor"), literal_animal(result, 3, 0.0026), strict=True):
        simulated = result[name].sel(model="tutor-executor").isel(run=3, time=slice(1, 7)).values
        np.testing.assert_allclose(simulated, values, rtol=0, atol=1e-12, err_msg=name)


def test_an_animal_alone_is_the_one_of_the_cohort(result):
    alone = simulate(mice.Mice(), [Run(result.config, 5)], label="alone").observed
    for name in ("right", "accuracy", "tutor", "executor"):
        np.testing.assert_allclose(alone[name][0, 0], result[name].values[5], rtol=0, atol=1e-12)
        assert np.isfinite(result[name].values).all()


def test_one_animal_is_no_cohort_but_can_be_drawn(result):
    one = replace(result, data=result.data.isel(run=[0]), theory=result.theory.isel(run=[0]))
    outcomes = {claim.id: claim.judge(one, "full").outcome for claim in mice.Mice.claims}
    about_cohorts = ("diverse", "systematic", "systematic-simulated", "systematic-total-error", "flip")
    about_cohorts += ("flip-simulated", "flip-not-robust", "chance", "fate")
    assert {outcomes[claim] for claim in about_cohorts} == {"not applicable"}
    plt.close(one.figure())


def test_animals_with_little_training_say_how_much_they_need(result):
    """A tenth of the learning rate asks for ten times the trials; what is about the first session is still decided."""
    slow = replace(result, config=result.config.model_copy(update={"learning_rate": 0.00026}))
    verdicts = {claim.id: claim.judge(slow, "full") for claim in mice.Mice.claims}
    undecided = ("diverse", "systematic", "flip", "accuracy-last", "near-saddles", "chance", "fate")
    note = "too little training: needs --trials 2000, or a larger --learning-rate"
    assert {verdicts[claim].note for claim in undecided} == {note}
    assert verdicts["accuracy-first"].outcome == "reproduced"
    assert {verdicts[claim].outcome for claim in ("growth-cohort", "flip-simulated")} == {"not applicable"}


def test_single_steps_make_a_session():
    """What dates a failure walks the same way as what simulates."""
    experiment = mice.Mice()
    config = experiment.configure(trials=10, sessions=16)
    process = experiment.simulate(config, jax.random.key(1))
    step, state = jax.jit(process.step), process.initial
    for _ in range(10):
        state = step(state)
    session = jax.jit(process.advance)(process.initial, np.asarray(1))
    assert int(session.step) == int(state.step) and float(session.time) == pytest.approx(float(state.time))
    np.testing.assert_allclose(session.parameters.executor, state.parameters.executor, atol=1e-15)


def test_theory_starts_where_the_animals_start(result):
    for name in ("right", "accuracy", "tutor", "executor"):
        first = result[name].isel(time=0).values
        np.testing.assert_allclose(first, result.theory[name].isel(time=0).values, atol=1e-12)


def test_shallow_animals_all_go_the_expected_way(result):
    """Without a saddle chance averages out, and the expected course is that of every animal."""
    gap = np.abs(cohort.rights(result, "slow shallow") - cohort.rights(result, "slow shallow", theory=True))
    assert gap.max() < 0.25 and gap.mean() < 0.03


def test_theory_foretells_from_the_weights_after_the_early_window(result):
    foretold = cohort.forecast(result, "tutor-executor")["right"]
    assert foretold.shape == (40, result.config.sessions - cohort.EARLY[1] + 1, 3)
    later = cohort.rights(result, "tutor-executor")[:, cohort.EARLY[1] + 1 :]
    assert np.abs(foretold[:, 1:] - later).mean() < 0.06


def test_spread_undoes_the_change_of_sides_gradually(result):
    """r(early, late bias) rises with the spread of the first constant weights, from negative to positive."""
    configs = [mice.Mice().configure(initial_spread=spread) for spread in (0.03, 0.1)]
    runs = [Run(config, seed) for config in configs for seed in range(40)]
    right = simulate(mice.Mice(), runs, label="spread").observed["right"][:, 0, :, 0].reshape(2, 40, 33, 3)
    early, late = (behaviour.bias(behaviour.window(right, *window)) for window in (cohort.EARLY, cohort.late(result)))
    some, much = (behaviour.across_animals(one, other) for one, other in zip(early, late, strict=True))
    none = cohort.bias_to_bias(result, "tutor-executor")
    assert none < some < much and none < -0.4 and much > 0.0


@pytest.mark.parametrize(("field", "value"), [("blank", 1.5), ("learning_rate", 0.0), ("sessions", 3), ("trials", 7)])
def test_impossible_fields_are_refused(field, value):
    with pytest.raises(ArgumentError, match=f"`{field}` must"):
        fs.run("linear/mice", **{field: value})


def test_the_figure_has_six_labelled_panels(result):
    figure = result.figure()
    panels = [axis for axis in figure.axes if axis.get_title()]
    assert len(panels) == 6
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in panels)
    plt.close(figure)
