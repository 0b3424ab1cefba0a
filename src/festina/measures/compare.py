"""Simulation and theory side by side."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from festina.errors import ArgumentError


@dataclass(frozen=True, repr=False)
class Comparison:
    """The variables a run and a theory share, and how far apart they are: max |run − theory|."""

    run: xr.Dataset
    theory: xr.Dataset

    @property
    def errors(self) -> dict[str, float]:
        gaps = {str(name): abs(self.run[name] - self.theory[name]) for name in self.theory.data_vars}
        return {name: float(gap.max(skipna=False)) for name, gap in gaps.items()}

    @property
    def max_error(self) -> float:
        return max(self.errors.values())

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} {error:.2e}" for name, error in self.errors.items())
        return f"Comparison(max error: {listed})"

    def plot(self, most: int = 60) -> Figure:
        """One panel a variable: runs as lines, theory as dashes (at most ``most`` entries of a matrix)."""
        names = list(self.theory.data_vars)
        figure, axes = plt.subplots(1, len(names), figsize=(3.6 * len(names), 2.9), layout="constrained", squeeze=False)
        for axis, name in zip(axes[0], names, strict=True):
            run = self.run[name].values.reshape(self.run.sizes["time"], -1)
            theory = self.theory[name].values.reshape(run.shape)
            largest = np.argsort(-np.ptp(run, axis=0))[:most]
            axis.plot(self.run["time"], run[:, largest], color="#0072B2", lw=1.6, alpha=0.7)
            axis.plot(self.run["time"], theory[:, largest], color="black", lw=0.9, ls="--")
            axis.plot([], [], color="#0072B2", lw=1.6, label="simulation")
            axis.plot([], [], color="black", lw=0.9, ls="--", label="theory")
            axis.set(xlabel="time t / τ", ylabel=str(name), title=f"max error {self.errors[str(name)]:.1e}")
        axes[0, 0].legend(frameon=False)
        return figure


def compare(run: Any, theory: Callable[[np.ndarray], dict[str, Any]]) -> Comparison:
    """Evaluate a solution at a run's recordings and put both side by side.

    Args:
        run: a `Trajectory`, or a data set with a dimension ``time``.
        theory: a solution: ``theory(t)`` gives named arrays with the shape of t before their own.
    """
    data = run if isinstance(run, xr.Dataset) else run.data
    answer = theory(data["time"].values)
    shared = [name for name in answer if name in data]
    if not shared:
        raise ArgumentError(
            f"Argument `theory` must give a variable the run recorded ({', '.join(map(str, data.data_vars))}), "
            f"but gives {', '.join(answer)}."
        )
    for name in shared:
        shape = np.shape(answer[name])
        if shape != data[name].shape:
            raise ArgumentError(
                f"Argument `theory` must give `{name}` with shape {data[name].shape}, but gives it with shape {shape}."
            )
    predicted = xr.Dataset({name: (data[name].dims, np.asarray(answer[name])) for name in shared})
    return Comparison(data[shared], predicted.assign_coords(time=data["time"]))
