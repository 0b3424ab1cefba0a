"""The commands: each reads its words, asks the lab, and prints what came out."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from festina._version import __version__
from festina.cli import arguments
from festina.cli.arguments import Parser
from festina.cli.data import data
from festina.cli.describe import print_experiment, print_experiments
from festina.cli.diagnose import diagnose
from festina.cli.explore import explore
from festina.cli.export import export
from festina.cli.listening import listen
from festina.cli.output import print_json
from festina.cli.sweeping import sweep
from festina.cli.tour import tour
from festina.errors import FestinaWarning, UnknownName
from festina.experiment import Experiment
from festina.lab import machine, registry
from festina.lab.question import Question
from festina.lab.reproduce import load_all, select
from festina.lab.settings import write_settings

HELP = """\
usage: festina COMMAND ...

A laboratory for the theory of learning: simulate it, solve it exactly where mathematics can, see which claims hold.

commands:
  tour                  the first half minute: one experiment from each body of work, and a network of your own
  list                  every experiment, one line each, grouped by source
  show NAME             what an experiment asks, its fields, its claims
  run NAME              simulate, put theory beside it, judge the claims, draw the figure
  sweep NAME            run an experiment at every point of a grid
  sweep status|resume|slurm|work
                        how far a sweep is, go on with it, take it to a cluster
  reproduce [PAPER …]   run all experiments of papers or families, or all; write one report
  export NAME --html    one run as one file: charts, claims and equations, to open in any browser
  explore               a page with sliders and live charts, in the browser
  diagnose FOLDER       was a network lazy or rich, from the checkpoints of its training
  data                  list or fetch the images that some experiments can use
  version               which festina this is

Every command has --help, and -v to report what it does; `festina run NAME --help` and
`festina sweep NAME --help` show the experiment's fields.
"""


def dispatch(words: list[str]) -> int:
    """Find the command and carry it out."""
    leading = listen([word for word in words if word != "--debug"])
    if not leading or leading[0] in ("-h", "--help"):
        print(HELP, end="")
        return 0
    command = "version" if leading[0] == "--version" else leading[0]
    if command not in COMMANDS:
        kind = "flag" if command.startswith("-") else "command"
        raise UnknownName(kind, command, ["--help", "--version"] if kind == "flag" else COMMANDS)
    return COMMANDS[command](leading[1:])


def list_experiments(words: list[str]) -> int:
    parser = Parser("list", description="Every experiment, grouped by source, and every model, one line each.")
    arguments.add_output(parser)
    found = parser.read(words)
    entries = load_all()
    for entry in entries:
        if entry.error:
            machine.warn(f"experiment {entry.name!r} cannot be loaded: {entry.error}")
    experiments = [entry.experiment for entry in entries if entry.experiment]
    print_experiments(experiments, registry.all_models(), found.json)
    return 0


def show(words: list[str]) -> int:
    name, rest = arguments.split_name(words, registry.runnable_names())
    parser = Parser(
        "show", usage="festina show NAME [--json]", description="What an experiment asks, its fields, its claims."
    )
    arguments.add_output(parser)
    found = parser.read(rest)
    print_experiment(arguments.required(name, "show"), found.json)
    return 0


def run(words: list[str]) -> int:
    name, rest = arguments.split_name(words, registry.runnable_names())
    experiment = None if name is None else registry.find(name)
    parser = Parser(
        f"run {name or ''}".strip(),
        usage=f"festina run {name or 'NAME'} [--FIELD VALUE ...] [--budget quick|full] [--seeds N] [--out DIR] ...",
        description=experiment.summary()
        if experiment
        else "Simulate an experiment, put theory beside it, and judge its claims; "
        "`festina run NAME --help` shows its fields.",
    )
    arguments.add_fields(parser, experiment)
    group = arguments.add_work(parser)
    group.add_argument("--no-figure", action="store_true", help="do not draw the figure")
    group.add_argument("--save-settings", metavar="FILE", help="write all fields, seeds and budget, for --settings")
    arguments.add_output(parser)
    found = parser.read(rest)
    experiment = experiment or arguments.required(name, "run")
    question = arguments.question_from(found, experiment)

    if found.save_settings is not None:
        save_settings(Path(found.save_settings), experiment, question)

    from festina.cli.work import run_one

    return run_one(experiment, as_json=found.json, figure=not found.no_figure, **question)


def save_settings(path: Path, experiment: Experiment, question: dict[str, Any]) -> None:
    """Write what is asked before any work begins: who interrupts it has the file to go on with."""
    asked = {name: value for name, value in question.items() if name not in ("store", "fresh")}
    with warnings.catch_warnings():  # what there is to warn of is said when work begins
        warnings.simplefilter("ignore", FestinaWarning)
        write_settings(path, Question.of(experiment, **asked))


def reproduce(words: list[str]) -> int:
    parser = Parser(
        "reproduce",
        description="Run all experiments of papers or families, or all there are, and write one report. "
        "An experiment that fails is reported and does not stop the others.",
    )
    parser.add_argument(
        "papers", metavar="PAPER", nargs="*", help="sources' keys, families or experiments [default all]"
    )
    arguments.add_work(parser, first_seed=False)
    arguments.add_output(parser)
    found = parser.read(words)
    entries = select(*found.papers)
    budget, seeds = arguments.budget_from(found), arguments.whole_number("seeds", found.seeds)

    from festina.cli.work import run_all

    return run_all(entries, as_json=found.json, store=Path(found.out), budget=budget, seeds=seeds, fresh=found.fresh)


def version(words: list[str]) -> int:
    parser = Parser("version", description="Which festina this is.")
    arguments.add_output(parser)
    found = parser.read(words)
    if found.json:
        from festina.lab.provenance import machinery

        print_json(machinery())
    else:
        print(f"festina {__version__}")
    return 0


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "tour": tour,
    "list": list_experiments,
    "show": show,
    "run": run,
    "sweep": sweep,
    "reproduce": reproduce,
    "explore": explore,
    "export": export,
    "diagnose": diagnose,
    "data": data,
    "version": version,
}
