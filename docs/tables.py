"""Bring the tables of the README and of the documentation up to date: `python docs/tables.py [STORE]`.

They are the tables of families, of experiments and of models, the page of what did not reproduce, the map from every
item of every source to what answers it, the table of numbers that others printed, two maps that others printed, and the
table of exact solutions against independent integrations.
Given a folder of results, the measured values on the page of what did not reproduce are those that it holds or that are
computed into it, at the quick budget, and so are our maps beside the printed ones, at their own; without one they stay
as they are.
"""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from festina.claims import Claim
from festina.experiment import Experiment
from festina.lab.registry import all_experiments, all_models

ROOT = Path(__file__).resolve().parent.parent
VERDICTS = ROOT / "docs" / "verdicts.json"
SOURCES = ROOT / "docs" / "sources.toml"


FAMILIES = {
    "linear": "deep linear networks: stages, saddles, lazy and rich, continual learning",
    "race": "gated deep linear networks: which pathway learns first, and so wins",
    "rectified": "ReLU networks as gated linear ones: mixed selectivity",
    "abstraction": "task abstraction: gates that learn to switch between unannounced tasks",
    "coding": "wide Bayesian networks: analog, redundant and sparse codes",
}
"""What each family of experiments is about."""


def families_table() -> str:
    """One row for each family: what it is about, how many experiments it has, and of which sources."""
    found: dict[str, list[Experiment]] = {}
    for experiment in all_experiments():
        found.setdefault(experiment.family(), []).append(experiment)
    rows = ["| family | what it is about | experiments | for example | sources |", "|---|---|---|---|---|"]
    for family in sorted(found, key=list(FAMILIES).index):
        own = found[family]
        sources = "; ".join(dict.fromkeys(source.short for experiment in own for source in experiment.sources))
        examples = ", ".join(f"`{experiment.name.partition('/')[2]}`" for experiment in own[:3])
        name = f"[`{family}/`](docs/theory/{family}.md)"
        rows.append(f"| {name} | {FAMILIES[family]} | {len(own)} | {examples} | {sources} |")
    return "\n".join(rows)


TITLES = {
    "linear": "Deep linear networks",
    "race": "Gated networks and the neural race",
    "rectified": "ReLU networks as gated linear ones",
    "abstraction": "Task abstraction",
    "coding": "Coding in wide Bayesian networks",
}
"""Of the families, in the order of a course."""


def experiments_by_family() -> str:
    """The experiments of each family, each with a link to its page."""
    parts = []
    for family, title in TITLES.items():
        parts += [f"## {title}\n", "| experiment | what it shows | sources |", "|---|---|---|"]
        for experiment in all_experiments():
            if experiment.name.startswith(f"{family}/"):
                sources = "; ".join(source.short for source in experiment.sources)
                page = f"generated/experiments/{experiment.name.replace('/', '_')}.md"
                parts.append(f"| [`{experiment.name}`]({page}) | {experiment.summary()} | {sources} |")
        parts.append("")
    return "\n".join(parts)


def models_table() -> str:
    """One row for each model: what it is, and its fields."""
    rows = ["| model | what it is | continuous fields | structural fields |", "|---|---|---|---|"]
    for model in all_models():
        turned, stepped = (_fields(model, kind) for kind in ("continuous", "structural"))
        page = f"generated/models/{model.name.removeprefix('model/')}.md"
        rows.append(f"| [`{model.name}`]({page}) | {model.summary()} | {turned} | {stepped} |")
    return "\n".join(rows)


def _fields(experiment: Experiment, kind: str) -> str:
    return ", ".join(f"`{name}`" for name in experiment.Config.fields_of_kind(kind))


def sliders_table() -> str:
    """One row for each experiment: its dimensions, and all other continuous fields."""
    rows = ["| experiment | along its dimensions | other continuous fields |", "|---|---|---|"]
    for experiment in all_experiments():
        along = [f"`{dim}`" for dim in experiment.arms.dims]
        turned = _fields(experiment, "continuous")
        rows.append(f"| `{experiment.name}` | {', '.join(along)} | {turned} |")
    return "\n".join(rows)


def facts_table() -> str:
    """One row for each number that others printed."""
    sys.path.insert(0, str(ROOT / "tests"))
    from references.facts import FACTS

    return "\n".join(
        ["| what | printed by | largest difference allowed |", "|---|---|---|", *(it.row() for it in FACTS)]
    )


