"""model/random-routing: its start, its gradient, the reduction of a decoupled start, derivatives, bounds."""

from typing import Any

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.models.random_routing import RandomRouting
from festina.networks import Gated, Graph
from festina.testing import check_model
from festina.worlds.routing import TRAINED_PAIRS, Routing

BRIEF: dict[str, Any] = {"domains": 3, "trained": 2, "hidden": 8, "until": 2.0, "records": 10}


def brief(**fields: Any) -> RandomRouting:
    return RandomRouting(**(BRIEF | fields))


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    check_model(RandomRouting, differentiate=False, **BRIEF)


@pytest.mark.full
def test_the_start_is_orthogonal_times_the_gain():
    """The errors that are recorded first are those of weights with orthonormal rows or columns, times the gain."""
    model = brief(gain=2.5)
    first, second, third = (np.asarray(layer) / 2.5 for layer in model.start(jax.random.key(0)))
    np.testing.assert_allclose(second @ second.T, np.eye(8), atol=1e-12)
    np.testing.assert_allclose(first[2].T @ first[2], np.eye(4), atol=1e-12)
    np.testing.assert_allclose(third[2] @ third[2].T, np.eye(7), atol=1e-12)
    maps = 2.5**3 * np.stack([[out @ second @ into for into in first] for out in third])
    begin = model.run()["untrained_error"].isel(run=0, time=0)
    np.testing.assert_allclose(begin, Routing.of(3, 2).untrained_error(maps), rtol=1e-9)


@pytest.mark.full
def test_descent_is_that_of_a_gated_network():
    """The same steps taken by automatic differentiation of the graph, from the same weights."""
    model = brief(gain=1.0, until=0.1)
    first, second, third = (np.asarray(layer) for layer in model.start(jax.random.key(0)))
    numbers = (1, 2, 3)
    ends = {f"x{n}": 4 for n in numbers} | {f"y{n}": 7 for n in numbers}
    graph = Graph.of("x1, x2, x3 -> a -> b -> y1, y2, y3", widths={"a": 8, "b": 8} | ends)
    weights = (
        {"a->b": second} | {f"x{n}->a": first[n - 1] for n in numbers} | {f"b->y{n}": third[n - 1] for n in numbers}
    )
    network, loss = Gated.of(graph, weights), Routing.of(3, 2, normalisation=TRAINED_PAIRS).gated.samples.loss
    slope, step = jax.jit(jax.grad(loss)), model.until / (model.records * model.steps_per_record)
    for _ in range(model.records * model.steps_per_record):
        network = jax.tree.map(lambda weight, down: weight - step * down, network, slope(network))
    np.testing.assert_allclose(model.run()["loss"].isel(run=0, time=-1), loss(network), rtol=1e-9)


def test_a_start_that_is_the_same_in_all_domains_follows_its_reduction():
    """Equal layers along the modes, put in place of the random ones, in steps that are small enough."""
    model = brief(hidden=7, until=0.5, step_size=1e-4)
    modes, size = model.modes, 0.8
    first = np.concatenate([modes.right.T, np.zeros((3, 4))])
    third = np.concatenate([modes.left, np.zeros((7, 3))], axis=1)
    process = model.process((size * np.stack([first] * 3), size * np.eye(7), size * np.stack([third] * 3)))
    state = process.initial
    for record in range(1, model.records + 1):
        state = jax.jit(process.advance)(state, jax.numpy.asarray(record))
    found, exact = process.observe(state), model.reduced(size)(0.5)
    assert exact["strength"][0] > 13
    np.testing.assert_allclose(found["strength"], exact["strength"], rtol=2e-3)
    np.testing.assert_allclose(found["loss"], exact["loss"], rtol=2e-3)


@pytest.mark.full
@pytest.mark.parametrize("field", ["gain", "single"])
def test_derivatives_are_differences(field):
    model = brief(gain=0.7)
    exact, step = model.derivative("loss", field), 1e-5
    beside = [model.model_copy(update={field: getattr(model, field) + side * step}) for side in (1, -1)]
    more, less = (one.run()["loss"].isel(run=0) for one in beside)
    size = float(np.abs(exact).max())
    assert size > 1.0
    np.testing.assert_allclose(exact, (more - less) / (2 * step), atol=1e-6 * size)


def test_a_longer_run_has_more_steps_and_not_longer_ones():
    for until in (1.0, 20.0, 600.0):
        model = RandomRouting(until=until)
        assert model.until / (model.records * model.steps_per_record) <= model.step_size
    assert RandomRouting(until=20.0).steps_per_record == 10


def test_bounds_are_told():
    with pytest.raises(ArgumentError, match="`trained` must be fewer than the domains, but is 3"):
        fs.run("model/random-routing", domains=3, trained=3)
    with pytest.raises(ArgumentError, match="`gain` must be less than or equal to 10"):
        fs.run("model/random-routing", gain=11.0)
    with pytest.raises(ArgumentError, match="`domains` must be greater than or equal to 2"):
        fs.run("model/random-routing", domains=1)
