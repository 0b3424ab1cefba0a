"""model/views: the race reduction, its networks, derivatives, batches, bounds."""

from typing import Any

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.models.views import Views

SHORT: dict[str, Any] = {"initial": 1e-2, "until": 40.0, "records": 20}


@pytest.mark.full
@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize(
    "fields",
    [
        {"together": 0.5},
        {"together": 1.0},
        {"together": 0.3, "weakest": 0.5},
        {"together": 0.4, "weakest": 0.5, "answers": "own"},
    ],
)
def test_networks_follow_the_race(depth, fields):
    result = Views(depth=depth, **fields, **SHORT).run(seeds=2)
    assert result.errors().max() < 1e-6


@pytest.mark.full
def test_the_end_is_worked_out_by_hand():
    """S = ⅔ = (⅔ + 2·½)π at p = ½ and V = 3; answers of their own are learned whole."""
    shared = Views(depth=2, **SHORT).model_copy(update={"until": 200.0}).run()["strength"].isel(time=-1)
    np.testing.assert_allclose(shared, 0.4, atol=1e-6)
    own = Views(depth=2, answers="own", weakest=0.5, together=1.0, **SHORT).run()["strength"].isel(time=-1)
    np.testing.assert_allclose(own[0], [1.0, 0.75, 0.5], atol=1e-4)


def test_networks_start_with_the_strengths_drawn():
    start = Views(depth=3, initial=1e-2).start(jax.random.key(4))
    weights = [np.asarray(block) for block in start.network.blocks]
    norms = np.prod([np.linalg.norm(weight) for weight in weights[:-1]])
    last = np.prod(np.linalg.norm(weights[-1].reshape(3, -1), axis=1))
    np.testing.assert_allclose(norms * last, np.prod(start.initial), rtol=1e-10)


@pytest.mark.full
def test_theory_of_many_is_the_theory_of_each():
    models = [Views(together=p, **SHORT) for p in (0.2, 0.9)]
    with fs.double():
        starts = [jax.tree.map(np.asarray, model.start(jax.random.key(5))) for model in models]
    times = np.linspace(0.0, 30.0, 5)
    together = Views.solutions(models, starts, np.stack([times, times]))
    apart = Views.solutions(models, starts, np.stack([times, 0.5 * times]))
    for model, one, two, own in zip(models, together, apart, (times, 0.5 * times), strict=True):
        for name in ("strength", "loss"):
            np.testing.assert_allclose(one[name], model.theory(5)(times)[name], rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(two[name], model.theory(5)(own)[name], rtol=1e-7, atol=1e-9)
    assert models[0].theory()(times.reshape(5, 1))["strength"].shape == (5, 1, 3)


@pytest.mark.parametrize(("field", "step"), [("together", 1e-5), ("spread", 1e-5), ("weakest", 1e-5)])
@pytest.mark.full
def test_derivatives_are_those_of_theory(field, step):
    model = Views(depth=2, weakest=0.8, **SHORT)
    exact = model.derivative("strength", field, seed=1)
    beside = [model.model_copy(update={field: getattr(model, field) + side * step}) for side in (1, -1)]
    more, less = (one.theory(1)(exact["time"].values)["strength"] for one in beside)
    np.testing.assert_allclose(exact, (more - less) / (2 * step), rtol=1e-3, atol=1e-4)


@pytest.mark.full
def test_a_batch_is_its_runs():
    model = Views(**SHORT)
    swept = model.sweep(together=(0.3, 0.9), seeds=2)["strength"].sel(together=0.9).isel(seed=1)
    alone = model.model_copy(update={"together": 0.9}).run(first_seed=1)["strength"]
    np.testing.assert_allclose(swept.values.ravel(), alone.values.ravel(), rtol=1e-6)


def test_bounds_are_told():
    with pytest.raises(ArgumentError, match=r"`together` must be less than or equal to 1, but is 1\.2"):
        fs.run("model/views", together=1.2)
    with pytest.raises(ArgumentError, match="`depth` must be greater than or equal to 2"):
        fs.run("model/views", depth=1)
    with pytest.raises(ArgumentError, match="`answers` must be 'shared' or 'own'"):
        fs.run("model/views", answers="none")
