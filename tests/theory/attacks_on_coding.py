"""Attacks on the theory of coding schemes in any kernel: sums on fine grids, roots of the equations written out."""

import math
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.linalg import expm, logm
from scipy.optimize import minimize, root
from scipy.special import logsumexp, ndtr

import festina as fs
from festina.theory.coding import LINEAR, UNITS
from theory.attacking import between, largest, orthonormal, sometimes

NODES = np.linspace(-14.0, 14.0, 14001)  # the trapezoidal rule is exact to rounding for smooth integrands that end


@cache
def _gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(count)


def _phi(name: str, z: np.ndarray) -> np.ndarray:
    return {"linear": z, "sigmoidal": ndtr(np.sqrt(np.pi / 2) * z), "rectified": np.maximum(z, 0.0)}[name]


def _summed(name: str, mean: float, variance: float, field: float) -> np.ndarray:
    """Cumulants of N(z|m, v) e^{bφ(z)} by sums around its peaks; both halves apart, where φ has a kink."""
    width = math.sqrt(variance)
    if name == "rectified":  # y = |z| on either side of the kink, in units of the width of the density there
        sides = []
        for sign in (-1, 1):
            slope = sign * mean / variance + (field if sign > 0 else 0.0)
            scale = 1.0 / (1.0 / width + abs(min(slope, 0.0)))
            reach = max(slope, 0.0) * variance
            low, high = max(0.0, reach - 14 * width), reach + 40 * scale if slope < 0 else reach + 14 * width
            x, weights = _gauss(400)
            y = low + (high - low) * (x + 1) / 2
            sides.append((sign * y, np.log(weights * (high - low) / 2)))
        z, volume = (np.concatenate(part) for part in zip(*sides, strict=True))
    else:
        centre = mean + (field * variance if name == "linear" else 0.0)
        z, volume = centre + width * NODES, np.full(len(NODES), np.log(width * (NODES[1] - NODES[0])))
    phi = _phi(name, z)
    logs = volume - (z - mean) ** 2 / (2 * variance) + field * phi
    total = logsumexp(logs)
    weight = np.exp(logs - total)
    average, first = weight @ phi, weight @ z
    return np.array([
        total - 0.5 * np.log(2 * np.pi * variance), average, weight @ (phi - average) ** 2, first,
        weight @ (z - first) ** 2, weight @ ((phi - average) * (z - first)),
    ])  # fmt: skip


def cumulants(random: np.random.Generator) -> float:
    """All cumulants under a field, strong and weak; errors of variances relative, of means in units of their width."""
    name = random.choice(["linear", "sigmoidal", "rectified"])
    strongest = {"linear": 1e3, "sigmoidal": 1e5, "rectified": 1e4}[name]
    field = float(random.choice([-1, 1]) * between(random, 1e-3, strongest))
    unit = fs.theory.coding.UNITS[name]
    if sometimes(random) or abs(field) > 200:  # a standard normal number, from tables where there are some
        mean, variance = 0.0, 1.0
        found = unit.site(np.array([field]))
    else:
        variance = between(random, 1e-2, 30)
        mean = math.sqrt(variance) * random.normal()
        found = unit.tilted(*(np.array([value]) for value in (mean, variance, field)))
    found, expected = np.array(found)[:, 0], _summed(name, mean, variance, field)
    sizes = np.array([
        max(1.0, abs(expected[0])), math.sqrt(expected[2]) + abs(expected[1]), expected[2],
        math.sqrt(expected[4]) + abs(expected[3]), expected[4], expected[5],
    ])  # fmt: skip
    return largest(found - expected, sizes)


