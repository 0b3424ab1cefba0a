"""What `abstraction/regularizer` reads off a result."""

from typing import Any

from festina import claims
from festina._lazy import np, xr

NONNEGATIVE = -0.01  # a gate above this counts as not negative: the rounding of its steps at zero
FINE = 1e-3  # length of a step by which gates may tremble at zero
FOLDS = 15  # times by which a distance falls by 1/e until it counts as gone


def starts(config: Any, numpy: Any) -> Any:
    """The square grid of starting gates, (gate, start); made with ``numpy``, or with JAX's."""
    line = config.lowest + (config.highest - config.lowest) * numpy.linspace(0.0, 1.0, config.side)
    return numpy.stack([part.ravel() for part in numpy.meshgrid(line, line, indexing="ij")])


def all_negative(result: Any) -> Any:
    """Which starts have no gate above zero."""
    return starts(result.config, np).max(axis=0) <= 0


def positive(result: Any) -> Any:
    """Which starts have no gate below zero."""
    return starts(result.config, np).min(axis=0) >= 0


def last(result: Any, name: str) -> Any:
    """A variable of the only run at the end: (norm, …, start)."""
    return result[name].isel(run=0, time=-1).transpose("norm", ..., "start").values


def some_positive(result: Any) -> Any:
    """Which starts are not all negative."""
    some = ~all_negative(result)
    if not some.any():
        raise claims.NotApplicable("needs starts that are not all negative")
    return some


def largest_residue(result: Any) -> Any:
    """The largest R at the end, for each norm, from starts that are not all negative."""
    return xr.DataArray(last(result, "penalty")[:, some_positive(result)].max(axis=1), dims="norm")


def relaxed(result: Any, values: Any, climbing: bool = False, escape: float = 0.0) -> Any:
    """Values at the end of a flow that is over by then: the norm relaxes at the rate 2λ₂.

    Where a gate has to climb to zero first, it does so at about λ₁/2; ``escape`` is what else takes time.
    """
    config = result.config
    needed = FOLDS / (2 * config.normalization) + escape
    if climbing and config.lowest < 0 < config.nonnegativity:
        needed += 2 * abs(config.lowest) / config.nonnegativity
    if config.until < needed:
        raise claims.Undecided(f"the end of the flow needs --until {np.ceil(needed):g}")
    return values


def largest_error(result: Any) -> Any:
    """Of the closed form, over all starts for which there is one."""
    if not positive(result).any():
        raise claims.NotApplicable("needs positive starts")
    if result.config.until / result.config.steps > FINE * (1 + 1e-9):
        steps = int(np.ceil(result.config.until / FINE))
        raise claims.Undecided(f"an error that is not that of the steps needs --steps {steps}")
    return np.nanmax(np.abs(result["gates"] - result.theory["gates"]).values)


def residue_of_equals(result: Any) -> Any:
    """The largest R at the end, for each norm, from starts whose gates are positive and equal."""
    begin = starts(result.config, np)
    equal = positive(result) & (np.abs(begin[0] - begin[1]) < 1e-12)
    if not equal.any():
        raise claims.NotApplicable("needs positive starts")
    return xr.DataArray(last(result, "penalty")[:, equal].max(axis=1), dims="norm")


def drift(result: Any) -> Any:
    begin, end = starts(result.config, np), last(result, "gates")[0]
    inside = positive(result) & (np.abs(begin[0] - begin[1]) < 1.0)
    if not inside.any():
        raise claims.NotApplicable("needs positive starts")
    return np.abs((end[0] - end[1]) - (begin[0] - begin[1]))[inside].max()


def correlations(result: Any) -> Any:
    if positive(result).sum() < 3:
        raise claims.NotApplicable("needs positive starts")
    found = [np.corrcoef(gates[:, positive(result)])[0, 1] for gates in last(result, "gates")]
    return xr.DataArray(found, dims="norm")


def share_nonnegative(result: Any, norm: int) -> Any:
    """The share of starts that end without a negative gate.

    For k = 2 a gate leaves the saddle at (−q, 0) from a distance of about one step, at the rate λ₁/q.
    """
    config = result.config
    if config.nonnegativity == 0:
        raise claims.NotApplicable("needs a cost of negative gates, λ₁ > 0")
    saddle = max(1 - config.nonnegativity / (2 * config.normalization), 0.0)
    escape = 2 * saddle / config.nonnegativity * max(np.log(config.steps / config.until), 0.0) if norm == 2 else 0.0
    share = (last(result, "gates")[norm - 1].min(axis=0) > NONNEGATIVE).mean()
    return relaxed(result, share, climbing=True, escape=escape)


def trap_error(result: Any) -> Any:
    config, negative = result.config, all_negative(result)
    if not negative.any() or config.nonnegativity >= 2 * config.normalization:
        raise claims.NotApplicable("needs negative starts, and λ₁ < 2λ₂")
    size = np.abs(last(result, "gates")[0][:, negative]).sum(axis=0)
    return np.abs(size - (1.0 - config.nonnegativity / (2.0 * config.normalization))).max()
