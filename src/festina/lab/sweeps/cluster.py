"""A sweep on a dask cluster: the scheduler hands out tiles, workers write them into the store.

Nothing large travels: a task is the name of a folder and the number of a tile, its answer a count. A worker that dies
is replaced by the scheduler's own means and its tile given to another; the lock on a tile and its mark keep it from
being computed twice. All workers must see the store under the same path.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from festina.errors import FestinaError, Interrupted, require
from festina.interrupts import apart
from festina.lab.locks import shared, taken
from festina.lab.registry import is_known
from festina.lab.sweeps import tiles
from festina.lab.sweeps.cores import keep_to_one_thread, take_core
from festina.lab.sweeps.crew import runs_done
from festina.lab.sweeps.executors import Tell
from festina.lab.sweeps.folder import check_code, stored_plan, unmarked
from festina.lab.sweeps.plan import Plan
from festina.lab.sweeps.worker import compute

PATIENCE = "30s"  # to reach a scheduler, which may be busy


@dataclass(frozen=True)
class Dask:
    """Workers of a dask cluster: one that is there, or one that is started for the sweep on this machine.

    Attributes:
        scheduler: the address of a scheduler, as ``tcp://node7:8786``.
        workers: how many to start here; only without a scheduler.

    Example:
        >>> import festina as fs
        >>> fs.lab.Dask(scheduler="tcp://node7:8786")  # for `fs.sweep(..., executor=...)`
        Dask(scheduler='tcp://node7:8786', workers=None)
    """

    scheduler: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        one = (self.scheduler is None) != (self.workers is None)
        require(one, "scheduler", "be given, or else `workers`", f"{self.scheduler!r} with workers {self.workers}")
        require(self.workers is None or self.workers >= 1, "workers", "be at least 1", self.workers)

    def finish(self, folder: Path, plan: Plan, tell: Tell) -> None:
        if not is_known(plan.experiment):
            raise FestinaError(
                f"workers cannot find the experiment {plan.experiment.name!r}: register it as an entry point "
                "`festina.experiments`, or sweep it in this process"
            )
        folder = folder.absolute()
        with self._client() as client:
            try:
                _finish(client, folder, plan, tell)
            except KeyboardInterrupt:
                message = f"sweep interrupted; finished batches are kept in {folder}, ask again to go on"
                raise Interrupted(message) from None

    @contextmanager
    def _client(self) -> Iterator[Any]:
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise FestinaError("a dask cluster needs the extra `cluster`: pip install 'festina[cluster]'") from None
        if self.scheduler is not None:
            try:
                client = Client(self.scheduler, timeout=PATIENCE)
            except (OSError, ValueError) as error:
                raise FestinaError(f"no dask scheduler answers at {self.scheduler!r}: {error}") from error
            with client:
                yield client
            return
        settings: Any = {"n_workers": self.workers, "threads_per_worker": 1, "dashboard_address": ":0"}
        settings["silence_logs"] = logging.ERROR  # that a worker takes its time to end is nobody's business
        with apart():
            cluster = LocalCluster(**settings)
        with cluster, Client(cluster) as client:
            yield client


def _finish(client: Any, folder: Path, plan: Plan, tell: Tell) -> None:
    """Hand out all tiles that are not done."""
    from distributed import as_completed

    numbers = {tile: number for number, tile in enumerate(plan.tiles())}
    futures = [
        client.submit(compute_tile, str(folder), numbers[tile], pure=False, retries=2)
        for tile in unmarked(folder, plan)
    ]
    try:
        for future in as_completed(futures):
            if future.status == "error":
                raise _problem(future.exception())
            tell(runs_done(folder, plan))
    finally:
        client.cancel(futures)


def _problem(error: Any) -> Exception:
    return error if isinstance(error, FestinaError) else FestinaError(f"a worker failed: {error!r}")


def compute_tile(folder: str, number: int) -> int:
    """What a worker does: compute one tile unless it is done or somebody else is at it; how many runs it computed."""
    _settle()
    place = Path(folder)
    plan = _plan_of(place)
    tile = plan.tiles()[number]
    with shared(tiles.lock_of(place)), taken(tiles.lock_of_tile(place, tile.group, tile.start)) as ours:
        if not ours or tiles.is_marked(place, tile.group, tile.start, plan.groups[tile.group].tile):
            return 0
        compute(place, plan, tile)
        return tile.runs


@cache
def _settle() -> None:
    """Once in a worker's life, before XLA starts: one thread, and one core if it has one task at a time."""
    from distributed import get_worker

    keep_to_one_thread()
    if get_worker().state.nthreads == 1:
        take_core()


@lru_cache(maxsize=4)
def _plan_of(folder: Path) -> Plan:
    """The plan of a sweep; a worker reads it once."""
    plan = stored_plan(folder)
    check_code(folder, plan)
    return plan
