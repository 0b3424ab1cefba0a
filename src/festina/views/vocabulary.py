"""The words in which a model or an experiment says what to look at: six kinds of picture, each a few lines of data.

A view names recorded variables; the page turns it, and what has been recorded so far, into a picture that moves with
the run (`festina.page.scenes`). This module imports nothing heavy, so that views can be declared beside the classes
they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

Measure = Callable[["xr.Dataset", Any], "xr.DataArray | None"]
Scale = Literal["linear", "log"]
Shape = Literal["saddle", "minimum", "target", "point"]


@dataclass(frozen=True)
class Quantity:
    """What a view shows: a recorded variable, an entry of it, or what a function makes of the recorded ones.

    Attributes:
        variable: its name; of a computed quantity, the variable without which there is nothing to compute, or nothing
            if ``of`` sees to that itself.
        label: what the axis says; that of the variable unless given.
        where: entries to keep, by dimension: a label of the coordinate, or a tuple of labels.
        of: makes it from the data, of simulation or theory alike, and the configuration; keeps run and time. None
            if there is nothing to make it from (yet).

    Example:
        >>> from festina.views import Quantity
        >>> Quantity("weights", "first weight", where={"layer": 0}).label
        'first weight'
    """

    variable: str
    label: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    of: Measure | None = None


@dataclass(frozen=True)
class Mark:
    """A place worth a name: a point of a plane, or a line across curves if one coordinate is left out."""

    label: str
    x: float | None = None
    y: float | None = None
    shape: Shape = "point"


@dataclass(frozen=True)
class Surface:
    """A function of the plane, behind the trajectories in it: values (len(y), len(x))."""

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    label: str


Marks = Callable[[Any], Sequence[Mark]]
"""From the configuration to the places to mark."""


@dataclass(frozen=True)
class View:
    """What all views have: a title, and one sentence for who looks at it."""

    title: str
    note: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Curves(View):
    """Quantities over time, or along another dimension: the simulation as dots, theory as lines.

    Attributes:
        quantity: a variable's name, or more.
        by: dimensions whose entries have colours of their own; all that are left are further lines of one colour.
        along: the dimension of the horizontal axis.
        x, y: scales of the axes.
        marks: reference lines.
        low, high: the ends of the vertical axis; those of the data unless given.

    Example:
        >>> from festina.views import Curves
        >>> Curves("How much is learned", "product", by=("depth",), x="log").along
        'time'
    """

    quantity: str | Quantity
    by: tuple[str, ...] = ()
    along: str = "time"
    x: Scale = "linear"
    y: Scale = "linear"
    marks: Marks | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Heat(View):
    """A table of numbers as colours, one panel for each entry of ``panels``, moving in time if it is recorded in time.

    Attributes:
        quantity: a variable's name, or more.
        rows, columns: its dimensions.
        panels: dimensions with a panel for each entry.
        diverging: colours in two directions from zero.
        low, high: the ends of the colours; those of the data unless given.
        opens: from the configuration to the model whose run each cell is, but for its row and its column, which are
            two fields of that model; None if cells are no runs.

    Example:
        >>> from festina.views import Heat
        >>> Heat("Who is like whom", "similarity", rows="item", columns="other").diverging
        False
    """

    quantity: str | Quantity
    rows: str
    columns: str
    panels: tuple[str, ...] = ()
    diverging: bool = False
    low: float | None = None
    high: float | None = None
    opens: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Raster(Heat):
    """Units × conditions: the rows stand in the order of their code, the conditions in which they have at least half of
    what they have at most, and of how strong they are; those that are silent everywhere come last.

    Example:
        >>> from festina.views import Raster
        >>> Raster("Which neuron is on for which class", "activity", rows="neuron", columns="class").rows
        'neuron'
    """


@dataclass(frozen=True)
class Plane(View):
    """Trajectories, or clouds of points that move, in a plane of two quantities; with an error surface if there is one.

    Attributes:
        x, y: the two quantities.
        by: dimensions whose entries have colours of their own.
        points: a dimension whose entries are the points of a cloud; without it, runs are trajectories.
        colour: quantity that gives every point, or every trajectory, a group by whole numbers, named by ``colours``.
        colours: names of these groups, or what makes them from the configuration.
        surface: from the configuration to what lies behind; None where there is nothing.
        marks: places to mark.
        equal: one unit is as long on both axes.

    Example:
        >>> from festina.views import Plane, Quantity
        >>> readout = [Quantity("readout", f"readout {k}", where={"output": k}) for k in (0, 1)]
        >>> Plane("Readouts fall into groups", *readout, points="neuron", equal=True).points
        'neuron'
    """

    x: Quantity
    y: Quantity
    by: tuple[str, ...] = ()
    points: str = ""
    colour: Quantity | None = None
    colours: tuple[str, ...] | Callable[[Any], tuple[str, ...]] = ()
    surface: Callable[[Any], Surface | None] | None = None
    marks: Marks | None = None
    equal: bool = False


@dataclass(frozen=True)
class Node:
    """A node of a drawn network; places are shares of the picture, y upwards."""

    name: str
    label: str
    x: float
    y: float


@dataclass(frozen=True)
class Edge:
    """An edge of a drawn network, and which entry of the quantity is its strength."""

    begin: str
    end: str
    name: str
    entry: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Graph(View):
    """A network whose edges are as wide as they are strong.

    Attributes:
        quantity: the strengths.
        drawing: from the configuration to nodes and edges.

    Example:
        >>> from festina.views import Edge, Graph, Node
        >>> two = [Node("in", "input", 0, 0.5), Node("out", "output", 1, 0.5)]
        >>> Graph("Pathways", "strength", lambda config: (two, [Edge("in", "out", "path")])).note
        ''
    """

    quantity: str | Quantity
    drawing: Callable[[Any], tuple[Sequence[Node], Sequence[Edge]]]


@dataclass(frozen=True)
class Bars(View):
    """A bar for each entry of a dimension, the mean over runs with its spread; a dash where theory has it.

    Attributes:
        quantity: a variable's name, or more.
        along: the dimension of the bars.
        by: dimensions whose entries have colours of their own.

    Example:
        >>> from festina.views import Bars
        >>> Bars("Share of each code", "share", along="code").by
        ()
    """

    quantity: str | Quantity
    along: str
    by: tuple[str, ...] = ()
