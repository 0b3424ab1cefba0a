"""`festina sweep` and what belongs to it: status, resume, slurm, work."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from festina.cli import arguments
from festina.cli.arguments import Parser
from festina.errors import ArgumentError, FestinaError
from festina.lab import registry


def sweep(words: list[str]) -> int:
    """Run a sweep, or what one of its own commands asks for."""
    if words and words[0] in OF_A_SWEEP:
        return OF_A_SWEEP[words[0]](words[1:])
    found, question = _question("sweep", words, _add_executors)

    from festina.cli.sweep_work import estimate_sweep, run_sweep

    executor = _executor(found)
    if found.dry_run:
        return estimate_sweep(question, processes=_processes(found), as_json=found.json)
    return run_sweep(question, store=Path(found.out), executor=executor, as_json=found.json)


def status(words: list[str]) -> int:
    parser = Parser("sweep status", description="How far the sweeps of a store are, without disturbing them.")
    _add_store(parser)
    found = parser.read(words)

    from festina.cli.sweep_work import print_status

    return print_status(Path(found.store), as_json=found.json)


def resume(words: list[str]) -> int:
    parser = Parser(
        "sweep resume", description="Go on with every sweep of a store that is not finished, and mend what is damaged."
    )
    _add_store(parser)
    _add_executors(parser)
    found = parser.read(words)

    from festina.cli.sweep_work import resume_sweeps

    return resume_sweeps(Path(found.store), executor=_executor(found), as_json=found.json)


def work(words: list[str]) -> int:
    parser = Parser(
        "sweep work",
        description="Start one worker of a sweep: compute its batches that are not done and that no other worker "
        "is computing, on one core. Any number of workers may do so at once, on any machine that sees the folder.",
    )
    parser.add_argument("store", metavar="FOLDER", help="the folder of a sweep")
    parser.add_argument("--shard", metavar="I/N", help="only every N-th batch, beginning with batch I (from 0)")
    arguments.add_output(parser)
    found = parser.read(words)
    shard = None if found.shard is None else _shard(found.shard)

    from festina.cli.sweep_work import work_on_sweep

    return work_on_sweep(Path(found.store), shard, as_json=found.json)


def slurm(words: list[str]) -> int:
    def add(parser: Parser) -> None:
        group = parser.add_argument_group("job")
        group.add_argument("--shards", metavar="N", default="10", help="tasks of the array job [default 10]")
        group.add_argument("--job-time", metavar="TIME", default="1:00:00", help="limit of a task [default 1:00:00]")
        group.add_argument("--job-memory", metavar="SIZE", default="4G", help="memory of a task [default 4G]")
        group.add_argument(
            "--sbatch", metavar="OPTION", action="append", default=[], help="any option, as --sbatch=--partition=short"
        )
        group.add_argument("--submit", action="store_true", help="hand the script to sbatch at once")

    found, question = _question("sweep slurm", words, add)
    shards = arguments.whole_number("shards", found.shards)

    from festina.cli.sweep_work import write_job

    settings = {"time": found.job_time, "memory": found.job_memory, "options": found.sbatch}
    return write_job(question, Path(found.out), shards, settings, submit=found.submit, as_json=found.json)


def _question(
    command: str, words: list[str], add: Callable[[Parser], None]
) -> tuple[argparse.Namespace, dict[str, Any]]:
    """What a sweep asks, read from the words of a command with further flags of its own."""
    name, rest = arguments.split_name(words, registry.runnable_names())
    experiment = None if name is None else registry.find(name)
    parser = Parser(
        f"{command} {name or ''}".strip(),
        usage=f"festina {command} {name or 'NAME'} --over FIELD=VALUES [--over ...] [--FIELD VALUE ...] ...",
        description=DESCRIPTIONS[command],
    )
    parser.add_argument(
        "--over",
        metavar="FIELD=VALUES",
        action="append",
        default=[],
        help="an axis: field=lin:first:last:count, field=log:first:last:count or field=a,b,c; may be repeated",
    )
    parser.add_argument("--keep", metavar="VAR,VAR", help="keep only these variables [default all]")
    parser.add_argument("--tile", metavar="N", help="runs in one compiled batch [default: as memory allows]")
    add(parser)
    arguments.add_fields(parser, experiment)
    arguments.add_work(parser, fresh=False)
    arguments.add_output(parser)
    found = parser.read(rest)
    experiment = experiment or arguments.required(name, command)
    if not found.over:
        raise FestinaError(f"{command} needs at least one axis, such as `--over field=lin:0:1:5`")
    settings, given = arguments.settings_from(found, experiment), arguments.fields_from(found)
    swept = {text.partition("=")[0].strip() for text in found.over}  # axes win over the file, too
    fields = {name: value for name, value in settings.fields.items() if name not in swept} | given
    options = arguments.options_from(found, settings)
    arguments.check(experiment, options["budget"], fields)
    question = {
        "experiment": experiment,
        "over": found.over,
        **options,
        "variables": [part.strip() for part in found.keep.split(",") if part.strip()] if found.keep else None,
        "tile": arguments.whole_number("tile", found.tile),
        **fields,
    }
    return found, question


DESCRIPTIONS = {
    "sweep": "Run an experiment at every point of a grid; killed at any moment, the same command goes on. "
    "`festina sweep status STORE` tells how far it is, `festina sweep resume STORE` goes on with it, "
    "`festina sweep slurm NAME …` writes it as an array job, `festina sweep work FOLDER` is one more worker.",
    "sweep slurm": "Write a sweep as an array job of SLURM, whose tasks divide its batches and share one store.",
}


def _add_executors(parser: Parser) -> None:
    group = parser.add_argument_group("workers")
    group.add_argument("--processes", metavar="N", help="worker processes on this machine [default: one for each core]")
    group.add_argument("--workers", metavar="N", help="start a dask cluster of N workers on this machine")
    group.add_argument("--scheduler", metavar="ADDRESS", help="use the dask cluster whose scheduler is there")
    group.add_argument(
        "--dry-run", action="store_true", help="time the first batch, say what the sweep would take, store nothing"
    )


def _add_store(parser: Parser) -> None:
    parser.add_argument("store", metavar="STORE", help="a folder of results, or the folder of one sweep")
    arguments.add_output(parser)


def _executor(found: argparse.Namespace) -> Callable[[], Any]:
    """How to make who computes, as the flags have it; made only when work begins, for it needs the whole lab."""
    given = [name for name in ("processes", "workers", "scheduler") if getattr(found, name) is not None]
    if len(given) > 1:
        raise ArgumentError(f"Argument `{given[0]}` must be given without `{given[1]}`, but both are.")
    processes, workers = (arguments.whole_number(name, getattr(found, name)) for name in ("processes", "workers"))

    def make() -> Any:
        if given in (["workers"], ["scheduler"]):
            from festina.lab.sweeps.cluster import Dask

            return Dask(scheduler=found.scheduler, workers=workers)
        from festina.lab.sweeps.executors import Processes

        return Processes(processes)

    return make


def _processes(found: argparse.Namespace) -> int:
    from festina.lab.sweeps.cores import available

    return arguments.whole_number("processes", found.processes or found.workers) or available()


def _shard(text: str) -> tuple[int, int]:
    index, slash, count = text.partition("/")
    if not (slash and index.isdigit() and count.isdigit()):
        raise ArgumentError(f"Argument `shard` must look like i/n, as 0/10, but is {text!r}.")
    return int(index), int(count)


OF_A_SWEEP = {"status": status, "resume": resume, "work": work, "slurm": slurm}
