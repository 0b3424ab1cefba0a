"""Panels that know simulation from theory and arms from seeds; every function draws on plain matplotlib axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import fill
from typing import TYPE_CHECKING, Any

from festina._lazy import np, plt
from festina.claims import NotApplicable, Undecided
from festina.style import PALETTE, TWO_COLUMNS, draw_band, letter, style

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure, FigureBase
    from matplotlib.image import AxesImage

    from festina.experiment import Result

LINES = ("-", (0, (5, 1)), (0, (4, 1, 1, 1)), (0, (2, 1)))
"""Lines that can be told apart in grey, too."""

DOTS: dict[str, Any] = {"marker": "o", "ls": "", "ms": 2.6, "mfc": "white", "mew": 0.8}
"""How single points of a simulation are drawn over the line of its theory."""

MARKS = ("o", "s", "^", "D", "v", "P")
"""Marks that can be told apart in grey, too."""

HATCHES = ("", "///", "...", "xx")
"""Fillings of bars that can be told apart in grey, too."""
FEW = 12  # cells along an axis of a map up to which each gets its label, and its number
DARK = 0.64  # of the range of a map, below which its colours are

Look = Mapping[str, Any]
Looks = Mapping[Any, Look]
Quantity = Callable[["xr.Dataset"], "xr.DataArray"]


class Page:
    """A figure of rows × columns panels in festina's style; panels get their letters when it is closed.

    Example:
        >>> with Page(1, 2, height=2.5) as page:
        ...     _ = page[0].plot([0, 1], [0, 1])
        >>> len(page.figure.axes)
        2
    """

    def __init__(
        self, rows: int, columns: int, *, height: float, width: float = TWO_COLUMNS, letters: bool = True, **grid: Any
    ) -> None:
        self.shape, self.size, self.grid, self.letters = (rows, columns), (width, height), grid, letters
        self.figure: Figure
        self.axes: np.ndarray

    def __enter__(self) -> Page:
        self._style = style()
        self._style.__enter__()
        self.figure, self.axes = plt.subplots(*self.shape, figsize=self.size, squeeze=False, **self.grid)
        return self

    def __exit__(self, *error: Any) -> None:
        if error[0] is None and self.letters:
            letter(*(axis for axis in self.axes.ravel() if axis.axison))
        self._style.__exit__(*error)

    def __getitem__(self, place: int | tuple[int, int]) -> Axes:
        """A panel by its number, row by row, or by row and column."""
        return self.axes[place] if isinstance(place, tuple) else self.axes.ravel()[place]

    def legend(self, lines: Mapping[str, Look], on: FigureBase | None = None, **options: Any) -> None:
        """One legend for the whole figure, or for a part of it, above it."""
        from matplotlib.lines import Line2D

        handles = [Line2D([], [], **look) for look in lines.values()]
        usual = {"loc": "outside upper center", "ncols": len(handles), "fontsize": 7, "columnspacing": 1.1}
        (on or self.figure).legend(handles, list(lines), **usual | options)


class Parts(Page):
    """A figure of several grids of panels, one below the other: ``page.parts[0]`` are the panels of the first.

    Example:
        >>> with Parts((2, 3), (1, 4), height=5.0, height_ratios=(2, 1)) as page:
        ...     _ = page[7].plot([0, 1], [0, 1])
        >>> [part.shape for part in page.parts]
        [(2, 3), (1, 4)]
    """

    def __init__(
        self, *shapes: tuple[int, int], height: float, width: float = TWO_COLUMNS, letters: bool = True, **grid: Any
    ) -> None:
        super().__init__(len(shapes), 1, height=height, width=width, letters=letters, **grid)
        self.shapes = shapes
        self.parts: list[np.ndarray]

    def __enter__(self) -> Parts:
        self._style = style()
        self._style.__enter__()
        self.figure = plt.figure(figsize=self.size)
        parts = self.figure.subfigures(*self.shape, squeeze=False, **self.grid).ravel()
        self.parts = [part.subplots(*shape, squeeze=False) for part, shape in zip(parts, self.shapes, strict=True)]
        self.axes = np.concatenate([part.ravel() for part in self.parts])
        return self


@contextmanager
def if_known(axis: Axes) -> Iterator[None]:
    """Draw what needs a measure that a claim makes, too: where it says nothing, the panel says why instead.

    Example:
        >>> with Page(1, 1, height=2) as page, if_known(page[0]):
        ...     raise NotApplicable("needs two depths")
        >>> page[0].texts[0].get_text()
        'needs two depths'
    """
    try:
        yield
    except (NotApplicable, Undecided) as reason:
        axis.text(0.5, 0.5, fill(str(reason), 30), transform=axis.transAxes, ha="center", va="center", color="0.4")


def label_of(dim: str, value: Any) -> str:
    """An entry of a dimension, in words: `depth 2`, `imbalance ∞`; a name as it is.

    Args:
        dim: name of the dimension.
        value: a number, or a name.

    Example:
        >>> import festina as fs
        >>> fs.figures.label_of("block_length", -0.5), fs.figures.label_of("network", "deep")
        ('block length −0.5', 'deep')
    """
    if isinstance(value, str | np.str_):
        return str(value)
    number = "∞" if math.isinf(value) else f"{value:g}".replace("-", "−")
    return f"{dim.replace('_', ' ')} {number}"


def looks_of(
    values: Iterable[Any], colors: Sequence[str] = PALETTE, lines: Sequence[Any] = LINES
) -> dict[Any, dict[str, Any]]:
    """A colour and a line for every entry of a dimension.

    Args:
        values: the entries.
        colors: to take in turn; festina's palette unless given.
        lines: styles to take in turn.

    Returns:
        What matplotlib takes as ``color`` and ``ls``, by entry.

    Example:
        >>> import festina as fs
        >>> fs.figures.looks_of((1, 2), colors=("black", "red"))[1]
        {'color': 'black', 'ls': '-'}
    """
    return {value: {"color": colors[n % len(colors)], "ls": lines[n % len(lines)]} for n, value in enumerate(values)}


def graded_looks(values: Sequence[Any], begin: float = 0.0, end: float = 0.85) -> dict[Any, dict[str, Any]]:
    """A shade, from dark to light, and a line for every entry of a dimension that has an order."""
    from matplotlib.colors import to_hex

    return looks_of(values, [to_hex(shade) for shade in plt.get_cmap("viridis")(np.linspace(begin, end, len(values)))])


def marks_of(values: Iterable[Any], colors: Sequence[str] = PALETTE, **look: Any) -> dict[Any, dict[str, Any]]:
    """A colour and an open mark for every entry of a dimension."""
    usual = {"ms": 3.2, "mfc": "white", "mew": 0.9} | look
    return {
        value: {"color": colors[n % len(colors)], "marker": MARKS[n % len(MARKS)]} | usual
        for n, value in enumerate(values)
    }


def beside(count: int, step: float) -> np.ndarray:
    """Where entries of a dimension are drawn side by side: so many shifts, ``step`` apart, with their mean at zero."""
    return step * (np.arange(count) - (count - 1) / 2)


def shades(low: float, high: float, *, log: bool = False, cmap: str = "viridis") -> ScalarMappable:
    """Colours along a number: ``shades(…).to_rgba(value)``, and what a colour bar is made of."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm, Normalize

    return ScalarMappable((LogNorm if log else Normalize)(low, high), cmap)


