"""`festina export`: one run as one file that any browser opens, without a server."""

from pathlib import Path

from festina.cli import arguments
from festina.cli.arguments import Parser
from festina.cli.forecasts import forecasts
from festina.cli.output import print_json
from festina.errors import FestinaError
from festina.lab import machine, registry
from festina.verdicts import summary


def export(words: list[str]) -> int:
    name, rest = arguments.split_name(words, registry.runnable_names())
    experiment = None if name is None else registry.find(name)
    parser = Parser(
        f"export {name or ''}".strip(),
        usage=f"festina export {name or 'NAME'} --html [FILE] [--FIELD VALUE ...] [--budget quick|full] ...",
        description="Write a run as one interactive file: its charts, claims and equations, for any browser, with no "
        "server and no network. A run that the folder of results holds is taken from there.",
    )
    parser.add_argument(
        "--html", metavar="FILE", nargs="?", const="", help="the file to write [default: the experiment's name.html]"
    )
    arguments.add_fields(parser, experiment)
    arguments.add_work(parser, budget="quick")
    arguments.add_output(parser)
    found = parser.read(rest)
    experiment = experiment or arguments.required(name, "export")
    if found.html is None:
        raise FestinaError(f"export needs a format: festina export {experiment.name} --html")
    path = Path(found.html or f"{experiment.name.replace('/', '-')}.html")
    question = arguments.question_from(found, experiment)
    machine.prepare()

    from festina.lab.run import run
    from festina.page.export import write_page

    with forecasts(experiment, question):
        result = run(experiment, **question)
    write_page(result, path)
    if found.json:
        print_json({"experiment": experiment.name, "file": path, "folder": result.path})
    else:
        print(f"{summary(result.verdicts)}\n\n  page  {path}")
    return 0
