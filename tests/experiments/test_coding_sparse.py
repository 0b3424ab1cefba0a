"""coding/sparse: rectified neurons against theory."""

import warnings

import jax
import numpy as np
import pytest

import festina as fs
from festina.claims import NotApplicable
from festina.experiment import Result
from festina.experiments.coding import sparse
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/sparse")


def test_quick_claims_hold(result):
    """But for the number of outliers, which takes longer chains to settle."""
    judged = {verdict.claim: verdict for verdict in result.verdicts if verdict.outcome != "needs the full budget"}
    assert judged.pop("one-a-class").holds
    assert judged and all(verdict.outcome == "reproduced" for verdict in judged.values()), result


def test_outliers_of_the_theory_itself_are_counted(result):
    """Networks drawn from the theory, in place of the samples: the quantities of the claims must then be exact."""
    config, data = result.config, result.data.copy(deep=True)
    theory = sparse.prediction(config)
    with jax.enable_x64(True):
        readouts, preactivations = theory.draw_neurons(jax.random.key(0), config.width)
    labels = np.eye(3)[fs.worlds.orthogonal_classes(config.counts).labels]
    data["readout"][:] = readouts
    data["activity"][:] = np.maximum(preactivations, 0.0) @ labels / labels.sum(axis=0)
    planted = Result(result.experiment, config, data)
    np.testing.assert_array_equal(sparse.outliers(planted).sum(axis=-1), 3)
    np.testing.assert_allclose(sparse.classes_of_outliers(planted), 1.0)
    np.testing.assert_allclose(sparse.size_difference(planted), 0.0, atol=1e-12)
    np.testing.assert_allclose(sparse.bulk_variance(planted), 1.0, atol=0.2)


def test_hot_networks_have_no_outliers_and_are_not_asked_for_any():
    hot = sparse.Sparse().configure("quick", temperature=2.0, hottest=4.0)
    assert len(sparse.predicted_readouts(hot)) == 0
    with pytest.raises(NotApplicable, match=r"needs a temperature below 0\.74, for theory to have 1 outliers"):
        sparse.condensed(hot)
    mild = sparse.Sparse().configure("quick", temperature=0.7)  # of the largest class alone
    sparse.condensed(mild)
    with pytest.raises(NotApplicable, match=r"needs a temperature below 0\.61"):
        sparse.condensed(mild, 3)
    assert len(sparse.predicted_readouts(sparse.Sparse().configure("quick"))) == 3


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 9
