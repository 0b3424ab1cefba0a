"""A reversed task: simulation against theory, and what the ways of writing it have in common."""

from typing import Any

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.testing import check_model

BRIEF = {"records": 100, "until": 8.0}


@pytest.mark.full
def test_it_is_a_model():
    check_model(fs.models.Reversal, **BRIEF)


@pytest.mark.full
@pytest.mark.parametrize(
    "fields", [{"imbalance": 0.3, "modes": 2}, {"imbalance": 5.0, "basis": "axes", "weakest": 0.5}]
)
def test_simulation_follows_theory(fields):
    assert fs.models.Reversal(**BRIEF, **fields).run(seeds=2).errors("strength", "loss").max() < 1e-9


@pytest.mark.full
@pytest.mark.parametrize(
    "fields",
    [{}, {"hidden": "reversed"}, {"gradient": "expanded"}, {"kept": "float32"}, {"basis": "axes"}, {"nudge": 1e-7}],
)
def test_however_it_is_written_it_is_one_network(fields):
    """At t = 0 every way has learned S, but for what float32, or a nudge, takes away; with λ ≠ 0 it stays so."""
    model = fs.models.Reversal(imbalance=0.5, modes=2, **BRIEF, **fields)
    result = model.run()
    slack = 1e-6 if "kept" in fields or "nudge" in fields else 1e-9
    np.testing.assert_allclose(result["strength"].isel(time=0).values, [[2.0, 1.0]], rtol=slack)
    assert result.errors("strength").max() < 10 * slack
    with fs.double():
        import jax

        first, second = map(np.asarray, model.start(jax.random.key(0)).layers)
    np.testing.assert_allclose(second.T @ second - first @ first.T, 0.5 * np.eye(2), atol=4 * slack)


def test_layers_are_alike_to_the_last_bit_only_along_the_axes():
    import jax

    with fs.double():
        for basis in ("axes", "random"):
            first, second = fs.models.Reversal(imbalance=0.0, basis=basis).start(jax.random.key(0)).layers
            assert np.array_equal(first, second.T) == (basis == "axes")


@pytest.mark.full
@pytest.mark.parametrize("by", ["imbalance", "strongest"])
def test_derivatives_are_those_of_the_theory(by):
    settings, step = {"imbalance": 0.4, "modes": 2, **BRIEF}, 1e-4
    model = fs.models.Reversal(**settings)
    found = model.derivative("strength", by)
    high, low = (
        fs.models.Reversal(**settings | {by: getattr(model, by) + sign * step}).theory()(found["time"].values)[
            "strength"
        ]
        for sign in (1, -1)
    )
    np.testing.assert_allclose(found, (high - low) / (2 * step), atol=1e-6)


def test_settings_out_of_bounds_are_refused():
    for field, value in (("imbalance", -0.1), ("nudge", 1.0), ("basis", "diagonal"), ("records", 3)):
        with pytest.raises(ArgumentError, match=f"`{field}` must"):
            wrong: dict[str, Any] = {field: value}
            fs.run("model/reversal", **wrong)
