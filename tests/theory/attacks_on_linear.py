"""Attacks on the exact solutions of linear networks: every weight is integrated, or the scalar flow as it is stated."""

import math
import warnings
from collections.abc import Callable

import numpy as np

import festina as fs
from festina.errors import FestinaWarning
from theory.attacking import between, instants, integrate, largest, orthonormal, sometimes


def single_weight(random: np.random.Generator) -> float:
    """One weight: of any sign, at rest, or from zero; in units of the larger of start and end."""
    strength, variance, timescale = random.choice([-1, 1]) * between(random, 0.01, 10), *between(random, 0.1, 10, 2)
    strength = 0.0 if sometimes(random) else strength
    best = strength / variance
    initial = random.choice([best, 0.0, 1.0]) if sometimes(random) else random.normal() * between(random, 1e-3, 5)
    times = instants(random, timescale / variance * between(random, 0.1, 20))
    exact = fs.theory.chain(1, strength, initial, input_variance=variance, timescale=timescale)(times)["product"]
    start = np.array([initial])
    found = integrate(lambda a: (strength - variance * a) / timescale, start, times, 2 * variance / timescale)
    return largest(np.asarray(exact) - found[:, 0], max(abs(initial), abs(best), 1e-300))


def _deep(random: np.random.Generator, depth: float) -> tuple[float, float, float, float, np.ndarray, float]:
    """Strength, start, input variance, timescale, times and the fastest relaxation of a chain of two weights or more.

    The last time is after the wait at the saddle more often than not.
    """
    strength, variance, timescale = between(random, 0.01, 10), *between(random, 0.1, 10, 2)
    best = strength / variance
    ratio = 1.0 if sometimes(random) else between(random, 1e-2 if math.isinf(depth) else 1e-3, 5)
    initial = best * ratio
    if sometimes(random):
        strength = 0.0
    elif depth >= 2 and sometimes(random):
        initial = -initial
    side = random.choice([-1, 1])
    speed = 1.0 if math.isinf(depth) else depth
    fastest = speed * variance * (best * max(1.0, ratio)) ** (2 - 2 / depth) / timescale * max(1.0, ratio)
    unit = 1.0 / (speed * variance * best ** (2 - 2 / depth) / timescale)
    wait = unit * ratio ** min(0.0, 2 / depth - 1)
    times = instants(random, wait * between(random, 0.1, 5))
    return side * strength, side * initial, variance, timescale, times, 2 * fastest


def deep_chain(depth: float) -> Callable[[np.random.Generator], float]:
    """The flow of the product in its logarithm, in which a small product is as exact as a large one."""

    def error(random: np.random.Generator) -> float:
        strength, initial, variance, timescale, times, fastest = _deep(random, depth)
        sign, speed = np.sign(initial), 1.0 if math.isinf(depth) else depth

        def rate(logs: np.ndarray) -> np.ndarray:
            size = np.exp(logs)
            return speed * size ** (1 - 2 / depth) * (sign * strength - variance * size) / timescale

        modes = {"input_variance": variance, "timescale": timescale}
        exact = fs.theory.chain(depth, strength, initial, **modes)(times)["product"]
        found = sign * np.exp(integrate(rate, np.log([abs(initial)]), times, fastest)[:, 0])
        return largest(np.asarray(exact) / found - 1)

    return error


def time_of_chain(random: np.random.Generator) -> float:
    """The product at the time at which it should have reached a level, in units of the level; depths 2 to 5."""
    depth = random.choice([2.0, 2.5, 3.0, 5.0])
    strength, variance, timescale = between(random, 0.01, 10), *between(random, 0.1, 10, 2)
    best, level = strength / variance, random.uniform(0.05, 0.95)
    initial = best * level * between(random, 1e-3, 0.9)
    modes = {"input_variance": variance, "timescale": timescale}
    time = float(fs.theory.time_to_reach(depth, strength, initial, level, **modes))

    def rate(logs: np.ndarray) -> np.ndarray:
        return depth * np.exp(logs * (1 - 2 / depth)) * (strength - variance * np.exp(logs)) / timescale

    fastest = 2 * depth * variance * best ** (2 - 2 / depth) / timescale
    reached = integrate(rate, np.log([initial]), np.array([0.0, time]), fastest)[-1, 0]
    return largest(np.exp(reached) / (level * best) - 1)


def two_weights(random: np.random.Generator) -> float:
    """Both weights of a chain, of any signs and sizes, equal or zero now and then."""
    strength, variance, timescale = random.choice([-1, 1]) * between(random, 0.01, 10), *between(random, 0.1, 10, 2)
    strength = 0.0 if sometimes(random) else strength
    weights = random.choice([-1, 1], 2) * between(random, 1e-4, 5, 2)
    if sometimes(random):
        weights[1] = random.choice([weights[0], 0.0])
    initial, imbalance, best = weights[0] * weights[1], weights[1] ** 2 - weights[0] ** 2, strength / variance
    slow = variance * math.hypot(imbalance, 2 * best) / timescale
    fastest = slow + 4 * variance * max(weights**2) / timescale + abs(strength) / timescale
    times = instants(random, between(random, 0.1, 20) / max(slow, fastest / 20))

    def rate(pair: np.ndarray) -> np.ndarray:
        return pair[::-1] * (strength - variance * pair[0] * pair[1]) / timescale

    modes = {"input_variance": variance, "timescale": timescale}
    exact = fs.theory.imbalanced(strength, initial, imbalance, **modes)(times)["product"]
    found = integrate(rate, weights, times, fastest, 1e-18).prod(axis=1)
    return largest(np.asarray(exact) - found, max(abs(initial), abs(best), 1e-300))


