"""What `abstraction/regimes` reads off its maps, and the maps that the source's notebook prints."""

from typing import Any

from festina import claims
from festina._lazy import np, xr

PANELS = ("speed", "strength")
SOURCE = 7.0  # how long the source trains every cell
BATCH = 200  # inputs that the source sees in a step
LARGE = 200  # cells above which the limit of infinitely many inputs is not computed beside the map
PRINTED = {  # total alignments that the notebook prints, one row for each block length, with what is fixed in the map
    "speed": {
        "fixed": ("strength", 0.3),
        "columns": (0.02, 0.04, 0.06, 0.08, 0.1),
        "rows": {
            1.0: (0.9998, 0.994, 0.993, 0.917, 0.919),
            0.8: (0.999, 0.997, 0.987, 0.919, 0.743),
            0.6: (0.999, 0.985, 0.920, 0.625, 0.642),
            0.4: (0.994, 0.595, 0.640, 0.664, 0.684),
            0.1: (0.695, 0.702, 0.706, 0.706, 0.706),
        },
    },
    "strength": {
        "fixed": ("gate_timescale", 0.005),
        "columns": (0.0, 0.05, 0.1, 0.15, 0.2),
        "rows": {
            1.0: (0.546, 0.416, 1.0, 1.0, 1.0),
            0.8: (0.500, 0.698, 1.0, 1.0, 1.0),
            0.6: (0.504, 1.0, 1.0, 1.0, 1.0),
            0.4: (0.569, 0.908, 0.997, 0.995, 0.988),
            0.1: (0.662, 0.686, 0.623, 0.637, 0.642),
        },
    },
}


def panel(result: Any, which: str, name: str = "total_alignment") -> Any:
    """A variable at the end of one map, with dimensions (run, gate timescale or strength, block length)."""
    config = result.config
    first, lengths = len(config.gate_timescales), len(config.block_lengths)
    rows = first if which == "speed" else len(config.strengths)
    if rows == 0:
        raise claims.NotApplicable(f"needs the map of the {which}")
    begin = 0 if which == "speed" else first * lengths
    final = result[name].isel(time=-1).transpose("run", "cell").values
    return final[:, begin : begin + rows * lengths].reshape(-1, rows, lengths)


def alignments(result: Any, which: str) -> Any:
    """The total alignment at the end of one map, with dimensions (run, timescale or strength, block_length)."""
    name = "timescale" if which == "speed" else "strength"
    ends = xr.DataArray(panel(result, which), dims=("run", name, "block_length"))
    if result.config.until < SOURCE - 1e-9:
        raise claims.Undecided(f"total alignment at the end of training needs --until {SOURCE:g}")
    return ends


def from_print(result: Any, which: str) -> Any:
    """Mean total alignments less the printed ones, with dimensions (timescale or strength, block_length)."""
    config, printed = result.config, PRINTED[which]
    field, value = printed["fixed"]
    if not np.isclose(getattr(config, field), value):
        raise claims.NotApplicable(f"needs {field} = {value:g}, as in the printed map")
    columns = [at(config.gate_timescales if which == "speed" else config.strengths, one) for one in printed["columns"]]
    lengths = [at(config.block_lengths, length) for length in printed["rows"]]
    ends = alignments(result, which).mean("run")
    return ends[columns, lengths] - np.asarray(list(printed["rows"].values())).T


def gap(result: Any, data: tuple[str, ...]) -> Any:
    """Alignments at the end less those in the limit of infinitely many inputs."""
    if result.config.data in ("sampled", "wishart") and result.config.batch < BATCH:
        raise claims.NotApplicable(f"needs batches of at least {BATCH} inputs")
    if result.config.data not in data or result.theory is None:
        raise claims.NotApplicable(f"needs {' or '.join(data)} data, and at most {LARGE} cells")
    name = "total_alignment"
    return (result[name] - result.theory[name]).isel(time=-1)


def without_noise(result: Any) -> Any:
    """The largest error of the limit beside maps that are computed without noise, by run."""
    gap(result, ("population", "closure"))
    return xr.DataArray(result.errors("total_alignment", "loss"), dims="run")


def longest(result: Any) -> int:
    return int(np.argmax(result.config.block_lengths))


def at(values: Any, wanted: float) -> int:
    places = np.flatnonzero(np.isclose(values, wanted))
    if len(places) == 0:
        raise claims.NotApplicable(f"needs {wanted:g} among {values}")
    return int(places[0])


def fastest(result: Any) -> int:
    if len(result.config.gate_timescales) == 0:
        raise claims.NotApplicable("needs the map of the speed")
    return int(np.argmin(result.config.gate_timescales))


def rank_correlation(one: Any, other: Any) -> Any:
    if len(set(one)) < 3:
        raise claims.NotApplicable("needs at least three gate timescales")
    first, second = (np.argsort(np.argsort(values)) for values in (one, other))
    return np.corrcoef(first, second)[0, 1]


def span_of_blocks(ends: Any, result: Any) -> Any:
    lengths = result.config.block_lengths
    if len(set(lengths)) < 2:
        raise claims.NotApplicable("needs at least two block lengths")
    return ends.isel(block_length=longest(result)) - ends.isel(block_length=int(np.argmin(lengths)))


def strong(result: Any) -> Any:
    """Mean total alignments of the cells with strong bounds and long blocks."""
    strong, long = (
        np.flatnonzero(np.asarray(values) >= least - 1e-9)
        for values, least in ((result.config.strengths, 0.1), (result.config.block_lengths, 0.4))
    )
    if not (strong.size and long.size):
        raise claims.NotApplicable("needs strengths of .1 and more, and blocks of .4 and more")
    return alignments(result, "strength").mean("run")[strong, long]
