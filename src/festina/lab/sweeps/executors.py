"""Who computes a sweep: this process, or processes on this machine (a dask cluster has its own module).

Whoever it is, the store and its bits are the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from festina.errors import require
from festina.lab.batch import Simulated
from festina.lab.registry import is_known
from festina.lab.sweeps import cores
from festina.lab.sweeps.crew import Crew, runs_done
from festina.lab.sweeps.folder import unmarked
from festina.lab.sweeps.plan import Plan, Tile
from festina.lab.sweeps.worker import work

Tell = Callable[[int], None]
START_UP = 5.0  # seconds in which worker processes are there and have compiled


class Executor(Protocol):
    """``finish`` computes all tiles that are not done and not in other hands; ``tell`` hears how many runs are done."""

    def finish(self, folder: Path, plan: Plan, tell: Tell) -> None: ...


@dataclass(frozen=True)
class InProcess:
    """All tiles one after the other, here.

    Example:
        >>> import tempfile
        >>> import festina as fs
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     swept = fs.sweep("model/chain", {"initial": [0.01, 0.1]}, store=folder, executor=fs.lab.InProcess())
        ...     swept["product"].sizes["initial"]
        2
    """

    def finish(self, folder: Path, plan: Plan, tell: Tell) -> None:
        done = runs_done(folder, plan)

        def count(tile: Tile, outcome: Simulated) -> None:
            nonlocal done
            done += tile.runs
            tell(done)

        work(folder, plan, tell=count)


@dataclass(frozen=True)
class Processes:
    """Worker processes on this machine, one for each core unless told otherwise.

    The first tile is computed here if XLA has one thread, as in the processes; with several, last bits would differ.
    Only if what is left would take longer than it takes to start processes are they started, and only for experiments
    festina knows by name, since the processes have to find them.

    Example:
        >>> import festina as fs
        >>> fs.lab.Processes(4)  # for `fs.sweep(..., executor=...)`
        Processes(count=4)
    """

    count: int | None = None

    def __post_init__(self) -> None:
        require(self.count is None or self.count >= 1, "processes", "be at least 1", self.count)

    def finish(self, folder: Path, plan: Plan, tell: Tell) -> None:
        count = self.count or cores.available()
        single = cores.threads() == 1
        if not is_known(plan.experiment) or (count == 1 and single):
            InProcess().finish(folder, plan, tell)
            return
        left = sum(1 for _ in unmarked(folder, plan))
        if not single:
            Crew(folder, min(count, left)).run(plan, tell)
            return

        def enough(tile: Tile, outcome: Simulated) -> bool:
            nonlocal left
            left -= 1
            tell(runs_done(folder, plan))
            return left > 1 and left * outcome.warm_seconds > START_UP

        if work(folder, plan, tell=enough):
            Crew(folder, min(count, left)).run(plan, tell)