def _balanced_weights(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Four inputs, three hidden units, five outputs; W₂ᵀW₂ − W₁W₁ᵀ = λI with λ zero, small or large, of any sign."""
    imbalance = 0.0 if sometimes(random) else random.choice([-1, 1]) * between(random, 1e-3, 4)
    smaller = between(random, 1e-3, 1, 3)
    larger = np.sqrt(smaller**2 + abs(imbalance))
    inward, outward = (smaller, larger) if imbalance > 0 else (larger, smaller)
    turn = orthonormal(random, 3, 3)
    return turn * inward @ orthonormal(random, 4, 3).T, orthonormal(random, 5, 3) * outward @ turn.T


def _correlation(random: np.random.Generator) -> np.ndarray:
    """Strengths of .2 to 2, some of them equal or zero now and then."""
    strengths = between(random, 0.2, 2, 4)
    if sometimes(random):
        strengths[1:] = random.choice([strengths[0], 0.0])
    return orthonormal(random, 5, 4) * strengths @ orthonormal(random, 4, 4).T


def _layers(flat: np.ndarray, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return flat[..., : first.size].reshape(*flat.shape[:-1], *first.shape), flat[..., first.size :].reshape(
        *flat.shape[:-1], *second.shape
    )


def _two_layers(first: np.ndarray, second: np.ndarray, correlation: np.ndarray, variance: float, times: np.ndarray):
    """Both matrices by gradient flow on Σxx = cI, as flat states."""
    sizes = np.linalg.norm(first, 2) ** 2, np.linalg.norm(second, 2) ** 2, np.linalg.norm(correlation, 2) / variance

    def rate(flat: np.ndarray) -> np.ndarray:
        one, two = _layers(flat, first, second)
        error = correlation - variance * two @ one
        return np.concatenate([(two.T @ error).ravel(), (error @ one.T).ravel()])

    return integrate(rate, np.concatenate([first.ravel(), second.ravel()]), times, float(4 * variance * sum(sizes)))


def _products(flat: np.ndarray, first: np.ndarray, second: np.ndarray) -> dict[str, np.ndarray]:
    one, two = _layers(flat, first, second)
    return {"map": two @ one, "input_gram": one.swapaxes(-1, -2) @ one, "output_gram": two @ two.swapaxes(-1, -2)}


def balanced_network(random: np.random.Generator) -> float:
    """W₂W₁, W₁ᵀW₁ and W₂W₂ᵀ, in units of the largest entry of each."""
    (first, second), correlation = _balanced_weights(random), _correlation(random)
    variance, times = between(random, 0.3, 3), instants(random, between(random, 0.1, 10))
    exact = fs.theory.balanced(first, second, correlation, input_variance=variance)(times)
    found = _products(_two_layers(first, second, correlation, variance, times), first, second)
    return max(largest(exact[name] - values, np.max(np.abs(values))) for name, values in found.items())


def tasks_in_turn(random: np.random.Generator) -> float:
    """The same, through three tasks, a task of no duration now and then."""
    first, second = _balanced_weights(random)
    tasks, variance = np.stack([_correlation(random) for _ in range(3)]), between(random, 0.3, 3)
    lengths = between(random, 0.1, 5, 3) * np.where([sometimes(random), sometimes(random), False], 0.0, 1.0)
    ends = np.cumsum(lengths)
    exact = fs.theory.sequence(first, second, tasks, ends[:2], input_variance=variance)(ends)
    states, state = [], np.concatenate([first.ravel(), second.ravel()])
    for task, length in zip(tasks, lengths, strict=True):
        if length > 0:
            state = _two_layers(*_layers(state, first, second), task, variance, np.array([0.0, length]))[-1]
        states.append(state)
    found = _products(np.stack(states), first, second)
    return max(largest(exact[name] - values, np.max(np.abs(values))) for name, values in found.items())


def decoupled_layers(random: np.random.Generator) -> float:
    """Two layers whose modes share no hidden direction, of any signs; hidden vectors need not be parallel."""
    left, right, frame = orthonormal(random, 4, 3), orthonormal(random, 3, 3), orthonormal(random, 6, 6)
    strengths, variance = between(random, 0.1, 3, 3), between(random, 0.3, 3)
    strengths[1:] = strengths[0] if sometimes(random) else strengths[1:]
    inward, outward, across = random.normal(size=(3, 3)) * between(random, 1e-2, 1, 3)[:, None]
    across = np.zeros(3) if sometimes(random) else across
    first = frame[:, :3] * inward @ right.T
    second = left @ (frame[:, :3] * outward + frame[:, 3:] * across).T
    inputs, target = (3 * variance) ** 0.5 * orthonormal(random, 3, 3), left * strengths @ right.T
    world = fs.worlds.Dataset(inputs, inputs @ target.T)
    times = instants(random, between(random, 0.1, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("error", FestinaWarning)
        exact = fs.theory.modes(world, fs.networks.DeepLinear((first, second)))(times)["map"]
    found = _products(_two_layers(first, second, variance * target, variance, times), first, second)["map"]
    return largest(exact - found, max(strengths))
