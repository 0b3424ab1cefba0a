"""The same report from checkpoints that a training has left behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

from festina.errors import require
from festina.watching.files import read_checkpoints
from festina.watching.outside import libraries_of, read_probes, take_in
from festina.watching.report import Report, report_of
from festina.watching.start import Start
from festina.watching.training import examples_of

Checkpoints = str | Path | Sequence[str | Path] | Mapping[int, Any]


def diagnose(
    checkpoints: Checkpoints,
    model: Any,
    inputs: Any,
    targets: Any,
    *,
    layers: Any = (),
    training: tuple[Any, Any] | None = None,
    directions: int = 0,
) -> Report:
    """Was a network lazy or rich, from the checkpoints of its training?

    Args:
        checkpoints: a folder, or files in the order of their steps (`.npz`, `.safetensors`, or state dicts of PyTorch,
            read without executing anything; steps are read from the names); or parameters by step.
        model: a `torch.nn.Module` of the same kind, into which state dicts are loaded (it ends with the last of them);
            or a function ``apply(parameters, inputs)`` that takes a checkpoint as it is.
        inputs: probes, one a row.
        targets: (probes, outputs), or one class for each probe.
        layers: as for `fs.watch`.
        training: as for `fs.watch`.
        directions: as for `fs.watch`.

    Returns:
        A `Report`, with the first checkpoint as the start.

    Example:
        >>> apply = lambda parameters, inputs: inputs @ parameters["first"].T @ parameters["second"].T
        >>> random = np.random.default_rng(0); inputs = random.normal(size=(9, 3)); targets = inputs[:, :1]
        >>> start = {"first": 0.1 * np.ones((2, 3)), "second": 0.1 * np.ones((1, 2))}
        >>> end = {"first": np.array([[1.0, 0, 0], [0, 0, 0]]), "second": np.array([[1.0, 0]])}
        >>> fs.diagnose({0: start, 100: end}, apply, inputs, targets).verdict.word
        'rich'
    """
    if isinstance(checkpoints, Mapping):
        steps, values = list(checkpoints), list(checkpoints.values())
        whole = all(isinstance(step, Integral) for step in steps)
        require(whole and steps == sorted(steps), "checkpoints", "have whole numbers as steps, in their order", steps)
    else:
        steps, values = read_checkpoints(checkpoints)
    require(len(steps) > 1, "checkpoints", "be two or more", f"{len(steps)} of them")
    probes, given = read_probes(inputs), model if "torch" in libraries_of(model) else (model, values[0])
    network, examples = take_in(given, probes, layers), examples_of(given, training)
    start = Start.of(network, probes, targets, directions, now=values[0], training=examples)
    looks = [start.first(steps[0])]
    for step, value in zip(steps[1:], values[1:], strict=True):
        looks[-1] = replace(looks[-1], activations={})
        looks.append(start.look(step, network.parameters(value)))
    return report_of(start, looks)
