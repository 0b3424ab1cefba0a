"""Arms whose settings look at the configuration, and fields of an experiment that are no model's."""

import pytest

from festina import models
from festina.errors import ArgumentError
from festina.experiment import Arms, Experiment, ExperimentConfig, continuous, named, use


class Warmed(Experiment):
    """Two starts of a chain, one of them from a field that the chain itself does not have."""

    name = "linear/warmed"
    arms = Arms(
        use(models.Chain, depth=2.0),
        start=named(
            small={"until": 5.0, "initial": lambda config: config.initial},
            large={"until": 5.0, "initial": lambda config: config.large},
        ),
    )
    base = {"initial": 1e-3}

    class Config(ExperimentConfig):
        large: float = continuous(0.5, ge=0.1, le=1.0, help="product of the weights of the second start")


def test_the_value_of_a_field_may_be_a_function_of_the_configuration():
    config = Warmed().configure("full", large=0.25)
    small, large = (arm.model for arm in Warmed().arms_at(config))
    assert (small.initial, large.initial) == (1e-3, 0.25)  # pyright: ignore[reportAttributeAccessIssue]
    assert small.until == large.until == 5.0  # pyright: ignore[reportAttributeAccessIssue]


def test_what_every_arm_sets_is_not_free_unless_it_looks_at_the_configuration():
    assert {"large", "initial"} <= set(Warmed.Config.model_fields)
    assert not {"until", "depth"} & set(Warmed.Config.model_fields)


def test_own_fields_are_checked_and_counted_among_the_continuous_ones():
    assert "large" in Warmed.Config.fields_of_kind("continuous")
    with pytest.raises(ArgumentError, match="`large` must be less than or equal to 1, but is 3"):
        Warmed().configure("full", large=3.0)


def test_an_arm_may_set_what_several_of_its_labels_decide_together():
    class Mixed(Experiment):
        """Two samplers, one of them where there is one layer only."""

        name = "coding/mixed"
        arms = Arms(
            use(models.WideBayesian, origin="common"),
            nonlinearity=("linear", "sigmoidal"),
            layers=(1, 2),
            also=lambda config, arm: {} if arm != {"nonlinearity": "sigmoidal", "layers": 1} else {"origin": "prior"},
        )

    arms = Mixed().arms_at(Mixed().configure("full"))
    assert [arm.model.origin for arm in arms] == ["common", "common", "prior", "common"]  # pyright: ignore
