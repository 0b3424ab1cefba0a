"""abstraction/dimension: its claims, and one rank in full size by hand."""

import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.claims import NotApplicable, Undecided
from festina.experiments.abstraction.dimension import gate_speed, power, summed_drive
from shared import quick

pytestmark = pytest.mark.full

RANKS = (1, 4, 15)


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/dimension", seeds=2, rank=RANKS)


def test_quick_claims_hold(result):
    assert all(verdict.holds for verdict in result.verdicts), result


def test_the_closure_of_all_ranks_is_the_full_network(result):
    """Blocks 1 and 2 of one seed with all 2 × 900 weights: no rank may see another's teachers."""
    full = fs.run(
        "abstraction/dimension", budget="quick", seeds=1, rank=RANKS[1:], data="population", until=2.0, records=4
    )
    for name in ("loss", "gates", "norms", "speeds"):
        small = result[name].isel(run=0).sel(rank=list(RANKS[1:]), time=full["time"], method="nearest")
        np.testing.assert_allclose(small.transpose(*full[name].isel(run=0).dims), full[name].isel(run=0), rtol=1e-6)
    np.testing.assert_array_less(full.errors("loss", "gates", "components"), 1e-10)


def test_gate_speed_is_the_sum_over_modes_of_a_specialised_network(result):
    """√2 r/τ_c from ⟨W* − W, W^p⟩ = ∓r, for two teachers of rank r made by hand."""
    left, right = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 30, 15)))[0]
    old, new = (left[:, half] @ right[:, half].T for half in (slice(0, 4), slice(4, 8)))
    pull = [float(np.sum((new - old) * path)) for path in (old, new)]
    np.testing.assert_allclose(np.linalg.norm(pull) / 0.1, summed_drive(result).sel(rank=4), rtol=1e-12)
    assert fs.theory.abstraction.gate_drive(new, old) == pytest.approx(pull[0])


def test_powers_of_the_rank():
    values = xr.DataArray(3.0 * np.asarray(RANKS) ** np.array([[2.0], [-0.5]]), {"rank": list(RANKS)}, ("run", "rank"))
    np.testing.assert_allclose(power(values), [2.0, -0.5], rtol=1e-12)
    with pytest.raises(NotApplicable, match="two ranks"):
        power(values.isel(rank=[0]))


def test_late_switches_are_those_of_blocks_of_whole_steps(result):
    """Blocks of 1.0004 have 1000 steps of .001."""
    config = result.config.model_copy(update={"block_length": 1.0004})
    np.testing.assert_array_equal(gate_speed(replace(result, config=config)), gate_speed(result))


def test_a_switch_between_recordings_is_seen_after_it(result):
    """With blocks of .909, the 18th to 21st switch fall between recordings .02 apart."""
    config = result.config.model_copy(update={"block_length": 0.909})
    speeds = result["speeds"].sel(condition="fast gates", of="gates")
    at = np.ceil(0.909 * np.arange(18, 22) / 0.02).astype(int)
    np.testing.assert_allclose(gate_speed(replace(result, config=config)), speeds.isel(time=at).mean("time"))


def test_the_order_of_ranks_does_not_matter(result):
    turned = replace(result, data=result.data.isel(rank=[2, 0, 1]))
    for claim, verdict in zip(result.experiment.claims, result.verdicts, strict=True):
        np.testing.assert_allclose(claim.judge(turned, "quick").measured, verdict.measured, rtol=1e-12)


def test_what_cannot_be_judged_says_so(result):
    with pytest.raises(Undecided, match="needs 20 blocks: --until 20"):
        gate_speed(replace(result, config=result.config.model_copy(update={"until": 3.0})))
    notes = {"closed-form": "needs complete specialisation", "needed-at-low-rank": "needs rank 1 among the ranks"}
    poor = replace(result, data=result.data.assign(total_alignment=0 * result["total_alignment"]).isel(rank=[1, 2]))
    found = {claim.id: claim.judge(poor, "quick").note for claim in result.experiment.claims}
    assert notes == {claim: found[claim] for claim in notes}


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 6 and all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
