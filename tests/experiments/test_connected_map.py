"""abstraction/connected_map: its claims, and that every cell is the network it says it is."""

import warnings

import numpy as np
import pytest

import festina as fs
from festina.experiments.abstraction.connected_map import ConnectedMap, cells
from shared import quick


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/connected_map")


@pytest.mark.full
def test_quick_claims_hold(result):
    assert all(verdict.holds for verdict in result.verdicts), result


def test_cells_are_in_the_order_in_which_the_maps_are_read():
    config = ConnectedMap().configure(
        block_shares=(1.0, 0.5), second_timescales=(0.1, 0.2, 0.3), strengths=(0.0, 4.0), strength=7.0
    )
    share, timescale, strength = (np.asarray(values) for values in cells(config))
    np.testing.assert_allclose(share, [1, 1, 1, 0.5, 0.5, 0.5, 1, 1, 0.5, 0.5])
    np.testing.assert_allclose(timescale, [0.1, 0.2, 0.3] * 2 + [0.01] * 4)
    np.testing.assert_allclose(strength, [7] * 6 + [0, 4] * 2)


@pytest.mark.full
def test_both_maps_agree_where_they_meet(result):
    """The cells with τ₂ = .01 and s = .25 stand in both maps; the two have nothing else in common."""
    first, second = result["timescale_map"], result["strength_map"]
    np.testing.assert_allclose(first.sel(second_timescale=0.01), second.sel(strength=0.25), rtol=1e-9)
    assert abs(first.sel(second_timescale=0.02) - second.sel(strength=0.25)).max() > 0.05


@pytest.mark.full
def test_a_cell_alone_is_the_fully_connected_network_of_that_setting(result):
    """The same run as `abstraction/connected`, whose arms and blocks are built in another way."""
    alone = fs.run(
        "abstraction/connected", seeds=1, convention="mean", until=20.0, records=40, block_length=0.4,
        weight_timescale=0.04, gate_timescale=0.0075, nonnegativity=0.25 * 10 / 11, normalization=0.25 * 5 / 11,
    )  # fmt: skip
    cell = result["timescale_map"].isel(run=0).sel(block_share=0.5, second_timescale=0.0075)
    np.testing.assert_allclose(alone["total_alignment"].isel(run=0).sel(arm="flexible")[-1], cell, rtol=1e-6)


@pytest.mark.full
def test_the_figure_draws_without_warnings(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 3
