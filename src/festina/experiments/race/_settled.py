"""Whether a run was long enough for a claim about its end, and if it was not, which one would be."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any

from festina._lazy import np
from festina.claims import Undecided
from festina.experiment import Experiment, Result
from festina.experiments._needs import most_of, needs, rounded_up

if TYPE_CHECKING:
    import xarray as xr

FALLEN = 0.9  # of the loss at the start: above it, a small start has hardly begun to learn
LATE = 0.9  # of the time: from here on, little changes in a run that was long enough
LONGER = 1.1  # from one duration that is tried to the next

Curve = Callable[["np.ndarray"], "np.ndarray"]
Judged = Callable[[Any, Any], Any]


def require_settled(
    result: Result,
    name: str | xr.DataArray = "loss",
    tolerance: float = 1e-3,
    curve: Curve | None = None,
    panel: str | None = None,
    **where: Any,
) -> None:
    """Undecided unless losses have fallen, and in the last tenth of the time by no more than ``tolerance``·L(0).

    Args:
        result: whose losses are looked at.
        name: of the variable, or the losses themselves.
        tolerance: how much of the first loss may still be lost or gained.
        curve: theory of the same losses at any times; the experiment's own, if it is not given.
        panel: of the experiment, if it has several.
        where: which of the networks, if not all.
    """
    data = result.data if panel is None else result.panel(panel)
    loss = (data[name] if isinstance(name, str) else name).sel(where)
    times = loss["time"].values
    first, last, before = (loss.isel(time=number) for number in (0, -1, int((times <= LATE * times[-1]).sum()) - 1))
    moving = _moving(first, before, last, tolerance)
    if bool(moving.any()):
        predicted = curve or theory_of(result, str(loss.name), slowest(last / first), panel, **where)
        settled = predicted and (lambda first, before, last: ~_moving(first, before, last, tolerance))
        raise Undecided(f"{_named(moving)} still learn at t = {times[-1]:g}; {longer(result, predicted, settled)}")


def require_run(enough: Any, why: str) -> None:
    """Undecided unless a condition holds of the run: `one seed has no spread; needs --seeds 2 or more`."""
    if not enough:
        raise Undecided(why)


def require_until(result: Result, needed: float, why: str) -> None:
    """Undecided unless a run is as long as it has to be: `slots are told apart late; needs --until 340`."""
    if result["time"].values[-1] < needed:
        raise Undecided(f"{why}; {needs(result.config, 'until', needed)}")


def at_the_end(claim: Judged, panel: str | None = None) -> Judged:
    """For a claim's method that means something only once the variable `loss` has settled, of a panel or of all.

    A claim that does not apply says so all the same: a longer run would be of no use. Any other error of the claim is
    its own, whether the run has settled or not: a longer run must not be asked for by what is broken.
    """

    @wraps(claim)
    def judged(experiment: Any, result: Any) -> Any:
        try:
            values = claim(experiment, result)
        except Undecided as error:
            try:
                require_settled(result, panel=panel)
            except Undecided as other:
                raise Undecided(f"{error}; {other}") from None
            raise
        require_settled(result, panel=panel)
        return values

    return judged


def longer(result: Result, curve: Curve | None, settled: Any) -> str:
    """Which `until` would be enough: the first from which on ``settled`` holds of theory, for all longer ones as well.

    ``settled`` is asked about the values of ``curve`` at t = 0, late in a run, and at the end.
    """
    until, longest = float(result["time"].values[-1]), most_of(result.config, "until")
    if curve is None:
        return f"needs more than --until {until:g}"
    count = max(1, int(np.log(longest / until) / np.log(LONGER)))
    ends = until * LONGER ** np.arange(1, count + 1)
    times, places = np.unique(np.concatenate([[0.0], LATE * ends, ends]), return_inverse=True)
    values = np.asarray(curve(times)).reshape(len(times), -1)[places]
    enough = settled(values[:1], values[1 : count + 1], values[count + 1 :]).all(axis=1)
    if not enough[-1]:
        return f"needs more than the longest run, --until {longest:g}"
    return f"needs --until {rounded_up(ends[np.logical_and.accumulate(enough[::-1])[::-1]][0]):g}"


def theory_of(result: Result, name: str, run: int = 0, panel: str | None = None, **where: Any) -> Curve | None:
    """The experiment's own theory of a variable in one of the runs, at any times; None if there is none."""
    known = result.theory if panel is None or result.theory is None else result.panel(panel, result.theory)
    if known is None or name not in known or not bool(known[name].sel(where).notnull().any()):
        return None
    kind, seed = type(result.experiment), int(result.data["seed"].values[run])
    own = [dim for dim in kind.variables[name].dims if dim in known[name].sel(where).dims]  # after those of a panel

    def curve(times: np.ndarray) -> np.ndarray:
        predicted = _predicted(kind, result.config, seed, tuple(np.asarray(times, float).tolist()))
        predicted = predicted if panel is None else result.panel(panel, predicted)
        return predicted[name].isel(run=0).sel(where).transpose("time", ..., *own).values

    return curve


@lru_cache(maxsize=4)
def _predicted(kind: type[Experiment], config: Any, seed: int, times: tuple[float, ...]) -> xr.Dataset:
    """Theory at some times, once for all claims of a run that was too short."""
    found = kind().predicted(config, seed, np.asarray(times))
    assert found is not None
    return found


def slowest(loss: xr.DataArray) -> int:
    """The number of the run that has most left to learn."""
    return int(loss.max([name for name in loss.dims if name != "run"]).argmax("run"))


def _moving(first: Any, before: Any, last: Any, tolerance: float) -> Any:
    return (last > FALLEN * first) | (abs(last - before) > tolerance * first)


def _named(moving: xr.DataArray) -> str:
    """The first of the networks that still learn, by its coordinates, and how many there are besides."""
    others = [name for name in moving.dims if name != "run"]
    if not others:
        return "networks"
    lanes = moving.any("run").stack(lane=others)
    found = lanes.isel(lane=np.flatnonzero(lanes.values))
    values = {name: found[name].values[0] for name in others}
    said = [f"{name} {value}" if isinstance(value, str) else f"{name} {value:g}" for name, value in values.items()]
    more = f", and {found.size - 1} more," if found.size > 1 else ""
    return f"networks with {' and '.join(said).replace('_', ' ')}{more}"
