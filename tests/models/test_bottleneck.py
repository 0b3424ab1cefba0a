"""model/bottleneck: what passes, against an independent integration; derivatives, batches, bounds."""

from typing import Any

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError
from festina.models.bottleneck import Bottleneck

SHORT: dict[str, Any] = {"until": 60.0, "records": 20}


@pytest.mark.full
@pytest.mark.parametrize(
    ("bottleneck", "learned"), [(1, [1.0, 0.0, 0.0]), (2, [1.0, 0.75, 0.0]), (3, [1.0, 0.75, 0.5])]
)
def test_the_strongest_slots_pass(bottleneck, learned):
    result = Bottleneck(bottleneck=bottleneck, until=200.0, records=20).run(seeds=2)
    np.testing.assert_allclose(result["learned"].isel(time=-1), [learned, learned], atol=1e-6)


@pytest.mark.full
def test_the_course_is_the_flow_written_out():
    model = Bottleneck(bottleneck=2, scale=0.1, **SHORT)
    result = model.run(first_seed=3)
    first, second = (np.asarray(weight) for weight in model.start(jax.random.key(3)).weights)
    target = np.diag([1.0, 0.75, 0.5])

    def rate(_, flat):
        inner, outer = flat[:6].reshape(2, 3), flat[6:].reshape(3, 2)
        left = target - outer @ inner
        return np.concatenate([(outer.T @ left).ravel(), (left @ inner.T).ravel()])

    start = np.concatenate([first.ravel(), second.ravel()])
    solved = solve_ivp(rate, (0, 60.0), start, "DOP853", result["time"].values, rtol=1e-10, atol=1e-12).y.T
    maps = np.einsum("toh,thi->toi", solved[:, 6:].reshape(-1, 3, 2), solved[:, :6].reshape(-1, 2, 3))
    np.testing.assert_allclose(result["learned"][0], np.einsum("tii->ti", maps), atol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize(("field", "step"), [("weakest", 1e-4), ("scale", 1e-5)])
def test_derivatives_are_differences(field, step):
    model = Bottleneck(scale=0.1, **SHORT)
    exact = model.derivative("loss", field, seed=1)
    beside = [model.model_copy(update={field: getattr(model, field) + side * step}) for side in (1, -1)]
    more, less = (one.run(first_seed=1)["loss"].isel(run=0) for one in beside)
    np.testing.assert_allclose(exact, (more - less) / (2 * step), rtol=1e-2, atol=1e-3)


@pytest.mark.full
def test_a_batch_is_its_runs():
    model = Bottleneck(**SHORT)
    swept = model.sweep(weakest=(0.3, 0.9), seeds=2)["learned"].sel(weakest=0.9).isel(seed=1)
    alone = model.model_copy(update={"weakest": 0.9}).run(first_seed=1)["learned"]
    np.testing.assert_allclose(swept.values.ravel(), alone.values.ravel(), rtol=1e-6, atol=1e-12)


def test_bounds_are_told():
    with pytest.raises(ArgumentError, match="`bottleneck` must be greater than or equal to 1"):
        fs.run("model/bottleneck", bottleneck=0)
