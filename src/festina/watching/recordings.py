"""What kind of learning activations alone tell of, as from recordings of neurons: no weights, and no derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from festina.errors import require
from festina.measures.arrays import as_real
from festina.measures.similarity import cka
from festina.watching.report import MEANING, Report
from festina.watching.representation import represented, units_of
from festina.watching.targets import Targets
from festina.watching.verdict import KEPT, TURNED, Verdict

SHUFFLES = 50


def diagnose_activations(
    activations: Any, targets: Any, *, steps: Sequence[int] | None = None, inputs: Any = None
) -> Report:
    """How a layer has changed over training, from its activations alone.

    The tangent kernel is not known, so that the verdict rests on the layer's own kernel: 1 − CKA with the start.
    Whether answers follow their linearisation cannot be told, and the verdict says so.

    Args:
        activations: (checkpoints, samples, units), or (checkpoints, samples, channels, height, width).
        targets: (samples, outputs), or one class for each sample, whole numbers or names.
        steps: of the checkpoints; 0, 1, 2 … unless given.
        inputs: what was shown, one sample a row, if known.

    Returns:
        A `Report` whose data have the numbers of representations.

    Example:
        >>> random = np.random.default_rng(0)
        >>> labels = np.repeat(["odour", "tone"], 20)
        >>> noise = random.normal(size=(40, 30)); signal = 6 * np.outer(labels == "tone", random.normal(size=30))
        >>> report = fs.watching.diagnose_activations(np.stack([noise, noise + signal / 4, noise + signal]), labels)
        >>> report.verdict.word, report.data["similarity_to_targets"].values.ravel().round(1).tolist()
        ('rich', [0.1, 0.9, 1.0])
    """
    recorded = as_real("activations", activations)
    fits = recorded.ndim in (3, 5) and len(recorded) > 1
    must = (
        "be (checkpoints, samples, units), or (checkpoints, samples, channels, height, width), two checkpoints or more"
    )
    require(fits, "activations", must, f"of shape {recorded.shape}")
    moments = list(range(len(recorded))) if steps is None else list(steps)
    ordered = len(moments) == len(recorded) and all(one < other for one, other in pairwise(moments))
    require(ordered, "steps", f"be {len(recorded)}, each later than the one before", moments)
    wanted = _targets(targets, recorded.shape[1])
    shown = None if inputs is None else as_real("inputs", inputs).reshape(recorded.shape[1], -1)
    looks = [represented(now, recorded[0], wanted.values if shown is None else shown, wanted) for now in recorded]
    data = xr.Dataset(coords={"step": moments, "watched_layer": ["recorded"]})
    columns: dict[str, list[list[Any]]] = {name: [[look.numbers[name]] for look in looks] for name in looks[0].numbers}
    if wanted.labels is not None:
        columns["code"] = [[look.code] for look in looks]
    for name, column in columns.items():
        if name != "similarity_to_inputs" or shown is not None:
            data[name] = (("step", "watched_layer"), column, {"long_name": MEANING[name]})
    return Report(
        data, _judge(data, recorded[-1], wanted), True, {"recorded": (recorded[0], recorded[-1])}, wanted.labels
    )


def _targets(given: Any, samples: int) -> Targets:
    """Targets of as many outputs, or classes, as there are."""
    array = np.asarray(given)
    outputs = len(np.unique(array)) if array.ndim == 1 else int(np.prod(array.shape[1:]))
    if array.ndim == 1 and array.dtype.kind in "iu":
        array = np.unique(array, return_inverse=True)[1]
    return Targets.of(array, samples, max(outputs, 1))


def _judge(data: xr.Dataset, last: np.ndarray, targets: Targets) -> Verdict:
    changed = 1 - float(data["similarity_to_start"][-1, 0])
    start, end = (float(data["similarity_to_targets"][place, 0]) for place in (0, -1))
    random, layer = np.random.default_rng(0), units_of(last)
    null = [cka(layer, random.permutation(targets.values)) for _ in range(SHUFFLES)]
    word = "lazy" if changed < KEPT else "rich" if changed > TURNED else "mixed"
    reasons = (
        f"its kernel turned by {changed:.2g} (1 − CKA with the start)",
        f"its similarity to the targets went from {start:.2g} to {end:.2g} "
        f"({np.mean(null):.2g} ± {np.std(null):.1g} with shuffled targets)",
    )
    doubts = ["activations alone do not tell whether answers follow their linearisation"]
    if word == "rich" and end < np.mean(null) + 3 * np.std(null):
        doubts.append("it is no more similar to the targets than to shuffled ones: it changed, but not towards them")
    return Verdict(word, reasons, tuple(doubts), {})
