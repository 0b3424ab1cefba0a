"""What is read off a run of `rectified/selectivity`."""

from typing import Any

import festina as fs
from festina._lazy import np
from festina.claims import NotApplicable
from festina.experiments.rectified._fits import best_curve

SETTLED = 0.1  # share of the initial loss at which networks are compared
EARLY, LATER = 500, 1000  # steps: before and after units begin to switch off


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
    ratio = time_ratio(result, arm)
    chosen = ratio if world is None else ratio[:, _number(result, world)]
    if not np.all(np.isfinite(chosen)):
        raise NotApplicable("needs more steps: a tenth of the loss is not reached")
    return chosen


def share_but_one(result: Any, world: str) -> Any:
    """The share of strength on exactly C − 1 contexts at the end."""
    number = _number(result, world)
    contexts = result.config.contexts[number]
    if np.any(share_of_loss(result, "relu")[:, number, -1] > SETTLED):
        raise NotApplicable("needs more steps: a tenth of the loss is not reached")
    return result["strength"].sel(world=world, size=contexts - 1).isel(time=-1).values


def lead_of_but_one(result: Any, world: str) -> Any:
    """That share less the largest share of any other number of contexts."""
    contexts = result.config.contexts[_number(result, world)]
    last = result["strength"].sel(world=world).isel(time=-1)
    return share_but_one(result, world) - last.drop_sel(size=contexts - 1).max("size").values


def everywhere_at(result: Any, step: int) -> Any:
    """The share of units that are on in all of three contexts at a step."""
    seen = result["everywhere"].isel(world=_number(result, "C = 3"))
    if step not in seen["time"]:
        raise NotApplicable(f"needs a recording at step {step}")
    return seen.sel(time=step).values


def _number(result: Any, world: str) -> int:
    names = world_names(result.config)
    if world not in names:
        raise NotApplicable(f"needs the world {world}")
    return names.index(world)
