"""model/gated-margin: closed forms under every gating and margin, derivatives, batches, bounds."""

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.models.gated_margin import GatedMargin

GATINGS = ("one example", "half-planes", "classes", "always on")


@pytest.mark.mostly_full
@pytest.mark.parametrize("gating", GATINGS)
@pytest.mark.parametrize("separation", [0.0, 0.7])
def test_networks_follow_the_closed_form(gating, separation):
    model = GatedMargin(gating=gating, separation=separation, initial=0.01, until=20.0, records=20)
    result = model.run()
    assert result.errors().max() < 1e-9
    assert result["loss"][0, -1] < 0.01 or (separation == 0.0 and gating in ("classes", "always on"))


@pytest.mark.mostly_full
@pytest.mark.parametrize(
    ("gating", "strength", "variance"),
    [
        ("one example", np.sqrt(2.49) / 4, 2.49 / 4),
        ("half-planes", np.sqrt(1.49) / 2, 1.49 / 2),
        ("classes", 0.35, 0.49 / 2),
        ("always on", 0.7, 0.49),
    ],
)
def test_what_a_pathway_sees_is_worked_out_by_hand(gating, strength, variance):
    import jax

    start = GatedMargin(gating=gating, separation=0.7).start(jax.random.key(0))
    np.testing.assert_allclose(start.strengths, strength, rtol=1e-12)
    np.testing.assert_allclose(start.variances, variance, rtol=1e-12)


@pytest.mark.full
@pytest.mark.parametrize(("field", "step"), [("separation", 1e-6), ("initial", 1e-8)])
def test_derivatives_are_those_of_theory(field, step):
    model = GatedMargin(gating="half-planes", separation=0.5, initial=1e-2, until=10.0, records=20)
    exact = model.derivative("loss", field)
    beside = [model.model_copy(update={field: getattr(model, field) + side * step}) for side in (1, -1)]
    more, less = (one.theory()(exact["time"].values)["loss"] for one in beside)
    np.testing.assert_allclose(exact, (more - less) / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.full
def test_a_batch_is_its_runs():
    model = GatedMargin(until=5.0, records=10)
    swept = model.sweep(separation=(0.0, 0.9))["strength"].sel(separation=0.9)
    alone = model.model_copy(update={"separation": 0.9}).run()["strength"]
    np.testing.assert_allclose(swept.values.ravel(), alone.values.ravel(), rtol=1e-8)


def test_bounds_are_told():
    with pytest.raises(ArgumentError, match="`initial` must be greater than or equal to 1e-09"):
        fs.run("model/gated-margin", initial=0.0)
    with pytest.raises(ArgumentError, match="`gating` must be 'one example', 'half-planes'"):
        fs.run("model/gated-margin", gating="corners")
