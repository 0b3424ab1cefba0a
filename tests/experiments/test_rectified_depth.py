"""rectified/depth: what is seen at the quick budget."""

import warnings

import numpy as np
import pytest

from shared import outcomes, quick


@pytest.fixture(scope="module")
def result():
    return quick("rectified/depth")


@pytest.mark.full
def test_quick_claims_hold_but_for_the_one_that_does_not(result):
    judged = outcomes(result)
    expected = dict.fromkeys(("solved", "linear-first-layer", "nonlinear-second-layer"), "reproduced")
    assert judged == expected | {"shared-first-layer": "not reproduced"}, result


@pytest.mark.full
def test_shares_of_strength_add_up(result):
    np.testing.assert_allclose(result["strength"].sum("size"), 1.0, atol=1e-5)
    assert result["linearity"].max() <= 1.0 + 1e-6


@pytest.mark.full
def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 6
