"""abstraction/regularizer: its claims, and what they cannot check."""

import warnings
from typing import Any

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.abstraction.regularizer import RegularizerFlow
from shared import quick

FAILS = {"nonnegative-l1"}
FEW: dict[str, Any] = {"first": (-0.5, 0.3), "second": (-0.2, 0.4), "until": 0.5, "steps": 50, "records": 5}


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/regularizer")


@pytest.mark.full
def test_quick_claims_hold_but_for_the_one_known_to_fail(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert outcomes == {claim: "not reproduced" if claim in FAILS else "reproduced" for claim in outcomes}, result


def test_short_runs_and_missing_starts_are_told_apart():
    """Both gates negative: what needs positive ones does not apply, and the rest is not over."""
    positive = {"exact", "zero", "unspecialised-solution", "not-forced", "competition"}
    found = fs.run("abstraction/regularizer", **FEW | {"first": (-0.5, -0.3), "second": (-0.2,)})
    outcomes = {verdict.claim: verdict.outcome for verdict in found.verdicts}
    assert outcomes == {claim: "not applicable" if claim in positive else "undecided" for claim in outcomes}
    notes = {verdict.claim: verdict.note for verdict in found.verdicts}
    assert notes["negative-minima"] == "the end of the flow needs --until 17"
    assert notes["nonnegative-l1"] == "the end of the flow needs --until 28"


@pytest.mark.parametrize("fields", [{"first": (-1.0, 0.0, 1.0), "second": (0.0, 0.5)}, {"first": 0.0, "second": 0.0}])
def test_no_start_may_be_zero(fields):
    with pytest.raises(ArgumentError, match=r"`second` must not be 0 where `first` is"):
        RegularizerFlow().configure(**fields)


def test_one_gate_may_begin_at_zero():
    fields: dict[str, Any] = FEW | {"first": (0.0, 0.5), "second": (-0.2, 0.4)}
    found = fs.run("abstraction/regularizer", **fields)
    assert np.isfinite(found["gates"]).all()


@pytest.mark.full
def test_the_figure_draws_without_warnings(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 3
