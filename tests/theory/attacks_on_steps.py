"""Attacks on exact courses of literal steps, which are taken here one by one, on every weight."""

import math

import numpy as np

import festina as fs
from theory.attacking import between, largest, sometimes


def euler_steps(random: np.random.Generator) -> float:
    """Literal Euler steps on matrices: loss, gates, norms, components, overlaps, in units of the largest of each."""
    size, count = (4, 5) if random.random() < 0.5 else (1, 2), int(random.integers(1, 4))
    students, teachers = (
        between(random, 0.01, 1) * random.normal(size=(3, *size)),
        random.normal(size=(count, *size)) / 3,
    )
    if sometimes(random):  # in a span of fewer dimensions
        students[1], students[2] = students[0], between(random, 0.1, 1) * teachers[0]
    if sometimes(random):
        students[:2] = 0.0
    weight_timescale, gate_timescale = between(random, 0.3, 3), between(random, 0.1, 3)
    nonnegativity, normalization = (0.0, 0.0) if sometimes(random) else between(random, 0.1, 1, 2)
    block, share, step_size = int(random.integers(1, 60)), between(random, 0.2, 1), 0.01
    exact = fs.theory.closure(
        students, teachers, weight_timescale=weight_timescale, gate_timescale=gate_timescale,
        nonnegativity=nonnegativity, normalization=normalization, block_length=block * step_size,
        step_size=step_size, loss_share=share,
    )(step_size * np.arange(151))  # fmt: skip
    gates, losses, courses, norms, parts, overlaps = np.full(3, 0.5), [], [], [], [], []
    lengths = np.linalg.norm(teachers, axis=(1, 2))
    for step in range(151):
        error = teachers[(step // block) % len(teachers)] - np.einsum("p,poi->oi", gates, students)
        losses.append(0.5 * share * np.sum(error**2))
        courses.append(gates)
        norms.append(np.linalg.norm(students, axis=(1, 2)))
        parts.append(np.einsum("moi,poi->mp", teachers, students) / lengths[:, None])
        overlaps.append(np.einsum("poi,qoi->pq", students, students))
        slope = 2 * normalization * (np.abs(gates).sum() - 1) * np.sign(gates) - nonnegativity * (gates < 0)
        pull = share * np.einsum("poi,oi->p", students, error) - slope
        students = students + step_size / weight_timescale * share * gates[:, None, None] * error
        gates = gates + step_size / gate_timescale * pull
    literal = {"loss": losses, "gates": courses, "norms": norms, "components": parts, "overlaps": overlaps}
    return max(largest(exact[name][:, 0] - values, np.max(np.abs(values))) for name, values in literal.items())


def tutor_and_executor(random: np.random.Generator) -> float:
    """The expected update, stimulus by stimulus, choice by choice and pathway by pathway; two sessions of 40 trials."""
    total, tutor_speed = float(random.integers(0, 2)), 0.0 if sometimes(random) else between(random, 0.1, 3)
    blank, inverse_temperature = 0.0 if sometimes(random) else random.uniform(0, 1), between(random, 0.3, 20)
    tutor, executor, rate = between(random, 1e-3, 1, 3), between(random, 1e-3, 1, (2, 3)), between(random, 0.01, 0.3)
    contrasts, grading = np.cumsum(random.uniform(0.1, 1, int(random.integers(1, 4)))), random.uniform(0, 2)
    field = fs.theory.saddles.mean_field(
        crosstalk=np.array([total]), tutor_speed=np.array([tutor_speed]), blank=np.array([blank]),
        inverse_temperature=np.array([inverse_temperature]), seen=fs.worlds.gratings.inputs(contrasts, grading),
    )  # fmt: skip
    given = tutor[None], executor[None], np.array([rate])
    course = fs.theory.saddles.expected_course(field, *given, sessions=2, trials=40)
    side, strengths = (1 - blank) / 2 / len(contrasts), [(it / contrasts[-1]) ** grading for it in contrasts]
    stimuli = [(blank, {2: 1.0}, (0.5, 0.5))]
    stimuli += [(side, {k: it, 2: 1.0}, (1.0 - k, float(k))) for it in strengths for k in (0, 1)]
    for _ in range(80):
        on_tutor, on_executor = np.zeros(3), np.zeros((2, 3))
        for chance, seen, rewards in stimuli:
            values = [sum(executor[a, k] * tutor[k] * seen[k] for k in seen) for a in range(2)]
            right = 1 / (1 + math.exp(-inverse_temperature * (values[1] - values[0])))
            for a, chosen in enumerate((1 - right, right)):
                for k in seen:
                    part = sum(executor[a, j] * tutor[j] * seen[j] for j in seen if (j == 2) == (k == 2))
                    error = rewards[a] - (values[a] if total else part)
                    on_executor[a, k] += chance * chosen * error * tutor[k] * seen[k]
                    on_tutor[k] += tutor_speed * chance * chosen * (rewards[a] - values[a]) * executor[a, k] * seen[k]
        tutor, executor = np.abs(tutor + rate * on_tutor), np.abs(executor + rate * on_executor)
    ends = np.asarray(course["tutor"])[0, -1] - tutor, np.asarray(course["executor"])[0, -1] - executor
    return max(largest(ends[0]), largest(ends[1])) / max(np.max(tutor), np.max(executor))


def stationary_points(random: np.random.Generator) -> float:
    """The gradient of every weight at all points, one by one, in units of the gradient without weights; 1 if a Hessian
    of finite differences has another index.
    """
    pathways, choices = int(random.integers(1, 4)), int(random.integers(1, 4))
    stimuli = pathways + int(random.integers(0, 3))
    seen, reward = random.normal(size=(stimuli, pathways)), random.normal(size=(stimuli, choices))
    chances = random.dirichlet(np.ones(stimuli * choices)).reshape(stimuli, choices) + 1e-3
    task = fs.theory.stationary.Task(seen, reward, chances)

    def slope(both: np.ndarray) -> np.ndarray:
        tutor, executor = both[:pathways], both[pathways:].reshape(choices, pathways)
        found = np.zeros_like(both)
        for s in range(stimuli):
            for a in range(choices):
                error = reward[s, a] - sum(executor[a, k] * tutor[k] * seen[s, k] for k in range(pathways))
                for k in range(pathways):
                    found[k] -= chances[s, a] * error * executor[a, k] * seen[s, k]
                    found[pathways * (1 + a) + k] -= chances[s, a] * error * tutor[k] * seen[s, k]
        return found

    size, worst = float(np.linalg.norm((chances * reward).T @ seen)), 0.0
    for point in fs.theory.stationary.points(task):
        tutor, executor = fs.theory.stationary.weights(point.products)
        both, step = np.concatenate([tutor, executor.ravel()]), 1e-5 * np.eye(pathways * (1 + choices))
        bend = np.stack([(slope(both + unit) - slope(both - unit)) / 2e-5 for unit in step])
        index = int(np.sum(np.linalg.eigvalsh((bend + bend.T) / 2) < -1e-6 * size))
        worst = max(worst, largest(slope(both), size), float(index != point.index))
    return worst
