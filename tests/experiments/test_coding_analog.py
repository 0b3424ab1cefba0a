"""coding/analog: linear neurons against theory."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import festina as fs
from festina.claims import NotApplicable, Undecided
from festina.errors import ArgumentError
from festina.experiments.coding import analog
from festina.experiments.coding._comparison import network_of, settled
from shared import quick


@pytest.fixture(scope="module")
def result():
    return quick("coding/analog")


@pytest.mark.full
def test_quick_claims_hold(result):
    judged = [verdict for verdict in result.verdicts if verdict.outcome != "needs the full budget"]
    assert len(judged) == 5 and all(verdict.outcome == "reproduced" for verdict in judged), result


@pytest.mark.full
def test_the_recorded_mean_is_that_of_the_draws(result):
    """The kernel is averaged over all draws, the kernel between classes recorded now and then: both say the same."""
    data = fs.worlds.orthogonal_classes(result.config.counts)
    averaged = fs.measures.between_classes(result["kernel"].isel(run=0).values, data.membership)
    recorded = result["class_kernel"].isel(run=0).where(result["kept"].isel(run=0) > 0).mean("time").values
    np.testing.assert_allclose(recorded, averaged, atol=0.03)


def test_the_kernel_between_classes_is_a_mean_over_pairs_of_different_examples():
    kernel, data = np.arange(25.0).reshape(5, 5), fs.worlds.orthogonal_classes((3, 2))
    means = fs.measures.between_classes(kernel, data.membership)
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    np.testing.assert_allclose(means[0, 0], np.mean([kernel[pair] for pair in pairs]))
    np.testing.assert_allclose(means[0, 1], kernel[:3, 3:].mean())
    np.testing.assert_allclose(means[1, 1], 0.5 * (kernel[3, 4] + kernel[4, 3]))


@pytest.mark.full
def test_idle_readouts_have_the_variance_of_a_finite_width(result):
    """Where no targets lie, readouts would keep the variance s of the prior if there were more neurons by far."""
    idle = np.ones(3) / np.sqrt(3)
    variance = (analog.readouts(result) @ idle).var()
    theory = idle @ analog.covariance_of(network_of(result)) @ idle
    np.testing.assert_allclose(variance, theory, rtol=0.03)
    assert theory < 0.9 * network_of(result).readout_variance


@pytest.mark.full
def test_the_sample_size_is_stated(result):
    """Of each chain by itself, and by the checks of all chains together.

    Of ten seeds, one entry in twenty to a hundred has less than ten in a chain as short as this one.
    """
    assert np.all((result["kernel_sample_size"] > 1) & (result["kernel_sample_size"] < 500))
    assert result["kernel_sample_size"].median() > 10
    assert np.all((result["readout_sample_size"] > 1) & (result["readout_sample_size"] < 100))
    agreement, size = (check.measure(result.experiment, result) for check in analog.Analog.checks)
    assert agreement < 1.1 and 20 < size < 1000


@pytest.mark.full
def test_too_few_recordings_are_said(result):
    short = result.data.isel(time=slice(0, 24))  # 20 of them, and the first, are from warming up
    with pytest.raises(Undecided, match="needs 4 recordings after warming up, of which there are 3"):
        settled(short)
    with pytest.raises(Undecided, match="needs 2400 readouts, those of all recordings, and has 1000"):
        analog.excess_kurtosis(replace(result, data=result.data.isel(time=slice(0, 26))))
    model = fs.models.WideBayesian
    assert model.measure(short) == {}
    assert set(model.measure(result.data.isel(time=slice(0, 25)))) == {"kernel_sample_size", "readout_sample_size"}


@pytest.mark.full
def test_what_is_too_warm_to_learn_has_no_code():
    network = fs.models.WideBayesian(nonlinearity="linear", counts=(50, 25, 25), temperature=0.9)
    analog.learned(network)
    with pytest.raises(NotApplicable, match=r"needs a temperature below 0\.97"):
        analog.learned(network.model_copy(update={"temperature": 2.0}))


def test_recordings_must_divide_the_draws():
    with pytest.raises(ArgumentError, match="`records` must divide the 600 draws there are, as 50 does"):
        fs.run("coding/analog", budget="quick", records=59)


@pytest.mark.full
def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 8
