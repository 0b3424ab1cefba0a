"""The contract between phenomena and the lab: Experiment, Claim, Result.

This module imports neither JAX nor NumPy, so that experiments can be listed and their help shown at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from festina._lazy import np
from festina.claims import Claim, NotApplicable, claims_of
from festina.config import ExperimentConfig, continuous, structural
from festina.sources import Source
from festina.verdicts import Verdict, summary

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from festina.learning.process import Process
    from festina.theory.solution import Solution

__all__ = [
    "Equation",
    "Experiment",
    "ExperimentConfig",
    "Preset",
    "Result",
    "Variable",
    "continuous",
    "structural",
]

Budget = Literal["quick", "full"]


@dataclass(frozen=True)
class Variable:
    """What a recorded variable is: its dimensions beyond run and time, its unit, and what to call it.

    A ``final`` variable is recorded once, when a run ends, and so has no dimension time: for what is large, and a mean
    or a last word anyway. It comes from the process's `conclude`.
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
    """An equation in the notation of TeX, and one sentence that says what it means."""

    tex: str
    sentence: str


@dataclass(frozen=True)
class Preset:
    """Settings worth seeing, such as those of a figure: a short name, what one sees, and the fields that differ."""

    name: str
    sentence: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    budget: Budget = "quick"


class Experiment:
    """One phenomenon: what to ask, how to simulate it, what theory says, what is claimed, how it looks.

    A subclass sets the class attributes and writes `simulate` for ONE run; the lab batches it over seeds and
    over the continuous fields of the configuration. What is claimed are methods under a decorator
    of `festina.claims`, such as `claims.paper`; the attribute ``claims`` collects them.
    """

    name: ClassVar[str]
    sources: ClassVar[tuple[Source, ...]] = ()
    variables: ClassVar[dict[str, Variable]] = {}
    claims: ClassVar[tuple[Claim, ...]] = ()
    checks: ClassVar[tuple[Claim, ...]] = ()
    """Claims that are made elsewhere, as those about the health of a computation that several experiments share."""
    equations: ClassVar[tuple[Equation, ...]] = ()
    presets: ClassVar[tuple[Preset, ...]] = ()
    seeds: ClassVar[int] = 1
    time_unit: ClassVar[str] = "τ"
    quick: ClassVar[dict[str, Any]] = {}
    """Fields that differ from the defaults at the `quick` budget; ``seeds`` may stand among them."""

    class Config(ExperimentConfig):
        """No fields."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "claims" in cls.__dict__:
            raise TypeError(f"{cls.__name__}: a claim is a method under `claims.paper`, `claims.theory`, …")
        own = {name: method for base in reversed(cls.__mro__) for name, method in vars(base).items()}
        cls.claims = (*claims_of(own), *cls.checks)

    def simulate(self, config: Any, key: Any) -> Process:
        """The process of one run. Continuous fields are traced by JAX: no Python branches on their values."""
        raise NotImplementedError(f"{type(self).__name__} must define `simulate`")

    def theory(self, config: Any, key: Any) -> Solution | None:
        """What mathematics predicts for the same run: ``solution(t)`` gives variables under the same names."""
        return None

    def coordinates(self, config: Any) -> dict[str, Any]:
        """Values along the variables' own dimensions."""
        return {}

    def measure(self, data: xr.Dataset) -> dict[str, xr.DataArray]:
        """Further variables computed from the recorded ones, for all runs at once."""
        return {}

    def figure(self, result: Result) -> Figure:
        """The figure a journal would print."""
        raise NotImplementedError(f"{type(self).__name__} must define `figure`")

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring."""
        return (cls.__doc__ or "").strip().split("\n")[0]

    @classmethod
    def family(cls) -> str:
        return cls.name.split("/")[0]

    def configure(self, budget: Budget = "full", **fields: Any) -> Any:
        """A checked configuration: the defaults, those of the budget, and what was asked for."""
        quick = {name: value for name, value in self.quick.items() if name != "seeds"}
        return self.Config.checked(self.name, (quick if budget == "quick" else {}) | fields)

    def seeds_at(self, budget: Budget) -> int:
        """How many seeds a budget pays for."""
        return self.quick.get("seeds", self.seeds) if budget == "quick" else self.seeds


@dataclass(frozen=True, repr=False)
class Result:
    """What came out: the simulation, the theory beside it, and a verdict on each claim.

    ``result["loss"]`` is a simulated variable with dimensions (run, time, …), ``result.theory["loss"]`` the
    same variable as theory has it.
    """

    experiment: Experiment
    config: Any
    data: xr.Dataset
    theory: xr.Dataset | None = None
    verdicts: tuple[Verdict, ...] = ()
    path: Path | None = None
    from_store: bool = field(default=False, compare=False)

    def __getitem__(self, name: str) -> xr.DataArray:
        return self.data[name]

    @property
    def failures(self) -> list[str]:
        """Why runs failed, one sentence each."""
        return list(self.data.attrs.get("failures", []))

    def errors(self, *names: str) -> Any:
        """The largest |simulation − theory| over the named variables (all they share, if none is named), by run."""
        if self.theory is None:
            raise NotApplicable(f"needs a theory, and {self.experiment.name} has none in this configuration")
        shared = names or tuple(name for name in self.theory.data_vars if name in self.data)
        gaps = [abs(self.data[name] - self.theory[name]) for name in shared]
        return np.max([gap.max([d for d in gap.dims if d != "run"], skipna=False).values for gap in gaps], axis=0)

    def figure(self) -> Figure:
        return self.experiment.figure(self)

    def __repr__(self) -> str:
        attrs = self.data.attrs
        lines = [
            f"{self.experiment.name}: {self.experiment.summary()}",
            f"  runs {self.data.sizes.get('run', 0)}, recordings {self.data.sizes.get('time', 0)}, "
            f"{attrs.get('seconds', float('nan')):.1f} s, festina {attrs.get('version', '?')}"
            + (" (from the store)" if self.from_store else ""),
            *(f"  {verdict}" for verdict in self.verdicts),
            *([f"  {summary(self.verdicts)}"] if self.verdicts else []),
            *(f"  failed: {reason}" for reason in self.failures),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from festina.lab.report import result_section

        return result_section(self)
