"""Kernel quantities from grams against the kernel itself, and that against automatic differentiation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.measures.kernels import (
    empirical_kernel,
    kernel_distance,
    kernel_inner,
    kernel_movement,
    representational_similarity,
    target_alignment,
)

RANDOM = np.random.default_rng(0)
INPUTS = RANDOM.normal(size=(3, 6))
TARGETS = RANDOM.normal(size=(2, 6))
FIRST, SECOND = RANDOM.normal(size=(5, 4, 3)), RANDOM.normal(size=(5, 2, 4))  # five times, hidden width 4
GRAMS = np.swapaxes(FIRST, 1, 2) @ FIRST, SECOND @ np.swapaxes(SECOND, 1, 2)


def kernels(inputs):
    arrays = (map(jnp.asarray, (first, second, inputs)) for first, second in zip(FIRST, SECOND, strict=True))
    return np.array([empirical_kernel(*trio) for trio in arrays])


def cosine(one, other):
    return np.sum(one * other) / np.sqrt(np.sum(one**2) * np.sum(other**2))


def test_empirical_kernel_is_the_product_of_jacobians():
    def outputs(weights):
        return (weights[1] @ weights[0] @ jnp.asarray(INPUTS)).ravel()

    jacobians = jax.jacobian(outputs)((jnp.asarray(FIRST[0]), jnp.asarray(SECOND[0])))
    rows = [np.asarray(jacobian).reshape(12, -1) for jacobian in jacobians]
    np.testing.assert_allclose(kernels(INPUTS)[0], sum(row @ row.T for row in rows), rtol=1e-12)


@pytest.mark.parametrize("inputs", [INPUTS, None])
def test_quantities_agree_with_the_kernel(inputs):
    kernel = kernels(np.eye(3) if inputs is None else inputs)
    start = GRAMS[0][0], GRAMS[1][0]
    inner = kernel_inner(*GRAMS, *(np.roll(gram, 1, axis=0) for gram in GRAMS), inputs=inputs)
    np.testing.assert_allclose(inner, np.sum(kernel * np.roll(kernel, 1, axis=0), axis=(1, 2)), rtol=1e-12)
    distance = [1 - cosine(each, kernel[0]) for each in kernel]
    movement = [np.linalg.norm(each - kernel[0]) / np.linalg.norm(kernel[0]) for each in kernel]
    for given in ((), start):
        np.testing.assert_allclose(kernel_distance(*GRAMS, *given, inputs=inputs), distance, atol=1e-14)
        np.testing.assert_allclose(kernel_movement(*GRAMS, *given, inputs=inputs), movement, atol=1e-14)
    targets = TARGETS[:, : kernel.shape[1] // 2]
    expected = [cosine(each, np.outer(targets.ravel(), targets.ravel())) for each in kernel]
    np.testing.assert_allclose(target_alignment(*GRAMS, targets, inputs=inputs), expected, rtol=1e-12)
    one = kernel_distance(GRAMS[0][2], GRAMS[1][2], *start, inputs=inputs)
    assert one == pytest.approx(distance[2], abs=1e-14)


def test_representational_similarity():
    seen = np.array([INPUTS.T @ gram @ INPUTS for gram in GRAMS[0]])
    expected = [cosine(each, seen[0]) for each in seen]
    found = representational_similarity(GRAMS[0], GRAMS[0][0], inputs=INPUTS)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    expected = [cosine(each, GRAMS[1][0]) for each in GRAMS[1]]
    np.testing.assert_allclose(representational_similarity(GRAMS[1], GRAMS[1][0]), expected, rtol=1e-12)


def test_small_changes_keep_their_digits():
    """A kernel that turns by 1e-9 has a distance of about 1e-18: 1 − cos would give zero or noise."""
    change = np.diag([1.0, -1.0])
    grams = np.stack([np.eye(2), np.eye(2) + 1e-9 * change]), np.stack([np.eye(2)] * 2)
    expected = 1e-18 * np.sum(np.kron(np.eye(2), change) ** 2) / np.sum((2 * np.eye(4)) ** 2)
    assert np.asarray(kernel_distance(*grams))[1] == pytest.approx(expected / 2, rel=1e-6)
    assert np.asarray(kernel_movement(*grams))[1] == pytest.approx(np.sqrt(expected), rel=1e-6)


def test_differentiable_and_batched():
    def moved(scale):
        return kernel_movement(jnp.asarray(GRAMS[0][1]) * scale, jnp.asarray(GRAMS[1][1]), GRAMS[0][0], GRAMS[1][0])

    slope = jax.grad(moved)(1.3)
    assert float(slope) == pytest.approx(float(moved(1.3 + 1e-6) - moved(1.3 - 1e-6)) / 2e-6, rel=1e-7)
    batched = jax.vmap(lambda first, second: kernel_distance(first, second, GRAMS[0][0], GRAMS[1][0]))
    np.testing.assert_allclose(batched(*map(jnp.asarray, GRAMS)), kernel_distance(*GRAMS), atol=1e-14)


def test_refusals():
    with pytest.raises(ArgumentError, match="`inputs` must have 3 rows"):
        kernel_distance(*GRAMS, inputs=INPUTS.T)
    with pytest.raises(ArgumentError, match=r"`targets` must have shape \(outputs, examples\) = \(2, 6\)"):
        target_alignment(*GRAMS, TARGETS.T, inputs=INPUTS)
    with pytest.raises(ArgumentError, match="`start_input_gram` must be given for grams without a time axis"):
        kernel_movement(GRAMS[0][0], GRAMS[1][0])
    with pytest.raises(ArgumentError, match="be given together"):
        kernel_movement(*GRAMS, GRAMS[0][0])
