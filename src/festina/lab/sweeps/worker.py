"""A worker: it takes the tiles of a sweep one by one, computes them, and writes them into the store.

Any number of workers may do so at once, in one process, in several, on several machines: all they share is the store.
The lock on a tile keeps two from computing it, and a mark says that it is done; a worker that is killed loses the tile
it was at, and no more. Everything else follows from the plan, so that who computes what makes no difference to a bit.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

import xarray as xr

from festina.errors import ArgumentError, Interrupted, require
from festina.lab.answer import recorded
from festina.lab.batch import Simulated
from festina.lab.labelled import on_own_clocks
from festina.lab.locks import shared, taken
from festina.lab.sweeps import tiles
from festina.lab.sweeps.folder import unmarked
from festina.lab.sweeps.grid import write_tile
from festina.lab.sweeps.plan import Plan, Tile


@dataclass(frozen=True)
class Shard:
    """Every ``count``-th tile, beginning with tile ``index``."""

    index: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        require(self.count >= 1, "shard", "be one of at least 1", f"{self.index}/{self.count}")
        within = 0 <= self.index < self.count
        require(within, "shard", f"be i/n with i from 0 to {self.count - 1}", f"{self.index}/{self.count}")


def inspect(folder: Path, plan: Plan) -> None:
    """Look for damage and set it aside, so that it is computed again; if others are at work, leave it to them."""
    with taken(tiles.lock_of(folder)) as alone:
        if alone:
            for number, group in enumerate(plan.groups):
                tiles.mend(folder, number, group)


def is_damaged(folder: Path, plan: Plan) -> bool:
    """Whether anything of what is done does not match its card."""
    return any(tiles.is_damaged(folder, number, group) for number, group in enumerate(plan.groups))


def work(
    folder: Path,
    plan: Plan,
    *,
    shard: Shard | None = None,
    begin: float = 0.0,
    tell: Callable[[Tile, Simulated], bool | None] = lambda tile, outcome: None,
) -> bool:
    """Compute every tile that is not done and that nobody else is computing; whether it was told to end before.

    Args:
        folder: of the sweep.
        plan: of the sweep.
        shard: only these tiles.
        begin: where in the list of tiles to begin, as a share of it: workers who begin apart compile different groups.
        tell: hears of every tile that was computed here; True ends the work.
    """
    with shared(tiles.lock_of(folder)):
        # The second look finds what somebody held for a moment only, as who asks for the status does.
        for tile in (tile for _ in range(2) for tile in _in_turn(folder, plan, shard or Shard(), begin)):
            with taken(tiles.lock_of_tile(folder, tile.group, tile.start)) as ours:
                if not ours or tiles.is_marked(folder, tile.group, tile.start, plan.groups[tile.group].tile):
                    continue
                outcome = compute(folder, plan, tile)
            if tell(tile, outcome):
                return True
    return False


def _in_turn(folder: Path, plan: Plan, shard: Shard, begin: float) -> list[Tile]:
    mine = set(plan.tiles()[shard.index :: shard.count])
    left = [tile for tile in unmarked(folder, plan) if tile in mine]
    first = int(begin * len(left))
    return left[first:] + left[:first]


def computed(plan: Plan, tile: Tile) -> tuple[Simulated, xr.Dataset]:
    """The outcome of one tile, and its data as it is to be written."""
    runs = plan.groups[tile.group].padded(tile.start, tile.stop)
    outcome, data = recorded(plan.experiment, runs, label=f"runs {tile.start + 1}–{tile.stop}")
    if outcome.interrupted:
        raise Interrupted("sweep interrupted; finished batches are kept, ask again to go on")
    data = on_own_clocks(plan.experiment, data, outcome.times)
    if plan.variables is not None:
        check_names(plan.variables, [str(name) for name in data.data_vars])
        data = data[list(plan.variables)]
    return outcome, data.isel(run=slice(0, tile.runs))


def check_names(variables: Collection[str] | None, known: Collection[str]) -> None:
    """Variables to keep must be among those there are."""
    if variables is None:
        return
    unknown = [name for name in variables if name not in known]
    if unknown or not variables:
        names = f"names {', '.join(unknown)}" if unknown else "is empty"
        raise ArgumentError(f"Argument `variables` must name some of {', '.join(sorted(known))}, but {names}.")


def compute(folder: Path, plan: Plan, tile: Tile) -> Simulated:
    """Compute one tile and write it."""
    group = plan.groups[tile.group]
    outcome, data = computed(plan, tile)
    failures = [replace(f, run=f.run + tile.start) for f in outcome.failures if f.run < tile.runs]
    reasons = {failure.run: f"{plan.point(tile.group, failure.run)}: {failure}" for failure in failures}
    write_tile(folder, tile.group, group, tile.start, data, reasons)
    return outcome
