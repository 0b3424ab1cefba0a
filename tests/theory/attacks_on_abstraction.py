"""Attacks on closed forms of task abstractions: matrices written out, slopes by complex steps, literal Euler steps."""

import numpy as np
from scipy.linalg import expm

import festina as fs
from festina.theory.abstraction import Scales
from theory.attacking import between, instants, integrate, largest, orthonormal, sometimes

STEP = 1e-30  # of a complex step, whose derivative has no rounding error of a difference


def protection(random: np.random.Generator) -> float:
    """Both paths on the line w_1 + w_2 = 1 and gates that add up to 1: the flow of all six, through one block."""
    weight_timescale, gate_timescale = between(random, 0.1, 10), between(random, 0.01, 10)
    places, gate = random.normal(size=2), random.uniform(-1, 2)
    start = np.array([places[0], 1 - places[0], places[1], 1 - places[1], gate, 1 - gate])
    target = np.array([1.0, 0.0]) if random.random() < 0.5 else np.array([0.0, 1.0])

    def rate(flat: np.ndarray) -> np.ndarray:
        weights, gates = flat[:4].reshape(2, 2), flat[4:]
        error = target - gates @ weights
        pull = weights @ error / gate_timescale
        return np.concatenate([np.outer(gates, error).ravel() / weight_timescale, pull - pull.mean()])

    fastest = 4 * (1 + np.sum(start**2)) * (1 / weight_timescale + 1 / gate_timescale)
    found = integrate(rate, start, instants(random, 5 * between(random, 0.1, 1) / fastest, 9), fastest)
    special, separation = found[:, 0] - found[:, 2], found[:, 4] - found[:, 5]
    exact = fs.theory.abstraction.protected(
        separation, gate_timescale, weight_timescale, initial_separation=separation[0], initial=special[0]
    )
    before = np.logical_and.accumulate(special * special[0] > 0)  # it passes zero now and then
    return largest((exact**2 - special**2)[before], np.max(special**2 + gate_timescale / weight_timescale))


def co_specialisation(random: np.random.Generator) -> float:
    """Both paths and gates that add up to 1 through a switch from complete specialisation, and on to its end."""
    weight_timescale = between(random, 0.1, 10)
    gate_timescale = weight_timescale * between(random, 1e-3, 1.9)
    target = np.array([0.0, 1.0])

    def rate(flat: np.ndarray) -> np.ndarray:
        weights, gates = flat[:4].reshape(2, 2), flat[4:]
        error = target - gates @ weights
        pull = weights @ error / gate_timescale
        return np.concatenate([np.outer(gates, error).ravel() / weight_timescale, pull - pull.mean()])

    fastest = 4 * (1 / weight_timescale + 1 / gate_timescale)
    start = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    found = integrate(rate, start, instants(random, 4 * between(random, 0.1, 1) / fastest, 9), fastest)
    separation, shared = found[:, 4] - found[:, 5], 0.5 * (found[:, 0] - found[:, 1] + found[:, 2] - found[:, 3])
    exact = fs.theory.abstraction.co_specialized(separation, gate_timescale, weight_timescale)
    end = fs.theory.abstraction.adapted_separation(gate_timescale, weight_timescale)
    left = 1 + fs.theory.abstraction.co_specialized(end, gate_timescale, weight_timescale)
    left += end * fs.theory.abstraction.protected(end, gate_timescale, weight_timescale)
    return max(largest(exact - shared, 1.0), abs(float(left)))


def kernel_and_speeds(random: np.random.Generator) -> float:
    """One to four paths of one to five coordinates, some of them silent: J Jᵀ and the squares of slopes."""
    paths, size = int(random.integers(1, 5)), int(random.integers(1, 6))
    weights, gates = between(random, 1e-3, 1e3) * random.normal(size=(paths, size)), random.normal(size=paths)
    gates = np.zeros(paths) if sometimes(random) else gates
    error, scales = random.normal(size=size), Scales(between(random, 1e-3, 1e3), between(random, 1e-3, 1e3), 1.0)
    state = np.concatenate([weights.ravel(), gates])

    def answer(flat: np.ndarray) -> np.ndarray:
        return flat[paths * size :] @ flat[: paths * size].reshape(paths, size)

    slopes = np.stack([np.imag(answer(state + 1j * STEP * unit)) / STEP for unit in np.eye(len(state))], axis=1)
    kernel, parts = slopes @ slopes.T, (slopes.T @ error) ** 2
    speeds = parts[: paths * size].sum() / scales[0], parts[paths * size :].sum() / scales[1]
    found = fs.theory.abstraction.adaptation_speeds(weights, gates, error, scales)
    both = [
        largest(one - other, max(other, 1e-300)) if other else float(one)
        for one, other in zip(found, speeds, strict=True)
    ]
    return max(largest(fs.theory.abstraction.tangent_kernel(weights, gates) - kernel, np.max(np.abs(kernel))), *both)


