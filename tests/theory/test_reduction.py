"""The race reduction against whole networks: exact where its conditions hold, and outspoken where they do not."""

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.networks import Gated, Graph
from festina.theory.paths import path_statistics
from festina.theory.reduction import contests, reduction

XOR = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


def xor_world():
    """One pathway for each example."""
    graph = Graph.of(*(f"x -> h{k} -> y" for k in range(4)), widths={"x": 2, "y": 1} | {f"h{k}": 3 for k in range(4)})
    world = fs.worlds.GatedDataset(
        {"x": XOR}, {"y": XOR[:, :1] * XOR[:, 1:]}, {f"h{k}": np.eye(4)[k] for k in range(4)}
    )
    return graph, world


def domains(count=3, seed=0):
    """Domains that speak different dialects of one structure, joined by a shared layer; all pairs are trained."""
    random = np.random.default_rng(seed)
    strengths = np.array([3.0, 1.5, 1.5])
    right = [np.linalg.qr(random.normal(size=(3, 3)))[0] for _ in range(count)]
    left = [np.linalg.qr(random.normal(size=(4, 3)))[0] for _ in range(count)]
    names = [(f"x{k}", f"y{k}") for k in range(count)]
    widths = {x: 3 for x, _ in names} | {y: 4 for _, y in names} | {"h": 5, "g": 5}
    graph = Graph.of(f"{', '.join(x for x, _ in names)} -> h -> g -> {', '.join(y for _, y in names)}", widths=widths)
    pairs = [(i, o, item) for i in range(count) for o in range(count) for item in range(3)]
    inputs = {
        f"x{k}": np.array([right[k][item] if i == k else np.zeros(3) for i, _, item in pairs]) for k in range(count)
    }
    targets = {
        f"y{k}": np.array([strengths[item] * left[k][:, item] if o == k else np.zeros(4) for _, o, item in pairs])
        for k in range(count)
    }
    gates = {
        f"{side}{k}": np.array([float(pair[n] == k) for pair in pairs])
        for n, side in enumerate("xy")
        for k in range(count)
    }
    bases = {f"x{k}": right[k].T for k in range(count)} | {f"y{k}": left[k] for k in range(count)}
    return graph, fs.worlds.GatedDataset(inputs, targets, gates), bases


def test_the_closed_form_is_the_race_at_one_time_and_at_many():
    race = reduction(*xor_world()).starting(0.1)
    solution = race.closed_form()
    for times in (3.0, np.array([0.0, 1.0, 30.0])):
        for name, found in race(times).items():
            if name != "edges":
                np.testing.assert_allclose(solution(times)[name], found, atol=1e-9)


@pytest.mark.full
def test_exclusive_or_has_the_published_strengths_and_closed_form():
    """Each pathway is a contest of its own: S = √2/4, D = ½, π = (s/d)/(1 − (1 − s/(dπ₀))e^{−2st}), L = ½(1 − √2π)²."""
    graph, world = xor_world()
    assert contests(path_statistics(graph, world.patterns)) == [[0], [1], [2], [3]]
    race = reduction(graph, world).starting(0.1)
    assert race.applies, race
    np.testing.assert_allclose(np.abs(race.strengths), np.eye(4) * 2**0.5 / 4, atol=1e-14)
    np.testing.assert_allclose(np.einsum("ppm->pm", race.overlaps), np.eye(4) / 2, atol=1e-14)
    times = np.linspace(0.0, 30.0, 40)
    s, d, start = 2**0.5 / 4, 0.5, 0.01
    product = (s / d) / (1 - (1 - s / (d * start)) * np.exp(-2 * s * times))
    np.testing.assert_allclose(race.closed_form()(times)["loss"], 0.5 * (1 - 2**0.5 * product) ** 2, atol=1e-12)
    np.testing.assert_allclose(race(times)["loss"], 0.5 * (1 - 2**0.5 * product) ** 2, atol=1e-9)


