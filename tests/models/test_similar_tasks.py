"""model/similar-tasks: the reduction of small starts, derivatives, batches, bounds."""

from typing import Any

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.models.similar_tasks import SimilarTasks, cosine_at

SMALL: dict[str, Any] = {"initial": 1e-7, "width": 4, "records": 20, "until": 80.0}


@pytest.mark.full
@pytest.mark.parametrize(("tasks", "mean_target"), [(2, 0.3), (3, 0.8)])
def test_small_networks_follow_the_reduction(tasks, mean_target):
    """The more closely, the smaller they start."""
    model = SimilarTasks(tasks=tasks, mean_target=mean_target, **SMALL)
    result, larger = model.run(seeds=2), model.model_copy(update={"initial": 1e-4}).run(seeds=2)
    assert result.errors().max() < min(0.01, 0.5 * larger.errors().max())
    assert result["loss"].isel(time=-1).max() < 1e-6
    np.testing.assert_allclose(result["share"].isel(time=-1), mean_target**2 if mean_target > 0.5 else 0.0, atol=0.03)


def test_targets_have_the_cosine_that_is_said():
    start = SimilarTasks(tasks=4, mean_target=0.4).start(jax.random.key(0))
    targets = np.asarray(start.targets)
    np.testing.assert_allclose(targets @ targets.T, 1.12 * np.eye(4) - 0.12 * np.ones((4, 4)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(targets.mean(axis=0)), 0.4)
    assert cosine_at(4, 0.4) == pytest.approx(-0.12)


@pytest.mark.full
def test_theory_of_many_is_the_theory_of_each():
    models = [SimilarTasks(mean_target=mean, **SMALL) for mean in (0.3, 0.9)]
    with fs.double():
        starts = [jax.tree.map(np.asarray, model.start(jax.random.key(5))) for model in models]
    times = np.linspace(0.0, 60.0, 5)
    together = SimilarTasks.solutions(models, starts, np.stack([times, times]))
    apart = SimilarTasks.solutions(models, starts, np.stack([times, 0.5 * times]))
    for model, one, two, own in zip(models, together, apart, (times, 0.5 * times), strict=True):
        for name in ("strength", "loss"):
            np.testing.assert_allclose(one[name], model.theory(5)(times)[name], rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(two[name], model.theory(5)(own)[name], rtol=1e-6, atol=1e-9)
    assert models[0].theory()(times.reshape(5, 1))["strength"].shape == (5, 1, 3)


@pytest.mark.full
@pytest.mark.parametrize(("field", "step"), [("mean_target", 1e-5), ("initial", 1e-11)])
def test_derivatives_are_about_those_of_theory(field, step):
    """The reduction holds but for what the start leaves behind, and so do its slopes."""
    model = SimilarTasks(**SMALL)
    exact = model.derivative("strength", field, seed=1)
    beside = [model.model_copy(update={field: getattr(model, field) + side * step}) for side in (1, -1)]
    more, less = (one.theory(1)(exact["time"].values)["strength"] for one in beside)
    slope = (more - less) / (2 * step)
    np.testing.assert_allclose(exact, slope, atol=1e-2 * np.abs(slope).max())


@pytest.mark.full
def test_a_batch_is_its_runs():
    model = SimilarTasks(**SMALL).model_copy(update={"until": 20.0})
    swept = model.sweep(mean_target=(0.3, 0.9), seeds=2)["strength"].sel(mean_target=0.9).isel(seed=1)
    alone = model.model_copy(update={"mean_target": 0.9}).run(first_seed=1)["strength"]
    np.testing.assert_allclose(swept.values.ravel(), alone.values.ravel(), rtol=1e-7)


def test_bounds_are_told():
    with pytest.raises(ArgumentError, match=r"`mean_target` must be less than or equal to 1, but is 1\.5"):
        fs.run("model/similar-tasks", mean_target=1.5)
    with pytest.raises(ArgumentError, match="`tasks` must be greater than or equal to 2"):
        fs.run("model/similar-tasks", tasks=1)