def printed_maps() -> str:
    """Two maps, cell by cell: ours, the printed one, and the difference."""
    sys.path.insert(0, str(ROOT / "tests"))
    from references.printed_maps import NOTED, tables

    return tables(json.loads(NOTED.read_text(encoding="utf-8")))


def note_printed_maps(store: Path) -> None:
    """Compute the maps that are held against printed ones."""
    sys.path.insert(0, str(ROOT / "tests"))
    from references.printed_maps import NOTED, compared, replay

    NOTED.write_text(json.dumps(compared(replay(store)), indent=1) + "\n", encoding="utf-8")


def attacks_table() -> str:
    """One row for each exact solution that is held against an independent integration."""
    sys.path.insert(0, str(ROOT / "tests"))
    from theory.attacks import ATTACKS

    head = ["| solution | against | over which parameters | largest error allowed |", "|---|---|---|---|"]
    return "\n".join([*head, *(it.row() for it in ATTACKS)])


def sources() -> list[dict[str, Any]]:
    """Every source with its items: each has what answers it (`by`), what is missing, or both."""
    return tomllib.loads(SOURCES.read_text(encoding="utf-8"))["source"]


def sources_table() -> str:
    """Every item of every source, and where it is answered."""
    parts = []
    for source in sources():
        parts += [f"## {source['name']}\n", "| item | kind | answered by | missing |", "|---|---|---|---|"]
        parts += [_item_row(item) for item in source["items"]]
        parts.append("")
    return "\n".join(parts)


def _item_row(item: dict[str, Any]) -> str:
    by = ", ".join(name if name.startswith("`") else f"`{name}`" for name in item.get("by", ()))
    return f"| {item['item']} | {item['kind']} | {by or '—'} | {item.get('missing', '')} |"


def not_reproduced() -> str:
    """Every claim with a reason why it may not be reproduced, under its experiment, with what was measured."""
    known = json.loads(VERDICTS.read_text(encoding="utf-8")) if VERDICTS.exists() else {}
    parts = []
    for experiment in all_experiments():
        claims = [claim for claim in experiment.claims if claim.reason]
        if claims:
            measured = known.get(experiment.name, {})
            parts += [f"## {experiment.name}\n", *(_entry(claim, measured.get(claim.id)) for claim in claims)]
    return "\n".join(parts)


def _entry(claim: Claim, found: dict[str, str] | None) -> str:
    said = f"- {claim.statement} *({claim.kind}: {claim.source}; `{claim.id}`)*\n"
    expected = f"Expected {claim.expect}"
    measured = f", measured {found['measured']}: {found['outcome']}" if found else ""
    return f"{said}  {expected}{measured}. {claim.reason[0].upper()}{claim.reason[1:].rstrip('.')}.\n"


def judge_all(store: Path) -> None:
    """Note the verdict on every claim that has a reason, at the quick budget."""
    noted = {experiment.name: _judged(experiment, store) for experiment in all_experiments()}
    text = json.dumps({name: found for name, found in noted.items() if found}, indent=1, ensure_ascii=False)
    VERDICTS.write_text(text + "\n", encoding="utf-8")


def _judged(experiment: Experiment, store: Path) -> dict[str, Any]:
    from festina.lab.run import run

    reasons = {claim.id for claim in experiment.claims if claim.reason}
    verdicts = run(experiment, budget="quick", store=store).verdicts if reasons else ()
    return {it.claim: {"measured": it.measurement, "outcome": it.word} for it in verdicts if it.claim in reasons}


TABLES = {
    "families": families_table,
    "experiments by family": experiments_by_family,
    "models": models_table,
    "sliders": sliders_table,
    "facts": facts_table,
    "printed maps": printed_maps,
    "attacks": attacks_table,
    "not reproduced": not_reproduced,
    "sources": sources_table,
}


def updated(text: str) -> str:
    """The text with what stands between the marks of each table replaced by the table."""
    for name, table in TABLES.items():
        first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
        if first in text:
            made = f"{first}\n{table()}\n{last}"
            text = re.sub(f"{re.escape(first)}.*?{re.escape(last)}", lambda _, made=made: made, text, flags=re.DOTALL)
    return text


def pages() -> list[Path]:
    """The pages that have tables."""
    names = (
        "README.md",
        *(f"docs/reference/{name}.md" for name in ("experiments", "models")),
        *(f"docs/explanation/{name}.md" for name in ("sources", "not_reproduced", "checked_against")),
    )
    return [ROOT / name for name in names]


def main(words: list[str]) -> None:
    if words:
        judge_all(Path(words[0]))
        note_printed_maps(Path(words[0]))
    for path in pages():
        path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
