"""What is read off a run of `rectified/selectivity`."""

from collections.abc import Iterable
from typing import Any

import festina as fs
from festina._lazy import np, xr
from festina.claims import NotApplicable, Undecided
from festina.experiments.rectified._fits import best_curve, closed_form

SETTLED = 0.1  # share of the initial loss at which networks are compared
EARLY, LATER = 500, 1000  # steps: before and after units begin to switch off
RATE = 1e-3  # with which they do
MOST = 1_000_000  # steps that a configuration allows


def world_names(config: Any) -> list[str]:
    return [
        f"C = {contexts}" if scale == 1.0 else f"C = {contexts}, κ = {scale:g}"
        for contexts, scale in zip(config.contexts, config.context_scale, strict=True)
    ]


def share_of_loss(result: Any, arm: str) -> Any:
    """L(t)/L(0): runs × worlds × recordings."""
    loss = result["loss"].sel(arm=arm).transpose("run", "world", "time").values
    return loss / loss[..., :1]


def gaps(result: Any, arm: str) -> Any:
    """The largest gap to the ReLU network's loss at any time, as a share of L(0), for each run and world."""
    return np.abs(share_of_loss(result, arm) - share_of_loss(result, "relu")).max(axis=-1)


def gaps_of_fits(result: Any, starts: int) -> Any:
    """The same for the closed form with one or two fitted initial strengths."""
    return np.abs(fitted(result, starts) - share_of_loss(result, "relu")).max(axis=-1)


def whole_course(result: Any, gap: Any) -> Any:
    """Such gaps for claims: of worlds in which all contexts but one are several, once they have been learned."""
    chosen = _several(result)
    require_learned(result, chosen)
    return xr.DataArray(gap[:, chosen], dims=("run", "world"))


def _several(result: Any) -> list[int]:
    """The worlds in which all contexts but one are more than one, by number."""
    found = [number for number, contexts in enumerate(result.config.contexts) if contexts >= 3]
    if not found:
        raise NotApplicable("needs a world of three contexts or more")
    return found


def require_learned(result: Any, worlds: Iterable[int]) -> None:
    """Undecided unless the ReLU network has come down to a tenth of its loss in these worlds."""
    left = share_of_loss(result, "relu")[..., -1]
    for number in worlds:
        if np.any(left[:, number] > SETTLED):
            raise Undecided(_too_short(result, number))


def _too_short(result: Any, number: int) -> str:
    """Steps by which the closed form has come down, if paths get no head start: later than networks do."""
    config, name = result.config, world_names(result.config)[number]
    contexts, scale = config.contexts[number], config.context_scale[number]
    steps = np.geomspace(result["time"].values[-1], MOST, 200)
    curve = closed_form(contexts, scale, tuple(steps * config.rate * 8 * contexts))
    (late,) = np.nonzero(curve([np.log(config.initial**2 / config.width)]) > SETTLED)
    after = 0 if not late.size else int(late[-1]) + 1
    if after == 0:  # theory has come down already: networks are not as it has them
        enough = f"more than --steps {config.steps}, or more than --width {config.width}"
    elif after == len(steps):
        enough = f"more than the most --steps, {MOST}"
    else:
        enough = f"--steps {config.records * int(np.ceil(steps[after] / config.records))}"
    return f"a tenth of the loss is not reached with {name}; needs {enough}"


def fitted(result: Any, starts: int) -> Any:
    """The closed form L(t)/L(0) with the fitted initial strengths of each run and world."""
    measured, steps = share_of_loss(result, "relu"), result["time"].values
    settings = list(zip(result.config.contexts, result.config.context_scale, strict=True))
    clocks = [steps * result.config.rate * 8 * contexts for contexts, _ in settings]
    return np.array(
        [
            [
                best_curve(*setting, starts, tuple(clock), tuple(curve))
                for setting, clock, curve in zip(*row, strict=True)
            ]
            for row in ((settings, clocks, run) for run in measured)
        ]
    )


def time_ratio(result: Any, arm: str) -> Any:
    """The time an arm takes to a tenth of its initial loss, over that of the ReLU network; NaN if one never does."""
    steps = result["time"].values
    times = [fs.measures.crossing_time(steps, -share_of_loss(result, one), -SETTLED) for one in (arm, "relu")]
    return times[0] / times[1]


def slowness(result: Any, arm: str, world: str | None = None) -> Any:
    """The same for claims, of all worlds or of one."""
    chosen = _several(result) if world is None else [_number(result, world)]
    ratio = time_ratio(result, arm)[:, chosen]
    if not np.all(np.isfinite(ratio)):
        require_learned(result, chosen)
        raise Undecided(f"a tenth of the loss is not reached by {arm}; needs more than --steps {result.config.steps}")
    return xr.DataArray(ratio, dims=("run", "world"))


def share_but_one(result: Any, world: str) -> Any:
    """The share of strength on exactly C − 1 contexts at the end."""
    number = _number(result, world)
    require_learned(result, [number])
    return result["strength"].sel(world=world, size=result.config.contexts[number] - 1).isel(time=-1)


def lead_of_but_one(result: Any, world: str) -> Any:
    """That share less the largest share of any other number of contexts."""
    share = share_but_one(result, world)
    last = result["strength"].sel(world=world).isel(time=-1)
    return share - last.drop_sel(size=result.config.contexts[_number(result, world)] - 1).max("size")


def everywhere_at(result: Any, step: int) -> Any:
    """The share of units that are on in all of three contexts at a step."""
    seen = result["everywhere"].isel(world=_number(result, "C = 3"))
    if result.config.rate != RATE:
        raise NotApplicable(f"needs --rate {RATE:g}, with which units switch between steps {EARLY} and {LATER}")
    if step > seen["time"].values[-1]:
        raise Undecided(f"units have not had the time to switch; needs --steps {LATER} or more")
    if step not in seen["time"]:
        raise NotApplicable(f"needs a recording at step {step}")
    return seen.sel(time=step).drop_vars("time")


def _number(result: Any, world: str) -> int:
    names = world_names(result.config)
    if world not in names:
        raise NotApplicable(f"needs the world {world}")
    return names.index(world)
