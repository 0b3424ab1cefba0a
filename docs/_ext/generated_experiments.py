"""A page for each experiment: its figure from a store of results, its claims with what was found, its fields.

What the store does not hold is not computed: the page then says how to make the figure.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from generated_commands import escape
from generated_models import equation_list, fields_table

from festina.experiment import Experiment, Result
from festina.lab import store as stores
from festina.lab.pictures import ensure_figure
from festina.lab.question import Question
from festina.lab.registry import all_experiments


def experiment_pages(store: Path, figures: Path) -> dict[str, str]:
    """A page for each experiment, by the name of its file."""
    return {f"experiments/{file_name(each)}.md": experiment_page(each, store, figures) for each in all_experiments()}


def file_name(experiment: Experiment) -> str:
    return experiment.name.replace("/", "_")


def experiment_page(experiment: Experiment, store: Path, figures: Path) -> str:
    result = stores.load(quick_folder(experiment, store), experiment)
    picture = f"{file_name(experiment)}.svg"
    if result is not None:
        keep_figure(result, figures / picture)
    parts = [f"# {experiment.name}\n", f"{escape(experiment.summary())}\n"]
    parts += [how_to_run(experiment, None if result is None else f"../figures/{picture}")]
    parts += [f"## Equations\n\n{equation_list(experiment.equations)}"] if experiment.equations else []
    parts += [f"## Claims\n\n{claims_table(experiment, result)}\n", f"## Fields\n\n{fields_table(experiment)}\n"]
    sources = "\n".join(f"- {source.citation}" for source in experiment.sources)
    return "\n".join([*parts, f"## Sources\n\n{sources}\n"])


def quick_folder(experiment: Experiment, store: Path) -> Path:
    """Where a store holds the result of the quick budget."""
    return stores.result_folder(store, experiment, Question.of(experiment, "quick").key)


def keep_figure(result: Result, path: Path) -> None:
    """Copy the figure that lies beside a result, unless it is there already."""
    (drawn,) = [each for each in ensure_figure(result) if each.suffix == path.suffix]
    if not path.exists() or path.read_bytes() != drawn.read_bytes():
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(drawn, path)


def how_to_run(experiment: Experiment, picture: str | None) -> str:
    command = f"```text\nfestina run {experiment.name} --budget quick\n```\n"
    if picture is None:
        return f"No result of it was at hand when this page was built; this makes its figure:\n\n{command}"
    return f"![The figure of {experiment.name}]({picture})\n\nThe figure at the quick budget, as made by\n\n{command}"


def claims_table(experiment: Experiment, result: Result | None) -> str:
    """Every claim with its kind, its place, and what the result says of it."""
    found = {} if result is None else {it.claim: it for it in result.verdicts}
    rows = ["| claim | kind | source | expected | found |", "|---|---|---|---|---|"]
    for claim in experiment.claims:
        verdict = found.get(claim.id)
        words = "" if verdict is None else f"{verdict.measurement}: {verdict.word}".removeprefix(": ")
        cells = (claim.statement, claim.kind, str(claim.source), str(claim.expect), words)
        rows.append(f"| {' | '.join(escape(cell) for cell in cells)} |")
    return "\n".join(rows)
