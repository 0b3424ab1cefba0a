"""What a sweep would take: counted from its plan, and timed on its first batch."""

import resource
import sys
from dataclasses import dataclass

from festina.lab.sweeps.plan import Plan
from festina.lab.sweeps.worker import computed


@dataclass(frozen=True)
class Estimate:
    """What a sweep would take.

    Attributes:
        points: of the grid.
        runs: points times seeds.
        compiles: programs, one for each combination of structural values, in every process that meets it.
        batches: tiles.
        largest_batch: runs in the largest of them.
        memory: bytes that one process had in use at most while it computed the first batch.
        disk: bytes of all results before compression.
        first_seconds: of the first batch, with its compilation.
        warm_seconds: of the same batch once compiled.
        processes: at work at once.
    """

    points: int
    runs: int
    compiles: int
    batches: int
    largest_batch: int
    memory: int
    disk: int
    first_seconds: float
    warm_seconds: float
    processes: int

    @property
    def seconds(self) -> float:
        """The whole sweep, as if every structure cost as much as the first, shared out evenly."""
        compiling = max(0.0, self.first_seconds - self.warm_seconds)
        at_once = min(self.processes, self.batches)
        compiles = -(-self.compiles // at_once) if self.compiles >= at_once else 1
        return compiles * compiling + -(-self.batches // at_once) * self.warm_seconds


def estimate(plan: Plan, processes: int) -> Estimate:
    """Compute the first batch, store nothing, and tell what the sweep would take."""
    first = plan.tiles()[0]
    outcome, data = computed(plan, first)
    return Estimate(
        points=plan.runs // len(plan.seeds),
        runs=plan.runs,
        compiles=len(plan.groups),
        batches=len(plan.tiles()),
        largest_batch=max(group.tile for group in plan.groups),
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        disk=data.nbytes * plan.runs // first.runs,
        first_seconds=outcome.seconds,
        warm_seconds=outcome.warm_seconds,
        processes=processes,
    )
