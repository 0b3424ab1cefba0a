"""What the commands about sweeps do, and what they print afterwards."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

from festina.cli.output import paint, print_json
from festina.errors import FestinaError, StoreError
from festina.experiment import Experiment
from festina.lab import machine
from festina.lab.own_files import name_to_ask_for
from festina.lab.registry import is_known
from festina.lab.sweeps import process
from festina.lab.tables import as_json as to_json
from festina.wording import duration, size

MOST_REASONS = 10


def run_sweep(question: dict[str, Any], *, store: Path, executor: Callable[[], Any], as_json: bool) -> int:
    """Run a sweep and say what it holds and where it is."""
    process.prepare()
    from festina.lab.sweeps.sweep import sweep

    began = monotonic()
    data = sweep(**question, store=store, executor=executor())
    _print_sweep(question["experiment"], data, monotonic() - began, as_json)
    return 0


def resume_sweeps(store: Path, *, executor: Callable[[], Any], as_json: bool) -> int:
    """Go on with all sweeps of a store that are not finished, and mend those that are damaged."""
    process.prepare()
    from festina.lab.sweeps.folder import stored_plan, sweeps_in, unmarked
    from festina.lab.sweeps.sweep import resume
    from festina.lab.sweeps.worker import is_damaged

    unfinished: list[Path] = []

    def go_on(folder: Path) -> None:
        plan = stored_plan(folder)
        if any(unmarked(folder, plan)) or is_damaged(folder, plan):
            unfinished.append(folder)
            began = monotonic()
            data = resume(folder, executor=executor())
            _print_sweep(plan.experiment, data, monotonic() - began, as_json)

    code = _for_each(sweeps_in(store), go_on)
    if not unfinished and code == 0 and not as_json:
        print(f"All sweeps in {store} are finished.")
    return code


def print_status(store: Path, *, as_json: bool) -> int:
    """How far the sweeps of a store are."""
    machine.prepare()
    from festina.lab.sweeps.folder import status, sweeps_in

    found: list[Any] = []
    code = _for_each(sweeps_in(store), lambda folder: found.append(status(folder)))
    if as_json:
        print_json([to_json(asdict(each)) for each in found])
        return code
    for each in found:
        share = each.done / each.runs
        failed = f", {each.failed} of them failed" if each.failed else ""
        busy = f"; {each.at_work} {'batch' if each.at_work == 1 else 'batches'} being computed" if each.at_work else ""
        print(f"{paint(each.experiment, 'bold')}: {each.done} of {each.runs} runs done ({share:.0%}){failed}{busy}")
        print(f"  {each.folder}")
    return code


def _for_each(folders: Sequence[Path], act: Callable[[Path], None]) -> int:
    """Do the same for every sweep; one that cannot be used is named, and keeps no other waiting. The exit code."""
    unusable = 0
    for folder in folders:
        try:
            act(folder)
        except StoreError as error:
            machine.warn(str(error))
            unusable += 1
    return 1 if unusable else 0


def estimate_sweep(question: dict[str, Any], *, processes: int, as_json: bool) -> int:
    """What a sweep would take; nothing is stored."""
    process.prepare()
    from festina.lab.sweeps.estimate import estimate
    from festina.lab.sweeps.sweep import planned

    found = estimate(planned(**question), processes)
    if as_json:
        print_json(to_json(asdict(found)) | {"seconds": found.seconds})
        return 0
    print(f"{paint(question['experiment'].name, 'bold')}: {question['experiment'].summary()}\n")
    seeds = found.runs // found.points
    print(f"  points    {found.points}, each with {seeds} {'seed' if seeds == 1 else 'seeds'}: {found.runs} runs")
    print(f"  compiles  {found.compiles}, one for each combination of structural values")
    print(f"  batches   {found.batches}, of {found.largest_batch} runs at most")
    print(f"  memory    {size(found.memory)} for each of {found.processes} processes (measured on the first batch)")
    print(f"  disk      {size(found.disk)} before compression")
    print(
        f"  time      about {duration(found.seconds)} (the first batch took {duration(found.first_seconds)}, "
        f"{duration(found.warm_seconds)} without compiling)"
    )
    return 0


def work_on_sweep(folder: Path, shard: tuple[int, int] | None, *, as_json: bool) -> int:
    """Be one worker of a sweep."""
    plan, computed = process.work_on(folder, shard)
    if as_json:
        print_json({"experiment": plan.experiment.name, "folder": str(folder), "runs": sum(computed)})
    else:
        print(f"{plan.experiment.name}: {sum(computed)} runs computed in {len(computed)} batches")
    return 0


def write_job(
    question: dict[str, Any], store: Path, shards: int | None, settings: dict[str, Any], *, submit: bool, as_json: bool
) -> int:
    """Write the array job of a sweep, and submit it if asked to."""
    machine.prepare()
    from festina.lab.sweeps import slurm
    from festina.lab.sweeps.folder import prepare, sweep_folder
    from festina.lab.sweeps.sweep import planned

    plan = planned(**question)
    if not is_known(plan.experiment):
        raise FestinaError(
            f"tasks of a job cannot find the experiment {plan.experiment.name!r}: register it as an entry point "
            "`festina.experiments`"
        )
    folder = sweep_folder(store, plan)
    prepare(folder, plan)
    path = slurm.write_script(folder, slurm.script(folder, plan, 1 if shards is None else shards, **settings))
    said = slurm.submit(path) if submit else ""
    if as_json:
        print_json({"folder": str(folder), "script": str(path), "submitted": said or None})
        return 0
    print(f"{plan.runs} runs in {len(plan.tiles())} batches\n")
    print(f"  script  {path}")
    print(f"  submit  {said or f'sbatch {path}'}")
    print(f"  watch   festina sweep status {folder}")
    return 0


def _print_sweep(experiment: Experiment, data: Any, seconds: float, as_json: bool) -> None:
    attrs = data.attrs
    done, failed = (int(data[name].sum()) for name in ("done", "failed"))
    variables = sorted(str(name) for name in data.data_vars if name not in ("done", "failed"))
    if as_json:
        print_json(
            {
                "experiment": experiment.name,
                "folder": attrs["store"],
                "sizes": {str(name): size for name, size in data.sizes.items()},
                "variables": variables,
                "done": done,
                "failed": failed,
                "failures": list(attrs["failures"]),
                "seconds": seconds,
            }
        )
        return
    grid = " × ".join(f"{name} {size}" for name, size in data["done"].sizes.items())
    print(f"{paint(experiment.name, 'bold')}: {experiment.summary()}\n")
    print(f"{done} runs done ({grid}){f', {failed} of them failed' if failed else ''}.")
    for reason in list(attrs["failures"])[:MOST_REASONS]:
        print(f"failed: {reason}")
    if failed > MOST_REASONS:
        print(f"… and {failed - MOST_REASONS} more")
    print(f"\n  variables  {', '.join(variables)}")
    print(f"  time       {duration(seconds)}")
    print(f"  data       {attrs['store']}")
    asked = name_to_ask_for(experiment)
    of = "" if asked == experiment.name else f", {asked!r}"
    print(f"  in Python  festina.lab.open_sweep({attrs['store']!r}{of})")
