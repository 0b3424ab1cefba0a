"""coding/depth: its claims at the quick budget, and its measures on layers that are known."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import festina as fs
from festina.claims import Undecided
from festina.experiment import Result
from festina.experiments.coding import _depth_measures as measures
from festina.experiments.coding.depth import Depth
from festina.theory.coding import Blocks, blocks
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/depth")


def test_quick_claims_hold(result):
    judged = {claim: outcome for claim, outcome in outcomes(result).items() if outcome != "not applicable"}
    assert set(judged.values()) == {"reproduced"}, result
    assert {"sharper-rectified", "noisy-first", "given-first-warm", "scratch-warm-1", "scratch-warm-2"} <= set(judged)


def test_what_cannot_be_told_is_not_judged(result):
    judged = {verdict.claim: verdict for verdict in result.verdicts}
    assert judged["scratch-mild-1"].note == "needs --lowest 0.8, down to which theory is then solved"
    assert judged["given-first-cold"].note == "needs --lowest-given 0.1"
    short = replace(result, data=result.data.isel(time=slice(0, 22)))
    with pytest.raises(Undecided, match="needs 4 recordings after warming up"):
        Depth().noisy_first(short)
    lost = replace(result, config=result.config.model_copy(update={"lowest": 0.1}))
    with pytest.raises(Undecided, match=r"a solution of the equations at T = 0\.8"):
        measures.kernel_difference(lost, "sigmoidal mild", 1)


def test_sharpness_is_the_share_of_variance_between_classes():
    """One-way analysis of variance on the activity of many neurons."""
    random, labels = np.random.default_rng(0), fs.worlds.orthogonal_classes((20, 10, 10)).labels
    means = random.normal(size=(40_000, 3)) * np.array([1.0, 0.5, 2.0])
    activity = means[:, labels] + 0.7 * random.normal(size=(40_000, 40))
    between = np.mean(np.var(means[:, labels], axis=1))
    kernel = activity.T @ activity / len(activity)
    assert measures.sharpness_of(blocks(kernel, labels), (20, 10, 10)) == pytest.approx(
        between / (between + 0.49), rel=0.01
    )
    alone = Blocks(np.full((3, 3), 0.3), np.full(3, 0.1))
    assert measures.sharpness_of(alone, (20, 10, 10)) == pytest.approx(0.0, abs=1e-12)


def test_layers_with_the_same_grouping_are_alike_whatever_their_size(result):
    data = result.data.copy(deep=True)
    first = data["kernel"].sel(layer=1, arm="linear")
    data["kernel"].loc[{"layer": 2, "arm": "linear"}] = 0.3 + 5.0 * first
    planted = Result(result.experiment, result.config, data)
    np.testing.assert_allclose(measures.layers_alike(planted, "linear"), 1.0)
    labels = fs.worlds.orthogonal_classes(result.config.counts).labels
    last = np.eye(3)[labels] @ np.diag([0.0, 1.0, 1.0]) @ np.eye(3)[labels].T
    first = np.eye(3)[labels] @ np.array([[0, 0, 0], [0, 1.0, -1.0], [0, -1.0, 1.0]]) @ np.eye(3)[labels].T
    data["kernel"].loc[{"layer": 2, "arm": "linear"}] = last
    data["kernel"].loc[{"layer": 1, "arm": "linear"}] = first
    # Centred and weighted by hand: one tells 2 from 3, the other 2 and 3 from 1 as well.
    weight = np.diag(np.sqrt([0.5, 0.25, 0.25])) @ (np.eye(3) - np.array([[0.5, 0.25, 0.25]] * 3))
    one, two = (weight @ each @ weight.T for each in (first[np.ix_([0, 20, 30], [0, 20, 30])], np.diag([0, 1.0, 1.0])))
    expected = np.sum(one * two) / np.linalg.norm(one) / np.linalg.norm(two)
    np.testing.assert_allclose(measures.layers_alike(planted, "linear"), expected)
    assert expected < 0.95


def test_the_analyser_names_planted_layers(result):
    """Neurons of four codes in place of the samples."""
    data, labels = result.data.copy(deep=True), fs.worlds.orthogonal_classes(result.config.counts).labels
    random, neurons = np.random.default_rng(0), data.sizes["neuron"]
    codes = np.array([[1, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1]])[np.arange(neurons) % 4]
    planted = codes[:, labels].T + 0.02 * random.normal(size=(len(labels), neurons))
    data["hidden"].loc[{"arm": measures.COLD}] = planted
    data["readout"].loc[{"arm": measures.COLD}] = codes - 0.4 + 0.02 * random.normal(size=codes.shape)
    own = Result(result.experiment, result.config, data)
    for layer in measures.LAYERS:
        assert measures.scheme_share(own, measures.COLD, layer, "redundant") == 1.0
        assert measures.scheme_share(own, measures.COLD, layer, "sparse") == 0.0
    assert measures.analysed(own, measures.COLD, 1, 0).readout is None


def test_linear_kernels_solve_the_equations_of_both_layers(result):
    config = result.config
    targets = np.asarray(fs.worlds.orthogonal_classes(config.counts).targets)
    variance, room = 1 / np.sqrt(40), 1 - 40 / config.width
    first, second = (result.theory["kernel"].sel(arm="linear", layer=layer).isel(run=0).values for layer in (1, 2))
    inverse = np.linalg.pinv(targets) @ (second - first) @ np.linalg.pinv(targets).T  # of U, where targets reach
    covariance = np.linalg.pinv(inverse, rcond=1e-8)
    reach = np.linalg.pinv(targets) @ targets
    right = variance**2 * targets.T @ targets + room * variance * covariance @ covariance
    np.testing.assert_allclose(reach @ covariance @ covariance @ covariance @ reach, reach @ right @ reach, atol=1e-8)
    np.testing.assert_allclose(first, np.eye(40) + variance * targets @ inverse @ inverse @ targets.T, atol=1e-8)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 12
