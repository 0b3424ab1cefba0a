"""linear/regimes: its claims, and what they cannot check."""

from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.experiments.linear.regimes import Regimes
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("linear/regimes")


@pytest.fixture(scope="module")
def arms(result):
    """The task and the two layers of every network of the first run, as NumPy arrays."""
    import jax

    with fs.double():
        starts = [(arm.labels, arm.model.start(jax.random.key(0))) for arm in result.arms]
        return {
            (labels["architecture"], labels["imbalance"]): (
                np.asarray(start.task), *map(np.asarray, start.network.weights)
            )
            for labels, start in starts
        }  # fmt: skip


DISTANCES = {  # of the separate simulation: mean of ten runs, and standard deviation of a run
    ("square", 0.0): (0.116, 0.04),
    ("funnel", 0.0): (0.184, 0.04),
    ("anti-funnel", 0.0): (0.176, 0.04),
    ("funnel", -20.0): (0.501, 0.08),
    ("anti-funnel", 20.0): (0.564, 0.08),
}


def test_quick_claims_hold(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    waiting = {claim for claim, outcome in outcomes.items() if outcome == "needs the full budget"}
    assert waiting == {"rich-square", "rich-funnel", "rich-anti-funnel", "delayed-funnel", "delayed-anti-funnel"}
    assert {outcome for claim, outcome in outcomes.items() if claim not in waiting} == {"reproduced"}, result


@pytest.mark.parametrize(("arm", "known"), DISTANCES.items())
def test_distances_of_four_runs_are_those_of_the_separate_simulation(result, arm, known):
    """The mean of four against one of ten: three standard errors of the difference; delayed, at another λ."""
    mean, deviation = known
    architecture, imbalance = arm
    found = result["distance"].sel(architecture=architecture, imbalance=imbalance).isel(time=-1).mean("run")
    assert found == pytest.approx(mean, abs=3 * deviation * (1 / 4 + 1 / 10) ** 0.5)


def test_the_distances_are_asked_of_ten_runs_of_the_default_networks(result):
    (claim,) = (claim for claim in Regimes.claims if claim.id == "rich-square")
    assert claim.kind == "reference"
    assert claim.judge(result, "full").note == "needs --seeds 10"
    narrower = result.config.model_copy(update={"inputs": 7})
    assert claim.judge(replace(result, config=narrower), "full").outcome == "not applicable"


def test_networks_that_have_not_learned_yet_say_how_long_it_takes(result):
    """Cut off at t = 20, those that turn at the rate s²/|λ| = 1/20 are not there; lazy ones are."""
    few = result["time"].values <= 20.0
    short = replace(
        result,
        config=result.config.model_copy(update={"until": 20.0}),
        data=result.data.isel(time=few),
        theory=result.theory.isel(time=few),
    )
    verdicts = {claim.id: claim.judge(short, "quick") for claim in Regimes.claims}
    assert verdicts["lazy"].outcome == verdicts["rich-movement"].outcome == verdicts["plateau"].outcome == "reproduced"
    assert verdicts["delayed-rich"].note == "funnel at λ = -20 has not learned yet: needs --until 110"
    assert verdicts["rotation"].note == "needs --until 41"


@pytest.mark.parametrize(("architecture", "imbalance"), [("funnel", -20.0), ("square", 0.0), ("anti-funnel", -5.0)])
def test_an_independent_integration_of_the_weights(result, arms, architecture, imbalance):
    """DOP853 on W₁ and W₂, and the tangent kernel formed in full."""
    task, first, second = arms[architecture, imbalance]
    chosen = result["time"].values[[0, 40, 70, 90, 100]]

    def unpack(state):
        return state[: first.size].reshape(first.shape), state[first.size :].reshape(second.shape)

    def rate(_, state):
        one, two = unpack(state)
        error = task - two @ one
        return np.concatenate([(two.T @ error).ravel(), (error @ one.T).ravel()])

    start = np.concatenate([first.ravel(), second.ravel()])
    solved = solve_ivp(rate, (0, chosen[-1]), start, "DOP853", chosen, rtol=1e-11, atol=1e-13).y.T
    arm = result.data.isel(run=0).sel(architecture=architecture, imbalance=imbalance, time=chosen)
    losses = [0.5 * np.sum((task - two @ one) ** 2) for one, two in map(unpack, solved)]
    np.testing.assert_allclose(arm["loss"], losses, atol=1e-8)
    kernels = [
        np.kron(np.eye(len(two)), one.T @ one) + np.kron(two @ two.T, np.eye(one.shape[1]))
        for one, two in map(unpack, solved)
    ]
    first_size = np.linalg.norm(kernels[0])
    distances = [1 - np.sum(kernel * kernels[0]) / np.linalg.norm(kernel) / first_size for kernel in kernels]
    np.testing.assert_allclose(arm["distance"], distances, atol=1e-8)
    movements = [np.linalg.norm(kernel - kernels[0]) / first_size for kernel in kernels]
    np.testing.assert_allclose(arm["movement"], movements, atol=1e-7)


def test_the_plateau_is_what_the_large_layer_cannot_see(result, arms):
    start = result.theory["rotation"].isel(run=0, time=0)
    task, first, _ = arms["funnel", -20.0]
    unseen = task - task @ np.linalg.pinv(first) @ first
    found = start.sel(architecture="funnel", imbalance=-20.0)
    np.testing.assert_allclose(found, 0.5 * np.sum(unseen**2), rtol=1e-10)
    task, _, second = arms["anti-funnel", 20.0]
    unseen = task - second @ np.linalg.pinv(second) @ task
    found = start.sel(architecture="anti-funnel", imbalance=20.0)
    np.testing.assert_allclose(found, 0.5 * np.sum(unseen**2), rtol=1e-10)
    assert np.all(np.isnan(start.sel(architecture="square")))


def test_weights_are_balanced_and_the_task_is_within_reach(arms):
    for (_, imbalance), (_, first, second) in arms.items():
        np.testing.assert_allclose(second.T @ second - first @ first.T, imbalance * np.eye(len(first)), atol=1e-12)
    task, first, second = arms["square", 0.0]
    assert np.linalg.det(task) * np.linalg.det(second @ first) > 0


def test_networks_of_a_seed_differ_in_nothing_but_their_imbalance(arms):
    for architecture in ("funnel", "square", "anti-funnel"):
        task, first, second = arms[architecture, 0.0]
        other, one, two = arms[architecture, 20.0]
        np.testing.assert_array_equal(other, task)
        np.testing.assert_allclose(two @ one, second @ first, atol=1e-14)


def test_the_anti_funnel_is_the_mirror_of_the_funnel(result):
    sizes = {arm.labels["architecture"]: (arm.model.inputs, arm.model.outputs) for arm in result.arms}
    assert sizes == {"funnel": (8, 4), "square": (5, 5), "anti-funnel": (4, 8)}
    wider = Regimes().configure("quick", inputs=6, outputs=2)
    models: dict[str, Any] = {arm.labels["architecture"]: arm.model for arm in Regimes().arms_at(wider)}
    sizes = {name: (model.inputs, model.outputs) for name, model in models.items()}
    assert sizes == {"funnel": (6, 2), "square": (5, 5), "anti-funnel": (2, 6)}


def test_one_imbalance_may_be_asked_alone(result):
    """Claims that need other imbalances say so, the others hold, and the figure can be drawn."""
    config = Regimes().configure("quick", imbalance=-5)
    assert config.imbalance == (-5.0,)
    data, theory = (part.sel(imbalance=[-5.0]) for part in (result.data, result.theory))
    alone = fs.Result(result.experiment, config, data, theory)
    verdicts = {claim.id: claim.judge(alone, "quick") for claim in Regimes.claims}
    assert verdicts["exact"].outcome == "reproduced"
    assert verdicts["rich-movement"].note == "needs λ = 0 among the imbalances"
    assert "at least ten times" in verdicts["plateau"].note
    plt.close(alone.figure())


def test_the_figure_has_nine_labelled_panels(result):
    figure = result.figure()
    assert len(figure.axes) == 9
    assert all(axis.lines and axis.get_xticks().size for axis in figure.axes)
    assert all(axis.get_xlabel() for axis in figure.axes[3:])
    plt.close(figure)
