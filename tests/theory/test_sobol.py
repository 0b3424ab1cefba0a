"""Points of a Sobol sequence, against SciPy's."""

import numpy as np
import pytest
from scipy.stats import qmc

from festina.theory._sobol import DIRECTIONS, sobol


@pytest.mark.parametrize("size", range(1, len(DIRECTIONS) + 3))  # one more than there are directions for, too
@pytest.mark.parametrize("count", [1, 2, 1024])
def test_the_points_are_scipys_to_the_last_bit(size, count):
    np.testing.assert_array_equal(sobol(count, size), qmc.Sobol(size, rng=np.random.default_rng(0)).random(count))


def test_every_box_has_its_share():
    """Of 1024 points each of 1024 slices of any dimension, and each of 32 × 32 squares of the first two, holds one."""
    points = sobol(1024, 10)
    for values in np.floor(1024 * points).T:
        assert len(set(values)) == 1024
    assert len({tuple(square) for square in np.floor(32 * points[:, :2])}) == 1024
