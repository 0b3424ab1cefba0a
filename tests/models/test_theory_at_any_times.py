"""A model's theory can be asked at one time, at a row of times and at a table of them, in float64 and as NumPy."""

import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.lab import registry
from festina.lab.registry import find

MODELS = {name: find(name).arms.models[0] for name in registry.runnable_names() if name.startswith("model/")}
SOLVED = sorted(name for name, model in MODELS.items() if model.has_theory())


@pytest.mark.mostly_full(2)
@pytest.mark.parametrize("name", SOLVED)
def test_theory_has_the_shape_of_the_times_before_its_own(name):
    model = MODELS[name](**MODELS[name].quick)
    try:
        theory = model.theory()
    except ArgumentError as error:  # some settings have none
        pytest.skip(str(error))
    table = np.array([[0.0, 0.5, 1.0], [2.0, 0.25, 3.0]])
    row, whole, one = theory(np.sort(table.reshape(-1))), theory(table), theory(0.5)
    for variable, values in row.items():
        own = values.shape[1:]
        assert values.shape[0] == 6 and isinstance(values, np.ndarray) and values.dtype == np.float64
        assert whole[variable].shape == (2, 3, *own) and one[variable].shape == own
        np.testing.assert_allclose(one[variable], whole[variable][0, 1], rtol=1e-7, atol=1e-9)
