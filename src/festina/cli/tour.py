"""`festina tour`: the first impression, as one table and one report."""

import shutil
import sys
import webbrowser
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from festina.cli import arguments
from festina.cli.arguments import Parser
from festina.cli.explore import has_screen, missing_for_page
from festina.cli.output import paint, print_json, row, wrapped
from festina.cli.work import entry_json
from festina.lab import machine
from festina.lab import tour as lab
from festina.lab.reproduce import Entry
from festina.verdicts import Verdict
from festina.wording import duration

Say = Callable[..., None]
HEAD = ("experiment", "claims", "time", "what it shows")


def tour(words: list[str]) -> int:
    parser = Parser(
        "tour",
        description="One experiment from each body of work, and a network of your own: a table, and one report. "
        "It takes half a minute; the second time it is answered from the folder of results.",
    )
    group = parser.add_argument_group("work")
    arguments.add_folder(group)
    arguments.add_fresh(group)
    parser.add_argument("--no-browser", action="store_true", help="print the path of the report, and do not open it")
    arguments.add_output(parser)
    found = parser.read(words)
    machine.prepare()
    return _travel(Path(found.out), fresh=found.fresh, as_json=found.json, browser=not found.no_browser)


def _travel(store: Path, *, fresh: bool, as_json: bool, browser: bool) -> int:
    """Visit all stops, and tell of each as soon as it is done; the exit code says whether any of them failed."""
    from festina.lab.report import totals, write_report
    from festina.lab.store import check_writable

    check_writable(store)
    say = _silent if as_json else _tell_row
    say(*HEAD)
    done, own = lab.visit(store=store, fresh=fresh, begin=_begin, tell=lambda entry: _tell_entry(entry, say))
    _tell_own(own, say)
    path = write_report(done, store / "tour.html", title=lab.TITLE, further=[lab.section(own)])
    if as_json:
        seen = {"errors": own.comparison.errors if own.comparison else None, "error": own.error or None}
        print_json({"report": path, "experiments": [entry_json(entry) for entry in done], "own_network": seen})
    else:
        print(f"\n{wrapped(totals(done))}\n\n  report  {path}\n\n{_next()}", flush=True)
        if browser and has_screen():
            with suppress(webbrowser.Error):
                webbrowser.open(path.resolve().as_uri())
    return 1 if own.error or any(entry.problem for entry in done) else 0


def _begin(name: str) -> None:
    machine.passing(f"{name} …")


def _tell_row(*cells: str) -> None:
    """One row of the table; the columns are as wide as all that may come needs."""
    machine.passing("")
    sizes = [max(len(name) for name in [*lab.shows(), lab.OWN]), len("12 of 12"), len("12.3 s")]
    line = row(cells, sizes)
    print(paint(line, "dim") if cells == HEAD else line, flush=True)


def _silent(*cells: str) -> None:
    machine.passing("")


def _tell_entry(entry: Entry, say: Say) -> None:
    say(entry.name, _held(entry), duration(entry.seconds), lab.shows()[entry.name])
    for sentence in _reservations(entry):
        say("", "", "", sentence)


def _tell_own(own: lab.OwnNetwork, say: Say) -> None:
    say(lab.OWN, "failed" if own.error else "–", duration(own.seconds), own.shows)
    if own.error:
        say("", "", "", f"It failed: {own.error}.")


def _held(entry: Entry) -> str:
    """How many of the claims that were put to the test held."""
    if entry.result is None:
        return "failed"
    verdicts = [verdict for verdict in entry.verdicts if verdict.tried]
    held = sum(verdict.holds for verdict in verdicts)
    count = f"{held} of {len(verdicts)}"
    return paint(count, "green") if held == len(verdicts) else paint(count, "red")


def _reservations(entry: Entry) -> list[str]:
    """Sentences about what failed, about claims that did not hold, and about those that were not put to the test."""
    failed = [f"It failed: {entry.problem}."] if entry.problem else []
    missed = [_missed(verdict) for verdict in entry.verdicts if verdict.outcome == "not reproduced"]
    untried = (verdict for verdict in entry.verdicts if not verdict.tried and verdict.outcome != "broken")
    notes = Counter(verdict.note or verdict.outcome for verdict in untried)
    return failed + missed + [_untried(count, note) for note, count in notes.items()]


def _missed(verdict: Verdict) -> str:
    remark = f" ({verdict.remark})" if verdict.remark else ""
    return f"{verdict.word.capitalize()}: {verdict.statement}{remark}"


def _untried(count: int, note: str) -> str:
    """Why claims were not put to the test; reasons mostly begin with `needs`."""
    if not note.startswith("needs "):
        return f"{count} more not put to the test: {note}."
    return f"{count} more {'needs' if count == 1 else 'need'} {note.removeprefix('needs ')}."


def _next() -> str:
    """Three things to try, in commands that work as they stand."""
    command = _spelled()
    page = (f"{command} explore", "every experiment with sliders")
    sweep = (f"{command} sweep linear/chain --over initial=log:1e-3:0.1:9", "a grid")
    tries = [
        (f"{command} show race/margin", "its fields and claims"),
        (f"{command} run linear/chain --depth 1,3,5,inf", "other depths"),
        sweep if missing_for_page() else page,
    ]
    longest = max(len(words) for words, _ in tries)
    lines = [f"  {words:{longest}}  {paint(why, 'dim')}" for words, why in tries]
    return "\n".join(["To try next:", *lines])


def _spelled() -> str:
    """The command as the user can type it: by its path, if it was called so and is found in no other way."""
    called = Path(sys.argv[0])
    return str(called) if called.name == "festina" and shutil.which("festina") is None else "festina"
