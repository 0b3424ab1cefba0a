"""The contract of a model: world, network, way of learning and theory as ONE system; every number of it can be turned.

This module imports neither JAX nor NumPy, so that models can be listed and their help shown at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from festina.config import ExperimentConfig
from festina.sources import Source

if TYPE_CHECKING:
    import xarray as xr
    from jaxtyping import Array

    from festina.experiment import Result
    from festina.lab.sweeps.swept import Swept
    from festina.learning.process import Process
    from festina.theory.solution import Solution

Budget = Literal["quick", "full"]


@dataclass(frozen=True)
class Variable:
    """What a recorded variable is: its dimensions beyond run, time and arms, its unit, and what to call it.

    A ``final`` variable is recorded once, when a run ends, and so has no dimension time: for what is large, and a mean
    or a last word anyway. It comes from the process's `conclude`.

    Example:
        >>> import festina as fs
        >>> learned = fs.models.TwoLayer.variables["learned"]
        >>> learned.leading + learned.dims
        ('run', 'time', 'mode')
    """

    label: str
    dims: tuple[str, ...] = ()
    unit: str = ""
    final: bool = False

    @property
    def leading(self) -> tuple[str, ...]:
        """The dimensions every variable of its kind has."""
        return ("run",) if self.final else ("run", "time")


@dataclass(frozen=True)
class Equation:
    """An equation in the notation of TeX, and one sentence that says what it means.

    Example:
        >>> import festina as fs
        >>> fs.experiment.Equation("a = w_2 w_1", "The map is the product of two weights.").tex
        'a = w_2 w_1'
    """

    tex: str
    sentence: str


@dataclass(frozen=True)
class Preset:
    """Settings worth seeing, such as those of a figure: a short name, what one sees, and the fields that differ.

    Example:
        >>> import festina as fs
        >>> preset = fs.experiment.Preset("deep", "A deep chain waits and then jumps.", {"depth": 4.0})
        >>> fs.models.Chain(**preset.fields).depth
        4.0
    """

    name: str
    sentence: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    budget: Budget = "quick"


class Model(ExperimentConfig):
    """One parameterised system. Its fields are its settings; its methods say how it begins, learns and is solved.

    A subclass declares its fields with `continuous` (a real number that the compiled program takes as data, and that
    can be swept, fitted and differentiated) or `structural` (what changes shapes or the program), sets the class
    attributes, and writes `start` and `process`, both for ONE run: inside them continuous fields are traced by JAX, so
    that there are no Python branches on their values. `solution` is optional.

    Example:
        >>> import festina as fs
        >>> model = fs.models.Chain(depth=2, initial=1e-3)
        >>> result = model.run(seeds=2)
        >>> model.theory()(1.0)["product"].shape
        ()
    """

    name: ClassVar[str]
    sources: ClassVar[tuple[Source, ...]] = ()
    variables: ClassVar[dict[str, Variable]] = {}
    equations: ClassVar[tuple[Equation, ...]] = ()
    presets: ClassVar[tuple[Preset, ...]] = ()
    quick: ClassVar[dict[str, Any]] = {}
    """Fields that differ from the defaults at the `quick` budget."""
    time_unit: ClassVar[str] = "τ"
    solved_from_start: ClassVar[bool] = True
    """Whether `solution` looks at its start; where it does not, none is drawn for it, and it is given None."""

    def start(self, key: Array) -> Any:
        """Draw the world and the network, once, for simulation and theory alike; all randomness comes from the key."""
        raise NotImplementedError(f"{type(self).__name__} must define `start`")

    def process(self, start: Any) -> Process:
        """How the system goes on from its start."""
        raise NotImplementedError(f"{type(self).__name__} must define `process`")

    def solution(self, start: Any) -> Solution | None:
        """What mathematics predicts from the same start, under the names of the recorded variables; None if nothing."""
        return None

    @classmethod
    def solutions(cls, models: Sequence[Any], starts: Sequence[Any], times: Any) -> Iterator[Mapping[str, Any] | None]:
        """The predictions for many runs of this model, each at its own times (runs × times); one by one by default."""
        for model, start, grid in zip(models, starts, times, strict=True):
            solution = model.solution(start)
            yield None if solution is None else solution(grid)

    @classmethod
    def solved_one_by_one(cls) -> bool:
        """Whether each prediction is made by itself; where they are made together, each has errors of integration that
        depend on the others.
        """
        return cls.solutions.__func__ is Model.solutions.__func__  # pyright: ignore[reportFunctionMemberAccess]

    def coordinates(self) -> dict[str, Any]:
        """Values along the variables' own dimensions."""
        return {}

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        """Further variables computed from the recorded ones, whatever dimensions of runs and arms they have."""
        return {}

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring."""
        return cleandoc(cls.__doc__ or "").split("\n")[0]

    @classmethod
    def has_theory(cls) -> bool:
        """Whether mathematics says anything of this model, at some of its settings at least."""
        return cls.solution is not Model.solution or not cls.solved_one_by_one()

    def run(self, *, seeds: int = 1, first_seed: int = 0, store: str | Path | None = None) -> Result:
        """Simulate it and put theory beside it; see `festina.run`."""
        from festina.lab.run import run

        return run(f"model/{self.name}", seeds=seeds, first_seed=first_seed, store=store, **self.settings())

    def theory(self, seed: int = 0) -> Solution:
        """The exact solution from the start that a seed draws: a function of time."""
        from festina.lab.solve import theory_of_seed

        return theory_of_seed(self, seed)

    def sweep(self, *, seeds: int = 1, store: str | Path | None = None, **over: Sequence[Any]) -> Swept:
        """Run it at every point of a grid over some of its fields; see `festina.sweep`.

        Without a store everything is computed here and kept in memory.
        """
        from festina.lab.solve import sweep_of

        return sweep_of(self, over, seeds=seeds, store=store)

    def derivative(self, of: str, by: str, *, seed: int = 0) -> xr.DataArray:
        """∂(variable)/∂(continuous field) along the simulated run of a seed, by forward differentiation.

        Args:
            of: the name of a variable that is recorded over time.
            by: the name of a continuous field.
            seed: of the run.
        """
        from festina.lab.solve import derivative_of

        return derivative_of(self, of, by, seed)

    def settings(self) -> dict[str, Any]:
        """All fields with their values."""
        return {name: getattr(self, name) for name in type(self).model_fields}
