"""`festina list` and `festina show`: what there is, without running any of it."""

from collections.abc import Sequence
from inspect import cleandoc
from typing import Any

from festina.claims import Claim
from festina.cli.fields import Facts, facts_of
from festina.cli.output import length, one_line, pad, paint, print_json, table, wrapped
from festina.experiment import Experiment
from festina.lab.own_files import name_to_ask_for
from festina.lab.tables import run_command
from festina.sources import Source

UNSOURCED = Source("", "without a source", "Without a source")


def print_experiments(experiments: Sequence[Experiment], models: Sequence[Experiment], as_json: bool) -> None:
    """Every experiment once, under its first source, and then every model."""
    if as_json:
        print_json([_card(experiment) for experiment in (*experiments, *models)])
        return
    if not experiments:
        print("There are no experiments.")
        return
    groups: dict[Source, list[Experiment]] = {}
    for experiment in experiments:
        groups.setdefault((*experiment.sources, UNSOURCED)[0], []).append(experiment)
    widest = max(length(experiment.name) for experiment in (*experiments, *models))
    for source in sorted(groups, key=lambda source: (source == UNSOURCED, source.key)):
        key = f"  {source.key}" if source.key else ""
        print(paint(source.short, "bold") + paint(key, "dim"))
        for experiment in groups[source]:
            print(one_line(f"  {pad(experiment.name, widest)}  {experiment.summary()}"))
        print()
    print(paint("Models", "bold") + paint("  each a system by itself, with every number a field", "dim"))
    for model in models:
        print(one_line(f"  {pad(model.name, widest)}  {model.summary()}"))
    print()
    print("`festina show NAME` describes one, `festina run NAME` runs one, `festina reproduce` runs all.")


def print_experiment(experiment: Experiment, as_json: bool) -> None:
    """All there is to know about one experiment before running it."""
    facts = facts_of(experiment)
    command = run_command(name_to_ask_for(experiment), "full", {}, {})
    if as_json:
        print_json(
            _card(experiment)
            | {
                "description": cleandoc(type(experiment).__doc__ or ""),
                "fields": [fact.as_dict() for fact in facts],
                "claims": [_claim_card(claim) for claim in experiment.claims],
                "seeds": {budget: experiment.seeds_at(budget) for budget in ("quick", "full")},
                "command": command,
            }
        )
        return
    print(paint(experiment.name, "bold"))
    print()
    print(cleandoc(type(experiment).__doc__ or "(not described)"))
    _heading("sources", experiment.sources)
    for source in experiment.sources:
        print(wrapped(f"{source.key}: {source.citation}", "  "))
    _heading("fields", facts)
    if facts:
        print(table(("field", "default", "allowed", "kind", "meaning"), [_row(f) for f in facts]))
    _heading("claims", experiment.claims)
    if experiment.claims:
        print(
            table(("claim", "kind", "expected", "what is claimed"), [_claim_row(claim) for claim in experiment.claims])
        )
    _heading("run it", command)
    print(f"  {command}")
    print(f"  {run_command(name_to_ask_for(experiment), 'quick', {}, {})}")


def _heading(text: str, content: Any) -> None:
    if content:
        print(f"\n{paint(text, 'bold')}")


def _card(experiment: Experiment) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "family": experiment.family(),
        "summary": experiment.summary(),
        "sources": [
            {"key": source.key, "short": source.short, "citation": source.citation} for source in experiment.sources
        ],
    }


def _row(fact: Facts) -> tuple[str, ...]:
    default = f"{fact.default} (quick {fact.quick})" if fact.quick else fact.default
    allowed = f"{fact.allowed}, in {fact.unit}" if fact.unit else fact.allowed
    return fact.name, default, allowed, fact.kind, fact.help


def _claim_row(claim: Claim) -> tuple[str, ...]:
    budget = ", full budget only" if claim.budget == "full" else ""
    return claim.id, claim.kind, str(claim.expect), f"{claim.statement} [{claim.source}{budget}]"


def _claim_card(claim: Claim) -> dict[str, Any]:
    return {
        "id": claim.id,
        "kind": claim.kind,
        "source": claim.source,
        "statement": claim.statement,
        "expected": claim.expect.says,
        "tolerance": claim.expect.tolerance,
        "loosely": None if claim.loosely is None else claim.loosely.says,
        "budget": claim.budget,
    }