def gaussian_averages(random: np.random.Generator) -> float:
    """⟨φ⟩, ⟨φ'⟩ (by Stein's lemma) and ⟨φ²⟩ of a Gaussian preactivation, and ⟨φφᵀ⟩ of two, correlated up to ±1."""
    name, variance = random.choice(["linear", "sigmoidal", "rectified"]), between(random, 1e-2, 10)
    unit, mean = fs.theory.coding.UNITS[name], random.normal()
    _, average, spread, _, width, joint = _summed(name, mean, variance, 0.0)
    at = np.array(mean), np.array(variance)
    expected = average, spread + average**2, joint / width
    found = unit.mean(*at), unit.square(*at), unit.slope(*at)
    one, other = between(random, 0.1, 10, 2)
    angle = random.choice([0.0, np.pi]) if sometimes(random) else random.uniform(0, np.pi)
    # ⟨φφ'⟩ with both preactivations on a circle of a radius r e^{−r²/2}: smooth between the places where one is zero
    kinks = np.unique(np.concatenate([[0.0, 2 * np.pi], (np.array([0.5, 1.5, 0.5, 1.5]) * np.pi
                                                         + np.array([0, 0, angle, angle])) % (2 * np.pi)]))  # fmt: skip
    x, w = _gauss(120)
    total = 0.0
    for low, high in pairwise(kinks):
        turn, share = low + (high - low) * (x + 1) / 2, w * (high - low) / 2
        radius, along = 7 * (x + 1), 7 * w
        first = _phi(name, np.sqrt(one) * radius[:, None] * np.cos(turn)[None])
        second = _phi(name, np.sqrt(other) * radius[:, None] * np.cos(turn - angle)[None])
        total += (along * radius * np.exp(-(radius**2) / 2)) @ (first * second) @ share / (2 * np.pi)
    kernel = unit.kernel(np.array(one), np.array(other), np.array(math.sqrt(one * other) * math.cos(angle)))
    scale = math.sqrt(float(unit.kernel(*[np.array(one)] * 3)) * float(unit.kernel(*[np.array(other)] * 3)))
    size = math.sqrt(expected[1])
    errors = [largest(a - b, c) for a, b, c in zip(found, expected, (size, expected[1], 1.0), strict=True)]
    return max(*errors, largest(kernel - total, scale))


def _inputs(random: np.random.Generator, examples: int, dimension: int) -> np.ndarray:
    """Random inputs; now and then two are the same, or all lie on a line."""
    inputs = random.normal(size=(examples, dimension)) * between(random, 0.3, 3)
    if sometimes(random):
        inputs[1] = inputs[0]
    if sometimes(random):
        inputs = np.outer(random.normal(size=examples), random.normal(size=dimension))
    return inputs


def linear_code(random: np.random.Generator) -> float:
    """U = e^S by a root of the equations written out, example by example; then t, K_1 and answers at other inputs."""
    examples, outputs = int(random.integers(2, 7)), int(random.integers(1, 4))
    inputs = _inputs(random, examples, 8)
    targets, other = random.normal(size=(examples, outputs)) * between(random, 0.3, 3), random.normal(size=(2, 8))
    if outputs > 1 and sometimes(random):
        targets[:, 1] = targets[:, 0]
    temperature, variance = between(random, 1e-2, 1e2), between(random, 1e-2, 1)
    neurons = np.inf if random.random() < 0.5 else float(examples + random.integers(1, 50))
    found = fs.theory.coding.analog(inputs @ inputs.T, targets, temperature, variance, neurons)
    values, axes = np.linalg.eigh(inputs @ inputs.T)
    values, along = np.maximum(values, 0.0), axes.T @ targets
    rows = np.tril_indices(outputs)

    def covariance(flat: np.ndarray) -> np.ndarray:
        power = np.zeros((outputs, outputs))
        power[rows] = power.T[rows] = flat
        return variance * expm(power)

    def mismatch(flat: np.ndarray) -> np.ndarray:
        here, left = covariance(flat), -np.eye(outputs)
        for value, target in zip(values, along, strict=True):
            noisy = np.linalg.inv(value * here + temperature * np.eye(outputs))
            reach = noisy @ target
            left = left + here @ (value * noisy / neurons - value * np.outer(reach, reach))
        left = left + here / variance
        return (left + left.T)[rows] / (1.0 + np.trace(here) / variance)

    start = np.real(logm(found.readout_covariance / variance)) + 0.3 * random.normal()  # Φ has one stationary point
    flat = root(mismatch, start[rows], method="hybr", tol=1e-14).x
    exact = covariance(flat)
    noisy = [np.linalg.solve(v * exact + temperature * np.eye(outputs), y) for v, y in zip(values, along, strict=True)]
    residual = axes @ np.array(noisy)
    shift = inputs @ inputs.T @ residual
    kernel = inputs @ inputs.T + shift @ exact @ shift.T
    answers = found.predict(other @ inputs.T, np.sum(other**2, axis=1), 100).mean
    pairs = (
        (found.kernels[0], kernel), (found.residual, residual), (found.mean, shift @ exact),
        (answers, other @ inputs.T @ residual @ exact),
    )  # fmt: skip
    return max(largest(one - two, np.max(np.abs(two))) for one, two in pairs)