def curves(
    axis: Axes,
    result: Result,
    name: str | Quantity,
    *,
    by: str | None = None,
    looks: Looks | None = None,
    label: Callable[[Any], str] | None = None,
    run: int | None = 0,
    every: int | None = None,
    log: bool = False,
    **at: Any,
) -> None:
    """A variable over time: theory as lines and simulation as dots, or simulation as lines where there is no theory.

    Args:
        axis: to draw on.
        result: of an experiment.
        name: of the variable; or a quantity that is a function of the variables, of simulation and theory alike.
        by: the dimension of which each entry has a curve of its own.
        looks: how each entry looks; a colour and a line each, unless given.
        label: how each entry is called in the legend.
        run: which run is drawn; None for the mean over runs with its standard error.
        every: one dot for so many recordings; about thirty dots unless given.
        log: whether time is on a logarithmic axis, from its second recording on.
        **at: entries of other dimensions.

    Example:
        >>> import festina as fs
        >>> result = fs.run("model/chain", records=20)
        >>> with fs.figures.Page(1, 1, height=2) as page:
        ...     fs.figures.curves(page[0], result, "product", log=True)
        >>> page[0].get_xlabel(), len(page[0].lines)  # theory, and simulation
        ('time t / τ', 2)
    """
    whole = result[name] if isinstance(name, str) else name(result.data)
    data, theory = whole.sel(at), None
    if result.theory is not None and (not isinstance(name, str) or name in result.theory):
        theory = (result.theory[name] if isinstance(name, str) else name(result.theory)).sel(at)
    entries = [None] if by is None else list(data[by].values)
    looks = looks or looks_of(entries)
    for entry in entries:
        own = {} if by is None else {by: entry}
        text = "" if by is None else (label or (lambda value: label_of(str(by), value)))(entry)
        _curve(axis, data.sel(own), None if theory is None else theory.sel(own), looks[entry], text, run, every, log)
    axis.set_xlabel(f"time t / {result.data['time'].attrs.get('units', 'τ')}")
    axis.set_ylabel(str(whole.attrs.get("long_name", name.replace("_", " ") if isinstance(name, str) else "")))
    if log:
        axis.set_xscale("log")


