"""What makes a pathway fast: two pathways reduced to three weights, and closed forms of their half-times."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import festina as fs
from festina.errors import ArgumentError
from festina.theory.speeds import overtaking, race, time_to_reach


def test_a_shared_edge_hears_all_its_paths():
    """τȧ = 3bE and τḃ = aE for three paths of two layers, integrated anew; a² − 3b² is kept."""
    start, rate = (0.3, 0.1), lambda t, w: (1 - w[0] * w[1]) * np.array([3 * w[1], w[0]])
    solved = solve_ivp(rate, (0.0, 2.0), start, t_eval=[1.0, 2.0], rtol=1e-11, atol=1e-13).y
    found = race((2, 2), (0.1, *start), paths=3)([1.0, 2.0])["strength"][:, 1]
    np.testing.assert_allclose(found, solved[0] * solved[1], rtol=1e-9)
    np.testing.assert_allclose(solved[0] ** 2 - 3 * solved[1] ** 2, 0.3**2 - 3 * 0.1**2, rtol=1e-8)


@pytest.mark.parametrize(("depth", "paths"), [(2, 4), (3, 8), (4, 16)])
def test_sharing_one_of_several_edges_doubles_the_speed_of_all(depth, paths):
    """n^(1/L) = 2."""
    alone, shared = time_to_reach(depth, 0.5, 1e-3, paths=[1, paths])
    assert alone / shared == pytest.approx(2.0, rel=1e-10)


@pytest.mark.parametrize("depth", [3, 4])
@pytest.mark.parametrize("ratio", [0.1, 10.0])
def test_no_start_of_the_same_strength_is_slower_than_the_balanced_one(depth, ratio):
    own = (1e-3 / ratio) ** (1 / depth)
    curve = race((2, depth), (0.1, ratio * own, own))
    balanced = float(time_to_reach(depth, 0.5, 1e-3))
    assert float(curve(balanced)["strength"][1]) > 0.55


def test_an_end_where_ratios_of_two_layers_are_kept():
    """Twice the start and the same target: two thirds and one third."""
    end = race((2, 2), np.sqrt([1e-2, 2e-2, 2e-2]), same=True)(200.0)
    np.testing.assert_allclose(end["strength"], [1 / 3, 2 / 3], atol=1e-8)
    assert float(end["loss"]) < 1e-15


@pytest.mark.parametrize(("shallow", "deep"), [(2, 3), (2, 4), (3, 4), (2, 8)])
def test_where_the_deeper_pathway_overtakes(shallow, deep):
    rates = lambda depth, strength: depth * strength ** (2 - 2 / depth)  # noqa: E731
    found = brentq(lambda strength: rates(deep, strength) - rates(shallow, strength), 1e-3, 0.99, xtol=1e-14)
    assert overtaking(shallow, deep) == pytest.approx(found, rel=1e-10)
    above = 1.01 * found
    level = above + 0.5 * (1.0 - above)
    assert time_to_reach(deep, level, above) < time_to_reach(shallow, level, above)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: race((1, 2), (0.1, 0.1, 0.1)), "depths"),
        (lambda: race((2, 2), (0.1, 0.0, 0.1)), "weights"),
        (lambda: race((2, 2), (0.1, 0.1, 0.1), paths=0), "paths"),
        (lambda: race((2, 2), (0.1, 0.1, 0.1), correlation=1.5), "correlation"),
        (lambda: time_to_reach(3, 0.5, 1e-3, imbalance=2.0), "imbalance"),
        (lambda: overtaking(3, 3), "shallow"),
    ],
)
def test_what_has_no_answer_is_refused(call, named):
    with pytest.raises(ArgumentError, match=f"`{named}` must"):
        call()


def test_times_may_have_any_shape_and_order():
    curve = fs.theory.speeds.race((2, 3), (0.1, 0.2, 0.2), correlation=0.5)
    both = curve([[3.0, 1.0], [0.0, 2.0]])
    np.testing.assert_allclose(both["strength"][0, 1], curve(1.0)["strength"], rtol=1e-9)
    assert both["loss"].shape == (2, 2)
