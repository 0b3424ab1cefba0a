"""model/routing: the reduction of shared and private pathways, closed forms, a gated network, derivatives, bounds."""

from typing import Any

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.models._routing import private_maps, shared_maps
from festina.models.routing import Routing
from festina.networks import Gated, Graph
from festina.testing import check_model

BRIEF: dict[str, Any] = {"until": 10.0, "records": 20}
OTHER: dict[str, Any] = {"common": 5.0, "group": 2.0, "single": 2.5}


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    check_model(Routing, domains=2, trained=1, pathways="both", **BRIEF)


@pytest.mark.mostly_full
@pytest.mark.parametrize("pathways", ["shared", "private", "both"])
def test_networks_follow_the_reduction(pathways):
    model = Routing(domains=3, pathways=pathways, average="trained pairs", balance=0.4, initial=0.3, **BRIEF, **OTHER)
    result = model.run()
    assert result.errors().max() < 1e-9
    last = result.data.isel(run=0, time=-1)
    np.testing.assert_allclose(last["strength"], np.sqrt([100 + 8 + 6.25, 8 + 6.25, 6.25, 6.25]), rtol=1e-5)
    np.testing.assert_allclose(last["shared"] + last["private"], last["learned"], rtol=1e-12)
    there = {"shared": [1, 0], "private": [0, 1], "both": [1, 1]}[pathways]
    assert [float(last[name].max()) > 0 for name in ("shared", "private")] == there


@pytest.mark.full
def test_a_network_for_every_pair_is_a_chain_for_every_pair():
    result = Routing(domains=3, pathways="private", initial=0.3, **BRIEF).run()
    model = Routing()
    chain = fs.theory.chain(3, model.modes.strengths, 0.3, timescale=9.0)(result["time"].values)["product"]
    np.testing.assert_allclose(result["strength"].isel(run=0), chain, atol=1e-9)


def test_starts_have_the_product_and_the_balance_of_their_names():
    np.testing.assert_allclose(Routing(initial=0.3, balance=0.0).layers, [0.3 ** (1 / 3)] * 3)
    np.testing.assert_allclose(Routing(initial=0.3, balance=1.0).layers, np.array([1.0, 2.0, 1.0]) * 0.15 ** (1 / 3))


def test_both_pathways_are_a_gated_network():
    """A shared and four private pathways as one graph have the same loss and the same gradient."""
    model, pairs = Routing(domains=2, trained=1, pathways="both", initial=0.3), [(o, i) for o in (1, 2) for i in (1, 2)]
    weights, world = jax.tree.map(np.asarray, model.start(jax.random.key(0))), model.world("all pairs")
    shared, own = weights["shared"], weights["private"]
    routes = ["x1, x2 -> a -> b -> y1, y2", *(f"x{i} -> a{o}{i} -> b{o}{i} -> y{o}" for o, i in pairs)]
    widths = {"x1": 4, "x2": 4, "y1": 7, "y2": 7, "a": 4, "b": 4}
    widths |= {f"{layer}{o}{i}": 4 for layer in "ab" for o, i in pairs}
    edges = {"a->b": shared[1]}
    edges |= {f"x{n}->a": shared[0][n - 1] for n in (1, 2)} | {f"b->y{n}": shared[2][n - 1] for n in (1, 2)}
    for o, i in pairs:
        names = (f"x{i}->a{o}{i}", f"a{o}{i}->b{o}{i}", f"b{o}{i}->y{o}")
        edges |= {name: part[o - 1, i - 1] for name, part in zip(names, own, strict=True)}
    network = Gated.of(Graph.of(*routes, widths=widths), edges)

    def direct(weights):
        return world.loss(shared_maps(weights["shared"]) + private_maps(weights["private"]))

    loss, gradient = jax.jit(jax.value_and_grad(world.gated.samples.loss))(network)
    value, slope = jax.jit(jax.value_and_grad(direct))(weights)
    np.testing.assert_allclose(loss, value, rtol=1e-12)
    np.testing.assert_allclose(gradient.weights["a->b"], slope["shared"][1], atol=1e-11)
    np.testing.assert_allclose(gradient.weights["a21->b21"], slope["private"][1][1, 0], atol=1e-11)


@pytest.mark.full
@pytest.mark.parametrize("field", ["balance", "group"])
def test_derivatives_are_those_of_theory(field):
    model = Routing(domains=3, balance=0.5, **BRIEF)
    exact, step = model.derivative("loss", field), 1e-4
    beside = [model.model_copy(update={field: getattr(model, field) + side * step}) for side in (1, -1)]
    more, less = (one.theory()(exact["time"].values)["loss"] for one in beside)
    size = np.abs(exact.values).max()
    np.testing.assert_allclose(exact, (more - less) / (2 * step), atol=1e-6 * size)


def test_bounds_are_told():
    with pytest.raises(ArgumentError, match="`trained` must not exceed the 3 domains, but is 4"):
        fs.run("model/routing", domains=3, trained=4)
    with pytest.raises(ArgumentError, match="`initial` must be less than half of `single`, 1, for two pathways"):
        fs.run("model/routing", pathways="both", single=1.0, initial=0.6)
    assert Routing(single=1.0, initial=0.6).initial == 0.6