@pytest.mark.full
def test_the_reduction_is_the_whole_network_where_its_conditions_hold():
    graph, world, bases = domains()
    rng = np.random.default_rng(1)
    hidden = {node: np.linalg.qr(rng.normal(size=(5, 3)))[0] for node in ("h", "g")}
    strengths = {f"{s}->{t}": rng.uniform(0.1, 0.3, 3) for s, t in graph.edges}
    network = Gated.decoupled(graph, strengths, bases | hidden)
    race = reduction(graph, world, network.weights)
    assert race.applies, race
    assert race.strengths.shape == (9, 3)
    run = fs.flow(network, world, until=8.0)
    np.testing.assert_allclose(race(run["time"].values)["loss"], run["loss"].values, atol=1e-9)
    for (s, t), value in zip(graph.edges, race.initial, strict=True):
        np.testing.assert_allclose(np.sort(np.abs(value)), np.sort(strengths[f"{s}->{t}"]), atol=1e-12)


def test_it_says_which_condition_fails_and_by_how_much():
    graph, world, _ = domains()
    random = reduction(graph, world, Gated.init(jax.random.key(0), graph, scale=0.1).weights)
    assert random.conditions[0].holds and not random.conditions[1].holds and not random.applies
    assert "FAILS: initial weights are decoupled" in str(random) and "->" in str(random)
    twisted = {name: values.copy() for name, values in world.targets.items()}
    twisted["y0"][:4] += np.random.default_rng(0).normal(size=(4, 4)) * 0.1
    crooked = reduction(graph, fs.worlds.GatedDataset(world.inputs, twisted, world.gates))
    assert not crooked.conditions[0].holds
    assert 1e-3 < crooked.conditions[0].worst < 1.0
    assert "FAILS: moments are mutually diagonalisable" in str(crooked)


@pytest.mark.full
def test_degenerate_modes_are_kept_together():
    """Two modes of one strength: the initial weights choose the basis within them, as the network does."""
    graph, world, bases = domains()
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(2, 2)))[0]
    mixed = {
        name: basis @ np.block([[np.eye(1), np.zeros((1, 2))], [np.zeros((2, 1)), turn]])
        for name, basis in bases.items()
    }
    strengths = {f"{s}->{t}": np.array([0.2, 0.1, 0.3]) for s, t in graph.edges}
    network = Gated.decoupled(graph, strengths, mixed)
    race = reduction(graph, world, network.weights)
    assert race.applies, race
    run = fs.flow(network, world, until=8.0)
    np.testing.assert_allclose(race(run["time"].values)["loss"], run["loss"].values, atol=1e-9)


def test_a_race_without_a_start_has_no_course():
    """Weights that are not decoupled have no numbers in modes: a flat loss would be a wrong answer."""
    graph, world, _ = domains()
    random = Gated.init(jax.random.key(0), graph, scale=0.1)
    for race, message in (
        (reduction(graph, world, random.weights), r"`weights` must be decoupled .*FAILS: .*of its norm"),
        (reduction(graph, world), "`weights` must be given .*starting"),
    ):
        for course in (race, lambda time, race=race: race.closed_form()(time)):
            with pytest.raises(ArgumentError, match=message):
                course(1.0)
    twisted = {name: values.copy() for name, values in world.targets.items()}
    twisted["y0"][:4] += np.random.default_rng(0).normal(size=(4, 4)) * 0.1
    crooked = reduction(graph, fs.worlds.GatedDataset(world.inputs, twisted, world.gates)).starting(0.1)
    with pytest.raises(ArgumentError, match="`world` must have mutually diagonalisable moments"):
        crooked(1.0)
    with pytest.raises(ArgumentError, match="`time` must be finite numbers from 0 on"):
        reduction(*xor_world()).starting(0.1)(np.inf)


def test_worlds_without_a_correlation_are_refused():
    graph = Graph.of("x -> h -> y", widths={"x": 2, "h": 3, "y": 1})
    for inputs, targets in ((np.eye(2), np.zeros((2, 1))), (np.zeros((2, 2)), np.ones((2, 1)))):
        with pytest.raises(ArgumentError, match="`world` must have a path that sees a correlation"):
            reduction(graph, fs.worlds.GatedDataset({"x": inputs}, {"y": targets}))
    world = fs.worlds.GatedDataset({"x": np.eye(2)}, {"y": np.ones((2, 1))})
    for timescale in (np.nan, -1.0, np.inf):
        with pytest.raises(ArgumentError, match="`timescale` must be"):
            reduction(graph, world, timescale=timescale)


