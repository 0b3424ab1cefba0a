"""race/systematic: its claims, and what is refused."""

import warnings

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.race._routing_networks import random_weights, shared_maps
from festina.worlds.routing import Routing

SEVERAL_SEEDS = "one-start-for-all"  # a mean over runs, of which two say little


@pytest.fixture(scope="module")
def result():
    with jax.enable_x64(True):
        return fs.run("race/systematic", budget="quick")


def test_quick_claims_hold(result):
    judged = [verdict for verdict in result.verdicts if "full budget" not in verdict.note]
    assert len(judged) == 5
    assert all(verdict.outcome == "reproduced" for verdict in judged if verdict.claim != SEVERAL_SEEDS), result


def test_the_start_is_orthogonal_times_the_gain(result):
    """The recorded errors at t = 0 are those of weights drawn here."""
    first, second, third = random_weights(jax.random.key(0), 7, 64)
    np.testing.assert_allclose(second @ second.T, np.eye(64), atol=1e-12)
    np.testing.assert_allclose(first[3].T @ first[3], np.eye(4), atol=1e-12)
    np.testing.assert_allclose(third[3] @ third[3].T, np.eye(7), atol=1e-12)
    maps = shared_maps((2.5 * first, 2.5 * second, 2.5 * third))
    begin = result["untrained_error"].isel(run=0, time=0).sel(trained=4, gain=2.5)
    np.testing.assert_allclose(begin, Routing.of(7, 4).untrained_error(maps), rtol=1e-9)


def test_untrained_pairs_must_be_left():
    with pytest.raises(ArgumentError, match="`trained` must be fewer than the domains"):
        fs.run("race/systematic", domains=3, trained=3)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 4
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
