"""The activations of a layer as (samples, units), however they come: flat, by context and item, or as feature maps.

- (samples, units) is taken as it is.
- (contexts, items, units) is a grid: every item in every context is a sample, items of one context after the other.
- (samples, channels, height, width), the order of PyTorch, is the output of a convolution. A channel is a unit, and its
  activity the *mean* over positions. Theory has one gate and one readout weight for a unit on a sample, and the mean is
  what a readout that all positions share makes of a channel: Σ_positions a·h = positions · a·mean(h). `channel_maxima`
  and `positions_as_samples` give the two others that are in use, to be called first. A readout that tells positions
  apart has a unit for each of them: reshape to (samples, channels · height · width).

An xarray keeps the names of its dimensions, and those of its contexts, items and units.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float, Int, Shaped

from festina.errors import require
from festina.measures.arrays import as_numpy, as_real

SHAPES = "be (samples, units), (contexts, items, units) or (samples, channels, height, width)"
DIMENSIONS = {
    2: ("sample", "unit"),
    3: ("context", "item", "unit"),
    4: ("sample", "channel", "height", "width"),
}


@dataclass(frozen=True)
class Marks:
    """What samples are called: ``names[numbers[n]]`` is the name of sample n."""

    names: tuple[Any, ...]
    numbers: Int[np.ndarray, " n"]

    @property
    def of_samples(self) -> Shaped[np.ndarray, " n"]:
        """The name of each sample."""
        return np.asarray(self.names)[self.numbers]


@dataclass(frozen=True)
class Layer:
    """Activations of a layer.

    Attributes:
        values: h, one sample a row.
        units: names of the units, their numbers unless they had others.
        unit_dimension: what units are called.
        grid: names of contexts and of items, of a layer that came as (contexts, items, units).
        grid_dimensions: what contexts and items are called.
    """

    values: Float[np.ndarray, "n units"]
    units: tuple[Any, ...]
    unit_dimension: str
    grid: tuple[tuple[Any, ...], tuple[Any, ...]] | None
    grid_dimensions: tuple[str, str]

    def contexts(self, argument: str, given: Any) -> Marks:
        """The contexts of all samples: one label each, or the names of a grid's first axis."""
        if self.grid is None:
            require(given is not None, argument, f"name the {argument.removesuffix('s')} of each sample", None)
            return self._of_samples(argument, given)
        return self._along(0, argument, given)

    def items(self, argument: str, given: Any) -> Marks | None:
        """The items of all samples, likewise, or None if they are not asked for."""
        if given is None:
            return None
        return self._of_samples(argument, given) if self.grid is None else self._along(1, argument, given)

    def classes(self, argument: str, given: Any) -> Marks:
        """As `contexts`, and for a grid also one label for every context and item."""
        if self.grid is None or given is None:
            return self.contexts(argument, given)
        shape = (len(self.grid[0]), len(self.grid[1]))
        if isinstance(given, xr.DataArray):
            known = set(given.dims) <= set(self.grid_dimensions)
            require(known, argument, f"have dimensions among {self.grid_dimensions}", given.dims)
            sizes = dict(zip(self.grid_dimensions, shape, strict=True))
            fits = all(given.sizes[name] == sizes[str(name)] for name in given.dims)
            require(fits, argument, f"fit contexts and items, {shape}", f"of shape {given.shape}")
            whole = given.variable.set_dims(sizes)
            return self._of_samples(argument, whole.values.ravel())
        labels = _labels(argument, given)
        if labels.shape == shape:
            return self._of_samples(argument, labels.ravel())
        must = f"be {shape[0]}, one a context, or {shape}, one for each context and item"
        require(labels.shape == shape[:1], argument, must, f"of shape {labels.shape}")
        return self._along(0, argument, labels)

    def _of_samples(self, argument: str, given: Any) -> Marks:
        labels, count = _labels(argument, given), len(self.values)
        must = f"have one label for each of the {count} samples"
        require(labels.shape == (count,), argument, must, f"of shape {labels.shape}")
        names, numbers = np.unique(labels, return_inverse=True)
        return Marks(tuple(names.tolist()), numbers)

    def _along(self, axis: int, argument: str, given: Any) -> Marks:
        """Labels of one axis of the grid, in its order."""
        assert self.grid is not None
        own = self.grid[axis]
        labels = own
        if given is not None:
            array = _labels(argument, given)
            must = f"name the {len(own)} {('contexts', 'items')[axis]} of (contexts, items, units)"
            require(array.shape == (len(own),), argument, must, f"of shape {array.shape}")
            labels = tuple(array.tolist())
        names = tuple(dict.fromkeys(labels))
        number = np.array([names.index(label) for label in labels])
        shape = (len(self.grid[0]), len(self.grid[1]))
        return Marks(names, np.broadcast_to(number if axis else number[:, None], shape).ravel())


