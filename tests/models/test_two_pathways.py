"""model/two-pathways: its networks beside two reductions, its start, derivatives, bounds."""

from typing import Any

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.models.two_pathways import TwoPathways
from festina.testing import check_model

BRIEF: dict[str, Any] = {"initial": 1e-2, "until": 20.0, "records": 20}
RIVALS: tuple[dict[str, Any], ...] = (
    {"rival_correlation": 0.4},
    {"rival_depth": 4, "depth": 3},
    {"rival_imbalance": 10.0, "rival_start": 5.0},
    {"path_count": 3, "rival_depth": 3},
)


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    check_model(TwoPathways, rival_correlation=0.5, rival_depth=3, path_count=2, answers="same", **BRIEF)


@pytest.mark.mostly_full
@pytest.mark.parametrize("answers", ["own", "same"])
@pytest.mark.parametrize("rival", RIVALS)
def test_networks_follow_the_reduction(rival, answers):
    assert TwoPathways(answers=answers, **rival, **BRIEF).run().errors().max() < 1e-7


@pytest.mark.mostly_full
@pytest.mark.parametrize("answers", ["own", "same"])
@pytest.mark.parametrize("rival", RIVALS)
def test_three_weights_are_the_reduction_of_the_whole_graph(rival, answers):
    """The general reduction finds paths, statistics and modes from the network and its samples alone."""
    model, times = TwoPathways(answers=answers, **rival, **BRIEF), np.linspace(0.0, 20.0, 9)
    with fs.double():
        start = jax.tree.map(np.asarray, model.start(jax.random.key(3)))
        reduction = fs.theory.reduction(start.network.graph, model.world(start), start.network.weights)
        whole, few = reduction(times), model.solution(start)(times)
    strengths = np.sum(whole["paths"] * np.sign(reduction.strengths), axis=-1)
    paths = [list(path) for path in reduction.statistics.paths]
    for number, name in enumerate(("first", "rival")):
        for route in model.routes[name]:
            np.testing.assert_allclose(few["learned"][:, number], strengths[:, paths.index(route)], rtol=0, atol=1e-8)
    np.testing.assert_allclose(few["loss"], whole["loss"], rtol=0, atol=1e-8)


def test_strengths_and_ratios_at_the_start_are_those_chosen():
    model = TwoPathways(initial=1e-2, rival_start=3.0, rival_imbalance=5.0, path_count=4, rival_depth=3)
    weight, shared, own = np.asarray(model.weights)
    np.testing.assert_allclose([weight**2, shared * own**2, shared / own], [1e-2, 3e-2, 10.0], rtol=1e-6)


def test_paths_of_the_rival_share_one_edge_and_those_of_the_first_none():
    graph = TwoPathways(path_count=3).start(jax.random.key(0)).network.graph
    assert len(graph.targets_of("rival")) == 3 and len(graph.targets_of("x")) == 4
    same = TwoPathways(path_count=3, answers="same").start(jax.random.key(0)).network.graph
    assert len(graph.outputs) == 6 and len(same.outputs) == 3


def test_bounds():
    for field, value in (("rival_depth", 1), ("rival_correlation", 1.1), ("rival_correlation", 0.0), ("path_count", 0)):
        wrong: dict[str, Any] = {field: value}
        with pytest.raises(ArgumentError, match=f"`{field}` must be"):
            fs.run("model/two-pathways", **wrong)
    with pytest.raises(ArgumentError, match="`rival_start` must be below 1/`initial`, 10"):
        fs.run("model/two-pathways", initial=0.1, rival_start=20.0)
