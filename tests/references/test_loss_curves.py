"""The loss curves of a deep linear network that the authors of an exact solution printed, step by step."""

import numpy as np
import pytest

import festina as fs
from references.facts import LARGE_START, SMALL_START

STEPS = [0, 1, 100, 300, 500, 700, 1000]
SMALL = [
    1.999999999384264,
    1.9999999938767188,
    1.9999981919121947,
    1.9986542561888385,
    1.344097395255032,
    0.6283995107225138,
    0.15432584657111112,
]
LARGE = [
    3.927416507820589,
    3.5955770209057225,
    0.1228090865801728,
    0.000401861230411115,
    2.0660422937425237e-06,
    1.63527786062755e-08,
    1.3165723595947417e-11,
]
FEATURES = np.array(
    [
        [1, 1, 1, 0, 1, 0, 0, 0],
        [1, 1, 1, 0, -1, 0, 0, 0],
        [1, 1, -1, 0, 0, 1, 0, 0],
        [1, 1, -1, 0, 0, -1, 0, 0],
        [1, -1, 0, 1, 0, 0, 1, 0],
        [1, -1, 0, 1, 0, 0, -1, 0],
        [1, -1, 0, -1, 0, 0, 0, 1],
        [1, -1, 0, -1, 0, 0, 0, -1],
    ],
    float,
)


def drawn(*scales: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Both layers of each network, in the order in which the notebook draws them."""
    stream = np.random.RandomState(1)
    return [(stream.normal(0, scale, (14, 8)), stream.normal(0, scale, (8, 14))) for scale in scales]


@pytest.mark.parametrize(("number", "printed", "fact"), [(0, SMALL, SMALL_START), (1, LARGE, LARGE_START)])
def test_losses_are_those_printed(number, printed, fact):
    weights = drawn(1e-4, 0.42)[number]
    world = fs.worlds.Dataset(np.eye(8), FEATURES.T)  # one item a row
    run = fs.descent(fs.networks.DeepLinear(weights), world, until=50.0, step_size=0.05, records=1000)
    assert run["time"].size == 1001  # every step, and the start
    np.testing.assert_allclose(run["loss"].values[STEPS], printed, rtol=fact.allowed)
