"""model/interleaved-abstraction: through switches by chance, against the closure, and what is left without them."""

from typing import Any

import numpy as np
import pytest

from festina import models
from festina.models.interleaved_abstraction import InterleavedAbstraction
from festina.testing.model import model_findings

SMALL: dict[str, Any] = {
    "inputs": 5,
    "outputs": 2,
    "until": 0.5,
    "step_size": 0.01,
    "records": 10,
    "scale": 0.5,
}


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    """All but that totals are not recorded beside courses."""
    found = list(model_findings(InterleavedAbstraction, "quick", True, SMALL | {"switching": 0.1}))
    assert found == ["neither simulation nor theory has ['separation']"]


@pytest.mark.full
@pytest.mark.parametrize("data", ["population", "closure"])
def test_simulations_take_the_switches_of_their_theory(data):
    run = InterleavedAbstraction(**SMALL, switching=0.2, data=data, recorded="totals").run(seeds=3)
    assert run.theory is not None
    np.testing.assert_allclose(run["loss"], run.theory["loss"], rtol=1e-10)
    assert run["loss"].diff("time").max() > 0  # there were some


@pytest.mark.full
def test_without_probability_the_blocks_of_the_clock_are_left():
    regular = {"data": "wishart", "block_length": 0.1}
    by_chance = InterleavedAbstraction(**SMALL | regular, switching=0.0).run()["loss"]
    by_clock = models.TaskAbstraction(**SMALL | regular).run()["loss"]
    np.testing.assert_array_equal(by_chance, by_clock)
