"""coding/outliers: its claims, and how outliers are counted."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import festina as fs
from festina.claims import NotApplicable, Undecided
from festina.errors import ArgumentError
from festina.experiments.coding._outliers_measures import (
    ANNEALED,
    QUENCHED,
    arms,
    by_code,
    codes,
    condensed,
    effective_by_code,
    in_common,
    late,
    number,
    serving,
)
from festina.experiments.coding.outliers import Outliers
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/outliers")


def test_quick_claims_hold_where_they_are_meant_to(result):
    verdicts = {verdict.claim: verdict for verdict in result.verdicts}
    for claim in ("directions", "sum", "one-each", "fewer", "identity-kept"):
        assert verdicts[claim].holds, result
    for claim in ("kernel", "width", "identity-annealed", "identity-quenched"):
        assert verdicts[claim].outcome == "needs the full budget"


def test_there_are_arms_for_widths_tasks_and_common_starts():
    config = Outliers().configure("full")
    listed = arms(config)
    assert [arm.width for arm in listed] == [75, 150, 300, 150, 150, 150, 150, 150]
    assert [arm.name for arm in listed if arm.common] == [ANNEALED, QUENCHED]


def test_runs_share_a_start_where_they_should(result):
    start = result["size"].isel(time=0).transpose("arm", "run", "neuron").values
    same = [bool(np.array_equal(one[0], one[1])) for one in start]
    assert same == [arm.common for arm in arms(result.config)]


def test_outliers_are_counted_once_and_only_among_existing_neurons(result):
    last = late(result)
    served = serving(last, result.config)
    np.testing.assert_array_equal(served.any(axis=-1), served.sum(axis=-1) == 1)
    assert not served[:, :, 0, result.config.widths[0] :].any()
    np.testing.assert_allclose(served.sum(axis=(3, 4)).mean(axis=1) / codes(result.config)[None], by_code(result))
    assert number(result)[:, 0].max() == 0 and codes(result.config).tolist() == [3, 3, 2, 3, 3]


def test_effective_numbers_lie_between_one_and_the_count(result):
    effective = effective_by_code(result)
    assert effective.min() >= 1.0 and np.all(effective <= by_code(result) + 1e-9)


def test_common_outliers_of_a_made_up_pair(result):
    """Two of three and of two outliers are the same neurons: 2 · 2/5."""
    data = result.data.copy(deep=True)
    sizes = data["size"].transpose("run", "time", "arm", "neuron").values.copy()
    sizes[:] = 0.0
    sizes[0, -1, -1, [3, 5, 8]] = sizes[1, -1, -1, [5, 8]] = 1.0
    data["size"] = (("run", "time", "arm", "neuron"), sizes)
    made_up = fs.experiment.Result(result.experiment, result.config, data)
    np.testing.assert_allclose(in_common(made_up, QUENCHED), [0.8])


def test_what_cannot_be_told_is_not_judged(result):
    with pytest.raises(Undecided, match="needs --seeds 2"):
        in_common(replace(result, data=result.data.isel(run=[0])), ANNEALED)
    assert condensed(result) is result
    warm = result.config.model_copy(update={"temperature": 0.5, "tasks": ((2, 2),)})
    with pytest.raises(NotApplicable, match="needs a lower --temperature: in theory there are no outliers with 2/2"):
        condensed(replace(result, config=warm))


def test_settings_are_checked():
    for name, value in (("widths", (200, 100)), ("hold", 605), ("tasks", ((5, 5, 5, 5),))):
        with pytest.raises(ArgumentError, match=name):
            Outliers().configure("full", **{name: value})


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert all(axis.get_ylabel() for axis in figure.axes) and len(figure.axes) == 6
