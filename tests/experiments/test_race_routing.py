"""race/routing: its claims, and its networks as gated ones."""

import warnings
from dataclasses import replace

import jax
import numpy as np
import pytest

import festina as fs
from festina.claims import NotApplicable, Undecided
from festina.errors import ArgumentError
from festina.experiments.race._routing_measures import race_errors, small_start_shares, speed_ups
from festina.experiments.race._routing_networks import decoupled, private, racing_maps, start_of
from festina.networks import Gated, Graph
from festina.worlds.routing import Routing
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("race/routing")


def test_quick_claims_hold(result):
    assert all(verdict.outcome == "reproduced" for verdict in result.verdicts), result


def test_starts_have_the_product_and_the_balance_of_their_names():
    np.testing.assert_allclose(start_of("equal", 0.3, 4), [0.3 ** (1 / 3)] * 3)
    np.testing.assert_allclose(start_of("balanced", 0.3, 4), np.array([1.0, 2.0, 1.0]) * 0.15 ** (1 / 3))


def test_the_racing_network_is_a_gated_one():
    """A shared and four private pathways as one graph have the same loss and the same gradient."""
    world, pairs = Routing.of(2, 1), [(o, i) for o in (1, 2) for i in (1, 2)]
    shared, own = decoupled(start_of("balanced", 0.3, 2), 2), private(0.1, 2)
    routes = ["x1, x2 -> a -> b -> y1, y2", *(f"x{i} -> a{o}{i} -> b{o}{i} -> y{o}" for o, i in pairs)]
    widths = {"x1": 4, "x2": 4, "y1": 7, "y2": 7, "a": 4, "b": 4}
    widths |= {f"{layer}{o}{i}": 4 for layer in "ab" for o, i in pairs}
    weights = {"a->b": shared[1]}
    weights |= {f"x{n}->a": shared[0][n - 1] for n in (1, 2)} | {f"b->y{n}": shared[2][n - 1] for n in (1, 2)}
    for o, i in pairs:
        names = (f"x{i}->a{o}{i}", f"a{o}{i}->b{o}{i}", f"b{o}{i}->y{o}")
        weights |= {name: part[o - 1, i - 1] for name, part in zip(names, own, strict=True)}
    network = Gated.of(Graph.of(*routes, widths=widths), weights)
    loss, gradient = jax.jit(jax.value_and_grad(world.gated.samples.loss))(network)
    value, direct = jax.jit(jax.value_and_grad(lambda weights: world.loss(racing_maps(weights))))((shared, own))
    np.testing.assert_allclose(loss, value, rtol=1e-12)
    slope = gradient.weights
    np.testing.assert_allclose(slope["a->b"], direct[0][1], atol=1e-11)
    np.testing.assert_allclose(slope["a21->b21"], direct[1][1][1, 0], atol=1e-11)


def test_what_cannot_be_judged_is_said(result):
    part = {"time": slice(0, 105)}
    short = replace(result, data=result.data.isel(part), theory=result.theory.isel(part))
    with pytest.raises(Undecided, match=r"has not learned half of every mode at the end; needs --until (1?[0-9])$"):
        speed_ups(short)
    for quantity in (race_errors, small_start_shares):
        with pytest.raises(Undecided, match=r"is not over at the end; needs --until ([0-9]+)$"):
            quantity(short)
    assert len(short.figure().axes) == 6
    with pytest.raises(Undecided, match=r"too few for half-times; needs --records 100$"):
        speed_ups(replace(result, data=result.data.isel(time=slice(0, None, 2))))
    alone = replace(result, config=result.config.model_copy(update={"race_domains": 1}))
    with pytest.raises(NotApplicable, match="with one, nothing is shared"):
        small_start_shares(alone)
    with pytest.raises(ArgumentError, match="`domains` must hold every value once"):
        fs.run("race/routing", domains=(2, 2))
    with pytest.raises(ArgumentError, match="`race_domains` must not be smaller than all numbers of trained outputs"):
        fs.run("race/routing", trained=3, race_domains=2)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 6
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
