"""rectified/race: its claims, those that do not hold included, and energies against a plain calculation."""

import warnings
from dataclasses import replace

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.rectified._pathways import path_gates, path_names, small_start
from festina.experiments.rectified.race import _energy, correlations
from festina.theory.rectified import at_start, on_residual
from festina.worlds.contexts import context_subsets, multitask
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("rectified/race")


def test_quick_claims_hold_but_for_the_one_that_does_not(result):
    judged = outcomes(result)
    assert {claim for claim, outcome in judged.items() if outcome != "reproduced"} == {"sharing-raises-correlation"}, (
        result
    )


def test_energies_are_those_of_what_paths_add_to_the_output():
    world, sets = multitask(3), context_subsets(3)
    names = path_names(sets)
    graph = fs.networks.Graph.of(f"x -> {', '.join(names)} -> y", widths={"x": 11, "y": 60} | dict.fromkeys(names, 4))
    network = small_start(jax.random.key(0), graph, 1.0)
    gates = path_gates(world, sets)
    expected = np.zeros(3)
    for name, size in zip(names, sets.sum(axis=1).astype(int), strict=True):
        path = np.asarray(network.weights[f"{name}->y"] @ network.weights[f"x->{name}"], float)
        answer = world.dataset.inputs @ path.T * gates.get(name, np.ones(24))[:, None]
        expected[size - 1] += np.sum(answer**2)
    np.testing.assert_allclose(_energy(network, world, "scratch", 3), expected / expected.sum(), rtol=1e-4)


@pytest.mark.parametrize("contexts", [3, 5])
def test_correlations_of_the_data_are_those_of_theory(contexts):
    strengths = multitask(contexts).strengths
    unit = strengths[1] / (8 * contexts)
    first = [at_start(size, contexts, strengths).strength[0] / unit for size in range(1, contexts + 1)]
    later = [on_residual(size, contexts, strengths).strength[0] / unit for size in range(1, contexts)]
    np.testing.assert_allclose(correlations(contexts, "scratch"), first)
    np.testing.assert_allclose(correlations(contexts, "residual"), [*later, 0.0], atol=1e-12)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 8


def test_too_few_steps_are_not_judged(result):
    short = replace(result, data=result.data.isel(time=slice(0, 10)))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in result.experiment.claims}
    late = {"mixed-wins", "draw-on-the-residual", "won-from-scratch", "middle-sizes"}
    assert {name for name, verdict in verdicts.items() if verdict.outcome == "undecided"} == late
    assert verdicts["mixed-wins"].note == "the race of 3 contexts (scratch) is not over; needs more than --steps 900"
    few = replace(result, config=result.config.model_copy(update={"contexts": (2,)}))
    assert {claim.judge(few, "quick").outcome for claim in result.experiment.claims} == {"not applicable"}
    with pytest.raises(ArgumentError, match="`contexts` must hold every value once"):
        fs.run("rectified/race", contexts=(3, 3))
