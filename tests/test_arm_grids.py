"""Grids of arms with some of them left out, dimensions with names of their own, and fields that every arm sets."""

import numpy as np
import pytest

import festina as fs
from festina import models
from festina.errors import ArgumentError
from festina.experiment import Arms, Experiment, Panels, named, over, use


class Shallow(Experiment):
    """Chains from several starts, of which the deepest has only the largest."""

    name = "linear/shallow"
    arms = Arms(
        models.Chain,
        depth=(1.0, 2.0, 3.0),
        initial=(1e-2, 1e-1),
        only=lambda config, arm: arm["depth"] < 3 or arm["initial"] == max(config.initial),
    )
    base = {"records": 10, "until": 1.0}


class Twice(Experiment):
    """Chains and networks: the same field along two dimensions, and fields that only some models have."""

    name = "linear/twice"
    arms = Panels(
        chains=Arms(use(models.Chain, depth=2.0), start=over("initial", 1e-2, 1e-1)),
        one=Arms(network=named(chain=use(models.Chain, depth=1.0), wide=use(models.SingleOutput, inputs=3))),
    )
    base = {"records": 100, "until": 1.0}


@pytest.mark.full
def test_arms_that_are_left_out_are_not_run_and_hold_nothing():
    result = fs.run(Shallow(), store=None)
    assert len(result.arms) == 5
    missing = result["loss"].isel(run=0).isnull().all("time")
    assert missing.sum() == 1 and missing.sel(depth=3.0, initial=1e-2)
    alone = models.Chain(depth=3.0, initial=1e-1, records=10, until=1.0).run()
    np.testing.assert_allclose(result["loss"].sel(depth=3.0, initial=1e-1), alone["loss"], rtol=1e-9)
    assert result.theory is not None and np.isnan(result.theory["loss"].sel(depth=3.0, initial=1e-2)).all()


def test_a_rule_that_leaves_out_all_arms_is_refused():
    class None_(Experiment):
        name = "linear/none"
        arms = Arms(models.Chain, depth=(1.0, 2.0), only=lambda config, arm: False)

    with pytest.raises(ArgumentError, match="`depth` must go together in one arm at least"):
        None_().configure()


def test_a_dimension_over_a_field_under_a_name_of_its_own():
    config = Twice().configure(start=(0.3, 0.5), initial=0.2)
    arms = Twice().arms_at(config)
    assert [getattr(arm.model, "initial", None) for arm in arms] == [0.3, 0.5, 0.2, None]
    with pytest.raises(ArgumentError, match="`start` must be less than or equal to 10"):
        Twice().configure(start=(11.0,))


def test_what_all_models_set_that_have_it_is_not_free():
    fields = set(Twice.Config.model_fields)
    assert not fields & {"depth", "inputs", "outputs"}
    assert {"start", "initial", "mirroring", "strength"} <= fields
