"""model/prior-scaling: the variance of its prior, its theory, and what it records."""

import numpy as np
import pytest

import festina as fs
from festina.models.prior_scaling import PriorScaling
from festina.testing import check_model
from narrowing import solution_of, unsolved

SMALL = {"width": 12, "counts": (3, 2), "warm_up": 4, "draws": 8, "records": 4}


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    """But for slopes: forces are in single precision."""
    check_model(PriorScaling, differentiate=False, nonlinearity="linear", layers=2, exponent=0.5, **SMALL)


def test_the_prior_falls_with_any_power_of_the_examples():
    known = fs.models.WideBayesian(counts=(20, 10, 10), layers=2).readout_variance
    assert PriorScaling(counts=(20, 10, 10), layers=2).readout_variance == known
    assert PriorScaling(counts=(20, 10, 10), exponent=0.0, amplitude=3.0).readout_variance == 9.0
    assert PriorScaling(counts=(20, 10, 10), exponent=2.0, layers=2).readout_variance == pytest.approx(1 / 40)


def test_theory_has_the_power_as_an_amplitude():
    power = PriorScaling(counts=(20, 10, 10), exponent=0.5, temperature=0.3)
    amplitude = fs.models.WideBayesian(counts=(20, 10, 10), amplitude=40**0.25, temperature=0.3)
    np.testing.assert_allclose(power.prediction(0.3).kernels[0], amplitude.prediction(0.3).kernels[0], atol=1e-9)
    found = solution_of(power)(np.zeros(1))
    known = fs.theory.coding.blocks(amplitude.prediction(0.3).kernels[0], amplitude.world().labels)
    np.testing.assert_allclose(found["between"][0, 0], known.between, atol=1e-9)
    np.testing.assert_allclose(found["excess"][0, 0], known.excess, atol=1e-9)
    assert unsolved(PriorScaling(layers=2, counts=(3, 2)))


@pytest.mark.full
def test_kernels_are_recorded_class_by_class():
    run = PriorScaling(origin="theory", exponent=0.5, **SMALL).run()
    assert run["between"].sizes == {"run": 1, "layer": 1, "class": 2, "other_class": 2}
    assert run["hidden"].sizes == {"run": 1, "example": 5, "neuron": 12}
    late = run["class_kernels"].isel(time=-1)
    np.testing.assert_allclose(late.sel(layer=1), run["class_kernel"].isel(time=-1), rtol=1e-6)
    assert np.all(run["excess"] > 0)