def cold_linear_code(random: np.random.Generator) -> float:
    """One direction after the other by the roots of a polynomial, up to five layers; and answers by conditioning."""
    examples, outputs, depth = int(random.integers(1, 6)), int(random.integers(1, 4)), int(random.integers(1, 6))
    frame = orthonormal(random, 8, examples).T
    inputs = between(random, 0.3, 3, examples)[:, None] * frame
    targets, variance = random.normal(size=(examples, outputs)), between(random, 0.05, 2)
    neurons = np.inf if random.random() < 0.5 else examples + float(random.integers(1, 50))
    kernel, other = inputs @ inputs.T, random.normal(size=(2, 8))
    found = fs.theory.coding.analog_at_zero(kernel, targets, variance, depth, neurons)
    dual = np.linalg.pinv(inputs).T @ np.linalg.pinv(inputs) @ targets
    left, sizes, _ = np.linalg.svd(targets.T @ np.linalg.pinv(inputs).T)
    strengths = np.zeros(outputs)
    strengths[: len(sizes)] = sizes**2
    roots = []
    for strength in strengths:
        polynomial = np.zeros(depth + 2)
        polynomial[0], polynomial[1], polynomial[-1] = 1.0, -(1 - examples / neurons), -strength / variance
        candidates = np.roots(polynomial)
        roots.append(variance * max(z.real for z in candidates if abs(z.imag) < 1e-6 * abs(z)))
    size = np.array(roots)
    layers = [kernel]
    for layer in range(1, depth + 1):
        inverse = left @ np.diag(variance ** (depth - layer) / size ** (depth - layer + 1)) @ left.T
        layers.append(layers[-1] + targets @ inverse @ targets.T)
    first = left @ np.diag(size**depth / variance ** (depth - 1)) @ left.T
    cross, norms = other @ inputs.T, np.sum(other**2, axis=1)
    answers = found.predict(cross, norms, 10)
    spare = norms - np.sum((other @ frame.T) ** 2, axis=1)
    pairs = (
        *zip(found.kernels, layers[1:], strict=True), (answers.mean, cross @ dual),
        (answers.variance, spare[:, None] * np.diag(first)[None] / 10),
    )  # fmt: skip
    return max(largest(one - two, np.max(np.abs(two))) for one, two in pairs)


