"""abstraction/practice: its claims, and what they cannot check."""

import jax
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.claims import NotApplicable
from festina.compiling import quick_jit
from festina.experiments.abstraction.practice import Practice, after_each_switch, fifth_sample, late_over_early
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/practice")


def test_quick_claims_hold(result):
    assert all(verdict.outcome == "reproduced" for verdict in result.verdicts), result


def test_the_forgetful_network_is_not_like_people(result):
    """What is claimed of people can fail: without bounds switching gets harder with practice."""
    assert late_over_early(result).sel(arm="forgetful").min() > 1.2


def literal_losses(run, strength, steps):
    """The expected loss before each step, in NumPy, from the batches of the run's seed."""
    for_teachers, for_weights, for_data = fs.draws.split(jax.random.key(run), 3)
    teachers = np.asarray(fs.worlds.Tasks.orthogonal(for_teachers, 2, 10, 20).maps)
    students = np.stack(fs.networks.PathGated.init(for_weights, 2, 10, 20).students)
    gates, losses = np.full(2, 0.5), []
    moment = quick_jit(lambda step: fs.worlds.Wishart(200).second_moment(fs.draws.fold_in(for_data, step), 20, float))
    for step in range(steps):
        error = teachers[step // 100 % 2] - np.tensordot(gates, students, 1)
        losses.append(0.5 * np.sum(error**2))
        pull = error @ np.asarray(moment(step))
        bound = 2 * 0.36 * (np.abs(gates).sum() - 1) * np.sign(gates) - 0.18 * (gates < 0)
        change = np.einsum("oi,poi->p", pull, students) - strength * bound
        students, gates = students + 0.01 / 0.07 * gates[:, None, None] * pull, gates + 0.01 / 0.01 * change
    return losses


@pytest.mark.parametrize(("arm", "strength"), [("flexible", 1.0), ("forgetful", 0.0)])
def test_samples_after_a_switch_are_those_of_the_literal_equations(result, arm, strength):
    losses = literal_losses(2, strength, 206)
    found = after_each_switch(result).sel(arm=arm).isel(run=2, switch=slice(2))
    np.testing.assert_allclose(found, [losses[100:106], losses[200:206]], rtol=1e-7)
    np.testing.assert_allclose(fifth_sample(result, arm)[2, :2], [losses[105], losses[205]], rtol=1e-7)


def test_late_over_early_by_hand(result):
    loss = result["loss"].sel(arm="flexible").isel(run=1).values
    means = [np.mean(loss[100 * block + 1 : 100 * block + 6]) for block in range(1, 30)]
    np.testing.assert_allclose(
        late_over_early(result).sel(arm="flexible")[1], np.mean(means[-4:]) / np.mean(means[:4]), rtol=1e-12
    )


def test_claims_need_every_step_and_enough_blocks(result):
    config = Practice().configure(until=4.0, records=400)
    few = fs.experiment.Result(Practice(), config, result.data.isel(time=slice(0, 401)))
    notes = {claim.id: claim.judge(few, "full").note for claim in Practice.claims}
    first, both = "the loss after the first four switches", "a comparison of early and late switches"
    assert notes == dict.fromkeys(notes, f"{first} needs 5 blocks: --until 5") | {
        "people": f"{both} needs 9 blocks: --until 9"
    }
    coarse = fs.experiment.Result(Practice(), Practice().configure(records=300), result.data)
    assert Practice.claims[0].judge(coarse, "full").note == "needs a recording of every step"


def in_blocks_of(steps):
    """Five blocks of a few steps, with a loss that is the number of steps before it."""
    config = Practice().configure(block_length=0.01 * steps, until=0.05 * steps, records=5 * steps)
    count = np.arange(5.0 * steps + 1)
    loss = xr.DataArray([[count] * 2], {"arm": ["flexible", "forgetful"]}, ("run", "arm", "time"))
    data = xr.Dataset({"loss": loss}, {"time": 0.01 * count})
    return fs.experiment.Result(Practice(), config, data)


def test_samples_are_those_of_one_block():
    """The fifth sample in blocks of five steps would be the first of the next one."""
    np.testing.assert_array_equal(after_each_switch(in_blocks_of(6))[0, 0], np.arange(6, 30).reshape(4, 6))
    with pytest.raises(NotApplicable, match="needs at least 6 recordings in every block"):
        after_each_switch(in_blocks_of(5))


def test_the_figure_has_four_panels(result, recwarn):
    figure = result.figure()
    figure.canvas.draw()
    assert len(figure.axes) == 4
    assert not recwarn.list
