"""Attacks on exact courses of literal steps, which are taken here one by one, on every weight."""

import math

import numpy as np

import festina as fs
from theory.attacking import between, largest, sometimes


def euler_steps(random: np.random.Generator) -> float:
    """Literal Euler steps on all matrices: loss, gates, norms and components, in units of the largest of each."""
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
    gates, losses, courses, norms, parts = np.full(3, 0.5), [], [], [], []
    lengths = np.linalg.norm(teachers, axis=(1, 2))
    for step in range(151):
        error = teachers[(step // block) % len(teachers)] - np.einsum("p,poi->oi", gates, students)
        losses.append(0.5 * share * np.sum(error**2))
        courses.append(gates)
        norms.append(np.linalg.norm(students, axis=(1, 2)))
        parts.append(np.einsum("moi,poi->mp", teachers, students) / lengths[:, None])
        slope = 2 * normalization * (np.abs(gates).sum() - 1) * np.sign(gates) - nonnegativity * (gates < 0)
        pull = share * np.einsum("poi,oi->p", students, error) - slope
        students = students + step_size / weight_timescale * share * gates[:, None, None] * error
        gates = gates + step_size / gate_timescale * pull
    literal = {"loss": losses, "gates": courses, "norms": norms, "components": parts}
    return max(largest(exact[name][:, 0] - values, np.max(np.abs(values))) for name, values in literal.items())


def tutor_and_executor(random: np.random.Generator) -> float:
    """The expected update, stimulus by stimulus, choice by choice and pathway by pathway; two sessions of 40 trials."""
    total, tutor_speed = float(random.integers(0, 2)), 0.0 if sometimes(random) else between(random, 0.1, 3)
    blank, inverse_temperature = 0.0 if sometimes(random) else random.uniform(0, 1), between(random, 0.3, 20)
    tutor, executor, rate = between(random, 1e-3, 1, 3), between(random, 1e-3, 1, (2, 3)), between(random, 0.01, 0.3)
    field = fs.theory.saddles.mean_field(
        crosstalk=np.array([total]), tutor_speed=np.array([tutor_speed]), blank=np.array([blank]),
        inverse_temperature=np.array([inverse_temperature]),
    )  # fmt: skip
    given = tutor[None], executor[None], np.array([rate])
    course = fs.theory.saddles.expected_course(field, *given, sessions=2, trials=40)
    stimuli = (((1 - blank) / 2, (0, 2), (1.0, 0.0)), (blank, (2,), (0.5, 0.5)), ((1 - blank) / 2, (1, 2), (0.0, 1.0)))
    for _ in range(80):
        on_tutor, on_executor = np.zeros(3), np.zeros((2, 3))
        for chance, seen, rewards in stimuli:
            values = [sum(executor[a, k] * tutor[k] for k in seen) for a in range(2)]
            right = 1 / (1 + math.exp(-inverse_temperature * (values[1] - values[0])))
            for a, chosen in enumerate((1 - right, right)):
                for k in seen:
                    part = sum(executor[a, j] * tutor[j] for j in seen if (j == 2) == (k == 2))
                    error = rewards[a] - (values[a] if total else part)
                    on_executor[a, k] += chance * chosen * error * tutor[k]
                    on_tutor[k] += tutor_speed * chance * chosen * (rewards[a] - values[a]) * executor[a, k]
        tutor, executor = np.abs(tutor + rate * on_tutor), np.abs(executor + rate * on_executor)
    ends = np.asarray(course["tutor"])[0, -1] - tutor, np.asarray(course["executor"])[0, -1] - executor
    return max(largest(ends[0]), largest(ends[1])) / max(np.max(tutor), np.max(executor))