def rates_of_rows(random: np.random.Generator) -> float:
    """All matrices of a full network whose rows lie in the span of their teachers' rows: its slopes, projected."""
    outputs, paths, norm, share = int(random.integers(1, 6)), int(random.integers(1, 4)), *between(random, 0.1, 3, 2)
    rows = np.stack([norm * orthonormal(random, 5, 2).T for _ in range(outputs)], axis=1)  # teacher, output, input
    timescales = between(random, 1e-2, 10), between(random, 1e-2, 10)
    weights, gates = random.normal(size=(paths, 2)), random.normal(size=paths)
    task = int(random.integers(2))
    students = np.einsum("pm,moi->poi", weights, rows)
    error = rows[task] - np.einsum("p,poi->oi", gates, students)
    grown = share * gates[:, None, None] * error[None] / timescales[0]
    by_path = np.einsum("poi,moi->pm", grown, rows) / (outputs * norm**2)
    by_gate = share * np.einsum("poi,oi->p", students, error) / timescales[1]
    scales = fs.theory.abstraction.reduced_scales(*timescales, outputs, norm, share)
    found = fs.theory.abstraction.reduced_rates(weights, gates, np.eye(2)[task], Scales(*map(float, scales)))
    drive = fs.theory.abstraction.gate_drive(rows[task], students[0])
    literal = np.sum(rows[task] * students[0]) - np.sum(students[0] ** 2)
    return max(
        *(largest(one - other, np.max(np.abs(other))) for one, other in zip(found, (by_path, by_gate), strict=True)),
        largest(drive - literal, np.sum(rows[task] ** 2) + np.sum(students[0] ** 2)),
    )


def two_blocks(random: np.random.Generator) -> float:
    """Matrix exponentials of two short blocks with gates reset between them, extrapolated to no length."""
    timescales, error = (between(random, 0.1, 10), between(random, 0.1, 10)), random.normal(size=2)
    scales, size = Scales(*timescales, 1.0), float(np.linalg.norm(error))
    speed = size / np.sqrt(np.prod(timescales))
    flow = np.zeros((3, 3))  # of two weights and the separation of the gates
    flow[:2, 2], flow[2, :2] = error / timescales[0], error / timescales[1]
    reset = np.diag([1.0, 1.0, 0.0])
    start = np.append(error / size, 0.0)  # a difference of 1, along the error

    def gain(length: float) -> float:
        return ((expm(-length * flow) @ reset @ expm(length * flow) @ start)[:2] @ start[:2] - 1.0) / length**2

    lengths = 0.04 / speed / 2.0 ** np.arange(3)
    table = np.array([gain(length) for length in lengths])
    table = (4 * table[1:] - table[:-1]) / 3
    limit = (16 * table[1] - table[0]) / 15
    length = between(random, 1e-3, 1e3)
    return abs(float(fs.theory.abstraction.block_gain(1.0, size, length, scales)) / (limit * length**2) - 1.0)


def onset_of_specialization(random: np.random.Generator) -> float:
    """Both paths in full, step by step from another start; differences of 10⁻³⁰ follow exactly, as imaginary parts."""
    weight_timescale, gate_timescale = between(random, 0.5, 2), between(random, 0.05, 0.5)
    normalization = between(random, 0.3, min(2.0, 10 * gate_timescale))  # more, and steps of .02 are not stable
    step, steps = 0.02, int(random.integers(5, 120))
    scales = Scales(weight_timescale, gate_timescale, 1.0)
    found = fs.theory.abstraction.specialization_growth(scales, steps * step, normalization, step)
    weights, gates = np.full((2, 2), 0.3), np.full(2, 0.45)
    rounds = 2 + int(120 * weight_timescale / (2 * steps * step))

    def advance(weights: np.ndarray, gates: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        error = np.eye(2)[(number // steps) % 2] - np.einsum("...p,...pm->...m", gates, weights)
        pull = np.einsum("...pm,...m->...p", weights, error) - 2 * normalization * (gates.sum(-1, keepdims=True) - 1)
        grown = gates[..., None] * error[..., None, :]
        return weights + step / weight_timescale * grown, gates + step / gate_timescale * pull, error

    for number in range(2 * steps * rounds):
        weights, gates, _ = advance(weights, gates, number)
    apart = np.array([1.0, -1.0]) / 2
    many = weights + 1j * STEP * apart[None, :, None] * np.eye(3)[:, None, :2]
    open_gates = gates + 1j * STEP * apart[None] * np.eye(3)[:, 2:]
    errors = []
    for number in range(2 * steps):
        many, open_gates, error = advance(many, open_gates, number)
        errors.append(error[0].real)
    ends = np.concatenate([many[:, 0] - many[:, 1], open_gates[:, :1] - open_gates[:, 1:]], axis=1).imag / STEP
    multiplier = np.max(np.abs(np.linalg.eigvals(ends.T)))
    return max(abs(float(found.multiplier) / multiplier - 1), largest(np.asarray(found.errors) - np.array(errors)))
