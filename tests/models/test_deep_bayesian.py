"""model/deep-bayesian: its layers, its theories, and where there is none."""

from typing import Any

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.models.deep_bayesian import DeepBayesian
from festina.testing import check_model
from narrowing import solution_of, unsolved

SMALL = {"width": 12, "counts": (3, 2), "warm_up": 4, "draws": 8, "records": 4}


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    """But for slopes: forces are in single precision."""
    check_model(DeepBayesian, differentiate=False, nonlinearity="linear", tests=1, **SMALL)


def test_linear_kernels_solve_the_equations_of_both_layers():
    network = DeepBayesian(nonlinearity="linear", width=60, counts=(20, 10, 10))
    targets = np.asarray(network.world().targets)
    variance, room = 1 / np.sqrt(40), 1 - 40 / 60
    first, second = solution_of(network)(np.zeros(1))["kernels"][0]
    inverse = np.linalg.pinv(targets) @ (second - first) @ np.linalg.pinv(targets).T  # of U, where targets reach
    covariance = np.linalg.pinv(inverse, rcond=1e-8)
    reach = np.linalg.pinv(targets) @ targets
    right = variance**2 * targets.T @ targets + room * variance * covariance @ covariance
    np.testing.assert_allclose(reach @ covariance @ covariance @ covariance @ reach, reach @ right @ reach, atol=1e-8)
    np.testing.assert_allclose(first, np.eye(40) + variance * targets @ inverse @ inverse @ targets.T, atol=1e-8)


def test_theory_from_scratch_is_asked_for_down_to_the_lowest_temperature(monkeypatch):
    """At those of the ladder, and at its own, which is asked for without those below; none is given of a network whose
    equations are not solved.
    """
    asked = []

    def solve(counts, targets, temperatures, variance):
        asked.append(temperatures)
        kernels = np.zeros((2, sum(counts), sum(counts)))
        return [Solved(kernels + heat, {"mismatch": 0.0 if heat > 0.65 else 1.0}) for heat in temperatures]

    class Solved:
        def __init__(self, kernels, diagnostics):
            self.kernels, self.diagnostics = kernels, diagnostics

    monkeypatch.setattr(fs.theory.coding, "two_layers", solve)
    network = DeepBayesian(counts=(4, 3), temperature=0.8, lowest=0.6)
    assert solution_of(network)(np.zeros(2))["kernels"][1, 1, 0, 0] == 0.8
    assert asked == [(1.0, 0.8)] and sorted(network.solved()) == [0.7, 0.8, 1.0]
    assert asked[1:] == [(1.0, 0.8, 0.7, 0.6)]
    assert unsolved(DeepBayesian(counts=(4, 3), temperature=0.62, lowest=0.6))
    assert unsolved(DeepBayesian(counts=(4, 3), temperature=0.5, lowest=0.6))
    others: tuple[dict[str, Any], ...] = ({"nonlinearity": "rectified"}, {"layers": 3})
    for other in others:
        assert unsolved(DeepBayesian(counts=(4, 3), **other))


@pytest.mark.full
def test_the_second_layer_is_solved_for_on_top_of_the_first():
    network = DeepBayesian(temperature=1.0, counts=(4, 3))
    kernel = 0.25 + 0.05 * np.eye(7)
    first = fs.theory.coding.blocks(kernel, network.world().labels)
    found = network.second_layer(first)
    settings = (4, 3), network.world().class_targets, 1.0, 1 / np.sqrt(7), first
    np.testing.assert_allclose(found.kernels[-1], fs.theory.coding.second_layer(*settings).kernels[-1])


def test_a_single_layer_is_refused():
    with pytest.raises(ArgumentError, match="`layers` must be greater than or equal to 2"):
        DeepBayesian.checked("model/deep-bayesian", {"layers": 1})