def _curve(
    axis: Axes,
    data: xr.DataArray,
    theory: xr.DataArray | None,
    look: Look,
    label: str,
    run: int | None,
    every: int | None,
    log: bool,
) -> None:
    begin = slice(1 if log else 0, None)
    time = data["time"].values[begin]
    values = data.transpose("run", "time").values[:, begin]
    if run is None:
        draw_band(axis, time, values, label=label, **look)
        return
    if theory is None or not np.isfinite(theory.values).any():
        axis.plot(time, values[run], label=label, **look)
        return
    some = slice(None, None, every or max(1, len(time) // 30))
    axis.plot(time, theory.transpose("run", "time").values[run, begin], label=label, **look)
    axis.plot(time[some], values[run, some], color=look.get("color"), **DOTS)


def end_points(axis: Axes, values: xr.DataArray, x: str, **look: Any) -> None:
    """The mean over runs of a number along a dimension, with its standard deviation as a bar.

    Args:
        axis: to draw on.
        values: with the dimensions ``run`` and ``x``.
        x: the dimension along the horizontal axis, with a coordinate.
        **look: for matplotlib's ``errorbar``.

    Example:
        >>> import xarray as xr
        >>> import festina as fs
        >>> losses = xr.DataArray([[1.0, 2.0], [3.0, 2.0]], dims=("run", "depth"), coords={"depth": [1, 2]})
        >>> with fs.figures.Page(1, 1, height=2) as page:
        ...     fs.figures.end_points(page[0], losses, "depth")
        >>> page[0].lines[0].get_ydata()
        array([2., 2.])
    """
    usual = {"fmt": "o", "ms": 4.3, "mfc": "white", "mew": 0.9, "lw": 0.8}
    axis.errorbar(values[x], values.mean("run").values, values.std("run").values, **usual | look)


def means(axis: Axes, x: Any, values: xr.DataArray, *, across: bool = False, **look: Any) -> None:
    """The mean over runs of a number at each of some places, with its standard error as a bar; one mark, no line.

    ``across`` has the number along the horizontal axis.
    """
    runs = values.transpose("run", ...).values
    middle, error = runs.mean(axis=0), runs.std(axis=0, ddof=1) / len(runs) ** 0.5 if len(runs) > 1 else None
    drawn = {"x": middle, "y": x, "xerr": error} if across else {"x": x, "y": middle, "yerr": error}
    axis.errorbar(**drawn, **{"ls": "none", "elinewidth": 0.8} | look)


def means_and_law(
    axis: Axes,
    values: xr.DataArray,
    law: xr.DataArray,
    x: str,
    by: str,
    *,
    label: Callable[[Any], str] | None = None,
    **look: Any,
) -> None:
    """Means over runs along ``x`` as marks with standard errors, for each entry of ``by``, over theory as a line.

    Theory may have values of ``x`` of its own; where an entry has none, there is no line.
    """
    for number, (entry, mark) in enumerate(marks_of(values[by].values, **look).items()):
        known = entry in law[by].values
        line = {"ls": LINES[number % len(LINES)] if known else "none", "lw": 1.1}
        means(axis, values[x], values.sel({by: entry}), **mark)
        if known:
            axis.plot(law[x], law.sel({by: entry}), color=mark["color"], **line)
        axis.plot([], [], label=label(entry) if label else label_of(by, entry), **mark, **line)


def bands(
    axis: Axes,
    values: xr.DataArray,
    by: str,
    *,
    looks: Mapping[Any, Look] | None = None,
    label: Callable[[Any], str] | None = None,
    **look: Any,
) -> None:
    """A number over time, the mean over runs with its standard error, for each entry of a dimension.

    A look may have a label of its own; else entries are called as in `curves`.
    """
    for entry, own in (looks or looks_of(values[by].values)).items():
        usual = {"label": label(entry) if label else label_of(by, entry)}
        runs = values.sel({by: entry}).transpose("run", "time").values
        draw_band(axis, values["time"].values, runs, **usual | look | dict(own))


def groups(
    axis: Axes,
    values: xr.DataArray,
    x: str,
    by: str,
    *,
    looks: Mapping[Any, Look] | None = None,
    step: float = 0.1,
    across: bool = False,
    runs: bool = False,
    **look: Any,
) -> None:
    """The mean over runs of a number, with its standard error, at each entry of ``x``, a tick with its name each: for
    all entries of ``by`` side by side, ``step`` apart. ``across`` has names of ``x`` one below the other, and small.

    With ``runs`` there is the number of every run behind the mean, as a small mark.

    Example:
        >>> import xarray as xr
        >>> with Page(1, 1, height=2) as page:
        ...     groups(page[0], xr.DataArray(np.ones((3, 2, 2)), dims=("run", "world", "arm")), "world", "arm")
        >>> [text.get_text() for text in page[0].get_xticklabels()]
        ['0', '1']
    """
    places, looks = np.arange(values.sizes[x]), looks or marks_of(values[by].values)
    for (entry, own), shift in zip(looks.items(), beside(len(looks), step), strict=True):
        at, shown = places + shift, values.sel({by: entry}).transpose("run", x)
        mark = {"label": label_of(by, entry), "across": across} | look | dict(own)
        if runs:
            small = {"ls": "none", "marker": mark.get("marker"), "color": mark.get("color"), "ms": 2, "alpha": 0.4}
            axis.plot(*((shown.T, at) if across else (at, shown.T)), **small)
        means(axis, at, shown, **mark)
    (axis.set_yticks if across else axis.set_xticks)(places, [str(name) for name in values[x].values])
    if across:
        axis.tick_params(axis="y", labelsize=6.5)
        axis.invert_yaxis()


def bars_and_law(
    axis: Axes,
    values: xr.DataArray,
    law: xr.DataArray,
    x: str,
    by: str,
    *,
    label: Callable[[Any], str] | None = None,
) -> None:
    """Means over runs as bars at each place along ``x``, for all entries of ``by`` side by side, and theory as a line
    across each.
    """
    step, places = 0.8 / values.sizes[by], values[x].values
    for number, (entry, look) in enumerate(looks_of(values[by].values).items()):
        at = places + beside(values.sizes[by], step)[number]
        fill = {"alpha": 0.55, "hatch": HATCHES[number % len(HATCHES)], "edgecolor": "white", "lw": 0}
        named = label(entry) if label else label_of(by, entry)
        axis.bar(at, values.sel({by: entry}).mean("run"), 0.9 * step, color=look["color"], label=named, **fill)
        axis.hlines(law.sel({by: entry}), at - step / 2, at + step / 2, color="k", lw=1.1)


def pairs(
    axis: Axes,
    one: xr.DataArray,
    other: xr.DataArray,
    by: str,
    *,
    label: Callable[[Any], str] | None = None,
    **look: Any,
) -> None:
    """One number against another as marks without a line, for each entry of a dimension.

    Example:
        >>> import xarray as xr
        >>> with Page(1, 1, height=2) as page:
        ...     pairs(page[0], *(xr.DataArray(np.ones((2, 3)), dims=("scale", "run")) for _ in range(2)), "scale")
        >>> [line.get_label() for line in page[0].lines]
        ['scale 0', 'scale 1']
    """
    other = other.transpose(*one.dims)
    for entry, mark in marks_of(one[by].values, **look).items():
        places = (values.sel({by: entry}).values.ravel() for values in (one, other))
        axis.plot(*places, ls="none", label=label(entry) if label else label_of(by, entry), **mark)


def path(axis: Axes, course: np.ndarray, *, end: Look, **look: Any) -> None:
    """A course in the plane, one point a row, and a mark where it ends."""
    (line,) = axis.plot(*course.T, **look)
    axis.plot(*course[-1], **{"color": line.get_color(), "zorder": 3} | dict(end))


def note(axis: Axes, text: str, place: tuple[float, float], offset: tuple[float, float], **look: Any) -> None:
    """Words beside a place, so many points away from it."""
    words: dict[str, Any] = {"fontsize": 7} | look
    axis.annotate(text, place, offset, textcoords="offset points", **words)


def all_runs(axis: Axes, values: xr.DataArray, x: str, label: str = "", **look: Any) -> None:
    """A number of every run along a dimension, as open marks."""
    usual = {"ls": "", "marker": "o", "ms": 4.2, "mfc": "white", "mew": 1.0}
    for line in axis.plot(values[x], values.transpose(x, "run").values, **usual | look)[:1]:
        line.set_label(label)


def log_ticks(axis: Axes, values: Iterable[float]) -> None:
    """A logarithmic horizontal axis with ticks at these values and no others, as numbers.

    Example:
        >>> with Page(1, 1, height=2) as page:
        ...     log_ticks(page[0], (0.05, 0.5))
        >>> [text.get_text() for text in page[0].get_xticklabels()]
        ['0.05', '0.5']
    """
    shown = list(values)
    axis.set_xscale("log")
    axis.set_xticks(shown, [f"{value:g}" for value in shown])
    axis.minorticks_off()


def runs_beside(
    axis: Axes,
    values: xr.DataArray,
    x: str,
    by: str,
    *,
    looks: Looks | None = None,
    label: Callable[[Any], str] | None = None,
    step: float = 0.0,
    **look: Any,
) -> None:
    """`all_runs` for each entry of ``by``, side by side, ``step`` apart; a legend names them if they have a label."""
    looks = looks or marks_of(values[by].values, **look)
    for (entry, own), shift in zip(looks.items(), beside(len(looks), step), strict=True):
        at = values.sel({by: entry}).assign_coords({x: values[x] + shift})
        all_runs(axis, at, x, label(entry) if label else "", **own)


def map_of(axis: Axes, values: xr.DataArray, x: str, y: str, *, numbers: bool | str = False, **look: Any) -> AxesImage:
    """A number over two dimensions as a map of equal cells, with their values along both axes (five, if they are many).

    With ``numbers`` every cell has its own written in it, with two digits or in a format of one's own, unless there are
    too many.

    Args:
        axis: to draw on.
        values: with the dimensions ``x`` and ``y``, both with coordinates.
        x: the dimension along the horizontal axis.
        y: the dimension along the vertical axis.
        numbers: whether to write them, or how, as ``"{:.1e}"``.
        **look: for matplotlib's ``imshow``, as ``vmin``, ``vmax`` and ``cmap``.

    Returns:
        The image, of which a colour bar can be made.

    Example:
        >>> import xarray as xr
        >>> import festina as fs
        >>> grid = xr.DataArray([[0.5, 1.0]], dims=("depth", "scale"), coords={"depth": [2], "scale": [0.1, 1.0]})
        >>> with fs.figures.Page(1, 1, height=2) as page:
        ...     image = fs.figures.map_of(page[0], grid, x="scale", y="depth", numbers=True)
        >>> [text.get_text() for text in page[0].texts][:2]
        ['.50', '1.00']
    """
    table = values.transpose(y, x).values
    image = axis.imshow(table, origin="lower", aspect="auto", **look)
    for dim, ticks in ((x, axis.set_xticks), (y, axis.set_yticks)):
        known = values[dim].values
        shown = range(len(known)) if len(known) <= FEW else np.linspace(0, len(known) - 1, 5).round().astype(int)
        ticks(shown, [f"{known[place]:.3g}" for place in shown])
    if numbers and max(table.shape) <= FEW:
        light = np.asarray(image.norm(table)) >= DARK
        for (row, column), value in np.ndenumerate(table):
            color = "black" if light[row, column] else "white"
            text = numbers.format(value) if isinstance(numbers, str) else f"{value:.2f}".removeprefix("0")
            text = "" if np.isnan(value) else text
            axis.text(column, row, text, ha="center", va="center", fontsize=7, color=color)
    axis.set(xlabel=x.replace("_", " "), ylabel=y.replace("_", " "))
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    return image


def matrices(axes: Iterable[Axes], values: xr.DataArray, **look: Any) -> None:
    """Matrices along the first dimension, each on an axis of its own without ticks, on the scale of ``look``."""
    for axis, matrix in zip(axes, values.values, strict=True):
        axis.imshow(matrix, **look)
        axis.set(xticks=[], yticks=[])


def frames(axes: Sequence[Axes], values: xr.DataArray, label: str) -> None:
    """Matrices at several times side by side, on one scale of colours with one bar below them."""
    low, high, unit = min(float(values.min()), 0.0), float(values.max()), values["time"].attrs.get("units", "τ")
    matrices(axes, values, vmin=low, vmax=high)
    for axis, time in zip(axes, values["time"].values, strict=True):
        axis.set(anchor="N", xlabel=f"t = {float(time):.0f} {unit}")
        axis.spines[:].set_visible(False)
    bar = {"orientation": "horizontal", "aspect": 40, "pad": 0.04, "panchor": False}
    axes[0].figure.colorbar(axes[0].images[0], ax=list(axes), label=label, **bar)


def share_scale(axes: Iterable[Axes]) -> None:
    """One vertical scale for several panels.

    Args:
        axes: whose limits become the widest that are needed.

    Example:
        >>> import festina as fs
        >>> with fs.figures.Page(1, 2, height=2) as page:
        ...     _ = page[0].set_ylim(0, 1), page[1].set_ylim(-2, 0.5)
        ...     fs.figures.share_scale([page[0], page[1]])
        >>> tuple(map(float, page[0].get_ylim()))
        (-2.0, 1.0)
    """
    panels = list(axes)
    low, high = min(axis.get_ylim()[0] for axis in panels), max(axis.get_ylim()[1] for axis in panels)
    for axis in panels:
        axis.set_ylim(low, high)