@pytest.mark.full
def test_lonely_balanced_paths_have_a_closed_form():
    """Two inputs on alternating samples with targets along different outputs: nothing is shared, nothing overlaps."""
    graph = Graph.of("x -> h -> y", "z -> g -> f -> y", widths={"x": 2, "z": 2, "h": 2, "g": 2, "f": 2, "y": 2})
    on = np.array([1.0, 1.0, 0.0, 0.0])
    eye = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    world = fs.worlds.GatedDataset({"x": eye, "z": eye}, {"y": eye * np.array([[3.0, 1.0]])}, {"h": on, "g": 1 - on})
    race = reduction(graph, world).starting(0.2)
    times = np.linspace(0.0, 30.0, 50)
    exact, integrated = race.closed_form()(times), race(times)
    np.testing.assert_allclose(exact["loss"], integrated["loss"], atol=1e-9)
    np.testing.assert_allclose(exact["paths"], integrated["paths"], atol=1e-9)
    with pytest.raises(LookupError, match="balanced"):
        race.starting(race.initial * np.linspace(1.0, 2.0, len(race.initial))[:, None]).closed_form()
    shared, crowded, _ = domains()
    with pytest.raises(LookupError, match="share an edge"):
        reduction(shared, crowded).starting(0.1).closed_form()
    with pytest.raises(ArgumentError, match="from 0 on"):
        race(-1.0)


def test_two_outputs_that_ask_for_different_bases_are_told():
    """Each output alone is diagonalisable; together they are not, unless M₁ᵀM₁ and M₂ᵀM₂ commute."""
    random = np.random.default_rng(0)
    graph = Graph.of("x -> h -> y, z", widths={"x": 3, "h": 3, "y": 3, "z": 3})
    white, first = np.eye(3) * 3**0.5, random.normal(size=(3, 3))
    right = np.linalg.svd(first)[2]
    for second, agrees in (
        (random.normal(size=(3, 3)), False),
        (random.normal(size=(3, 3)) @ np.eye(3), False),
        (np.linalg.qr(random.normal(size=(3, 3)))[0] @ np.diag([2.0, 1.0, 0.5]) @ right, True),
    ):
        race = reduction(graph, fs.worlds.GatedDataset({"x": white}, {"y": white @ first.T, "z": white @ second.T}))
        assert race.conditions[0].holds == agrees, race
        assert agrees or race.conditions[0].worst > 0.05
        for basis in race.bases.values():
            present = np.any(basis != 0, axis=0)
            np.testing.assert_allclose(basis[:, present].T @ basis[:, present], np.eye(present.sum()), atol=1e-10)


@pytest.mark.parametrize(("depth", "weak"), [(8, 0.01), (4, 1e-4), (6, 1e-3), (14, 0.1)])
def test_weak_modes_in_deep_networks_are_not_lost(depth, weak):
    """The reduction of an exactly decoupled chain of layers applies, however little comes through."""
    random = np.random.default_rng(1)
    nodes = ["x", *(f"h{k}" for k in range(1, depth)), "y"]
    graph = Graph.of(" -> ".join(nodes), widths=dict.fromkeys(nodes, 6))
    bases = {node: np.linalg.qr(random.normal(size=(6, 3)))[0] for node in nodes}
    network = Gated.decoupled(graph, {f"{s}->{t}": np.array([1.0, 0.5, weak]) for s, t in graph.edges}, bases)
    inputs = random.normal(size=(20, 3)) @ np.diag([2.0, 1.5, 1.0])
    inputs = np.linalg.qr(inputs)[0] * 20**0.5
    targets = inputs @ np.diag([3.0, 2.0, 1.0]) @ bases["y"].T
    race = reduction(graph, fs.worlds.GatedDataset({"x": inputs @ bases["x"].T}, {"y": targets}), network.weights)
    assert race.applies, race
    found = np.sort(np.abs(race.initial), axis=1)[:, ::-1][:, :3]
    np.testing.assert_allclose(found, np.tile([1.0, 0.5, weak], (depth, 1)), rtol=1e-6)


