"""What a single run leaves behind."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from festina.errors import ArgumentError, FestinaError

DIMENSIONS = {"map": ("output", "input")}


@dataclass(frozen=True, repr=False)
class Trajectory:
    """A run: what was observed over time (``data``), and the network before and after.

    ``run["loss"]`` is one observed variable; a run made with ``dense=True`` can be called at any time,
    ``run(t)``, and gives the network there.
    """

    data: xr.Dataset
    initial: Any
    final: Any
    method: str
    steps: int
    seconds: float
    interrupted: bool = False
    _at: Callable[[np.ndarray], Any] | None = field(default=None, repr=False)

    @property
    def time(self) -> np.ndarray:
        return self.data["time"].values

    def __getitem__(self, name: str) -> xr.DataArray:
        return self.data[name]

    def __call__(self, time: Any) -> Any:
        """The network at any time of the run, integrated anew from the recording before it."""
        if self._at is None:
            raise ArgumentError("Argument `dense` must be True for a run that is asked between recordings.")
        times = np.asarray(time, dtype=float)
        low, high = self.time[0], self.time[-1]
        if times.size and not (np.min(times) >= low and np.max(times) <= high):
            raise ArgumentError(f"Argument `time` must lie between {low:g} and {high:g}, but is {time!r}.")
        return self._at(times)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}{tuple(v.shape)}" for name, v in self.data.data_vars.items())
        ended = "interrupted at" if self.interrupted else "until"
        return (
            f"Trajectory({self.method}, {ended} t = {self.time[-1]:g}, {len(self.time)} recordings, "
            f"{self.steps} steps, {self.seconds:.2f} s: {shapes})"
        )

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.data._repr_html_()}"


class Diverged(FestinaError):
    """A run that left the finite numbers; ``trajectory`` holds what was recorded before."""

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory


def as_dataset(times: np.ndarray, observed: dict[str, np.ndarray]) -> xr.Dataset:
    """Observed arrays with a leading axis of times, as a labelled data set."""
    variables = {}
    for name, values in observed.items():
        dims = DIMENSIONS.get(name, tuple(f"{name}_{axis}" for axis in range(values.ndim - 1)))
        variables[name] = (("time", *dims), values)
    return xr.Dataset(variables, coords={"time": ("time", times, {"units": "τ"})})
