"""Experiments: what can be checked of every one of them, by its quick run."""

from collections.abc import Iterator
from pathlib import Path

from festina._lazy import np, plt
from festina.errors import one_line
from festina.experiment import Experiment, Result
from festina.testing.fields import field_findings
from festina.testing.findings import demand
from festina.testing.words import claim_findings, preset_findings, word_findings


def check_experiment(
    experiment: type[Experiment] | Experiment, *, store: str | Path | None = None, result: Result | None = None
) -> None:
    """Everything an experiment must be: fields with bounds and help, equations, presets, claims that stand alone, a
    quick run that ends with no claim broken, reasons beside what did not reproduce, and a figure.

    Args:
        experiment: it, or its class.
        store: where its quick run is kept, or is already.
        result: its quick run, if that is at hand.

    Raises:
        Nonconforming: with one sentence for each finding.
    """
    experiment = experiment() if isinstance(experiment, type) else experiment
    demand(experiment.name, experiment_findings(experiment, store, result))


def experiment_findings(
    experiment: Experiment, store: str | Path | None = None, result: Result | None = None
) -> Iterator[str]:
    yield from described_findings(experiment)
    if result is None:
        from festina.lab.run import run

        try:
            result = run(experiment, budget="quick", store=store)
        except Exception as error:  # whatever it is, it is one finding among others
            yield f"its quick run does not end: {one_line(error)}"
            return
    yield from result_findings(result)


def described_findings(experiment: Experiment) -> Iterator[str]:
    """What can be said without running anything."""
    if not experiment.summary().endswith("."):
        yield "its docstring must begin with one sentence on one line"
    if not experiment.claims:
        yield "it claims nothing"
    if not hasattr(experiment, "arms"):
        yield "it has no arms"
        return
    if not 1 <= len(experiment.equations) <= 3 or not 1 <= len(experiment.presets) <= 4:
        yield "it needs one to three equations (its models may have them) and one to four presets"
    yield from word_findings(experiment.equations, experiment.presets)
    yield from preset_findings(experiment)
    yield from claim_findings(experiment.claims)
    yield from field_findings(experiment.Config, lambda **fields: experiment.configure("full", **fields))


def result_findings(result: Result) -> Iterator[str]:
    """What a quick run shows."""
    yield from (f"a run failed: {failure}" for failure in result.failures)
    for verdict in result.verdicts:
        if verdict.outcome == "broken":
            yield f"claim {verdict.claim!r} is broken: {verdict.note}"
        if verdict.outcome == "not reproduced" and not verdict.reason:
            yield f"claim {verdict.claim!r} is not reproduced, and no `reason` says why"
    if result.theory is not None:
        unknown = [name for name in result.theory.data_vars if name not in result.experiment.variables]
        yield from (f"theory gives {name!r}, which is no variable" for name in unknown)
        if not any(np.isfinite(values).any() for values in result.theory.data_vars.values()):
            yield "its theory is nowhere finite"
    try:
        plt.close(result.figure())
    except Exception as error:  # as above
        yield f"its figure cannot be drawn: {one_line(error)}"