def deep_linear_code(random: np.random.Generator) -> float:
    """Every layer with a factor of its own, by descent from many starts; kernels and answers mode by mode."""
    examples, outputs, depth = int(random.integers(2, 7)), int(random.integers(1, 4)), int(random.integers(1, 5))
    targets, variance = random.normal(size=(examples, outputs)), between(random, 0.05, 2)
    temperature = between(random, 1e-2, 10)
    load = 0.0 if random.random() < 0.5 else examples / float(random.integers(2, 50))
    neurons = np.inf if load == 0.0 else examples / load
    found = fs.theory.coding.deep_analog(targets, temperature, variance, depth, neurons)
    left, sizes, right = np.linalg.svd(targets, full_matrices=False)

    def least(size: float) -> float:
        def action(logs: np.ndarray) -> tuple[float, np.ndarray]:
            first = variance * np.exp(logs.sum())
            noisy = first + temperature
            value = np.sum(np.exp(logs) - logs) + size**2 / noisy + load * np.log(noisy)
            return value, np.exp(logs) - 1.0 - size**2 * first / noisy**2 + load * first / noisy

        starts = [np.full(depth, start) for start in np.linspace(-3.0, 3.0, 7)]
        ends = [minimize(action, start, jac=True, options={"gtol": 1e-12}) for start in starts]
        best = min(ends, key=lambda end: end.fun).x
        return float(np.exp(root(lambda logs: action(logs)[1], best, tol=1e-14).x.mean()))

    growth = np.array([least(size) for size in sizes])
    first = variance * growth**depth
    answers = (left * (sizes * first / (first + temperature))[None]) @ right
    layers = [np.eye(examples)]
    for power in range(depth, 0, -1):
        own = (sizes * first / (first + temperature)) ** 2 / (variance * growth**power)
        layers.append(layers[-1] + (left * own[None]) @ left.T)
    pairs = *zip(found.kernels, layers[1:], strict=True), (found.mean, answers)
    return max(largest(one - two, np.max(np.abs(two))) for one, two in pairs)


def lazy_network(random: np.random.Generator) -> float:
    """A Gaussian process, conditioned in the joint covariance of training and other inputs."""
    examples, depth = int(random.integers(1, 7)), int(random.integers(1, 4))
    inputs, other = random.normal(size=(examples, 8)), random.normal(size=(3, 8))
    targets, temperature = random.normal(size=(examples, 2)), between(random, 1e-2, 1e3)
    unit = UNITS[random.choice(["linear", "sigmoidal", "rectified"])]
    everything = np.concatenate([inputs, other])
    joint = fs.theory.coding.kernels(everything @ everything.T, unit, depth)[-1]
    precision = np.linalg.inv(joint + temperature * np.eye(len(joint)))[examples:, examples:]  # of noisy answers
    expected = np.linalg.inv(precision)
    gain = -expected @ np.linalg.inv(joint + temperature * np.eye(len(joint)))[examples:, :examples]
    found = fs.theory.coding.lazy(inputs @ inputs.T, targets, temperature, unit, depth)
    seen = found.predict(other @ inputs.T, np.sum(other**2, axis=1))
    variance = np.diag(expected) - temperature
    return max(
        largest(seen.mean - gain @ targets, np.max(np.abs(gain @ targets))),
        largest(seen.variance - variance[:, None], temperature + np.max(variance)),
    )


def propagation(random: np.random.Generator) -> float:
    """Linear units in any kernel, and others in diagonal ones, where expectation propagation is exact."""
    examples, fields = int(random.integers(1, 6)), random.normal(size=(2, 1)) * between(random, 1e-2, 10)
    fields = fields * random.normal(size=(2, examples))
    name = random.choice(["linear", "sigmoidal", "rectified"])
    if name == "linear":
        inputs = _inputs(random, max(examples, 2), 7)[:examples]
        kernel = inputs @ inputs.T
        found = fs.theory.coding.expectation_propagation(kernel, fields, LINEAR)
        logs = 0.5 * np.einsum("ki,ij,kj->k", fields, kernel, fields)
        return max(
            largest(found.mean - fields @ kernel, 1.0 + np.max(np.abs(fields @ kernel))),
            largest(found.log_partition - logs, 1.0 + np.max(logs)),
        )
    variances = between(random, 0.1, 10, examples)
    found = fs.theory.coding.expectation_propagation(np.diag(variances), fields, UNITS[name])
    expected = np.array([[_summed(name, 0.0, v, b) for v, b in zip(variances, row, strict=True)] for row in fields])
    return max(
        largest(found.mean - expected[..., 3], np.max(np.sqrt(expected[..., 4]))),
        largest(found.log_partition - expected[..., 0].sum(axis=1), 1.0 + np.max(np.abs(expected[..., 0]))),
    )
