"""abstraction/specialization: its claims, and its data modes against each other."""

import warnings

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from narrowing import there
from shared import quick


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/specialization")


@pytest.mark.full
def test_quick_claims_hold(result):
    assert all(verdict.outcome == "reproduced" for verdict in result.verdicts), result


@pytest.mark.full
def test_paths_are_sorted_by_teacher(result):
    alignment = result["sorted_alignment"].isel(time=-1).sel(arm="flexible").transpose("run", "teacher", "student")
    diagonal = np.einsum("rmm->rm", alignment.values)
    assert diagonal.min() > 0.99 and np.abs(alignment.values - diagonal[:, :, None] * np.eye(2)).max() < 0.1


@pytest.mark.full
def test_every_kind_of_data_gives_the_same_course():
    """Four short runs from one start: the two without noise agree to rounding, the noisy ones nearly."""
    runs = {
        data: fs.run("abstraction/specialization", seeds=1, until=4.0, records=40, batch=20_000, data=data)["gates"]
        for data in ("wishart", "population", "closure")
    }
    np.testing.assert_allclose(runs["closure"], runs["population"], atol=1e-10)
    assert 1e-6 < np.abs(runs["wishart"] - runs["population"]).max() < 0.05


def test_recordings_must_divide_the_steps():
    with pytest.raises(ArgumentError, match="`records` must divide the 20000 steps"):
        fs.run("abstraction/specialization", records=1999)


@pytest.mark.full
def test_blocks_are_whole_steps_and_steps_are_shorter_than_blocks():
    """33 steps of .03 make a block of .99: its edges, and all that is read off at them, must follow."""
    odd, even = (
        fs.run("abstraction/specialization", seeds=1, step_size=0.03, until=19.8, records=660, block_length=length)
        for length in (1.0, 0.99)
    )
    for one, other in zip(odd.verdicts, even.verdicts, strict=True):
        np.testing.assert_allclose(there(one.measured), there(other.measured), rtol=0.02)
    long = fs.run("abstraction/specialization", seeds=1, block_length=5.0, step_size=2.0, until=20.0, records=10)
    assert long["gates"].sizes["time"] == 11
    with pytest.raises(ArgumentError, match="`step_size` must not exceed the length of a block"):
        fs.run("abstraction/specialization", block_length=1e-4)


@pytest.mark.full
def test_too_few_recordings_are_said():
    result = fs.run("abstraction/specialization", seeds=1, until=4.0, records=4)
    notes = {verdict.claim: verdict.note for verdict in result.verdicts}
    assert notes["gates-open"] == "needs several recordings in each block"


@pytest.mark.full
def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 7
