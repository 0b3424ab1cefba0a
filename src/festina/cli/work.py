"""`festina run` and `festina reproduce`: the commands that compute, and what they print afterwards."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic
from typing import Any

from festina import exit_codes
from festina.cli.forecasts import forecasts
from festina.cli.output import claims_table, paint, print_json, wrapped
from festina.errors import StoreError, one_line
from festina.experiment import Experiment, Result
from festina.lab import machine
from festina.lab.reproduce import Entry
from festina.lab.tables import as_json as to_json
from festina.lab.tables import result_json
from festina.verdicts import summary
from festina.wording import duration


def run_one(experiment: Experiment, *, as_json: bool, figure: bool, **question: Any) -> int:
    """Run an experiment and print its claims; a result that cannot be stored is printed all the same.

    The exit code says whether a claim broke; that one was not reproduced is a finding, and no failure.
    """
    machine.prepare()
    from festina.lab.run import run

    began = monotonic()
    try:
        with forecasts(experiment, question):
            result = run(experiment, **question)
    except StoreError as error:
        unsaved = getattr(error, "result", None)
        if unsaved is None:
            raise
        _print_result(unsaved, [], monotonic() - began, as_json)
        raise StoreError(f"{error}; {_rescue(unsaved)}") from error
    paths = _figure(result) if figure else []
    _print_result(result, paths, monotonic() - began, as_json)
    return exit_codes.BROKEN if any(verdict.outcome == "broken" for verdict in result.verdicts) else 0


def _figure(result: Result) -> list[Path]:
    from festina.lab.pictures import ensure_figure

    try:
        return ensure_figure(result)
    except Exception as error:  # the numbers are there, and worth more than the picture
        machine.warn(f"the figure of {result.experiment.name} could not be drawn: {one_line(error)}")
        return []


def _rescue(result: Result) -> str:
    """Put the data of a result that its store did not take into a temporary folder; what came of it."""
    from festina.lab.store import write_zarr

    try:
        folder = Path(mkdtemp(prefix="festina-"))
        write_zarr(result.data, folder / "data.zarr", "simulation")
    except OSError as error:
        return f"nor could the data be kept in a temporary folder ({one_line(error)})"
    return f"the data is in {folder}"


def _print_result(result: Result, figures: Sequence[Path], seconds: float, as_json: bool) -> None:
    if as_json:
        print_json(result_json(result) | {"figures": to_json(list(figures))})
        return
    print(f"{paint(result.experiment.name, 'bold')}: {result.experiment.summary()}\n")
    if result.verdicts:
        print(claims_table(result.verdicts) + "\n")
    print(wrapped(summary(result.verdicts)))
    for reason in result.failures:
        print(f"failed: {reason}")
    attrs = result.data.attrs
    runs = result.data.sizes.get("run", 0)
    took = f"{runs} {'run' if runs == 1 else 'runs'} in {duration(float(attrs.get('seconds', float('nan'))))}"
    if result.from_store:
        took = f"from the store, answered in {duration(seconds)} (computed {attrs.get('created', '?')}: {took})"
    print(f"\n  time    {took}")
    if result.path is not None:
        print(f"  data    {result.path}")
    if figures:
        print(f"  figure  {figures[0]}")


def run_all(entries: list[Entry], *, as_json: bool, store: Path, **question: Any) -> int:
    """Run many experiments and write one report; the exit code says whether any of them failed."""
    machine.prepare()
    from festina.lab.report import totals, write_report
    from festina.lab.reproduce import reproduce

    def tell(entry: Entry) -> None:
        if entry.problem:
            machine.warn(f"{entry.name}: {entry.problem}")
        if not as_json and entry.result is not None:
            stored = ", from the store" if entry.result.from_store else ""
            print(f"{paint(entry.name, 'bold')}: {entry.result.experiment.summary()}\n")
            print(claims_table(entry.result.verdicts))
            said = f"{summary(entry.verdicts)} ({duration(entry.seconds)}{stored})"
            print(f"\n{wrapped(said)}\n", flush=True)

    done = reproduce(entries, store=store, tell=tell, **question)
    path = write_report(done, store / "report.html")
    if as_json:
        print_json({"report": path, "experiments": [entry_json(entry) for entry in done]})
    else:
        print(f"\n{wrapped(totals(done))}\n\n  report  {path}")
    return exit_codes.BROKEN if any(entry.problem for entry in done) else 0


def entry_json(entry: Entry) -> dict[str, Any]:
    """An experiment of a report without its data, for machines."""
    known = {"experiment": entry.name} if entry.result is None else result_json(entry.result)
    return known | {"error": entry.problem or None}