@pytest.mark.full
def test_one_size_for_all_starts_every_path_in_its_own_direction():
    """Correlations of opposite sign in two paths; a start of the wrong sign would be stuck at a saddle."""
    graph = Graph.of("x -> a -> y", "x -> b -> y", widths={"x": 1, "a": 1, "b": 1, "y": 1})
    on, answers = np.array([1.0, 1.0, 0.0, 0.0]), np.array([[1.0], [1.0], [-3.0], [-3.0]])
    race = reduction(graph, fs.worlds.GatedDataset({"x": np.ones((4, 1))}, {"y": answers}, {"a": on})).starting(0.1)
    np.testing.assert_allclose(np.sort(race.strengths[:, 0] * np.sign(race.strengths[0, 0])), [-1.0, 0.5])
    assert race(60.0)["loss"] < 1e-9
    x, z = np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.array([[1.0], [-1.0], [1.0], [-1.0]])
    shared = Graph.of("x, z -> h -> y", widths={"x": 1, "z": 1, "h": 1, "y": 1})
    one = reduction(shared, fs.worlds.GatedDataset({"x": x, "z": z}, {"y": 1.0 * x - 0.5 * z})).starting(0.1)
    assert one(200.0)["loss"] < 1e-9  # x->h, z->h and h->y: the edge z->h is flipped
    both = np.array([[0.1], [0.1], [0.1]])
    np.testing.assert_allclose(one.starting(both).initial, both)


def test_signs_that_cannot_be_had_and_nodes_that_are_too_narrow_are_refused():
    wide = Graph.of("x -> h -> y", widths={"x": 3, "h": 1, "y": 3})
    world = fs.worlds.GatedDataset({"x": np.eye(3)}, {"y": np.diag([3.0, 2.0, 1.0])})
    with pytest.raises(ArgumentError, match="at most 1 modes in node 'h'"):
        reduction(wide, world).starting(0.01)
    names = ("x", "z")
    crossed = Graph.of("x, z -> h -> y, w", widths={"x": 1, "z": 1, "h": 1, "y": 1, "w": 1})
    gates = {node: np.array(on, float) for node, on in zip(names, ([1, 1, 0, 0], [0, 0, 1, 1]), strict=True)}
    gates |= {"y": np.array([1.0, 0.0, 1.0, 0.0]), "w": np.array([0.0, 1.0, 0.0, 1.0])}
    ones = np.ones((4, 1))
    frustrated = fs.worlds.GatedDataset(
        dict.fromkeys(names, ones), {"y": ones, "w": np.array([[1.0], [1.0], [1.0], [-1.0]])}, gates
    )
    with pytest.raises(ArgumentError, match="opposite sign"):
        reduction(crossed, frustrated).starting(0.1)


def test_overlaps_count_relative_to_the_inputs():
    """Inputs of a hundred-thousandth: two paths that are always on still overlap fully."""
    graph = Graph.of("x -> a -> y", "x -> b -> y", widths={"x": 1, "a": 1, "b": 1, "y": 1})
    world = fs.worlds.GatedDataset({"x": np.full((4, 1), 1e-5)}, {"y": np.ones((4, 1))})
    with pytest.raises(LookupError, match="overlap"):
        reduction(graph, world).starting(0.1).closed_form()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, "hold a matrix for the edge x->h"),
        ({"x->h": np.ones((2, 2)), "h->y": np.ones((1, 3))}, r"`weights\['x->h'\]` must be of shape \(3, 2\)"),
        ({"x->h": np.full((3, 2), np.nan), "h->y": np.ones((1, 3))}, "be finite"),
    ],
)
def test_bad_weights_and_worlds_are_refused(weights, message):
    graph = Graph.of("x -> h -> y", widths={"x": 2, "h": 3, "y": 1})
    world = fs.worlds.GatedDataset({"x": np.eye(2)}, {"y": np.ones((2, 1))})
    with pytest.raises(ArgumentError, match=message):
        reduction(graph, world, weights)
    with pytest.raises(ArgumentError, match="GatedDataset"):
        reduction(graph, fs.worlds.Dataset(np.eye(2), np.ones((2, 1))))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="finite"):
        reduction(graph, world).starting(np.nan)
