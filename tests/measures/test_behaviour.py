"""Measures of two-choice behaviour, on curves that can be read off by hand."""

import numpy as np
import pytest

from festina.measures import behaviour

RIGHT = np.array([[0.1, 0.7, 0.9], [0.0, 0.5, 1.0]])


def test_definitions():
    np.testing.assert_allclose(behaviour.bias(RIGHT), [0.2, 0.0])
    np.testing.assert_allclose(behaviour.slopes(RIGHT), [[0.6, 0.2], [0.5, 0.5]])
    np.testing.assert_allclose(behaviour.slope_difference(RIGHT), [-0.4, 0.0])
    np.testing.assert_allclose(behaviour.accuracy(RIGHT), [0.9, 1.0])


def test_a_mirrored_animal_has_mirrored_measures():
    course = np.random.default_rng(0).uniform(size=(7, 5, 3))
    mirrored = 1.0 - course[..., ::-1]
    np.testing.assert_allclose(behaviour.bias(mirrored), -behaviour.bias(course))
    np.testing.assert_allclose(behaviour.slopes(mirrored), behaviour.slopes(course)[..., ::-1])
    np.testing.assert_allclose(behaviour.slope_difference(mirrored), -behaviour.slope_difference(course))
    np.testing.assert_allclose(behaviour.accuracy(mirrored), behaviour.accuracy(course))


def test_windows_include_both_ends():
    course = np.arange(10.0)[:, None] * np.ones(3)
    np.testing.assert_allclose(behaviour.window(course, 4, 8), 6.0)


def test_the_nearest_of_several_places():
    slopes = np.array([[[0.0, 0.0], [0.3, 0.4]], [[0.0, 0.0], [0.0, 1.0]]])
    places = np.array([[0.6, 0.8], [0.0, 1.2]])
    np.testing.assert_allclose(behaviour.nearest(slopes, places), [0.5, 0.2])


def test_correlation_across_animals():
    one = np.array([1.0, 2.0, 3.0, 5.0])
    assert behaviour.across_animals(one, -2.0 * one + 1.0) == pytest.approx(-1.0)
    assert behaviour.across_animals(one, np.array([0.0, 1.0, 0.0, 2.0])) == pytest.approx(0.7644707872)
    assert np.isnan(behaviour.across_animals(one, np.ones(4)))
