"""abstraction/connected_map: its claims, and that every cell is the network it says it is."""

import warnings

import numpy as np
import pytest

from festina import models
from festina.experiments.abstraction.connected_map import ConnectedMap, alignments
from shared import quick


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/connected_map")


@pytest.mark.full
def test_quick_claims_hold(result):
    assert all(verdict.holds for verdict in result.verdicts), result


def test_cells_are_the_networks_of_both_maps():
    config = ConnectedMap().configure(block_length=(0.8, 0.4), gate_timescale=(0.1, 0.2, 0.3), strength=(0.0, 4.0))
    cells = [arm.model.settings() for arm in ConnectedMap().arms_at(config)]
    lengths, timescales, strengths = (
        [cell[name] for cell in cells] for name in ("block_length", "gate_timescale", "strength")
    )
    assert lengths == [0.8] * 3 + [0.4] * 3 + [0.8] * 2 + [0.4] * 2
    assert timescales == [0.1, 0.2, 0.3] * 2 + [0.01] * 4
    assert strengths == [0.25] * 6 + [0.0, 4.0] * 2
    assert {(cell["convention"], cell["weight_timescale"], cell["until"]) for cell in cells} == {("mean", 0.04, 20.0)}


@pytest.mark.full
def test_both_maps_agree_where_they_meet(result):
    """The cells with τ₂ = .01 and s = .25 stand in both maps; the two have nothing else in common."""
    first, second = alignments(result, "timescale"), alignments(result, "strength").sel(strength=0.25)
    np.testing.assert_allclose(first.sel(gate_timescale=0.01), second, rtol=1e-9)
    assert abs(first.sel(gate_timescale=0.02) - second).max() > 0.05


@pytest.mark.full
def test_a_cell_alone_is_the_model_of_that_setting(result):
    alone = models.ConnectedAbstraction(
        convention="mean", until=20.0, records=40, block_length=0.4, weight_timescale=0.04, gate_timescale=0.0075,
        nonnegativity=0.25 * 10 / 11, normalization=0.25 * 5 / 11,
    ).run()["total_alignment"]  # fmt: skip
    cell = result.panel("timescale")["total_alignment"].isel(run=0).sel(block_length=0.4, gate_timescale=0.0075)
    np.testing.assert_allclose(alone.isel(run=0), cell, rtol=1e-6)


@pytest.mark.full
def test_the_figure_draws_without_warnings(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 3
