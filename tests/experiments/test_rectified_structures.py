"""rectified/structures: its claims, what they are computed from, and what they say where they cannot be judged."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.rectified.structures import lateness, paths_of, sizes
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("rectified/structures")


def test_quick_claims_hold(result):
    judged = outcomes(result)
    assert set(judged.values()) == {"reproduced"} and len(judged) >= 15, result


def test_modes_of_a_linear_network_are_those_of_the_common_path(result):
    """It has learned all of the common path's modes in the end, and nothing of the others."""
    for structures in ("same", "different"):
        linear = result.data.sel(structures=structures, network="linear").isel(time=-1)
        ends, others = (path.learned for path in paths_of(result, structures))
        np.testing.assert_allclose(linear["common_modes"].values, np.tile(ends, (2, 1)), rtol=1e-3)
        assert abs(linear["contextual_modes"]).max() < 1e-4 * others.max()


def test_a_network_that_is_theory_is_neither_late_nor_early(result):
    """The courses of theory in place of those of the network, with the loss that goes with them."""
    again = result.data.copy(deep=True)
    theory, model = fs.theory.phases, next(arm.model for arm in result.arms if arm.labels["structures"] == "different")
    clock, paths = model.clock(result["time"].values), paths_of(result, "different")
    where = {"structures": "different", "network": "relu"}
    loss = theory.loss_of(model.closed_form, clock)(np.log([1e-7, 1e-5]))
    again["loss"].loc[where] = np.tile(loss, (2, 1)).reshape(again["loss"].loc[where].shape)
    for name, path, start in zip(("common_modes", "contextual_modes"), paths, (1e-7, 1e-5), strict=True):
        course = theory.course(path.modes, clock, start)[:, : path.learned.size] * path.learned.ravel()
        dims = ("run", "time", *again[name].dims[again[name].dims.index("time") + 1 :])
        inner = [dim for dim in ("block", "mode") if dim in dims]
        values = again[name].loc[where].transpose("run", "time", *inner)
        data = np.broadcast_to(course.reshape(len(clock), *path.learned.shape), values.shape)
        again[name].loc[where] = values.copy(data=data).transpose(*again[name].loc[where].dims)
    made = fs.experiment.Result(result.experiment, result.config, again)
    for name in ("common_modes", "contextual_modes"):
        late = lateness(made, "different", name)
        np.testing.assert_allclose(late.values[np.isfinite(late.values)], 1.0, atol=0.02)
        assert sizes(made, "different", name).isel(time=0).max() < 1e-3


def test_too_few_steps_are_not_judged(result):
    short = replace(result, data=result.data.isel(time=slice(0, 10)))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in result.experiment.claims}
    assert verdicts["largest-gap-same"].outcome == verdicts["common-modes-different"].outcome == "undecided"
    assert "broken" not in {verdict.outcome for verdict in verdicts.values()}
    short.figure()


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(result.figure().axes) == 6


def test_different_structures_are_three():
    with pytest.raises(ArgumentError, match="`structures` must be 'same' with 4 contexts"):
        fs.models.RectifiedContexts.checked("model", {"contexts": 4, "structures": "different"})
    with pytest.raises(ArgumentError, match="`common` must be true"):
        fs.models.GatedContexts.checked("model", {"paths": "none", "common": False})
