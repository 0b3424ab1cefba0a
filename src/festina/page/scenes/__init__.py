"""Scenes: what the browser draws of a view, as JSON; one module for each kind of view.

A scene holds the parts of the simulation or those of theory; the page draws both in one picture. Its times, lines,
cells and points are thinned to what eyes can tell apart and a connection carries several times a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import xarray as xr

from festina.page.scenes.bars import bars
from festina.page.scenes.curves import curves
from festina.page.scenes.graph import graph
from festina.page.scenes.heat import heat
from festina.page.scenes.plane import plane
from festina.views import Bars, Curves, Graph, Heat, Plane, Raster, View

Scene = dict[str, Any]

KINDS: dict[type[View], tuple[str, Callable[..., Scene | None]]] = {
    Curves: ("curves", curves),
    Heat: ("heat", heat),
    Raster: ("raster", heat),
    Plane: ("plane", plane),
    Graph: ("graph", graph),
    Bars: ("bars", bars),
}


def kind_of(view: View) -> str:
    """What the browser calls a view's kind."""
    return KINDS[type(view)][0]


def scenes(views: Sequence[View], data: xr.Dataset, config: Any) -> list[Scene | None]:
    """A scene for each view, None where the data have nothing to show in it (yet).

    Args:
        views: of the experiment.
        data: recorded, or predicted, with dimensions run, time, those of the arms and of the variables.
        config: the experiment's.
    """
    beside = [name for name in data.coords if name == "seed" or str(name).startswith("config_")]
    data = data.drop_vars(beside)  # seeds and fields, which no scene shows and every step would carry along
    return [_scene(view, data, config) for view in views]


def _scene(view: View, data: xr.Dataset, config: Any) -> Scene | None:
    kind, build = KINDS[type(view)]
    found = build(view, data, config)
    return None if found is None else {"kind": kind, "title": view.title, "note": view.note} | found
