"""Sweeps: any number of axes × seeds, in compiled batches, into a store that survives a kill at any moment."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np

from festina.errors import require
from festina.experiment import Budget, Experiment
from festina.files import RESULTS
from festina.journal import journal
from festina.lab.registry import find
from festina.lab.sweeps.axes import Axis, checked, parse_axis
from festina.lab.sweeps.crew import runs_done
from festina.lab.sweeps.executors import Executor, Processes
from festina.lab.sweeps.folder import check_code, prepare, stored_plan, sweep_folder, unmarked
from festina.lab.sweeps.plan import Plan, make_plan
from festina.lab.sweeps.swept import Swept, open_sweep
from festina.lab.sweeps.worker import check_names, inspect, is_damaged
from festina.learning.outlook import Counted, Outlook
from festina.learning.progress import Progress

JOURNAL = journal(__name__)
MOST_SEEDS = 1_000_000
WAIT = 0.5  # seconds between two looks at what others do
Over = Mapping[str, Sequence[Any] | np.ndarray] | Sequence[str] | str


def sweep(
    experiment: str | Experiment,
    over: Over,
    *,
    store: str | Path = RESULTS,
    seeds: int | None = None,
    first_seed: int = 0,
    budget: Budget = "full",
    variables: Sequence[str] | str | None = None,
    tile: int | None = None,
    executor: Executor | None = None,
    **fields: Any,
) -> Swept:
    """Run an experiment at every point of a grid, and give the results as one data set with the grid's axes.

    Args:
        experiment: its name, or an `Experiment`.
        over: values for each field, or texts such as ``"initial=log:1e-6:1e-2:20"``.
        store: a folder of results, that of the command line unless given; a sweep that finds its own earlier work there
            goes on from it.
        seeds: how many seeds at every point.
        first_seed: the first of them.
        budget: `quick` or `full`.
        variables: keep only these variables.
        tile: runs per compiled batch; chosen to fit memory unless given.
        executor: who computes: `Processes()`, unless given, or `InProcess()`, or `Dask(...)`.
        **fields: configuration fields that stay fixed.

    Returns:
        An `xarray.Dataset` that also has `verdicts`, which say at which points of the grid each claim holds, and
        `plot()`, which draws where runs end: curves over one axis, a map over two.

    Example:
        >>> import tempfile
        >>> import festina as fs
        >>> over = {"initial": [1e-3, 1e-2], "strength": [1.0, 2.0]}
        >>> swept = fs.sweep("linear/chain", over, store=tempfile.mkdtemp(), budget="quick", records=20)
        >>> swept["product"].isel(time=-1).dims
        ('seed', 'initial', 'strength', 'depth')
    """
    plan = planned(
        experiment,
        over,
        seeds=seeds,
        first_seed=first_seed,
        budget=budget,
        variables=variables,
        tile=tile,
        **fields,
    )
    folder = sweep_folder(Path(store), plan)
    prepare(folder, plan)
    return finish(folder, plan, executor)


def resume(folder: str | Path, *, executor: Executor | None = None, experiment: Experiment | None = None) -> Swept:
    """Go on with a sweep that was interrupted, from its folder alone.

    Args:
        folder: of the sweep, as its attribute ``store`` names it.
        executor: who computes; see `sweep`.
        experiment: that is swept, if festina does not know it by name.

    Returns:
        The data, as of `sweep`; what is done already is only read.

    Example:
        >>> import tempfile
        >>> import festina as fs
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     swept = fs.sweep("model/chain", {"initial": [0.01, 0.1]}, store=folder, executor=fs.lab.InProcess())
        ...     bool(fs.lab.resume(swept.attrs["store"])["done"].all())
        True
    """
    folder = Path(folder)
    plan = stored_plan(folder, experiment)
    if any(unmarked(folder, plan)) or is_damaged(folder, plan):  # what is whole can be read by any version
        check_code(folder, plan)
    return finish(folder, plan, executor)


def planned(
    experiment: str | Experiment,
    over: Over,
    *,
    seeds: int | None = None,
    first_seed: int = 0,
    budget: Budget = "full",
    variables: Sequence[str] | str | None = None,
    tile: int | None = None,
    **fields: Any,
) -> Plan:
    """The plan of a sweep, with everything that was asked for checked; nothing is computed."""
    experiment = find(experiment) if isinstance(experiment, str) else experiment
    require(budget in ("quick", "full"), "budget", "be 'quick' or 'full'", budget)
    count = experiment.seeds_at(budget) if seeds is None else seeds
    require(1 <= count <= MOST_SEEDS, "seeds", f"be at least 1 and at most {MOST_SEEDS:_}", count)
    require(first_seed >= 0, "first_seed", "be zero or positive", first_seed)
    require(tile is None or tile >= 1, "tile", "be at least 1", tile)
    variables = [variables] if isinstance(variables, str) else variables
    check_names(variables, experiment.variables)
    axes = checked(experiment, _axes(over), budget, fields)
    seeds_of_all = tuple(range(first_seed, first_seed + count))
    plan = make_plan(experiment, axes, seeds_of_all, budget, fields, variables, tile)
    plan.check()
    return plan


def finish(folder: Path, plan: Plan, executor: Executor | None = None) -> Swept:
    """Compute every tile that is not done yet, or that cannot be trusted; wait for those that others compute."""
    inspect(folder, plan)
    label = f"sweep {plan.experiment.name}"
    begun = runs_done(folder, plan)
    if begun == plan.runs:
        JOURNAL.info("%s: the store has all %d runs, %s", label, plan.runs, folder)
    else:
        JOURNAL.info("%s: begins with %d of %d runs done, %s", label, begun, plan.runs, folder)
    with Progress(label, total=plan.runs, unit="run") as progress:
        course = _Course(label, plan.runs, runs_done(folder, plan), progress)
        while any(unmarked(folder, plan)):
            (executor or Processes()).finish(folder, plan, course.reach)
            if any(unmarked(folder, plan)):
                progress.say("others are at work")
                sleep(WAIT)
                course.reach(runs_done(folder, plan))
    if begun < plan.runs:
        JOURNAL.info("%s: done", label)
    return open_sweep(folder, plan.experiment)


class _Course:
    """How far a sweep is, for the eye, and where that will lead; its first batch, which is compiled, does not count."""

    def __init__(self, label: str, runs: int, done: int, progress: Progress) -> None:
        self._label, self._runs, self._done, self._progress = label, runs, done, progress
        self._outlook: Outlook | None = None
        progress.reach(done)

    def reach(self, done: int) -> None:
        """So many runs are done by now, perhaps no more than the last time."""
        self._progress.reach(done)
        if done == self._done:
            return
        self._done, left = done, self._runs - done
        if self._outlook is None:
            self._outlook = Outlook(self._label, Counted(done, self._runs), left)
        else:
            self._outlook.tick(lambda: Counted(done, self._runs), left)


def _axes(over: Over) -> list[Axis]:
    if isinstance(over, Mapping):
        return [Axis(name, tuple(values)) for name, values in over.items()]
    return [parse_axis(text) for text in ([over] if isinstance(over, str) else over)]
