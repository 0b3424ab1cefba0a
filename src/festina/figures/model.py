"""A model by itself, as the lab runs and draws it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from festina.experiment import Experiment, Result
from festina.figures.panels import Page, curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CURVES = 8
COLUMNS = 3


class ModelExperiment(Experiment):
    """One arm, no claims; every variable that has a course in time gets a panel."""

    def figure(self, result: Result) -> Figure:
        names = [
            name
            for name, kind in self.variables.items()
            if name in result.data and not kind.final and len(kind.dims) <= 1
        ]
        rows = -(-len(names) // COLUMNS)
        with Page(rows, min(COLUMNS, len(names)), height=2.4 * rows) as page:
            for number, name in enumerate(names):
                dims = self.variables[name].dims
                few = {dim: slice(0, MOST_CURVES) for dim in dims}
                theory = None if result.theory is None else result.theory.isel(few, missing_dims="ignore")
                part = replace(result, data=result.data.isel(few), theory=theory)
                curves(page[number], part, name, by=dims[0] if dims else None)
                if dims:
                    page[number].legend(fontsize=6.5)
            for axis in page.axes.ravel()[len(names) :]:
                axis.set_axis_off()
        return page.figure
