"""model/tutor-executor: literal trials, its expected update, and what every model has to be."""

from typing import Any

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.models import TutorExecutor
from festina.models.tutor_executor import EARLY, LATE
from festina.testing import check_model

BRIEF: dict[str, Any] = {"sessions": 16, "trials": 40}
RULES: dict[str, dict[str, Any]] = {
    "published": {},
    "total-error": {"crosstalk": 1.0, "initial_spread": 0.05, "blank": 0.3},
    "shallow": {"layers": 1, "crosstalk": 1.0, "learning_rate": 0.02},
    "graded": {"grading": 1.5, "contrasts": (0.1, 0.3, 0.4), "crosstalk": 0.3, "learning_rate": 0.02},
}


@pytest.mark.full
def test_it_is_a_model():
    check_model(TutorExecutor, differentiate=False, sessions=16, trials=40)  # its choices are chance


def literal_animal(model, first, seed, sessions):
    """An animal, trial by trial in NumPy, with the random numbers of its seed."""
    tutor, executor = first["tutor"].values.copy(), first["executor"].values.copy()
    life = jax.random.split(jax.random.key(seed))[1]
    draw = jax.jit(jax.vmap(lambda number: jax.random.uniform(jax.random.fold_in(life, number), (2,))))
    rate, speed = model.learning_rate, model.tutor_speed if model.layers > 1 else 0.0
    inputs = [literal_input(model, contrast) for contrast in model.coordinates()["contrast"]]
    count, found = len(inputs), []
    for uniforms in np.asarray(draw(np.arange(sessions * model.trials))).reshape(sessions, model.trials, 2):
        right, correct, choices, signals = np.zeros(count), [], np.zeros((count, 2)), np.zeros((3, count, 2))
        for world, chance in uniforms:
            stimulus = literal_stimulus(model, world)
            values = np.array(inputs) @ (executor * tutor).T
            probabilities = 1 / (1 + np.exp(-model.inverse_temperature * (values[:, 1] - values[:, 0])))
            choice = int(chance < probabilities[stimulus])
            reward = float(choice == (world >= 0.5))
            part = executor[choice] * tutor * inputs[stimulus]
            seen, const = part[0] + part[1], part[2]
            errors = reward - np.array([seen, seen, const]) - model.crosstalk * np.array([const, const, seen])
            on_tutor = rate * speed * (reward - part.sum()) * executor[choice] * inputs[stimulus]
            executor[choice] = np.abs(executor[choice] + rate * errors * tutor * inputs[stimulus])
            tutor = np.abs(tutor + on_tutor)
            right += probabilities / model.trials
            correct += [reward] if stimulus != count // 2 else []
            choices[stimulus, choice] += 1
            signals[:, stimulus, choice] += reward - part.sum(), errors[0], errors[2]
        mean = np.divide(
            signals, choices, out=np.full_like(signals, np.nan), where=np.broadcast_to(choices > 0, signals.shape)
        )
        found.append((right, np.mean(correct), tutor.copy(), executor.copy(), choices, mean))
    names = ("right", "accuracy", "tutor", "executor", "choices", "signals")
    return dict(zip(names, map(np.stack, zip(*found, strict=True)), strict=True))


def literal_input(model, contrast):
    strength = (abs(contrast) / max(model.contrasts)) ** model.grading
    return [strength * (contrast < 0), strength * (contrast > 0), 1.0]


def literal_stimulus(model, world):
    """Shares of the unit interval: gratings on the left from the strongest on, none, gratings on the right."""
    each = (1 - model.blank) / 2 / len(model.contrasts)
    shares = [each] * len(model.contrasts) + [model.blank] + [each] * len(model.contrasts)
    return int(np.searchsorted(np.cumsum(shares)[:-1], world, side="right"))


