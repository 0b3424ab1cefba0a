"""Attacks on redundant and sparse codes of classes: sums over readouts, and the convex function they minimise."""

import math

import numpy as np
from scipy.optimize import brentq, minimize, root
from scipy.special import log_ndtr, logsumexp, ndtr

import festina as fs
from theory.attacking import between, largest, sometimes


def _over_readouts(
    name: str, counts: np.ndarray, residual: np.ndarray, variance: float, reach: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """The log partition, ⟨a φ⟩ of each class and ⟨φφ'⟩ of any two, by sums over readouts and every preactivation."""
    scaled = np.arange(-reach, reach, 0.1)  # in units of √s, which no density of readouts is narrower than
    readouts = np.sqrt(variance) * scaled
    fields = readouts[:, None] * residual
    if name == "rectified":
        above = fields**2 / 2 + log_ndtr(fields)
        value = np.logaddexp(np.log(0.5), above)
        mean = np.exp(above - value) * fields + np.exp(-0.5 * np.log(2 * np.pi) - value)
    else:
        nodes = np.linspace(-9, 9, 241)
        phi = ndtr(np.sqrt(np.pi / 2) * nodes)
        logs = -0.5 * nodes**2 + fields[..., None] * phi + np.log(nodes[1] - nodes[0])
        value = logsumexp(logs, axis=-1) - 0.5 * np.log(2 * np.pi)
        mean = np.exp(logs - logsumexp(logs, axis=-1, keepdims=True)) @ phi
    logs = value @ counts - scaled**2 / 2
    total = float(logsumexp(logs))
    chance = np.exp(logs - total)
    return total, (chance[:, None] * mean).T @ readouts, (chance[:, None] * mean).T @ mean


def _classes(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float, float]:
    """One or two classes of a few examples with one output; targets are equal or of one sign now and then."""
    classes = int(random.integers(1, 3))
    counts = random.integers(1, 8, classes).astype(float)
    targets = random.normal(size=classes) * between(random, 0.1, 2)
    targets = np.full(classes, targets[0]) if sometimes(random) else targets
    return counts, targets, between(random, 0.1, 30), between(random, 0.02, 0.3)


def _solved(found, name: str, counts: np.ndarray, targets: np.ndarray, temperature: float, variance: float) -> float:
    """The convex function of the residual that a solution minimises, on another grid and from zero; and the kernel."""
    labels = np.repeat(np.arange(len(counts)), counts.astype(int))
    there = np.array([found.residual[labels == each][0, 0] for each in range(len(counts))])
    reach = 12.0 + math.sqrt(variance) * float(np.abs(counts * there).sum())
    if name == "rectified":
        height = max(variance * float(counts @ np.maximum(sign * there, 0.0) ** 2) for sign in (-1, 1))
        reach = 14.0 / math.sqrt(1.0 - height)

    def missing(t: np.ndarray) -> np.ndarray:
        return temperature * t - targets + _over_readouts(name, counts, t, variance, reach)[1]

    def dual(t: np.ndarray) -> tuple[float, np.ndarray]:
        total, answers, _ = _over_readouts(name, counts, t, variance, reach)
        fit = counts @ (0.5 * temperature * t**2 - t * targets)
        return float(fit + total), counts * (temperature * t - targets + answers)

    near = minimize(dual, np.zeros_like(targets), jac=True, method="BFGS").x
    residual = root(missing, near, tol=1e-13).x
    assert np.max(np.abs(missing(residual))) < 1e-11 * np.max(np.abs(targets)), "The reference is no solution."
    between_classes = _over_readouts(name, counts, residual, variance, reach)[2]
    off = ~np.eye(len(labels), dtype=bool)
    kernel = found.kernels[0][off] - between_classes[np.ix_(labels, labels)][off]
    return max(
        largest(found.residual[:, 0] - residual[labels], np.max(np.abs(residual))),
        largest(kernel, np.max(between_classes)) if kernel.size else 0.0,
    )


def redundant_code(random: np.random.Generator) -> float:
    """One or two classes: a fine grid of readouts, and every preactivation summed."""
    counts, targets, temperature, variance = _classes(random)
    found = fs.theory.coding.redundant(counts.astype(int), targets[:, None], temperature, variance)
    return _solved(found, "sigmoidal", counts, targets, temperature, variance)


def sparse_code_in_the_bulk(random: np.random.Generator) -> float:
    """Few examples, so that no neuron condenses and the whole density is bulk: a fine grid that reaches as far."""
    counts, targets, temperature, variance = _classes(random)
    counts = np.minimum(counts, 6.0)
    found = fs.theory.coding.sparse(counts.astype(int), targets[:, None], temperature, variance)
    return _solved(found, "rectified", counts, targets, temperature, variance)


def sparse_code_with_outliers(random: np.random.Generator) -> float:
    """Two opposite classes in the cold: outliers and residuals by their equations, around a bulk of the same box."""
    counts = random.integers(10, 40, 2).astype(float)
    targets, variance = np.array([1.0, -1.0]) * between(random, 0.5, 2, 2), between(random, 0.02, 0.1)
    temperature = between(random, 0.02, 0.2) * math.sqrt(variance * counts.min()) * np.abs(targets).min()
    found = fs.theory.coding.sparse(counts.astype(int), targets[:, None], temperature, variance)
    residual, expected = _condensed(counts, targets, temperature, variance)
    # what one outlier does, several in its direction may share
    sizes = [np.sum(found.outliers[found.outliers[:, 0] * side > 0] ** 2) for side in np.sign(targets)]
    labels = np.repeat([0, 1], counts.astype(int))
    return max(largest(np.array(sizes) - expected, max(expected)), largest(found.residual[:, 0] / residual[labels] - 1))


def _condensed(
    counts: np.ndarray, targets: np.ndarray, temperature: float, variance: float
) -> tuple[np.ndarray, np.ndarray]:
    """t and ā² of both classes: h = 1 where a neuron condenses; where ā² would be negative, the bulk answers alone."""
    edge = np.sign(targets) / np.sqrt(variance * counts)

    def sizes(residual: np.ndarray) -> np.ndarray:  # what is missing in class c is what its outlier adds, ā² t_c
        bulk = _box_answers(counts, residual, variance, _top(counts, residual, variance))
        return (targets - temperature * residual - bulk) / edge

    if np.min(sizes(edge)) >= 0:
        return edge, sizes(edge)
    alone = np.arange(2) == np.argmin(sizes(edge))
    share = brentq(lambda share: sizes(np.where(alone, share, 1.0) * edge)[alone][0], 0.0, 1.0, xtol=1e-15)
    residual = np.where(alone, share, 1.0) * edge
    return residual, np.where(alone, 0.0, sizes(residual))


def _top(counts: np.ndarray, residual: np.ndarray, variance: float) -> float:
    """The maximum of the bulk, by bisection of its slope between readouts at which it is far below."""
    low, high = -5 * math.sqrt(variance), 5 * math.sqrt(variance)
    for _ in range(200):
        middle = 0.5 * (low + high)
        field = middle * residual
        above = np.exp(field**2 / 2) * ndtr(field)
        mean = (above * field + 1 / math.sqrt(2 * np.pi)) / (0.5 + above)
        low, high = (middle, high) if variance * (counts * mean) @ residual > middle else (low, middle)
    return low


def _box_answers(counts: np.ndarray, residual: np.ndarray, variance: float, centre: float) -> np.ndarray:
    """⟨a φ⟩ over readouts within 10 √s of the maximum, on the grid that festina's sum is defined on."""
    spacing = 0.6 * math.sqrt(variance)
    margin = 10 * math.sqrt(variance)
    readouts = spacing * np.arange(math.floor((centre - margin) / spacing), math.ceil((centre + margin) / spacing) + 1)
    fields = readouts[:, None] * residual
    above = np.exp(fields**2 / 2) * ndtr(fields)
    value, mean = 0.5 + above, (above * fields + 1 / math.sqrt(2 * np.pi)) / (0.5 + above)
    logs = np.log(value) @ counts - readouts**2 / (2 * variance)
    chance = np.exp(logs - logsumexp(logs))
    return (chance[:, None] * mean).T @ readouts
