"""`festina diagnose`: was a perceptron lazy or rich, from the checkpoints of its training?"""

from pathlib import Path
from typing import Any

from festina.cli import arguments
from festina.cli.arguments import Parser
from festina.cli.output import print_json
from festina.errors import FestinaError
from festina.lab import machine

NEEDED = ("inputs", "targets")


def diagnose(words: list[str]) -> int:
    parser = Parser(
        "diagnose",
        usage="festina diagnose FOLDER --probes FILE [--activation relu] [--html FILE] [--json]",
        description="Was a network lazy or rich? FOLDER has checkpoints of a perceptron over its training (.npz, "
        ".safetensors, or state dicts of PyTorch; nothing in them is executed), with the steps in their names. For "
        "other networks there is fs.diagnose in Python.",
    )
    parser.add_argument("folder", metavar="FOLDER", help="of checkpoints")
    parser.add_argument("--probes", metavar="FILE", help="a .npz file with arrays `inputs` and `targets`, or classes")
    parser.add_argument(
        "--activation",
        metavar="NAME",
        default="relu",
        help="between layers: relu, tanh, sigmoid, gelu, linear [default relu]",
    )
    parser.add_argument("--html", metavar="FILE", help="write a page with the figure and all numbers")
    arguments.add_output(parser)
    found = parser.read(words)
    if found.probes is None:
        raise FestinaError("diagnose needs probes: festina diagnose FOLDER --probes FILE")
    machine.prepare()

    from festina.watching.diagnosis import diagnose as from_checkpoints
    from festina.watching.files import read_checkpoint, read_checkpoints
    from festina.watching.perceptron import perceptron

    probes = read_checkpoint(found.probes)
    if not set(NEEDED) <= set(probes):
        raise FestinaError(f"{found.probes} must have the arrays `inputs` and `targets`, but has {sorted(probes)}")
    steps, values = read_checkpoints(found.folder)
    apply = perceptron(values[0], found.activation)
    report = from_checkpoints(dict(zip(steps, values, strict=True)), apply, *(probes[name] for name in NEEDED))
    page = None if found.html is None else report.save(Path(found.html))
    if found.json:
        print_json(_facts(report) | {"page": page})
    else:
        print(report, *([] if page is None else [f"\n  page  {page}"]), sep="\n")
    return 0


def _facts(report: Any) -> dict[str, Any]:
    """The verdict, and the last of all numbers that a step has but one of."""
    verdict, data = report.verdict, report.data
    last = {name: float(data[name][-1]) for name in data.data_vars if data[name].dims == ("step",)}
    return {
        "verdict": verdict.word,
        "reasons": verdict.reasons,
        "doubts": verdict.doubts,
        "layers": verdict.layers,
        "steps": data["step"].values.tolist(),
        "last": last,
    }
