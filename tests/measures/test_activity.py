"""In which contexts units are active: against counting by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.measures import activity as measure

LABELS = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
ACTIVITY = np.array(  # columns: on everywhere; on in contexts 0 and 2; mostly on in 1; never on
    [
        [1.0, 0.5, 0.0, 0.0],
        [2.0, 0.5, 0.0, -1.0],
        [1.0, 0.1, 0.2, 0.0],
        [1.0, 0.0, 3.0, 0.0],
        [1.0, 0.0, 1.0, 0.0],
        [1.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0, 0.0],
    ]
)
STRENGTH = np.array([1.0, 4.0, 2.0, 3.0])


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_sets_and_shares(convert):
    activity, strength = convert(ACTIVITY), convert(STRENGTH)
    sets = measure.active_sets(activity, LABELS)
    np.testing.assert_array_equal(sets, [[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    np.testing.assert_allclose(measure.active_share(activity, LABELS)[:, 2], [1 / 3, 2 / 3, 0])
    np.testing.assert_allclose(measure.strength_by_size(sets, strength), [0.3, 0.2, 0.4, 0.1])
    by_set = np.asarray(measure.strength_by_set(sets, strength))
    np.testing.assert_allclose(by_set[[0, 2, 5, 7]], [0.3, 0.2, 0.4, 0.1])
    np.testing.assert_allclose(by_set.sum(), 1.0)
    np.testing.assert_allclose(measure.whole_context_share(activity, LABELS, strength), 0.8)
    anywhere = measure.active_sets(activity, LABELS, most=0.0)
    np.testing.assert_array_equal(measure.set_sizes(anywhere), [3, 2, 2, 0])


def test_leading_axes_are_carried_along():
    activity, strength = np.stack([ACTIVITY, ACTIVITY[:, ::-1]]), np.stack([STRENGTH, STRENGTH[::-1]])
    shares = measure.strength_by_size(measure.active_sets(activity, LABELS), strength)
    np.testing.assert_allclose(shares, [[0.3, 0.2, 0.4, 0.1]] * 2)


def test_the_strength_of_a_unit_is_the_norm_of_what_it_adds_to_the_map():
    generator = np.random.default_rng(0)
    incoming, outgoing = generator.normal(size=(5, 3)), generator.normal(size=(4, 5))
    expected = [np.linalg.norm(np.outer(outgoing[:, unit], incoming[unit])) for unit in range(5)]
    np.testing.assert_allclose(measure.unit_strength(incoming, outgoing), expected)
    assert not measure.strength_by_size(np.ones((3, 2), bool), np.zeros(2)).any()


def test_linearity_against_least_squares():
    generator = np.random.default_rng(1)
    inputs = generator.normal(size=(30, 4))
    linear = inputs @ generator.normal(size=(4, 6)) + 1.0
    np.testing.assert_allclose(measure.linearity(inputs, linear), 1.0)
    bent = np.maximum(linear, 0)
    table = np.column_stack([inputs, np.ones(30)])
    left = bent - table @ np.linalg.lstsq(table, bent)[0]
    expected = 1 - np.sum(left**2) / np.sum((bent - bent.mean(axis=0)) ** 2)
    np.testing.assert_allclose(measure.linearity(inputs, bent), expected)
    assert expected < 0.95


def test_labels_must_leave_no_context_empty():
    with pytest.raises(ArgumentError, match="`labels` must leave no context without a sample"):
        measure.active_sets(ACTIVITY, np.array([0, 0, 0, 2, 2, 2, 2, 2, 2]))