@pytest.mark.full
@pytest.mark.parametrize("fields", RULES.values(), ids=RULES)
def test_an_animal_is_that_of_the_literal_equations(fields):
    model = TutorExecutor(**BRIEF, **fields)
    seen = model.run(seeds=2).data.isel(run=1)
    for name, values in literal_animal(model, seen.isel(time=0), 1, 6).items():
        np.testing.assert_allclose(seen[name][1:7], values, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("fields", RULES.values(), ids=RULES)
@pytest.mark.full
def test_theory_starts_where_animals_start_and_is_the_same_alone_and_in_a_cohort(fields):
    model = TutorExecutor(**BRIEF, **fields)
    result = model.run(seeds=2)
    alone = model.theory(1)(np.arange(17.0))
    for name in ("right", "accuracy", "tutor", "executor", "signals"):
        np.testing.assert_allclose(result[name].isel(time=0), result.solved[name].isel(time=0), atol=1e-12)
        np.testing.assert_allclose(alone[name], result.solved[name].isel(run=1), atol=1e-12)


@pytest.mark.full
def test_a_shallow_network_behaves_like_a_newborn_and_keeps_its_tutor():
    deep, shallow = (TutorExecutor(**BRIEF, layers=layers, initial_spread=0.1).run() for layers in (2, 1))
    np.testing.assert_allclose(deep["right"].isel(time=0), shallow["right"].isel(time=0), atol=1e-12)
    np.testing.assert_array_equal(shallow["tutor"], 1.0)


@pytest.mark.full
def test_early_and_late_behaviour_is_read_off_windows_of_sessions():
    data = TutorExecutor(**BRIEF).run(seeds=3).data
    early = data["right"][:, EARLY[0] : EARLY[1] + 1].mean("time")
    left, _, none, _, right = data["right"][:, -LATE:].mean("time").transpose("contrast", "run").values
    np.testing.assert_allclose(data["early_bias"], early.sel(contrast=0.0) - 0.5, atol=1e-15)
    np.testing.assert_allclose(data["late_bias"], none - 0.5, atol=1e-15)
    np.testing.assert_allclose(data["asymmetry"], (right - none) - (none - left), atol=1e-15)


def test_single_steps_make_a_session():
    """What dates a failure walks the same way as what simulates."""
    model = TutorExecutor(trials=10, sessions=16)
    process = model.process(model.start(jax.random.key(1)))
    assert process.step is not None
    step, state = jax.jit(process.step), process.initial
    for _ in range(10):
        state = step(state)
    session = jax.jit(process.advance)(process.initial, np.asarray(1))
    assert int(session.step) == int(state.step) and float(session.time) == pytest.approx(float(state.time))
    np.testing.assert_allclose(session.parameters.executor, state.parameters.executor, atol=1e-15)


def test_saddles_lie_where_behaviour_is_one_sided_and_rates_are_those_of_the_description():
    published, total = TutorExecutor(), TutorExecutor(crosstalk=1.0)
    np.testing.assert_allclose(published.saddle_slopes("const"), 0.0, atol=1e-12)
    left, right = published.saddle_slopes("left", "const"), published.saddle_slopes("right", "const")
    np.testing.assert_allclose(left, right[::-1], atol=1e-9)
    assert right[0] < 1e-9 and 0.8 < right[1] < 0.9
    assert float(published.growth("const")[0][0]) == pytest.approx(0.159, abs=5e-4)
    assert float(total.growth("const")[0][0]) == pytest.approx(0.1125, abs=5e-4)
    assert float(total.growth("right", "const")[0][0]) == pytest.approx(0.086, abs=5e-4)


def test_graded_gratings_leave_the_saddle_more_slowly_by_their_mean_input():
    full, graded = TutorExecutor(), TutorExecutor(contrasts=(0.1, 0.2, 0.5), grading=2.0)
    mean_input = np.mean([0.04, 0.16, 1.0])
    assert float(graded.growth("const")[0][0]) == pytest.approx(mean_input * float(full.growth("const")[0][0]))


@pytest.mark.parametrize(
    ("field", "value"),
    [("blank", 1.5), ("learning_rate", 0.0), ("layers", 3), ("trials", 7), ("contrasts", (0.5, 0.25)), ("grading", -1)],
)
def test_impossible_fields_are_refused(field, value):
    with pytest.raises(ArgumentError, match=f"`{field}` must"):
        fs.run("model/tutor-executor", **{field: value})
