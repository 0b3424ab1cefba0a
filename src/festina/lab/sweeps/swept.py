"""A sweep as what it is: a data set with the sweep's own axes, and what can be asked of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr
from xarray.plot.accessor import DatasetPlotAccessor

from festina.config import notes
from festina.experiment import Experiment
from festina.lab.sweeps.folder import stored_plan
from festina.lab.sweeps.judged import SweptVerdicts, judged
from festina.lab.sweeps.opened import swept_data
from festina.lab.sweeps.plan import Plan
from festina.notebook import told

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Swept(xr.Dataset):
    """The runs of a sweep as an `xarray.Dataset`, and beside them verdicts and a figure of the whole sweep.

    What is selected or computed from it is a plain data set.
    """

    __slots__ = ("_plan", "_verdicts")

    @classmethod
    def of(cls, data: xr.Dataset, plan: Plan) -> Swept:
        """The data of a whole sweep, and its plan."""
        swept = object.__new__(cls)
        xr.Dataset.__init__(swept, data.data_vars, data.coords, data.attrs)
        swept._plan, swept._verdicts = plan, None
        return swept

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        """What xarray makes of it, as here and in `_construct_direct`, is no whole sweep."""
        return xr.Dataset(*arguments, **options)

    @classmethod
    def _construct_direct(cls, *arguments: Any, **options: Any) -> Any:
        return xr.Dataset._construct_direct(*arguments, **options)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """In another process it is a plain data set."""
        return _itself, (self.copy(),)

    @property
    def verdicts(self) -> SweptVerdicts:
        """Where on the grid each claim of the experiment holds; found when first asked for, and then kept.

        Returns:
            For each claim its outcome and the measured number at every point, judged on all seeds of the point.

        Example:
            >>> import tempfile
            >>> import festina as fs
            >>> question = {"over": {"initial": [1e-3, 1e-2]}, "budget": "quick", "records": 20}
            >>> swept = fs.sweep("linear/chain", store=tempfile.mkdtemp(), **question)
            >>> swept.verdicts["exact"].holds.values
            array([ True,  True])
        """
        if self._verdicts is None:
            self._verdicts = judged(Path(self.attrs["store"]), self._plan)
        return self._verdicts

    @property
    def plot(self) -> SweptPlot:
        """The figure of the sweep, as ``swept.plot()``; other plots of xarray, as ``swept.plot.scatter(…)``."""
        return SweptPlot(self)

    def _repr_html_(self) -> str:
        """Which sweep it is, and how much of it is done, above what xarray shows."""
        axes = ", ".join(f"{axis.name} ({len(axis.values)})" for axis in self._plan.axes)
        about = f"{self._plan.experiment.name} over {axes}: {int(self['done'].sum())} of {self._plan.runs} runs done"
        return told(about) + super()._repr_html_()


def open_sweep(folder: str | Path, experiment: str | Experiment | None = None) -> Swept:
    """A sweep's results with the sweep's own axes as dimensions; runs not done yet are NaN, with `done` False.

    Values stay on disk until they are asked for: ``data["loss"].isel(time=-1)`` reads tile by tile and keeps what it
    selects, and ``data.load()`` takes everything into memory.

    Args:
        folder: the folder of the sweep, as its attribute ``store`` names it.
        experiment: the experiment that was swept, or its file, if festina does not know it by name.

    Returns:
        The data, with its verdicts and its figure.

    Example:
        >>> import tempfile
        >>> import festina as fs
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     swept = fs.sweep("model/chain", {"initial": [0.01, 0.1]}, store=folder, executor=fs.lab.InProcess())
        ...     fs.lab.open_sweep(swept.attrs["store"])["product"].sizes["initial"]
        2
    """
    folder = Path(folder)
    plan = stored_plan(folder, experiment)
    return Swept.of(swept_data(folder, plan), plan)


class SweptPlot(DatasetPlotAccessor):
    """Draws a sweep."""

    __slots__ = ()

    def __call__(self, *names: str, **at: Any) -> Figure:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Where the runs of the sweep end: curves over one axis, maps over two; the mean over seeds.

        Args:
            *names: of variables; the first that fit on a page, if none is named.
            **at: values of axes, or of other dimensions, at which to look; with more than two axes it has to be said.

        Returns:
            The figure.

        Example:
            >>> import festina as fs
            >>> swept = fs.models.Chain(records=20).sweep(strength=[1.0, 2.0, 3.0])
            >>> len(swept.plot("product").axes)
            1
        """
        from festina.figures.sweeps import swept_figure

        swept: Any = self._ds
        plan = swept._plan
        data = _in_order(plan, swept).sel(at)
        return swept_figure(data, {dim: _spelled(plan, dim) for dim in _axes(plan, data)}, names)


def _in_order(plan: Plan, data: xr.Dataset) -> xr.Dataset:
    """Variables as the experiment declares and calls them, and not as a folder lists its files."""
    declared = {name: kind for name, kind in plan.experiment.variables.items() if name in data}
    ordered = data[list(dict.fromkeys([*declared, *sorted(map(str, data.data_vars))]))]
    named = {name: {"long_name": kind.label, "units": kind.unit} for name, kind in declared.items()}
    return ordered.assign({name: ordered[name].assign_attrs(attrs) for name, attrs in named.items()})


def _itself(data: xr.Dataset) -> xr.Dataset:
    return data


def _axes(plan: Plan, data: xr.Dataset) -> list[str]:
    """The dimensions of a data set that were swept; an axis may have given way to a dimension of its name."""
    names = [f"{axis.name}_swept" if f"{axis.name}_swept" in data.coords else axis.name for axis in plan.axes]
    return [name for name in names if name in data.dims]


def _spelled(plan: Plan, dim: str) -> str:
    """A field and its unit, as an axis of a figure has them."""
    field = dim.removesuffix("_swept")
    unit = notes(plan.experiment.Config.model_fields[field]).get("unit")
    return f"{field.replace('_', ' ')} / {unit}" if unit else field.replace("_", " ")
