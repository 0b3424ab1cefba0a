"""linear/depth: its claims, and what they cannot check."""

from dataclasses import replace
from typing import cast

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.linear.depth import Depth, cost_of_a_layer, has_right_sign
from shared import outcomes, quick

pytestmark = pytest.mark.full

CLAIMS = ["exact", "small", "gaussian", "aligned", "orthogonal", "orthogonal-median", "orthogonal-mean", "pretrained"]
CLAIMS += ["stage", "determinant"]


@pytest.fixture(scope="module")
def result():
    return quick("linear/depth")


def test_claims_come_out_as_documented(result):
    assert outcomes(result) == dict.fromkeys(CLAIMS, "reproduced"), result


def stacks(config):
    """The networks of all arms, with their starts."""
    return [(arm.labels["start"], cast(fs.models.LinearStack, arm.model)) for arm in Depth().arms_at(config)]


def test_rectangular_networks_are_wide_and_deep_and_square_ones_apart():
    config = Depth().configure()
    assert max(config.depth) == 64
    for start, model in stacks(config):
        if start == "square":
            assert model.is_square and model.initial == "orthogonal"
        else:
            assert model.width >= 32 > model.inputs > model.outputs
    assert {model.initial for _, model in stacks(config)} == {"aligned", "gaussian", "orthogonal", "pretrained"}


def test_the_gain_of_small_and_of_large_weights_can_be_given():
    models = dict(stacks(Depth().configure(gain=0.5, large=1.2, outputs=3, depth=(2,))))
    small, large = ("small", "gaussian", "pretrained"), ("aligned", "orthogonal", "square")
    gains = {start: model.gain for start, model in models.items()}
    assert gains == dict.fromkeys(small, 0.5) | dict.fromkeys(large, 1.2)
    assert models["square"].width == models["square"].inputs == models["square"].outputs == 3


def test_the_training_time_of_pretrained_networks_has_both_parts(result):
    seen = result.data.sel(start="pretrained", depth=8).isel(run=1)
    loss, times = seen["loss"].values, seen["time"].values
    learning = np.interp(-np.log(0.01), -np.log(loss), times)
    assert float(seen["training_time"]) == pytest.approx(learning + float(seen["pretraining"].sum()), rel=1e-3)
    shallow = result["pretraining"].sel(start="pretrained", depth=4)
    np.testing.assert_allclose(shallow[:, :3], result["pretraining"].sel(start="pretrained", depth=8)[:, :3], rtol=1e-6)
    assert shallow[:, 3:].isnull().all()


def test_a_deep_stack_that_stops_early_slows_itself_down():
    """Linear in depth can fail: the later a layer, the less activity there is for it to learn from."""
    sizes = {"width": 10, "inputs": 8, "outputs": 2, "gain": 0.75, "records": 40, "until": 4.0, "level": 0.1}
    early = fs.models.LinearStack(depth=32, initial="pretrained", **sizes).run(seeds=2)
    stages = early["pretraining"].mean("run")
    assert stages[-8:].mean() > 2 * stages[1:9].mean()


@pytest.mark.parametrize(("law", "cost"), [(lambda depth: 3 + 5 * depth, 1.0), (lambda depth: 1.5**depth, 10.0)])
def test_the_cost_of_a_layer_tells_linear_from_exponential(law, cost):
    depths = xr.DataArray([8.0, 2.0, 16.0], dims="depth", coords={"depth": [8, 2, 16]})
    measured = float(cost_of_a_layer(law(depths).expand_dims(run=[0]))[0])
    assert measured == pytest.approx(1.0) if cost == 1 else measured > cost


def test_stuck_square_networks_rest_at_the_saddle_and_keep_their_sign(result):
    wrong = ~has_right_sign(result) & (result["depth"] > 2)
    assert wrong.any()
    assert result["determinant"].sel(start="square").where(wrong).max() < 1e-14
    left = result["loss"].sel(start="square").isel(time=-1).where(wrong, drop=True)
    np.testing.assert_allclose(left.values[np.isfinite(left.values)], 1 / result.config.outputs, atol=0.02)


def test_what_a_result_does_not_have_is_not_judged(result):
    few = replace(result, data=result.data.sel(depth=[2, 4]), theory=result.theory.sel(depth=[2, 4]))
    verdicts = {claim.id: claim.judge(few, "full") for claim in Depth.claims}
    assert verdicts["pretrained"].note == "needs three depths at least"
    assert verdicts["aligned"].note == "needs two depths at least, from 4 on"
    assert verdicts["gaussian"].note == "needs two depths at least, from 4 on that get trained from Gaussian weights"
    assert verdicts["half"].note == "too few networks for a share of them: needs --seeds 20"


@pytest.mark.parametrize("depth", [(1,), (2, 0), ("two",), (100,)])
def test_depths_out_of_bounds_are_refused(depth):
    with pytest.raises(ArgumentError, match="`depth"):
        fs.run("linear/depth", depth=depth)


@pytest.mark.parametrize(("fields", "named"), [({"inputs": 33}, "width"), ({"outputs": 25}, "inputs")])
def test_networks_that_widen_the_wrong_way_are_refused(fields, named):
    with pytest.raises(ArgumentError, match=f"must not be above `{named}`"):
        fs.run("linear/depth", **fields)


def test_the_figure_has_four_labelled_panels(result):
    figure = result.figure()
    assert len(figure.axes) == 4
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
