"""When learning happens: when a curve crosses a level, how abruptly it rises, how fast it grows, how far it overshoots;
where curves cross.
"""

import numpy as np
import xarray as xr
from jaxtyping import Float


def crossing_time(
    time: Float[np.ndarray, " time"], curve: Float[np.ndarray, "*batch time"], level: float
) -> Float[np.ndarray, "*batch"]:
    """When a curve first reaches a level, by linear interpolation between recordings; NaN if it never does.

    Args:
        time: of the recordings, rising.
        curve: at these times, on the last axis; leading axes, such as runs, are carried along.
        level: to be reached from below; for a curve that falls, give both with the other sign.

    Returns:
        One time for each curve.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> time, loss = np.array([0.0, 1.0, 2.0]), np.array([[8.0, 4.0, 0.0], [8.0, 7.0, 6.0]])
        >>> fs.measures.crossing_time(time, -loss, -2.0)  # when the loss has fallen to 2
        array([1.5, nan])
    """
    curves = curve.reshape(-1, curve.shape[-1])
    reached = curves >= level
    after = np.argmax(reached, axis=1)
    rows = np.arange(len(curves))
    before = np.maximum(after - 1, 0)
    low, high = curves[rows, before], curves[rows, after]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(after > 0, (level - low) / (high - low), 0.0)
    crossing = time[before] + share * (time[after] - time[before])
    return np.asarray(np.where(reached.any(axis=1), crossing, np.nan).reshape(curve.shape[:-1]))


def crossings(curves: xr.DataArray, level: float) -> xr.DataArray:
    """`crossing_time` of labelled curves along their dimension time; on clocks of their own, where they have them.

    Args:
        curves: with a dimension ``time``, as a variable of a result; a coordinate ``clock`` has the times of each curve
            where they differ.
        level: to be reached from below.

    Returns:
        The times, with all dimensions of the curves but ``time``.

    Example:
        >>> import numpy as np, xarray as xr
        >>> import festina as fs
        >>> rising = xr.DataArray([[0.0, 2.0, 4.0], [0.0, 1.0, 2.0]], dims=("run", "time"), coords={"time": [0, 5, 10]})
        >>> fs.measures.crossings(rising, 1.0).to_dict()["data"]
        [2.5, 5.0]
    """
    time = curves["clock"] if "clock" in curves.coords else curves["time"]
    own, shared = [["time"], ["time"], []], dict.fromkeys(time.dims) == {"time": None}
    return xr.apply_ufunc(crossing_time, time, curves, level, input_core_dims=own, vectorize=not shared)


def stage_index(
    time: Float[np.ndarray, " time"], curve: Float[np.ndarray, "*batch time"], final: Float[np.ndarray, "*batch"]
) -> Float[np.ndarray, "*batch"]:
    """(t90 − t10)/t10, where t10 and t90 are the times to 10 % and 90 % of the final value.

    Large for a curve that rises from the first moment, small for one that waits and then jumps.

    Args:
        time: of the recordings, rising.
        curve: at these times, on the last axis.
        final: the value to which each curve goes.

    Returns:
        One number for each curve; NaN for one that does not get to 90 %.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> time = np.linspace(0.0, 20.0, 2001)
        >>> curves = np.stack([1 - np.exp(-time), 1 / (1 + np.exp(10 - time))])  # at once, and after a wait
        >>> fs.measures.stage_index(time, curves, np.ones(2)).round(2)
        array([20.85,  0.56])
    """
    share = curve / final[..., None]
    first, last = (crossing_time(time, share, level) for level in (0.1, 0.9))
    return np.asarray((last - first) / first)


def overshoot(values: xr.DataArray, learned: xr.DataArray) -> xr.DataArray:
    """By how much values exceed their end at most, once half of all that is learned by the end has been learned.

    Args:
        values: with a dimension ``time``.
        learned: how much has been learned by each of these times.

    Returns:
        The largest difference, with all dimensions of the values but ``time``; 0 for what rises until the end.

    Example:
        >>> import xarray as xr
        >>> import festina as fs
        >>> share, learned = (xr.DataArray(values, dims="time") for values in ([0.9, 0.7, 0.5], [0.1, 0.6, 1.0]))
        >>> round(fs.measures.overshoot(share, learned).item(), 3)  # the first .9 was not yet of anything
        0.2
    """
    under_way = values.where(learned >= 0.5 * learned.isel(time=-1))
    return under_way.max("time") - values.isel(time=-1)


def zero_crossings(
    position: Float[np.ndarray, " places"], values: Float[np.ndarray, " places"], *, rising: bool = True
) -> Float[np.ndarray, " crossings"]:
    """Where values pass through zero upwards (or downwards), by linear interpolation between rising positions.

    Args:
        position: rising.
        values: at these positions.
        rising: upwards; downwards otherwise.

    Returns:
        As many positions as there are crossings.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.measures.zero_crossings(np.array([0.0, 1.0, 2.0]), np.array([-1.0, 1.0, -3.0]))
        array([0.5])
    """
    before, after = values[:-1], values[1:]
    through = (before <= 0) & (after > 0) if rising else (before > 0) & (after <= 0)
    left, width = position[:-1][through], np.diff(position)[through]
    return left + width * before[through] / (before - after)[through]


def zero_crossing(values: xr.DataArray, along: str, *, near: float = -np.inf, rising: bool = True) -> xr.DataArray:
    """`zero_crossings` of labelled values along a dimension, of which one counts: the first, or the nearest to a place.

    Args:
        values: with the dimension ``along`` and its coordinate, rising.
        along: which dimension has the positions.
        near: the place next to which it is looked for; the first one counts unless it is given.
        rising: upwards; downwards otherwise.

    Returns:
        A position, with all other dimensions of the values; NaN where they do not pass through zero.

    Example:
        >>> import xarray as xr
        >>> import festina as fs
        >>> lead = xr.DataArray([-1.0, 1.0, -2.0, 2.0], {"margin": [0.0, 1.0, 2.0, 3.0]}, "margin")
        >>> fs.measures.zero_crossing(lead, "margin").item(), fs.measures.zero_crossing(lead, "margin", near=2.0).item()
        (0.5, 2.5)
    """

    def place(position: np.ndarray, values: np.ndarray) -> float:
        found = zero_crossings(position, values, rising=rising)
        return min(found, key=lambda place: abs(place - near), default=np.nan)

    along_both = [[along], [along]]
    return xr.apply_ufunc(place, values[along], values, input_core_dims=along_both, vectorize=True)


def growth_rate(time: Float[np.ndarray, " time"], apart: Float[np.ndarray, "time k k"], span: int) -> float:
    """The rate at which small differences grow from the middle of the times on, over a number of them.

    Columns of ``apart`` are k differences in independent directions that go on under one linear law. Those of two times
    make up the propagator between them, of any difference; the logarithm of its largest eigenvalue gives the rate.

    Args:
        time: of the recordings.
        apart: the differences at these times, one a column.
        span: how many recordings to go on from the middle.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> round(fs.measures.growth_rate(np.arange(3.0), np.exp([0.0, 0.5, 1.0])[:, None, None], span=1), 9)
        0.5
    """
    begin = (len(time) - 1) // 2
    propagator = apart[begin + span] @ np.linalg.inv(apart[begin])
    return float(np.log(np.abs(np.linalg.eigvals(propagator)).max()) / (time[begin + span] - time[begin]))
