"""The numbers that decide the claims of `race/views`."""

from typing import Any

import festina as fs
from festina._lazy import np, xr
from festina.claims import NotApplicable, Undecided
from festina.experiments._needs import most_of, rounded_up

ENOUGH = 10  # seeds from which a distribution over seeds can be spoken of, and twice as many as there are views
SMALL, SPREAD = 1e-4, 0.5  # a start, and a spread of it over views, from which one view has to win
LEAST = 0.75  # of the target, where coverage is said to mislead
SLOT_TIME = 16.0  # ln(10⁷): from 10⁻⁴ to 10⁻³ of the end, in units of 1/(difference of amplitudes)


def require_small_and_spread(result: Any) -> None:
    if min(result.config.initial) > SMALL:
        raise NotApplicable(f"needs a start of {SMALL:g} or smaller")
    if result.config.spread < SPREAD:
        raise NotApplicable(f"needs --spread {SPREAD:g} or more: from equal starts no view gets ahead")


def distance_to_least_squares(result: Any) -> Any:
    """The largest |π − π*| at the end for p < 1, of each run."""
    gaps = []
    for together in _apart(result):
        world = fs.worlds.co_occurring_views(result.config.views, together)
        best = fs.theory.views.end_state(world.strengths, world.overlaps).strength
        final = _final(result).sel(together=together).transpose("run", ..., "view").values
        gaps.append(np.abs(final - best).reshape(len(final), -1).max(axis=1))
    return _by_run(np.max(gaps, axis=0))


def spread_apart(result: Any) -> Any:
    """The s.d. over seeds of the dominance at the end, for p < 1."""
    return _spread(result, {"together": _apart(result)})


def spread_together(result: Any) -> Any:
    """The same for p = 1, from depth 3 on."""
    return _spread(result, {"together": [_always(result)], "depth": _deep(result)})


def _spread(result: Any, where: dict[str, Any]) -> Any:
    if result.data.sizes["run"] < 2:
        raise Undecided("one seed has no spread; needs --seeds 2 or more")
    return _final(result, "dominance").sel(where).std("run").max()


def shallow_ratio_change(result: Any) -> Any:
    """The largest |Δ ln π_i/π_j| from start to end at depth 2 and p = 1, over all starts, of each run."""
    return _ratio_change(result).sel(depth=_two(result)).max("initial")


def deep_ratio_change(result: Any) -> Any:
    """The same at each depth from 3 on, from the smallest start, as a mean over runs."""
    return _ratio_change(result).sel(depth=_deep(result)).isel(initial=_smallest(result)).mean("run")


def _ratio_change(result: Any) -> Any:
    """The largest |Δ ln π_i/π_j| among views that always co-occur."""
    change = np.log(result["strength"].isel(time=[0, -1]).sel(together=_always(result))).diff("time").isel(time=0)
    return change.max("view") - change.min("view")


def conservation_error(result: Any) -> Any:
    """The largest change over the whole course of what null(D) conserves from depth 3 on, relative to its start."""
    world = fs.worlds.co_occurring_views(result.config.views, _always(result))
    null = fs.theory.views.end_state(world.strengths, world.overlaps).null
    errors = []
    for depth in _deep(result):
        strength = result["strength"].sel(depth=depth, together=1.0).transpose("run", "initial", "time", "view")
        kept = fs.theory.views.conserved(depth, strength.values, null)
        change = np.abs(kept - kept[:, :, :1]).max(axis=(2, 3)) / np.abs(kept[:, :, 0]).max(axis=-1)
        errors.append(change.max(axis=1))
    return _by_run(np.max(errors, axis=0))


def final_dominance(result: Any) -> Any:
    """Mean over runs of the dominance at the end for p = 1, by depth (from 3 on) and start, smallest first."""
    dominance = _final(result, "dominance").sel(together=_always(result), depth=_deep(result)).mean("run")
    return dominance.transpose("depth", "initial").sortby("initial")


def sharpening(result: Any) -> Any:
    """By how much the mean dominance rises from each start to the next smaller one."""
    if len(result.config.initial) < 2:
        raise NotApplicable("needs several starts")
    return -final_dominance(result).diff("initial")


