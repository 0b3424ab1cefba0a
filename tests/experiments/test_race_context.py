"""race/context: its claims, and what is measured of gates."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import festina as fs
from festina.experiments.race.context import shifted
from festina.worlds.decision import decision
from shared import quick

FAILS = "follows"  # rectified networks do not follow the gated one; the docstring says why


@pytest.fixture(scope="module")
def result():
    return quick("race/context")


@pytest.mark.full
def test_quick_claims_hold(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert outcomes.pop(FAILS) == "not reproduced"
    assert set(outcomes.values()) == {"reproduced"}, result


@pytest.mark.full
def test_learning_is_what_makes_gates_contextual(result):
    """The claim is about the gain: more than half of an untrained network's strength is in such units already."""
    shares = result.panel("rectified")["contextual"].sel(cue=1.0)
    gain = float((shares.isel(time=-1) - shares.isel(time=0)).mean())
    measured = next(verdict for verdict in result.verdicts if verdict.claim == "contextual").measured
    assert measured == pytest.approx(gain) and gain < float(shares.isel(time=-1).mean()) - 0.3


@pytest.mark.full
def test_a_short_run_is_not_judged(result):
    short = replace(result, data=result.data.isel(time=slice(0, 26)), theory=result.theory.isel(time=slice(0, 26)))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in result.experiment.claims}
    late = {"half", "solved", "no-cue", "cued", "contextual", "three-and-one", "follows"}
    assert {name for name, verdict in verdicts.items() if verdict.outcome == "undecided"} == late
    assert verdicts["cued"].note == "networks still learn at t = 5; needs more than --until 5"
    assert verdicts["half"].note.startswith("networks still learn at t = 5; needs --until ")
    assert 9 < float(verdicts["half"].note.split()[-1]) < 30
    short.figure()


@pytest.mark.parametrize("cue", [0.5, 1.0])
def test_gates_for_one_context_are_none_that_a_unit_can_keep(cue):
    """What it can keep at the start are half-spaces with three examples of either context."""
    world = decision(cue)
    sets = fs.theory.margin.self_consistent_sets(world.inputs, world.targets[:, 0])
    np.testing.assert_array_equal(sets.reshape(-1, 2, 4).sum(axis=2), 3)
    assert not any((sets == context).all(axis=1).any() for context in world.contexts.T)


@pytest.mark.full
def test_without_a_cue_gates_cannot_depend_on_context(result):
    blind = result.panel("rectified").sel(cue=0.0)
    assert float(blind["contextual"].max()) == 0.0
    off_diagonal = blind["gates"].values - np.einsum("...mm->...m", blind["gates"].values)[..., None] * np.eye(5)
    assert np.abs(off_diagonal).max() == 0.0


@pytest.mark.full
def test_a_shift_in_time_is_found(result):
    """The gated curve, moved, is found where it was moved to."""
    time = result["time"].values
    moved = np.interp(time - 3.0, time, result.panel("gated")["loss"].sel(gating="race").isel(run=0).values)
    changed = result.data.copy(deep=True)
    cued = next(number for number, arm in enumerate(result.arms) if arm.labels.get("cue") == 1.0)
    changed["loss"][{"run": 0, "arm": cued}] = moved
    shift, gap = shifted(fs.Result(result.experiment, result.config, changed), 0)
    assert abs(shift - 3.0) < 0.08 and gap < 0.01


@pytest.mark.full
def test_every_pathway_of_the_race_follows_the_reduction(result):
    gated = result.part("gated")
    for name in ("loss", "strength"):
        assert abs(gated[name] - gated.solved[name]).sel(gating="race").max() < 1e-8


@pytest.mark.full
def test_large_pathways_do_not_race(result):
    claim = next(claim for claim in result.experiment.claims if claim.id == "linear-first")
    large = replace(result, config=result.config.model_copy(update={"advantage": 100.0}))
    assert claim.judge(large, "quick").note.startswith("needs --initial 0.01 or smaller")


@pytest.mark.full
def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 7
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes[:6])
