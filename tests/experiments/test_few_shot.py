"""abstraction/few_shot: its claims, and what they cannot check."""

import warnings

import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.claims import NotApplicable, Undecided
from festina.experiment import Result
from festina.experiments.abstraction._common import after_switches
from festina.experiments.abstraction.few_shot import FewShot, late_loss, settled_loss
from shared import quick


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/few_shot")


@pytest.mark.full
def test_quick_claims_hold(result):
    assert all(verdict.holds for verdict in result.verdicts), result


def made(records):
    """A loss that is the time of its recording, in samples, and the negative of it; six blocks of 33 samples."""
    config = FewShot().configure(until=5.94, records=records)
    sample = np.linspace(0, 198, records + 1)
    loss = np.stack([sample, -sample])[None]
    coords = {"time": 0.03 * sample, "arm": ["flexible", "forgetful"]}
    data = xr.Dataset({"loss": (("run", "arm", "time"), loss)}, coords)
    return Result(FewShot(), config, data)


def test_samples_are_counted_from_the_switch():
    after = after_switches(made(198), "loss", 2)
    np.testing.assert_allclose(after[0, 0], 33 * np.arange(6)[:, None] + np.arange(3))
    np.testing.assert_allclose(late_loss(made(198))[1], -(33 * 3.5 + np.arange(3)))


def test_a_sparser_recording_cannot_be_judged():
    with pytest.raises(NotApplicable, match="every step"):
        late_loss(made(99))


def test_six_blocks_are_too_few_to_judge():
    with pytest.raises(Undecided, match=r"needs 20 blocks: --until 19\.8"):
        settled_loss(made(198), "flexible")


def test_samples_of_a_block_end_with_it():
    np.testing.assert_allclose(after_switches(made(198), "loss", 50)[0, 0], np.arange(198).reshape(6, 33))
    with pytest.raises(NotApplicable, match="needs blocks of more than 33 steps"):
        late_loss(made(198), 33)


@pytest.mark.full
def test_a_step_sees_one_sample():
    """The first change of a gate is (dt/τ_c) tr(W* S Wᵀ), with mean square (dt/τ_c)² (σ²/d)·½(1 + (d + 1)/B)."""
    first = fs.run("abstraction/few_shot", seeds=600, until=0.03, records=1, nonnegativity=0.0, normalization=0.0)
    change = first["gates"].diff("time").sel(arm="flexible")
    expected = (0.03 / 0.03) ** 2 * (0.01**2 / 20) * 0.5 * (1 + 21 / 1)
    assert float((change**2).mean()) == pytest.approx(expected, rel=0.25)


@pytest.mark.full
def test_the_figure_draws_without_warnings(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 6
