"""Context-dependent decisions: two features are always seen, and a cue says which of them to report.

The lecture shows such a task without its data. Taken here is the smallest one: motion and colour are ±1, the context is
one of two indicators of size κ, and the answer is the cued feature; all P = 8 combinations are equally frequent.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from festina.errors import require
from festina.worlds.gated import GatedDataset
from festina.worlds.world import Dataset

FEATURES = ("motion", "colour")


@dataclass(frozen=True)
class Decision:
    """x = (motion, colour, κ·e_context), y = the cued feature; make one with :func:`decision`.

    Attributes:
        inputs: one example a row; the first four are those of the first context, motion.
        targets: ±1, one a row.
        contexts: 1 where the example belongs to the context, one column for each.

    Example:
        >>> world = fs.worlds.decision()
        >>> world.inputs[1].tolist(), world.targets[1].tolist()  # motion is cued
        ([1.0, -1.0, 1.0, 0.0], [1.0])
        >>> world.inputs[5].tolist(), world.targets[5].tolist()  # colour is cued
        ([1.0, -1.0, 0.0, 1.0], [-1.0])
    """

    inputs: Float[Any, "examples 4"]
    targets: Float[Any, "examples 1"]
    contexts: Float[np.ndarray, "examples 2"]

    @property
    def dataset(self) -> Dataset:
        """For networks that have to find out about contexts by themselves."""
        return Dataset(self.inputs, self.targets)

    @property
    def gated(self) -> GatedDataset:
        """For gated networks: nodes ``motion`` and ``colour`` are on in the context that cues them, others always."""
        gates = {name: self.contexts[:, number] for number, name in enumerate(FEATURES)}
        return GatedDataset(inputs={"x": self.inputs}, targets={"y": self.targets}, gates=gates)


def decision(cue: Any = 1.0) -> Decision:
    """All eight examples of a context-dependent decision.

    A path that is always on sees ⟨yx⟩ = (½, ½, 0, 0), of norm s = 1/√2, and explains half of it. One that is on
    in a single context sees ½ in the feature cued there, s = ½, and explains all of that context.

    Args:
        cue: κ, the size of the context's indicator; at 0 nothing tells the contexts apart.

    Returns:
        A `Decision`, whose ``dataset`` is for any network and whose ``gated`` is for gated ones.

    Example:
        >>> world = fs.worlds.decision()
        >>> world.dataset.moments.cross.tolist()
        [[0.5, 0.5, 0.0, 0.0]]
        >>> sorted(world.gated.gates)
        ['colour', 'motion']
    """
    require(np.ndim(cue) == 0, "cue", "be one number", cue)
    rows = np.array(list(itertools.product((0, 1), (1.0, -1.0), (1.0, -1.0))))
    context = rows[:, 0].astype(int)
    contexts = np.eye(2)[context]
    inputs = np.concatenate([rows[:, 1:], np.zeros((8, 2))], axis=1) + cue * np.pad(contexts, ((0, 0), (2, 0)))
    return Decision(inputs, rows[np.arange(8), 1 + context][:, None], contexts)
