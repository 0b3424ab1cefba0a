"""Gated networks on graphs: forward pass and gradient against samples, patterns and the sum over paths."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError, UnknownName
from festina.networks import Gated, Graph

SKIPPING = Graph.of(
    "x -> h1 -> h3 -> y",
    "x -> h2 -> h3",
    "z -> h2 -> y",
    "x -> y",
    "z -> h3 -> w",
    "h1 -> w",
    widths={"x": 3, "z": 2, "h1": 4, "h2": 5, "h3": 3, "y": 2, "w": 1},
)


def world_on(graph, gated, samples=40, levels=2, seed=0):
    """Random samples with random gates on the named nodes and edges."""
    random = np.random.default_rng(seed)
    return fs.worlds.GatedDataset(
        {node: random.normal(size=(samples, graph.widths[node])) for node in graph.inputs},
        {node: random.normal(size=(samples, graph.widths[node])) for node in graph.outputs},
        {name: random.integers(0, levels, samples).astype(float) for name in gated},
    )


def by_hand(network, world):
    """The loss of the definition, one sample and one edge at a time."""
    graph, weights, total = network.graph, network.weights, 0.0
    for n in range(world.count):
        on = {name: world.gates[name][n] if name in world.gates else 1.0 for name in graph.names}
        active = {node: on[node] * world.inputs[node][n] for node in graph.inputs}
        for node in graph.order:
            if node not in active:
                arriving = [on[f"{s}->{node}"] * weights[f"{s}->{node}"] @ active[s] for s in graph.sources_of(node)]
                active[node] = on[node] * sum(arriving)
        total += sum(0.5 * np.sum((world.targets[node][n] - active[node]) ** 2) for node in graph.outputs)
    return total / world.count


def gradients(network, *views):
    weights, static = eqx.partition(network, eqx.is_inexact_array)
    return [jax.grad(lambda w, view=view: view.loss(eqx.combine(w, static)))(weights).blocks for view in views]


@pytest.fixture
def network():
    return Gated.init(jax.random.key(0), SKIPPING, scale=1.0)


GATED = ("h1", "h3", "z", "y", "x->h2", "h2->y", "z->h3")


def test_the_loss_is_that_of_the_definition(network):
    world = world_on(SKIPPING, GATED)
    expected = by_hand(network, world)
    for view in (world.samples, world.condensed, world.patterns):
        np.testing.assert_allclose(view.loss(network), expected, rtol=1e-13)


@pytest.mark.full
def test_patterns_and_condensed_samples_have_the_gradient_of_the_samples(network):
    world = world_on(SKIPPING, GATED, samples=400)
    samples, condensed, patterns = gradients(network, world.samples, world.condensed, world.patterns)
    for one, two, three in zip(samples, condensed, patterns, strict=True):
        np.testing.assert_allclose(two, one, atol=1e-12)
        np.testing.assert_allclose(three, one, atol=1e-12)


def test_condensing_never_keeps_more_rows_than_needed():
    few = world_on(SKIPPING, ("h1", "h2"), samples=400)
    assert few.pattern.max() == 3 and len(few.condensed.share) == 4 * (3 + 2)
    own = world_on(SKIPPING, ("h1", "h2"), samples=40, levels=10**6)
    assert len(own.condensed.share) == 40
    np.testing.assert_allclose(
        np.sort(np.abs(own.condensed.inputs["x"]), axis=0) * 40**0.5, np.sort(np.abs(own.inputs["x"]), axis=0)
    )


@pytest.mark.full
def test_probabilities_weigh_the_samples(network):
    world = world_on(SKIPPING, GATED, samples=6)
    rows = np.array([0, 0, 0, 1, 2, 3, 4, 5])
    repeated = fs.worlds.GatedDataset(*jax.tree.map(lambda v: v[rows], (world.inputs, world.targets, world.gates)))
    chances = np.bincount(rows) / len(rows)
    weighted = fs.worlds.GatedDataset(world.inputs, world.targets, world.gates, chances)
    for view in ("samples", "condensed", "patterns"):
        np.testing.assert_allclose(getattr(weighted, view).loss(network), repeated.samples.loss(network), rtol=1e-13)


def test_gates_may_be_one_for_each_unit(network):
    random = np.random.default_rng(1)
    world = world_on(SKIPPING, (), samples=30)
    units = {"h2": random.integers(0, 2, (30, 5)).astype(float)}
    gated = fs.worlds.GatedDataset(world.inputs, world.targets, units)
    hidden = network.activity(world.inputs)["h2"] * units["h2"]
    np.testing.assert_allclose(network.activity(gated.inputs, gated.gates)["h2"], hidden)
    np.testing.assert_allclose(gated.patterns.loss(network), gated.samples.loss(network), rtol=1e-13)


@pytest.mark.full
def test_flow_goes_downhill_on_the_condensed_world_as_on_samples():
    graph = Graph.of("x -> a -> y", "x -> b -> y", widths={"x": 3, "a": 4, "b": 4, "y": 2})
    world = world_on(graph, ("a", "b"), samples=60)
    network = Gated.init(jax.random.key(1), graph, scale=0.3)
    run = fs.flow(network, world, until=3.0)
    assert run["loss"].values[-1] < 0.95 * run["loss"].values[0]
    np.testing.assert_allclose(run["loss"].values[-1], by_hand(run.final, world), rtol=1e-12)
    same = fs.flow(network, world.patterns, until=3.0)
    np.testing.assert_allclose(same["loss"], run["loss"], rtol=1e-9)


@pytest.mark.full
def test_flow_conserves_the_balance_of_every_hidden_node():
    """Σ_in W_e W_eᵀ − Σ_out W_eᵀ W_e of a node is conserved if its gate is one number: gates fall out."""
    world = world_on(SKIPPING, GATED, samples=60)
    network = Gated.init(jax.random.key(2), SKIPPING, scale=0.5)

    def balance(network, node):
        weights, graph = network.weights, network.graph
        arriving = sum(weights[f"{s}->{node}"] @ weights[f"{s}->{node}"].T for s in graph.sources_of(node))
        return arriving - sum(weights[f"{node}->{t}"].T @ weights[f"{node}->{t}"] for t in graph.targets_of(node))

    final = fs.flow(network, world, until=2.0).final
    for node in ("h1", "h2", "h3"):
        np.testing.assert_allclose(balance(final, node), balance(network, node), atol=1e-9)


def test_weights_by_edge_make_the_same_network(network):
    again = Gated.of(SKIPPING, network.weights)
    for one, two in zip(network.blocks, again.blocks, strict=True):
        np.testing.assert_array_equal(one, two)
    assert {name: w.shape for name, w in network.weights.items()}["z->h2"] == (5, 2)


def test_initial_weights_have_the_stated_spread():
    graph = Graph.of("x, z -> h -> y", widths={"x": 100, "z": 400, "h": 200, "y": 50})
    weights = Gated.init(jax.random.key(3), graph, scale=0.5).weights
    for name, source in (("x->h", 100), ("z->h", 400), ("h->y", 200)):
        np.testing.assert_allclose(weights[name].std(), 0.5 / source**0.5, rtol=0.03)


def test_layers_are_few_matrices_and_paths_are_counted():
    graph = Graph.layered((8,) * 9, width=2)
    assert len(graph.groups) == 8 and graph.path_count == 8**9
    with pytest.raises(ArgumentError, match="at most 10000 paths"):
        graph.paths()
    assert len(SKIPPING.paths()) == SKIPPING.path_count == 12


def test_groups_hold_only_edges_that_exist():
    """Private pathways: every node has its own sources, and no weight is wasted on edges that are not there."""
    graph = Graph.of("a -> h1 -> y", "b -> h2 -> z", widths={"a": 2, "b": 3, "h1": 4, "h2": 5, "y": 1, "z": 1})
    assert sum(np.size(block) for block in Gated.init(jax.random.key(0), graph).blocks) == 2 * 4 + 3 * 5 + 4 + 5


@pytest.mark.parametrize(
    ("routes", "widths", "message"),
    [
        (("x -> h -> x",), {"x": 1, "h": 1}, "no cycle"),
        (("x -> y",), {"x": 1}, "width of node 'y'"),
        (("x -> y",), {"x": 1, "y": 1, "h": 1}, "use the node 'h'"),
        (("x -> y",), {"x": 0, "y": 1}, "at least 1, but is 0"),
        (("x",), {"x": 1}, "chains such as"),
    ],
)
def test_bad_graphs_are_refused_with_a_reason(routes, widths, message):
    with pytest.raises(ArgumentError, match=message):
        Graph.of(*routes, widths=widths)


def test_bad_names_and_shapes_are_refused(network):
    world = world_on(SKIPPING, GATED)
    with pytest.raises(UnknownName, match="h9"):
        network(world.inputs, {"h9": np.ones(40)})
    with pytest.raises(ArgumentError, match="node 'x'"):
        network({"z": world.inputs["z"]})
    with pytest.raises(ArgumentError, match="outputs"):
        fs.worlds.GatedDataset(world.inputs, {"y": world.targets["y"]}).samples.loss(network)
    with pytest.raises(ArgumentError, match="rows"):
        fs.worlds.GatedDataset(world.inputs, world.targets, {"h1": np.ones(7)})
    with pytest.raises(ArgumentError, match="x->h1"):
        Gated.of(SKIPPING, {name: w for name, w in network.weights.items() if name != "x->h1"})


def test_an_inner_node_may_be_an_output():
    graph = Graph.of("x -> h -> y", widths={"x": 2, "h": 2, "y": 1}, outputs=("h", "y"))
    assert sorted(Gated.init(jax.random.key(0), graph)({"x": jnp.ones((3, 2))})) == ["h", "y"]
    assert graph.paths() == (("x", "h"), ("x", "h", "y"))


def test_the_drawing_shows_every_node_and_the_gates(network):
    world = world_on(SKIPPING, GATED, samples=8)
    (axis,) = network.draw(world.gates).axes
    shown = {text.get_text().split(" ")[0] for text in axis.texts}
    assert set(SKIPPING.widths) <= shown
    assert len(axis.images) == len(GATED)
    assert axis.get_title().startswith("strips: gates in 8 patterns")
    with pytest.raises(UnknownName, match="h9"):
        network.draw({"h9": np.ones(3)})


def test_shapes_are_checked_and_nothing_is_broadcast(network):
    world = world_on(SKIPPING, GATED)
    swapped = {"x": world.inputs["z"], "z": world.inputs["x"]}
    with pytest.raises(ArgumentError, match=r"`inputs\['x'\]` must be of shape \(40, 3\)"):
        network(swapped)
    narrow = fs.worlds.GatedDataset(world.inputs, world.targets | {"y": world.targets["y"][:, :1]})
    for view in (narrow.samples, narrow.patterns):
        with pytest.raises(ArgumentError, match="outputs and widths"):
            view.loss(network)
    for name, gate in (("h1", np.ones(1)), ("h1", np.ones((40, 3))), ("x->h2", np.ones((40, 3))), ("h1", 1.0)):
        with pytest.raises(ArgumentError, match="gates"):
            network(world.inputs, {name: gate})
    with pytest.raises(ArgumentError, match="array of numbers"):
        fs.worlds.GatedDataset(world.inputs, world.targets, {"h1": ["on"] * 40})
    with pytest.raises(ArgumentError, match="at least one"):
        fs.worlds.GatedDataset({"x": np.ones((0, 3))}, {"y": np.ones((0, 2))})


def test_lists_will_do_and_float64_stays_float64(network):
    world = world_on(SKIPPING, GATED, samples=4)
    listed = fs.worlds.GatedDataset(
        {node: values.tolist() for node, values in world.inputs.items()},
        world.targets,
        {name: gate.tolist() for name, gate in world.gates.items()},
        [0.25] * 4,
    )
    with jax.enable_x64(False):
        for loss in (listed.samples.loss(network), listed.patterns.loss(network)):
            assert loss.dtype == np.float64
            np.testing.assert_allclose(loss, by_hand(network, world), rtol=1e-13)
        assert network(world.inputs, world.gates)["y"].dtype == np.float64


def test_outputs_may_be_one_name_and_no_name_twice():
    graph = Graph.of("x -> out", "x -> y", widths={"x": 2, "out": 2, "y": 1}, outputs=("out", "y"))
    assert graph.outputs == ("out", "y")
    assert Graph.of("x -> out", widths={"x": 2, "out": 2}, outputs="out").outputs == ("out",)
    with pytest.raises(ArgumentError, match="each node once"):
        Graph.of("x -> y", widths={"x": 2, "y": 1}, outputs=("y", "y"))
    with pytest.raises(UnknownName, match="edge"):
        Gated.of(graph, {"x": np.ones((2, 2))})
