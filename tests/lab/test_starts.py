"""Theory draws the starts of runs where it looks at them, and nowhere else."""

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.lab import labelled, solve
from festina.models._wide import WideNetwork
from narrowing import solution_of

TIMES = np.array([0.0, 1.0])


@pytest.fixture
def no_starts(monkeypatch):
    def refuse(batch):
        raise AssertionError("a start is drawn")

    for module in (labelled, solve):
        monkeypatch.setattr(module, "starts_of", refuse)


@pytest.mark.parametrize("name", ["model/chain", "model/routing", "model/reversal", "model/margin"])
def test_a_theory_that_ignores_its_start_draws_none(no_starts, name):
    experiment = fs.lab.find(name)
    found = experiment.predicted(experiment.configure("quick"), 0, TIMES)
    assert found is not None and all(np.isfinite(found[known]).any() for known in found.data_vars)


def test_neither_does_a_model_by_itself(no_starts):
    assert fs.models.Chain(initial=0.25).theory()(0.0)["product"] == 0.25


@pytest.mark.parametrize("kind", [fs.models.WideBayesian, fs.models.FiniteWidth, fs.models.WideDescent])
def test_posteriors_are_known_without_a_network(no_starts, kind):
    assert issubclass(kind, WideNetwork)
    known = kind(nonlinearity="linear", counts=(4, 4)).theory()(0.0)
    assert known and all(np.isfinite(values).any() for values in known.values())


def test_what_looks_at_its_start_draws_it(no_starts):
    experiment = fs.lab.find("model/two-layer")
    with pytest.raises(AssertionError, match="a start is drawn"):
        experiment.predicted(experiment.configure("quick"), 0, TIMES)


def test_starts_that_are_ignored_make_no_difference():
    """All models that say so: what they predict is the same whatever they begin with."""
    for kind in (fs.models.Chain, fs.models.Reversal, fs.models.Margin):
        model = kind()
        one, other = (solution_of(model, start)(TIMES) for start in (None, solve._start(model, 3)))
        assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)


def test_where_theory_has_nothing_of_the_largest_arm_the_others_are_told(monkeypatch):
    """What the largest arm alone would have is not a number."""
    plain = fs.theory.coding.deep_analog

    def shallow(targets, temperature, variance, layers, neurons):
        if layers > 1:
            raise ArgumentError("too deep")
        return plain(targets, temperature, variance, layers, neurons)

    monkeypatch.setattr(fs.theory.coding, "deep_analog", shallow)
    experiment = fs.lab.find("coding/deeper")
    found = experiment.predicted(experiment.configure("quick", depth=(1, 3)), 0, TIMES)
    assert found is not None
    one, three = (found["between"].sel(nonlinearity="linear", depth=depth) for depth in (1, 3))
    assert found.sizes["layer"] == 3
    assert np.isfinite(one.sel(layer=1)).all() and np.isnan(one.sel(layer=[2, 3])).all()
    assert np.isnan(three).all()
