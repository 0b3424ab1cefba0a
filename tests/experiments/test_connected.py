"""abstraction/connected: its claims, and what they cannot check."""

import warnings

import numpy as np
import pytest
import xarray as xr

from festina.claims import NotApplicable, Undecided
from festina.experiment import Result
from festina.experiments.abstraction.connected import LAST, Connected, gradients, largest_share, late, overlap
from shared import quick

FAILS = {"gates-closed", "no-gates", "task-specific"}


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/connected")


@pytest.mark.full
def test_quick_claims_hold_but_for_those_known_to_fail(result):
    assert {verdict.claim for verdict in result.verdicts if not verdict.holds} == FAILS, result


def test_the_forgetful_network_only_lacks_bounds():
    flexible, forgetful = (arm.model.settings() for arm in Connected().arms_at(Connected().configure()))
    assert {name for name in flexible if flexible[name] != forgetful[name]} == {"strength"}
    assert (flexible["strength"], forgetful["strength"]) == (1.0, 0.0)


def made_up(until=30.0, per_block=4):
    """Second layers that are [1 0; 0 1] at the ends of A blocks and [1 2; 0 1] at those of B blocks, of two arms."""
    config = Connected().configure(until=until, records=round(per_block * until))
    time = np.arange(config.records + 1) / per_block
    task = (time + 1e-9).astype(int) % 2
    layer = np.eye(2) + 2 * task[:, None, None] * np.array([[0, 1], [0, 0]])
    layer = np.where((time % 1 > 0.7)[:, None, None], layer, 9.0)  # only the ends count
    dims = {"run": 1, "time": len(time), "arm": 2}
    data = xr.Dataset(
        {
            "second_layer": ((*dims, "output", "hidden"), np.broadcast_to(layer[:, None], (*dims.values(), 2, 2))),
            "speeds": ((*dims, "of"), np.ones((*dims.values(), 2))),
        },
        {"time": time, "arm": ["flexible", "forgetful"], "of": ["first", "second"]},
    )
    return Result(Connected(), config, data)


def test_second_layers_are_compared_at_the_ends_of_late_blocks():
    found = made_up()
    np.testing.assert_allclose(late(found, "second_layer", "flexible").isel(run=0, output=0, hidden=1), [0, 2])
    np.testing.assert_allclose(overlap(found, "flexible"), 2 / (2 * 6) ** 0.5)
    np.testing.assert_allclose(largest_share(found, "forgetful"), (1 + 1 + 0.8 + 1) / 4)
    np.testing.assert_allclose(gradients(found).isel(run=0, time=0, arm=0), [0.06, 0.01])
    with pytest.raises(Undecided, match="needs 30 blocks: --until 30"):
        late(made_up(until=10.0), "second_layer", "flexible")
    with pytest.raises(NotApplicable, match="several recordings in each block"):
        late(made_up(per_block=1), "second_layer", "flexible")
    assert LAST % 2 == 0  # as many blocks of either task


@pytest.mark.full
def test_the_figure_draws_without_warnings(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 6 + 8 + 1
