"""The contract between phenomena and the lab: Experiment, Claim, Result.

This module imports neither JAX nor NumPy, so that experiments can be listed and their help shown at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from festina._lazy import np
from festina.arms import Arm, Arms, Panels, configuration, named, over, use
from festina.claims import Claim, NotApplicable, claims_of
from festina.config import ExperimentConfig, continuous, structural
from festina.model import Budget, Equation, Model, Preset, Variable
from festina.sources import Source
from festina.verdicts import Verdict, summary

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from festina.lab.labelled import Kept

__all__ = [
    "Arm",
    "Arms",
    "Budget",
    "Equation",
    "Experiment",
    "ExperimentConfig",
    "Model",
    "Panels",
    "Preset",
    "Result",
    "Variable",
    "continuous",
    "named",
    "over",
    "structural",
    "use",
]


class Experiment:
    """One phenomenon: which models are compared, with which settings, what is claimed of them, how it looks.

    A subclass sets the class attributes, ``arms`` above all, from which it takes its fields, variables and equations.
    What is claimed are methods under a decorator of `festina.claims`, such as `claims.paper`; the attribute ``claims``
    collects them.

    Example:
        >>> import festina as fs
        >>> class Depths(fs.Experiment):
        ...     "A chain waits the longer the deeper it is."
        ...     name = "my/depths"
        ...     arms = fs.experiment.Arms(fs.models.Chain, depth=(1.0, 2.0))
        >>> fs.run(Depths(), records=20)["product"].sizes["depth"]
        2
    """

    name: ClassVar[str]
    sources: ClassVar[tuple[Source, ...]] = ()
    arms: ClassVar[Arms | Panels]
    """Which models, with which settings, along which dimensions."""
    base: ClassVar[dict[str, Any]] = {}
    """Fields that differ from the models' defaults in all arms."""
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

    Config: ClassVar[type[ExperimentConfig]] = ExperimentConfig
    """Its fields: those of its models, and those it has of its own, from which functions make settings of arms."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "claims" in cls.__dict__:
            raise TypeError(f"{cls.__name__}: a claim is a method under `claims.paper`, `claims.theory`, …")
        if "arms" in cls.__dict__:
            cls._take_from_models(cls.__dict__["arms"])
        own = {name: method for base in reversed(cls.__mro__) for name, method in vars(base).items()}
        cls.claims = (*claims_of(own), *cls.checks)

    @classmethod
    def _take_from_models(cls, arms: Arms | Panels) -> None:
        """Fields, variables and equations of the models are those of the experiment, which may have more fields."""
        own = cls.__dict__.get("Config", ExperimentConfig)
        cls.Config = configuration(cls.name, arms, cls.base, own)
        cls.time_unit = arms.models[0].time_unit
        recorded = {name: kind for model in arms.models for name, kind in model.variables.items()}
        placed = {name: replace(kind, dims=(*arms.dims, *kind.dims)) for name, kind in recorded.items()}
        cls.variables = placed | cls.__dict__.get("variables", {})
        cls.equations = cls.equations or tuple({e: None for model in arms.models for e in model.equations})

    def arms_at(self, config: Any) -> list[Arm]:
        """All arms of a configuration, the last dimension running fastest."""
        return list(_arms_at(self.arms, config, self.name))

    def coordinates(self, config: Any) -> dict[str, Any]:
        """Values along the variables' own dimensions, and along those of the arms."""
        found: dict[str, Any] = {}
        for arm in self.arms_at(config):
            for name, values in arm.model.coordinates().items():  # where arms differ in size, the longest
                found[name] = max(found.get(name, ()), list(values), key=len)
        along = {name: values for name, (dim, values) in self.arms.coordinates(config).items() if name == dim}
        return along | found

    def has_theory(self) -> bool:
        """Whether mathematics says anything of this experiment, at some of its settings at least."""
        return any(model.has_theory() for model in self.arms.models)

    def predicted(self, config: Any, seed: int, times: np.ndarray, kept: Kept | None = None) -> xr.Dataset | None:
        """What theory says of one seed at any times, in all its arms; None if it says nothing.

        Who asks again and again has what is ``kept`` of earlier answers used, and this one's kept there, arm by arm.
        """
        from festina.lab.batch import Run
        from festina.lab.labelled import theory

        arms = len(self.arms_at(config))
        return theory(
            self, [Run(config, seed)], np.broadcast_to(np.asarray(times, float), (1, arms, len(times))), kept=kept
        )

    def measure(self, data: xr.Dataset) -> dict[str, xr.DataArray]:
        """Further variables computed from the recorded ones, for all runs at once."""
        return self.arms.models[0].measure(data)

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
        config = self.Config.checked(self.name, (quick if budget == "quick" else {}) | fields)
        self.arms_at(config)  # an arm whose fields do not go together is refused here
        return config

    def seeds_at(self, budget: Budget) -> int:
        """How many seeds a budget pays for."""
        return self.quick.get("seeds", self.seeds) if budget == "quick" else self.seeds