def winners_entropy(result: Any) -> Any:
    """Entropy over seeds of the strongest view for p = 1, from the smallest start, by depth from 3 on."""
    chosen = _final(result).sel(together=_always(result), depth=_deep(result)).isel(initial=_smallest(result))
    enough = max(ENOUGH, 2 * result.config.views)
    if result.data.sizes["run"] < enough:
        raise Undecided(f"winners are too few to be counted; needs --seeds {enough}")
    winners = chosen.transpose("depth", "run", "view").values.argmax(axis=-1)
    entropies = [fs.measures.winner_entropy(row, result.config.views) for row in winners]
    return xr.DataArray(entropies, dims="depth")


def transient(result: Any) -> Any:
    """The largest dominance once half of all is learned, less that at the end: mean over runs, by depth from 3 on.

    At the largest 0 < p < 1 and from the smallest start.
    """
    together = _most_apart(result)
    where = {"together": together, "depth": _deep(result)}
    total = result["strength"].sel(where).isel(initial=_smallest(result)).sum("view")
    dominance = result["dominance"].sel(where).isel(initial=_smallest(result))
    under_way = dominance.where(total >= 0.5 * total.isel(time=-1))
    return (under_way.max("time") - dominance.isel(time=-1)).mean("run")


def lotka_volterra_error(result: Any) -> Any:
    """The largest |√π − s| at depth 2 and p = 1, of each run."""
    root = np.sqrt(result["strength"].sel(depth=_two(result), together=_always(result)))
    root = root.transpose("time", "run", "initial", "view").values
    species = fs.theory.views.lotka_volterra(np.ones_like(root[0]), root[0])(result["time"].values)["strength"]
    return _by_run(np.abs(root - species).max(axis=(0, 2, 3)))


def explained_without_coverage(result: Any) -> Any:
    """1 − L/L(0 weights) at the end at the largest p < 1, or zero where some view is covered: the least of each run."""
    where = {"together": _require_little_of_much(result)}
    explained = 1.0 - 2.0 * _final(result, "loss").sel(where)
    unseen = _final(result, "coverage").sel(where) == 0
    return explained.where(unseen, 0.0).min(["depth", "initial"])


def _require_little_of_much(result: Any) -> float:
    """The largest p < 1, if views have less than half of the target each there, and most of it together."""
    together = _most_apart(result)
    world = fs.worlds.co_occurring_views(result.config.views, together)
    best = fs.theory.views.end_state(world.strengths, world.overlaps).strength
    if np.max(best) > 0.5 or np.sum(world.strengths * best) < LEAST:
        raise NotApplicable("needs a largest p < 1 at which views have less than half each, and most of all together")
    return together


def bottleneck_gap(result: Any) -> Any:
    """The largest distance at the end from what theory says a layer of 1, 2, …, V units learns, of each run."""
    size = np.linspace(1.0, result.config.weakest, result.config.views)
    needed, longest = SLOT_TIME / min(size[-1], size[0] - size[1]), most_of(result.config, "until")
    if result["time"].values[-1] < needed:
        enough = (
            f"--until {rounded_up(needed):g}" if needed <= longest else f"more than --until {longest:g}, the longest"
        )
        raise Undecided(f"slots of nearly equal amplitudes need time to be told apart; needs {enough}")
    final = _final(result, "slot_strength").transpose("run", "bottleneck", "slot").values
    expected = np.stack([fs.theory.views.bottleneck(size, width) for width in range(1, result.config.views + 1)])
    return _by_run(np.abs(final - expected[None]).max(axis=(1, 2)))


def _by_run(values: Any) -> Any:
    return xr.DataArray(values, dims="run")


def _final(result: Any, name: str = "strength") -> Any:
    return result[name].isel(time=-1)


def _smallest(result: Any) -> int:
    return int(np.argmin(result.config.initial))


def _apart(result: Any) -> list[float]:
    """All p < 1."""
    found = [together for together in result.config.together if together < 1]
    if not found:
        raise NotApplicable("needs p < 1 among the probabilities")
    return found


def _most_apart(result: Any) -> float:
    largest = max(_apart(result))
    if largest == 0:
        raise NotApplicable("needs 0 < p < 1 among the probabilities")
    return largest


def _always(result: Any) -> float:
    if 1.0 not in result.config.together:
        raise NotApplicable("needs p = 1 among the probabilities")
    return 1.0


def _two(result: Any) -> int:
    if 2 not in result.config.depth:
        raise NotApplicable("needs the depth 2 among the depths")
    return 2


def _deep(result: Any) -> list[int]:
    found = [depth for depth in result.config.depth if depth >= 3]
    if not found:
        raise NotApplicable("needs a depth of 3 or more")
    return found
