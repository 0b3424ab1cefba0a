"""coding/sparse: rectified neurons against theory."""

import warnings

import jax
import numpy as np
import pytest

import festina as fs
from festina.claims import NotApplicable
from festina.experiment import Result
from festina.experiments.coding import sparse
from festina.experiments.coding._comparison import network_of, theory_of
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/sparse")


def test_quick_claims_hold(result):
    """But for the number of outliers, which takes longer chains to settle."""
    judged = outcomes(result)
    assert judged and set(judged.values()) == {"reproduced"}, result


def test_outliers_of_the_theory_itself_are_counted(result):
    """Networks drawn from the theory, in place of the samples: the quantities of the claims must then be exact."""
    network, data = network_of(result), result.data.copy(deep=True)
    with jax.enable_x64(True):
        readouts, preactivations = theory_of(network, network.temperature).draw_neurons(
            jax.random.key(0), network.width
        )
    data["readout"][:] = readouts
    data["activity"][:] = fs.measures.class_means(np.maximum(preactivations, 0.0).T, network.world().membership)
    planted, experiment = Result(result.experiment, result.config, data), sparse.Sparse()
    np.testing.assert_array_equal(sparse.number_of_outliers(planted), 3)
    np.testing.assert_allclose(experiment.one_class_each(planted), 1.0)
    np.testing.assert_allclose(experiment.size(planted), 0.0, atol=1e-12)
    np.testing.assert_allclose(experiment.bulk(planted), 1.0, atol=0.2)


def test_hot_networks_have_no_outliers_and_are_not_asked_for_any(result):
    cold = network_of(result)
    hot, mild = (cold.model_copy(update={"temperature": heat}) for heat in (2.0, 0.7))
    with pytest.raises(NotApplicable, match=r"needs a temperature below 0\.74, for theory to have 1 outliers"):
        sparse.condensed(hot)
    sparse.condensed(mild)  # of the largest class alone
    with pytest.raises(NotApplicable, match=r"needs a temperature below 0\.61"):
        sparse.condensed(mild, 3)
    assert len(sparse.predicted_readouts(result)) == 3


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 9
