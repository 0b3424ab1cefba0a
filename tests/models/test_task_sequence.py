"""model/task-sequence: an independent integration, its exact solution, and what is shown when."""

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError
from festina.precision import to_numpy
from festina.testing import check_model

BRIEF = {"modes": 2, "blocks": 4, "until": 6.0, "records": 24}


def drawn(model, seed=0):
    return to_numpy(jax.jit(model.start)(jax.random.key(seed)))


@pytest.mark.full
def test_it_is_a_model():
    check_model(fs.models.TaskSequence, imbalance=-1.0, mixture=0.2, **BRIEF)


@pytest.mark.full
@pytest.mark.parametrize("fields", [{"imbalance": -2.0, "angle": 120.0}, {"imbalance": 1.0, "mixture": 0.3}])
def test_simulation_follows_theory(fields):
    assert fs.models.TaskSequence(**BRIEF, **fields).run(seeds=2).errors().max() < 1e-9


@pytest.mark.full
def test_an_independent_integration():
    model = fs.models.TaskSequence(imbalance=-2.0, mixture=0.1, **BRIEF)
    (tasks, shown, switches, (first, second)), result = drawn(model), model.run()
    weights, begin, split = np.concatenate([first.ravel(), second.ravel()]), 0.0, first.size
    for task, end in zip(shown, (*switches, model.until), strict=True):

        def field(_, weights, task=task):
            one, two = weights[:split].reshape(first.shape), weights[split:].reshape(second.shape)
            error = task - two @ one
            return np.concatenate([(two.T @ error).ravel(), (error @ one.T).ravel()])

        weights = solve_ivp(field, (begin, end), weights, "DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
        begin = end
        mapping = weights[split:].reshape(second.shape) @ weights[:split].reshape(first.shape)
        here = result.data.isel(run=0).sel(time=end, method="nearest")
        loss = 0.5 * np.sum((tasks - mapping) ** 2, axis=(1, 2))
        np.testing.assert_allclose(here["map"], mapping, atol=1e-8)
        np.testing.assert_allclose(here["loss"], loss, atol=1e-8)
        np.testing.assert_allclose(here["share"], loss / (0.5 * np.sum((tasks[0] - tasks[1]) ** 2)), atol=1e-8)


def test_tasks_have_their_strengths_and_their_angle_and_layers_their_balance():
    model = fs.models.TaskSequence(modes=3, angle=70.0, imbalance=0.7, scale=0.2)
    (one, two), _, _, (first, second) = drawn(model)
    for task in (one, two):
        np.testing.assert_allclose(np.linalg.svd(task)[1], [2.0, 1.5, 1.0])
    np.testing.assert_allclose(one @ two.T, np.diag([4.0, 2.25, 1.0]) * np.cos(np.deg2rad(70.0)), atol=1e-12)
    np.testing.assert_allclose(second.T @ second - first @ first.T, 0.7 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.linalg.svd(second @ first)[1], 0.2)


def test_blocks_alternate_and_a_mixture_of_a_half_makes_them_alike():
    mixed = [drawn(fs.models.TaskSequence(mixture=mixture, **BRIEF)) for mixture in (0.0, 0.25, 0.5)]
    tasks = mixed[0].tasks
    np.testing.assert_array_equal(mixed[0].shown, tasks[[0, 1, 0, 1]])
    np.testing.assert_allclose(mixed[1].shown[1], 0.25 * tasks[0] + 0.75 * tasks[1])
    np.testing.assert_allclose(mixed[2].shown, np.broadcast_to(tasks.mean(axis=0), mixed[2].shown.shape))
    np.testing.assert_allclose(mixed[0].switches, [1.5, 3.0, 4.5])


@pytest.mark.parametrize(("mixture", "angle"), [(0.0, 150.0), (0.5, 40.0)])
def test_what_is_shown_is_learned_within_the_foreseen_duration(mixture, angle):
    model = fs.models.TaskSequence(mixture=mixture, angle=angle, imbalance=-3.0, **BRIEF)
    long = model.model_copy(update={"until": model.blocks * model.duration})
    start, until = drawn(long), long.until
    missing = start.shown[-1] - long.theory()(until)["map"]
    assert np.sum(missing**2) < 1e-2 * np.sum(start.shown[-1] ** 2)


@pytest.mark.full
@pytest.mark.parametrize("by", ["mixture", "angle"])
def test_derivatives_are_those_of_the_theory(by):
    model, step = fs.models.TaskSequence(mixture=0.2, imbalance=1.0, **BRIEF), 1e-4
    found = model.derivative("map", by)
    high, low = (
        model.model_copy(update={by: getattr(model, by) + sign * step}).theory()(found["time"].values)["map"]
        for sign in (1, -1)
    )
    np.testing.assert_allclose(found, (high - low) / (2 * step), atol=1e-6)


@pytest.mark.parametrize(("field", "value"), [("blocks", 3), ("mixture", 0.6), ("angle", 180.0), ("records", 3)])
def test_settings_out_of_bounds_are_refused(field, value):
    with pytest.raises(ArgumentError, match=f"`{field}` must"):
        fs.run("model/task-sequence", **{field: value})
