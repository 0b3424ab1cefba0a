"""What runs leave behind."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np
import xarray as xr
from jaxtyping import Float

from festina.errors import ArgumentError, FestinaError, FestinaWarning, Interrupted, require
from festina.learning.asked import Learners
from festina.learning.loop import Recording
from festina.networks.ensemble import Ensemble
from festina.notebook import told
from festina.precision import to_numpy
from festina.worlds.curriculum import Curriculum

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIMENSIONS = {"map": ("output", "input")}


@dataclass(frozen=True, repr=False)
class Trajectory:
    """A run, or one for each seed: what was observed over time (``data``), and the network before and after.

    ``run["loss"]`` is one observed variable, with dimensions (time, …), or (seed, time, …) if there are several seeds;
    a run made with ``dense=True`` can be called at any time, ``run(t)``, and gives the network there.

    Attributes:
        data: everything that was observed.
        initial: the network at the start, or an `Ensemble` of them.
        final: at the end.
        method: how it learned.
        steps: taken by all runs together.
        seconds: that it took.
        interrupted: whether it ended before its end.
    """

    data: xr.Dataset
    initial: Any
    final: Any
    method: str
    steps: int
    seconds: float
    interrupted: bool = False
    _at: Callable[[np.ndarray], Any] | None = field(default=None, repr=False)
    _task: Float[np.ndarray, "o i"] | None = field(default=None, repr=False)

    @property
    def time(self) -> np.ndarray:
        """When recordings were made."""
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

    def sel(self, seed: int) -> "Trajectory":
        """The run of one seed."""
        require("seed" in self.data.dims, "seed", "be left out of a single run", seed)
        seeds = self.data["seed"].values.tolist()
        require(seed in seeds, "seed", f"be one of {seeds}", seed)
        number = seeds.index(seed)
        networks = {
            name: network[number] if isinstance(network, Ensemble) else network
            for name, network in (("initial", self.initial), ("final", self.final))
        }
        return replace(self, data=self.data.sel(seed=seed), **networks)

    @property
    def strengths(self) -> xr.DataArray | None:
        """u_kᵀ W v_k along the singular vectors of Σyx, strongest first: how much of each mode of the world is learned.

        None where there is no map, or no single Σyx, to speak of. Where singular values are equal, modes among them are
        arbitrary.
        """
        if self._task is None or "map" not in self.data or self.data["map"].shape[-2:] != self._task.shape:
            return None
        left, _, right = np.linalg.svd(self._task, full_matrices=False)
        values = np.einsum("ok,...oi,ki->...k", left, self.data["map"].values, right)
        found = xr.DataArray(values, dims=(*self.data["map"].dims[:-2], "mode"), coords=dict(self.data["loss"].coords))
        return found.assign_coords(mode=np.arange(1, values.shape[-1] + 1))

    def plot(self) -> "Figure":
        """What was learned over time: the loss (that on the test set dashed), and modes, accuracy or other variables.

        Example:
            >>> import jax
            >>> import festina as fs
            >>> world = fs.worlds.tree(branching=(2, 2), features=30)
            >>> network = fs.networks.DeepLinear.init(jax.random.key(0), (4, 8, 30))
            >>> figure = fs.flow(network, world, until=20.0).plot()
            >>> len(figure.axes)
            2
        """
        from festina.learning.picture import draw_trajectory

        return draw_trajectory(self)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}{tuple(v.shape)}" for name, v in self.data.data_vars.items())
        ended = "interrupted at" if self.interrupted else "until"
        seeds = f"{self.data.sizes['seed']} seeds, " if "seed" in self.data.dims else ""
        return (
            f"Trajectory({self.method}, {ended} t = {self.time[-1]:g}, {seeds}{len(self.time)} recordings, "
            f"{self.steps} steps, {self.seconds:.2f} s: {shapes})"
        )

    def _repr_html_(self) -> str:
        return told(repr(self)) + self.data._repr_html_()


class Diverged(FestinaError):
    """A run whose weights became infinite or NaN; ``trajectory`` holds what was recorded before."""

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory


def trajectory_of(
    outcome: Recording, many: Learners, method: str, world: Any, *, unit: str = "τ", at: Any = None
) -> Trajectory:
    """The trajectory of runs that have ended; raises if they were interrupted, or all of them diverged."""
    done = slice(0, outcome.records)
    observed = {name: values[:, done] for name, values in outcome.observed.items()}
    data = _as_dataset(outcome.times[0, done], observed, many, unit)
    weights = jax.tree.map(np.asarray, outcome.state.parameters)
    if many.seeds is None:
        weights = jax.tree.map(lambda leaf: leaf[0], weights)
    final = eqx.combine(weights, many.static)
    final = final if many.seeds is None else Ensemble(final, many.seeds)
    task = _task(world) if "map" in outcome.observed else None
    start, counts = to_numpy(many.start), (outcome.steps, outcome.seconds, outcome.interrupted)
    run = Trajectory(data, start, final, method, *counts, at, task)
    if len(outcome.failures) == many.count:
        raise Diverged(f"{outcome.failures[0]}; what was recorded before is in `.trajectory`", run)
    if outcome.failures:
        lost = ", ".join(str(many.first + failure.run) for failure in outcome.failures)
        warnings.warn(
            f"{len(outcome.failures)} of {many.count} seeds diverged ({lost}); {outcome.failures[0]}",
            FestinaWarning,
            stacklevel=3,
        )
    if run.interrupted:
        reached = outcome.times[0, outcome.records - 1]
        interrupted = Interrupted(f"interrupted at t = {reached:g}; what was recorded is in `.trajectory`")
        interrupted.trajectory = run
        raise interrupted
    return run


def _as_dataset(times: np.ndarray, observed: dict[str, np.ndarray], many: Learners, unit: str) -> xr.Dataset:
    """Observed arrays with leading axes of runs and times, as a labelled data set."""
    variables = {}
    for name, values in observed.items():
        dims = DIMENSIONS.get(name, tuple(f"{name}_{axis}" for axis in range(values.ndim - 2)))
        variables[name] = (("seed", "time", *dims), values)
    data = xr.Dataset(variables, coords={"time": ("time", times, {"units": unit})})
    if many.seeds is None:
        return data.isel(seed=0)
    return data.assign_coords(seed=many.first + np.arange(many.seeds))


def _task(world: Any) -> Float[np.ndarray, "o i"] | None:
    """Σyx, whose modes a linear network learns; None if there is not one of it."""
    moments = None if isinstance(world, Curriculum) else getattr(world, "moments", None)
    return None if moments is None else np.asarray(moments.cross)
