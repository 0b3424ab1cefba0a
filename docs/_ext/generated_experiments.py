"""A page for each experiment: its figure from a store of results, its claims with what was found, its fields.

What the store does not hold is not computed: the page then says how to make the figure.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from generated_commands import escape
from generated_models import equation_list, fields_table

from festina.experiment import Experiment
from festina.files import write_bytes, write_json
from festina.lab import store as stores
from festina.lab.identity import drawing_code
from festina.lab.pictures import draw, figure_paths, is_drawn
from festina.lab.question import Question
from festina.lab.registry import all_experiments
from festina.verdicts import Verdict

Found = dict[str, Verdict]


def experiment_pages(store: Path, figures: Path) -> dict[str, str]:
    """A page for each experiment, by the name of its file."""
    return {f"experiments/{file_name(each)}.md": experiment_page(each, store, figures) for each in all_experiments()}


def file_name(experiment: Experiment) -> str:
    return experiment.name.replace("/", "_")


def experiment_page(experiment: Experiment, store: Path, figures: Path) -> str:
    folder, picture = quick_folder(experiment, store), f"{file_name(experiment)}.svg"
    found = verdicts_of(folder, experiment)
    there = found is not None and keep_figure(folder, experiment, figures / picture)
    parts = [f"# {experiment.name}\n", f"{escape(experiment.summary())}\n"]
    parts += [how_to_run(experiment, f"../figures/{picture}" if there else None)]
    parts += [f"## Equations\n\n{equation_list(experiment.equations)}"] if experiment.equations else []
    parts += [f"## Claims\n\n{claims_table(experiment, found or {})}\n", f"## Fields\n\n{fields_table(experiment)}\n"]
    sources = "\n".join(f"- {source.citation}" for source in experiment.sources)
    return "\n".join([*parts, f"## Sources\n\n{sources}\n"])


def quick_folder(experiment: Experiment, store: Path) -> Path:
    """Where a store holds the result of the quick budget."""
    return stores.result_folder(store, experiment, Question.of(experiment, "quick").key)


def verdicts_of(folder: Path, experiment: Experiment) -> Found | None:
    """The verdicts of a stored result; None if there is none. Data are read only where a claim is yet to be judged."""
    try:
        known = {entry["claim"]: Verdict(**entry) for entry in stores.read_sealed(folder / stores.CARD)["verdicts"]}
    except (OSError, ValueError):
        known = {}
    if known.keys() >= {claim.id for claim in experiment.claims}:
        return known
    result = stores.load(folder, experiment)
    return None if result is None else {verdict.claim: verdict for verdict in result.verdicts}


def keep_figure(folder: Path, experiment: Experiment, path: Path) -> bool:
    """Whether a page has its figure: copied from beside the result or drawn, unless it is there as it should be."""
    card, source = path.with_suffix(".json"), folder / stores.CARD
    origin = {"result": hashlib.sha256(source.read_bytes()).hexdigest(), "code": drawing_code()}
    if path.exists() and card.exists() and json.loads(card.read_text(encoding="utf-8")) == origin:
        return True
    if is_drawn(folder):
        (content,) = [each.read_bytes() for each in figure_paths(folder) if each.suffix == path.suffix]
    else:
        result = stores.load(folder, experiment)
        if result is None:
            return False
        content = draw(result, ("svg",))["svg"]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, content)
    write_json(card, origin)
    return True


def how_to_run(experiment: Experiment, picture: str | None) -> str:
    command = f"```text\nfestina run {experiment.name} --budget quick\n```\n"
    if picture is None:
        return f"No result of it was at hand when this page was built; this makes its figure:\n\n{command}"
    return f"![The figure of {experiment.name}]({picture})\n\nThe figure at the quick budget, as made by\n\n{command}"


def claims_table(experiment: Experiment, found: Found) -> str:
    """Every claim with its kind, its place, and what the result says of it."""
    rows = ["| claim | kind | source | expected | found |", "|---|---|---|---|---|"]
    for claim in experiment.claims:
        verdict = found.get(claim.id)
        words = "" if verdict is None else f"{verdict.measurement}: {verdict.word}".removeprefix(": ")
        cells = (claim.statement, claim.kind, str(claim.source), str(claim.expect), words)
        rows.append(f"| {' | '.join(escape(cell) for cell in cells)} |")
    return "\n".join(rows)