def read_layer(activations: Any, argument: str = "activations") -> Layer:
    """A layer from an array of any library, in one of the shapes of the module's docstring.

    Args:
        activations: the array.
        argument: what errors call it.

    Example:
        >>> import numpy as np
        >>> read_layer(np.ones((10, 3, 8, 8))).values.shape
        (10, 3)
        >>> read_layer(np.ones((4, 5, 6))).values.shape
        (20, 6)
    """
    values = as_real(argument, activations)
    fits = values.ndim in DIMENSIONS and min(values.shape) >= 1
    require(fits, argument, SHAPES, f"of shape {values.shape}")
    named = isinstance(activations, xr.DataArray)
    names = tuple(map(str, activations.dims)) if named else DIMENSIONS[values.ndim]
    axes = [_axis(activations, axis, size) for axis, size in enumerate(values.shape)]
    if values.ndim == 3:
        context, item, unit = names
        return Layer(values.reshape(-1, values.shape[2]), axes[2], unit, (axes[0], axes[1]), (context, item))
    flat = values if values.ndim == 2 else channel_means(values)
    return Layer(flat, axes[1], names[1], None, ("context", "item"))


def channel_means(activations: Any) -> Float[np.ndarray, "n channels"]:
    """The mean of every channel over its positions: what `gates` and `coding` make of feature maps by themselves.

    Args:
        activations: (samples, channels, …), with positions on all axes that follow; for channels on the last axis, as
            in Flax, ``np.moveaxis(activations, -1, 1)``.

    Returns:
        (samples, channels).

    Example:
        >>> import numpy as np
        >>> channel_means(np.arange(8.0).reshape(1, 2, 2, 2))
        array([[1.5, 5.5]])
    """
    return _positions(activations).mean(axis=2)


def channel_maxima(activations: Any) -> Float[np.ndarray, "n channels"]:
    """The largest activation of every channel: whether its feature is anywhere in a sample, and how clearly.

    Args:
        activations: (samples, channels, …), as for `channel_means`.

    Returns:
        (samples, channels), as `gates` and `coding` take it.

    Example:
        >>> import numpy as np
        >>> channel_maxima(np.arange(8.0).reshape(1, 2, 2, 2))
        array([[3., 7.]])
    """
    return _positions(activations).max(axis=2)


def positions_as_samples(activations: Any, *labels: Any) -> tuple[np.ndarray, ...]:
    """Every position as a sample of its own, with the labels of the sample it is in.

    Filters see patches and are gated patch by patch; in this view a rectified convolution is a gated linear map of
    patches. Positions of one sample are no independent samples, so that nulls of shuffles are too narrow.

    Args:
        activations: (samples, channels, …), as for `channel_means`.
        labels: any number of labellings, one label a sample each.

    Returns:
        Activations (samples · positions, channels), and each labelling with one label a row of them.

    Example:
        >>> import numpy as np
        >>> flat, context = positions_as_samples(np.ones((2, 5, 3, 3)), ["a", "b"])
        >>> flat.shape, context.shape, str(context[9])
        ((18, 5), (18,), 'b')
    """
    values = _positions(activations)
    flat = values.transpose(0, 2, 1).reshape(-1, values.shape[1])
    marks = [_labels("labels", label) for label in labels]
    for mark in marks:
        require(mark.shape == values.shape[:1], "labels", f"be {len(values)}, one a sample", f"of shape {mark.shape}")
    return flat, *(np.repeat(mark, values.shape[2]) for mark in marks)


def _positions(activations: Any) -> Float[np.ndarray, "n channels positions"]:
    values = as_real("activations", activations)
    fits = values.ndim >= 3 and min(values.shape) >= 1
    require(fits, "activations", "be (samples, channels, positions …)", f"of shape {values.shape}")
    return values.reshape(*values.shape[:2], -1)


def _axis(activations: Any, axis: int, size: int) -> tuple[Any, ...]:
    """Names along one axis: its coordinate, if there is one of its name, and else numbers."""
    names: Iterable[Any] = range(size)
    if isinstance(activations, xr.DataArray) and activations.dims[axis] in activations.coords:
        names = activations[activations.dims[axis]].values.tolist()
    return tuple(names)


def _labels(argument: str, labels: Any) -> np.ndarray:
    array = as_numpy(argument, labels)
    missing = array.dtype.kind == "f" and bool(np.any(np.isnan(array)))
    require(not missing, argument, "name every sample", "NaN for some of them")
    return array
