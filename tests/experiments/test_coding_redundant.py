"""coding/redundant: sigmoidal neurons against theory, in and out of equilibrium."""

import warnings
from dataclasses import replace

import jax
import numpy as np
import pytest

import festina as fs
from festina.claims import NotApplicable
from festina.experiments.coding import _codes as codes
from festina.experiments.coding import redundant
from festina.experiments.coding._comparison import kernel_difference, network_of, theory_of
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/redundant")


def test_quick_claims_hold(result):
    judged = [verdict for verdict in result.verdicts if verdict.outcome != "needs the full budget"]
    assert len(judged) == 10 and all(verdict.outcome == "reproduced" for verdict in judged), result


def test_warm_networks_are_not_asked_for_codes(result):
    redundant.several_codes(result, 6)
    warm = replace(result, config=result.config.model_copy(update={"cold": 0.5}))
    with pytest.raises(NotApplicable, match="needs a lower --cold, at which theory has 2 codes; it has 1"):
        redundant.several_codes(warm)
    same = result.data.copy(deep=True)
    same["activity"][:] = 1.0
    with pytest.raises(NotApplicable, match="different codes"):
        redundant.Redundant().frozen(replace(result, data=same))


def test_every_phase_has_its_own_temperature_and_start(result):
    heat = result["heat"].isel(run=0)
    np.testing.assert_allclose(heat.isel(time=0), [1.0, 1.0, 0.02, 0.02, 0.3, 0.3])
    np.testing.assert_allclose(heat.isel(time=-1), [0.2, 0.02, 0.02, 0.02, 0.05, 0.05])
    readout = result["readout"].isel(run=0, time=0).transpose("phase", "neuron", "output").values
    np.testing.assert_array_equal(readout[0], readout[1])
    assert np.linalg.norm(readout[2]) > 5 * np.linalg.norm(readout[0])


def test_the_low_temperature_is_a_number_to_turn_and_no_other_field_of_phases_is():
    fields = redundant.Redundant.Config.model_fields
    assert {"cold", "temperature"} <= set(redundant.Redundant.Config.fields_of_kind("continuous"))
    assert not {"origin", "nonlinearity", "layers", "tests", "method"} & set(fields)


def test_cooled_chains_leave_equilibrium_but_not_their_own_theory(result):
    missed = kernel_difference(result, phase="cooled")
    assert np.all(missed > 0.1) and np.all(redundant.Redundant().own_shares(result) < 0.2 * missed)


def test_collapsed_chains_forget_what_cooled_ones_keep(result):
    """From one start, at one temperature: the kernel of equilibrium, and codes that are as good as drawn anew."""
    assert np.all(kernel_difference(result, phase="collapsed") < 0.1 * kernel_difference(result, phase="cooled"))
    kept = {phase: codes.turnover(redundant.late(result, phase)) for phase in ("cooled", "collapsed")}
    assert np.all(kept["cooled"] < 0.05) and np.all(kept["collapsed"] > 0.9)


def test_shares_of_drawn_neurons_are_the_weights_of_the_codes(result):
    """At a low temperature activity and readouts tell the same code."""
    shares = network_of(result).drawn_shares(result.config.cold, neurons=4000)
    np.testing.assert_allclose(shares, codes.weights_of(redundant.planted_codes(result)), atol=0.02)


def test_an_even_draw_has_the_shares_of_the_theory(result):
    theory = theory_of(network_of(result), result.config.cold)
    with jax.enable_x64(True):
        readouts, preactivations = fs.theory.coding.Even(theory).draw_neurons(jax.random.key(1), 200)
    assert readouts.shape == (200, 3) and preactivations.shape == (200, 40)
    nearest = np.argmin(((readouts[:, None] - theory.codes.readouts[None]) ** 2).sum(axis=-1), axis=1)
    assert np.abs(np.bincount(nearest, minlength=6) - 200 * theory.codes.weights).max() <= 1.0


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 15
