"""The gated linear network that given gates make possible: the best maps for each pathway, and the loss they reach."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from festina.errors import require
from festina.measures.arrays import as_real
from festina.notebook import Told


@dataclass(frozen=True, repr=False)
class EffectiveNetwork(Told):
    """y ≈ Σ_p g_p W_p x, with the maps that fit best, as `effective_network` finds them.

    ``festina.networks.Gated.of_maps(effective.maps)`` makes a network of it, and ``effective.gates`` are its gates.
    Called with inputs (one sample a row) it gives its answers to them.

    Attributes:
        maps: W_p of each pathway, by name.
        gates: g_p on each sample, by name.
        loss: ½⟨|y − Σ_p g_p W_p x|²⟩.
        losses: of the first pathway alone, the first two, … : how many are needed.
        loss_linear: of one map that is always on.
        loss_zero: ½⟨|y|²⟩, of no network at all.
        parameters: how many independent numbers the fit could use.
        numbers: how many there were to explain, samples × outputs.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> inputs, positive = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0.0, 0.0, 1.0, 1.0])
        >>> fitted = fs.measures.effective_network(inputs, np.abs(inputs), {"left": 1 - positive, "right": positive})
        >>> fitted(inputs).ravel().round(6), fitted.saturated
        (array([2., 1., 1., 2.]), False)
    """

    maps: dict[str, Float[np.ndarray, "o i"]]
    gates: dict[str, Float[np.ndarray, " n"]]
    loss: float
    losses: Float[np.ndarray, " pathways"]
    loss_linear: float
    loss_zero: float
    parameters: int
    numbers: int

    @property
    def saturated(self) -> bool:
        """Whether there were as many parameters as numbers to explain, so that anything would have fitted."""
        return self.parameters >= self.numbers

    def __call__(self, inputs: Float[Any, "n i"], gates: Mapping[str, Any] | None = None) -> Float[np.ndarray, "n o"]:
        """What the network answers, with the gates it was fitted with unless others are given."""
        gates = self.gates if gates is None else gates
        return sum(
            (np.asarray(gates[name])[:, None] * np.asarray(inputs) @ mapping.T for name, mapping in self.maps.items()),
            start=np.zeros((len(inputs), next(iter(self.maps.values())).shape[0])),
        )

    def __repr__(self) -> str:
        return (
            f"effective gated linear network of {len(self.maps)} pathways: loss {self.loss:.4g}, against "
            f"{self.loss_linear:.4g} of a linear map and {self.loss_zero:.4g} of nothing "
            f"({self.parameters} independent parameters for {self.numbers} numbers"
            + (": anything would fit)" if self.saturated else ")")
        )


def effective_network(inputs: Any, targets: Any, gates: Mapping[str, Any]) -> EffectiveNetwork:
    """Fit the maps of all pathways together by least squares, the smallest ones that fit best.

    Args:
        inputs: one sample a row.
        targets: one sample a row.
        gates: by the name of the pathway, one number a sample.

    Returns:
        An `EffectiveNetwork`: the maps, and the loss with all pathways, with some of them, and with none.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> inputs, positive = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0.0, 0.0, 1.0, 1.0])
        >>> fitted = fs.measures.effective_network(inputs, np.abs(inputs), {"left": 1 - positive, "right": positive})
        >>> {name: float(found.round(6).item()) for name, found in fitted.maps.items()}
        {'left': -1.0, 'right': 1.0}
    """
    shown, wanted = as_real("inputs", inputs), as_real("targets", targets)
    require(shown.ndim == 2, "inputs", "have one sample a row", f"of shape {shown.shape}")
    fits = wanted.ndim == 2 and len(wanted) == len(shown)
    require(fits, "targets", f"have one row for each of the {len(shown)} inputs", f"of shape {wanted.shape}")
    require(len(gates) >= 1, "gates", "name at least one pathway", gates)
    columns = {name: as_real(f"gates[{name!r}]", gate) for name, gate in gates.items()}
    for name, gate in columns.items():
        require(gate.shape == (len(shown),), f"gates[{name!r}]", f"be {len(shown)} numbers", f"of shape {gate.shape}")
    gated = [gate[:, None] * shown for gate in columns.values()]
    solutions = [_fit(gated[: count + 1], wanted) for count in range(len(gated))]
    maps = np.split(solutions[-1][0].T, len(gated), axis=1)
    return EffectiveNetwork(
        dict(zip(columns, maps, strict=True)),
        columns,
        solutions[-1][1],
        np.array([loss for _, loss, _ in solutions]),
        _fit([shown], wanted)[1],
        0.5 * float(np.mean(np.sum(wanted**2, axis=1))),
        solutions[-1][2] * wanted.shape[1],
        wanted.size,
    )


def _fit(blocks: list[np.ndarray], targets: np.ndarray) -> tuple[np.ndarray, float, int]:
    """Least squares from several blocks of inputs: the map, its loss, and how many inputs are independent."""
    table = np.concatenate(blocks, axis=1)
    solution, _, rank, _ = np.linalg.lstsq(table, targets, rcond=1e-12)
    return solution, 0.5 * float(np.mean(np.sum((targets - table @ solution) ** 2, axis=1))), int(rank)
