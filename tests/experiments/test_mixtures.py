"""abstraction/mixtures: its claims, and what they cannot check."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import xarray as xr
from scipy.spatial.transform import Rotation

from festina.experiment import Result
from festina.experiments.abstraction._latent import PAIRS, gates_of_pairs
from festina.experiments.abstraction.mixtures import Mixtures, turn, turning
from shared import quick


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/mixtures")


@pytest.mark.full
def test_quick_claims_hold(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    full = {claim.id for claim in Mixtures.claims if claim.budget == "full"}
    assert outcomes == {claim: "needs the full budget" if claim in full else "reproduced" for claim in outcomes}, result


def turned(degrees):
    """Unit students in the basis of the teachers, one in each column, turned about A + B + C."""
    return Rotation.from_rotvec(np.radians(degrees) * np.ones(3) / np.sqrt(3)).as_matrix()


@pytest.mark.parametrize("degrees", [0, 17, 60, 95, 200])
def test_students_at_any_angle_solve_all_tasks_within_bounds(degrees):
    for pair in PAIRS:
        gates = np.linalg.solve(turned(degrees), np.eye(3)[list(pair)].mean(axis=0))
        np.testing.assert_allclose(gates.sum(), 1.0)
        assert gates.min() > -1e-12


class Turned(dict):
    """A result whose students are turned by a given angle at each time, two recordings to a block."""

    config = SimpleNamespace(block_length=2.0)

    def __init__(self, degrees):
        alignment = np.stack([turned(angle) for angle in degrees])[None, None]
        dims = ("run", "arm", "time", "teacher", "student")
        self["sorted_alignment"] = xr.DataArray(alignment, dims=dims, coords={"arm": ["flexible"]})
        self["time"] = xr.DataArray(np.arange(len(degrees)), dims="time")


def test_turns_are_measured_in_degrees_and_per_block():
    degrees = np.linspace(-100, 250, 36)
    found = turn(cast(Result, Turned(degrees)))[0]
    np.testing.assert_allclose(np.diff(found), 10.0)
    np.testing.assert_allclose(np.cos(np.radians(found - degrees)), 1.0)
    np.testing.assert_allclose(turning(cast(Result, Turned(degrees))), 20.0)


def test_gates_of_pairs():
    ends = np.array([[[0.6, 0.1], [0.4, 0.5], [0.0, 0.5]]])
    on, off, ratio = gates_of_pairs(ends, [(0, 1), (1, 2)])
    np.testing.assert_allclose([on[0], off[0], ratio[0]], [0.5, 0.05, (4 / 6 + 1) / 2])


@pytest.mark.full
def test_students_follow_their_limit_of_many_inputs(result):
    """Quick runs see all inputs: tasks in turn, and the teachers that students are compared with, are the theory's."""
    np.testing.assert_array_less(result.errors("loss", "gates", "components", "norms"), 1e-8)


def test_blocks_show_the_pairs_in_turn():
    """Teachers are 0, 1 and 2, and what they make 3, 4 and 5."""
    experiment = Mixtures()
    arms: list[Any] = [arm.model for arm in experiment.arms_at(experiment.configure())]
    assert {arm.shown() for arm in arms} == {(3, 4, 5)}


@pytest.mark.full
def test_teachers_are_never_shown(result):
    """At the start students are small, and every task is half as large in square as a teacher."""
    begin = result["loss"].isel(time=0).values
    np.testing.assert_allclose(begin, 0.25, rtol=0.02)


@pytest.mark.full
def test_the_figure_has_six_panels_with_letters(result, recwarn):
    figure = result.figure()
    figure.canvas.draw()
    assert ["abcdef"[place] in {text.get_text() for text in axis.texts} for place, axis in enumerate(figure.axes)] == [
        True
    ] * 6
    assert not recwarn.list