@lru_cache(maxsize=32)
def _arms_at(arms: Arms | Panels, config: ExperimentConfig, experiment: str) -> tuple[Arm, ...]:
    """Kept, for a large map has thousands of arms, and they are asked for again and again."""
    return tuple(arms.at(config, experiment))


@dataclass(frozen=True, repr=False)
class Result:
    """What came out: the simulation, the theory beside it, and a verdict on each claim.

    ``result["loss"]`` is a simulated variable with dimensions (run, time, …), ``result.theory["loss"]`` the
    same variable as theory has it.

    Attributes:
        experiment: what was run.
        config: its configuration, with every field.
        data: all that was simulated, and what was measured of it.
        theory: the same variables as theory has them; None where there is none.
        verdicts: on each claim, in the order of ``experiment.claims``.
        path: where it is stored, if it is.
        from_store: whether it was answered from there.

    Example:
        >>> import festina as fs
        >>> result = fs.run("model/chain", records=20, seeds=3)
        >>> result["loss"].sizes["run"], result.theory["loss"].dims, bool(result.errors("loss").max() < 1e-6)
        (3, ('run', 'time'), True)
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
    def arms(self) -> list[Arm]:
        """All arms, in the order in which dimensions of arms run, the last one fastest."""
        return self.experiment.arms_at(self.config)

    def panel(self, name: str, whole: xr.Dataset | None = None) -> xr.Dataset:
        """The arms of one panel, with what tells them apart as dimensions; of the simulation, or of ``whole``."""
        own = [arm.labels for arm in self.arms if arm.labels["panel"] == name]
        dims = [dim for dim in own[0] if dim != "panel"]
        whole = self.data if whole is None else whole
        data = whole.isel(arm=np.flatnonzero(whole["panel"].values == name)).drop_vars(
            ["panel", "arm"], errors="ignore"
        )
        data = data.assign_coords({dim: ("arm", [labels[dim] for labels in own]) for dim in dims})
        if not dims:
            return data.isel(arm=0, drop=True)
        if len(dims) == 1:
            return data.swap_dims(arm=dims[0])
        order = {dim: list(dict.fromkeys(labels[dim] for labels in own)) for dim in dims}
        return data.set_index(arm=dims).unstack("arm").sel(order)  # unstacking sorts

    def part(self, panel: str) -> Result:
        """One panel alone: its simulation, and the theory beside it."""
        theory = None if self.theory is None else self.panel(panel, self.theory)
        return replace(self, data=self.panel(panel), theory=theory)

    def sel(self, **at: Any) -> Result:
        """Some entries of dimensions alone: their simulation, and the theory beside it."""
        return replace(self, data=self.data.sel(at), theory=None if self.theory is None else self.theory.sel(at))

    @property
    def failures(self) -> list[str]:
        """Why runs failed, one sentence each."""
        return list(self.data.attrs.get("failures", []))

    @property
    def solved(self) -> xr.Dataset:
        """The theory; where there is none, a claim that asks for it is not applicable."""
        if self.theory is None:
            raise NotApplicable(f"needs a theory, and {self.experiment.name} has none in this configuration")
        return self.theory

    def errors(self, *names: str) -> np.ndarray:
        """The largest |simulation − theory| over the named variables (all they share, if none is named), by run.

        Entries that neither has, as where arms differ in size, do not count.
        """
        shared = names or tuple(name for name in self.solved.data_vars if name in self.data)
        gaps = [
            abs(self.data[name] - self.solved[name]).where(self.data[name].notnull() | self.solved[name].notnull(), 0.0)
            for name in shared
        ]
        return np.max([gap.max([d for d in gap.dims if d != "run"], skipna=False).values for gap in gaps], axis=0)

    def figure(self) -> Figure:
        return self.experiment.figure(self)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write it, with its theory and its verdicts, into a folder from which `festina.load` opens it again.

        Args:
            path: a folder that is not there yet, that is empty, or that holds a result, which this one replaces.

        Returns:
            The folder.

        Example:
            >>> import tempfile
            >>> import festina as fs
            >>> result = fs.models.Chain(records=20).run()
            >>> result.save(tempfile.mkdtemp() + "/chain").name
            'chain'
        """
        from festina.lab.kept import save

        return save(self, path)

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
