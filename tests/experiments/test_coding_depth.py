"""coding/depth: its claims at the quick budget, and its measures on layers that are known."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import festina as fs
from festina.claims import Undecided
from festina.experiments.coding import depth
from festina.experiments.coding.depth import COLD, LAYERS, Depth
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/depth")


def test_quick_claims_hold(result):
    judged = {claim: outcome for claim, outcome in outcomes(result).items() if outcome != "not applicable"}
    assert set(judged.values()) == {"reproduced"}, result
    assert {"sharper-rectified", "noisy-first", "given-first-warm", "scratch-warm-1", "scratch-warm-2"} <= set(judged)


def test_claims_of_the_full_budget_are_measured_without_an_exception(result):
    found = {claim.id: claim.judge(result, "full") for claim in result.experiment.claims}
    assert not [verdict for verdict in found.values() if verdict.outcome == "broken"]
    assert found["lowest"].measured == 0.0 and found["linear-kernel-1"].measured < 0.1


def test_networks_have_their_own_temperatures(result):
    heats = [arm.model.temperature for arm in result.arms]
    assert heats == [0.1, 1.0, 0.8, 0.1, 0.1]
    np.testing.assert_allclose(result["heat"].isel(run=0, time=-1), heats)


def test_what_cannot_be_told_is_not_judged(result):
    judged = {verdict.claim: verdict for verdict in result.verdicts}
    assert judged["scratch-mild-1"].note == "needs --lowest 0.8, down to which theory is then solved"
    assert judged["given-first-cold"].note == "needs --lowest-given 0.1"
    short = replace(result, data=result.data.isel(time=slice(0, 22)))
    with pytest.raises(Undecided, match="needs 4 recordings after warming up"):
        Depth().noisy_first(short)
    lost = replace(result, config=result.config.model_copy(update={"lowest": 0.1}))
    with pytest.raises(Undecided, match=r"a solution of the equations at T = 0\.8"):
        depth.kernel_difference(lost, "sigmoidal mild", 1)


def test_layers_with_the_same_grouping_are_alike_whatever_their_size(result):
    data = result.data.copy(deep=True)
    data["kernels"].loc[{"layer": 2, "network": "linear"}] = 0.3 + 5.0 * data["kernels"].sel(layer=1, network="linear")
    np.testing.assert_allclose(Depth().alike(replace(result, data=data), "linear"), 1.0)


def test_the_analyser_names_planted_layers(result):
    """Neurons of four codes in place of the samples."""
    data, labels = result.data.copy(deep=True), depth.labels_of(result)
    random, neurons = np.random.default_rng(0), data.sizes["neuron"]
    codes = np.array([[1, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1]])[np.arange(neurons) % 4]
    planted = codes[:, labels].T + 0.02 * random.normal(size=(len(labels), neurons))
    data["hidden"].loc[{"network": COLD}] = planted
    data["readout"].loc[{"network": COLD}] = codes - 0.4 + 0.02 * random.normal(size=codes.shape)
    own = replace(result, data=data)
    for layer in LAYERS:
        assert Depth().scheme(own, "sigmoidal", layer) == 1.0
        assert {found.scheme for found in depth.codings(own, "sigmoidal", layer)} == {"redundant"}
    assert [depth.codings(own, "sigmoidal", layer)[0].readout is None for layer in LAYERS] == [True, False]


def test_both_layers_of_linear_networks_have_a_theory_and_rectified_ones_have_none(result):
    assert np.isfinite(result.theory["kernels"].sel(network="linear")).all()
    assert np.isnan(result.theory["kernels"].sel(network=["rectified", COLD])).all()
    members = fs.worlds.orthogonal_classes(result.config.counts).membership
    theirs = [fs.measures.sharpness(each, members) for each in result.theory["kernels"].isel(run=0)[0].values]
    np.testing.assert_allclose(depth.sharpness(result, "linear").mean(axis=0), theirs, atol=0.03)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 12
