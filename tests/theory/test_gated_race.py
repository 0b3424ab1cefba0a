"""Races between gatings, against exact laws of who wins and how much of it."""

import numpy as np
import pytest
from scipy.optimize import brentq

import festina as fs
from festina.errors import ArgumentError

CORNERS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


def margin(separation):
    answer = CORNERS[:, :1] * CORNERS[:, 1:]
    gates = {f"example {k}": np.eye(4)[k] for k in range(4)}
    gates |= {"half +": (answer[:, 0] > 0).astype(float), "half -": (answer[:, 0] < 0).astype(float)}
    return gates, fs.worlds.Dataset(np.concatenate([CORNERS, separation * answer], axis=1), answer)


@pytest.mark.mostly_full
@pytest.mark.parametrize("separation", [0.4, 0.8, 0.9, 1.2])
def test_the_margin_is_divided_as_the_conserved_law_says(separation):
    """π = ε e^{2 s_XoR T}, ρ = ε e^{2 s_lin T} with π√(2+Δ²) + ρΔ = 1 at the end."""
    start, long = 1e-4, (2 + separation**2) ** 0.5
    sizes = lambda time: (start * np.exp(2 * long / 4 * time), start * np.exp(separation * time))  # noqa: E731
    last = brentq(lambda time: sizes(time)[0] * long + sizes(time)[1] * separation - 1, 0.0, 100.0)
    single, half = (sizes(last)[0] * long) ** 2 / 4, (sizes(last)[1] * separation) ** 2 / 2
    result = fs.theory.gated_race(*margin(separation), initial=start)
    total = 4 * single + 2 * half
    np.testing.assert_allclose(result["example 2"].share, single / total, atol=1e-3)
    np.testing.assert_allclose(result["half +"].share, half / total, atol=1e-3)
    assert ("half +" in result.winners) == (separation > (2 / 3) ** 0.5)


def test_strengths_speeds_and_what_each_could_do_alone():
    result = fs.theory.gated_race(*margin(0.8))
    np.testing.assert_allclose(result["example 0"].strengths[0], 2.64**0.5 / 4)
    np.testing.assert_allclose([result["half +"].strengths[0], result["half +"].speed], [0.4, 0.8])
    np.testing.assert_allclose([result["example 0"].loss_alone, result["half +"].loss_alone], [0.375, 0.25])
    exact = fs.theory.chain(2, 2.64**0.5 / 4, 1e-4, input_variance=2.64 / 4)
    np.testing.assert_allclose(exact(result["example 0"].time_alone)["product"], 0.5 / 2.64**0.5)
    assert result.curves["loss"][-1] < 1e-8
    assert "won by example 0, example 1" in str(result)


@pytest.mark.full
@pytest.mark.parametrize(("cosine", "wins"), [(-0.45, False), (-0.1, True), (0.5, True)])
@pytest.mark.parametrize("depth", [2, 3])
def test_the_shared_path_wins_if_tasks_agree_enough(cosine, wins, depth):
    """Three tasks on one input: shared wins iff ρ > −1/3, and then holds (1 + 2ρ)/3 of the energy."""
    targets = np.linalg.cholesky(np.full((3, 3), cosine) + (1 - cosine) * np.eye(3))
    world = fs.worlds.Dataset(np.ones((3, 1)), targets)
    gates = {"shared": np.ones(3)} | {f"task {k}": np.eye(3)[k] for k in range(3)}
    result = fs.theory.gated_race(gates, world, initial=1e-9 if depth == 2 else 1e-6, depth=depth)
    energy = (1 + 2 * cosine) / 3
    np.testing.assert_allclose(result["shared"].strengths[0], energy**0.5)
    np.testing.assert_allclose(result["shared"].share, energy if wins else 0.0, atol=0.02)


def test_bad_candidates_are_refused():
    gates, world = margin(0.5)
    with pytest.raises(ArgumentError, match="4 numbers, one a sample"):
        fs.theory.gated_race({"short": np.ones(3)}, world)
    with pytest.raises(ArgumentError, match="on for some sample"):
        fs.theory.gated_race({"never": np.zeros(4)}, world)
    with pytest.raises(ArgumentError, match="at least 2"):
        fs.theory.gated_race(gates, world, depth=1)
    with pytest.raises(ArgumentError, match="some correlation"):
        fs.theory.gated_race({"always": np.ones(4)}, margin(0.0)[1])


@pytest.mark.full
def test_a_race_goes_on_until_it_is_over():
    """Nine samples alike and one against: "all" learns fast, then slowly gives way to what fits exactly."""
    world = fs.worlds.Dataset(np.ones((10, 1)), np.concatenate([np.ones((9, 1)), [[-1.0]]]))
    gates = {"all": np.ones(10), "most": np.concatenate([np.ones(9), [0.7]])}
    result = fs.theory.gated_race(gates, world)
    assert result.settled and result.curves["loss"][-1] < 1e-3
    short = fs.theory.gated_race(gates, world, until=float(result.curves["time"][-1]) / 100)
    assert not short.settled and "NOT SETTLED" in repr(short)
    assert abs(short["all"].share - result["all"].share) > 0.1


@pytest.mark.full
def test_worlds_with_samples_will_do_and_others_are_refused():
    world = fs.worlds.multitask(contexts=3)
    result = fs.theory.gated_race({"common": np.ones(24)}, world, until=1.0)
    assert result["common"].share == 1.0
    with pytest.raises(ArgumentError, match="have inputs, one sample a row"):
        fs.theory.gated_race({"a": np.ones(2)}, fs.worlds.GatedDataset({"x": np.eye(2)}, {"y": np.eye(2)}))
    for until in (0.0, -1.0, np.nan):
        with pytest.raises(ArgumentError, match="`until` must be positive"):
            fs.theory.gated_race(*margin(0.5), until=until)
