"""What a run of the page does: simulate and show it as it goes, put theory beside it, judge the claims."""

import math
from time import monotonic
from typing import Any

import numpy as np

from festina.experiment import Result
from festina.lab.batch import Run, simulate, theory
from festina.lab.run import judged, recorded
from festina.lab.tables import rerun_command, what_was_asked
from festina.page.jobs import Job
from festina.page.limits import Timings
from festina.page.questions import Question
from festina.page.series import MOST_TIMES, chosen, lines, numbers, of_dataset, of_observed
from festina.page.theory import times_of
from festina.verdicts import summary

PACE = 0.05  # seconds between two pictures, at least
SHARE = 0.2  # of the time may go into pictures


def carry_out(question: Question, seeds: int, timings: Timings, job: Job) -> None:
    """The whole run, in a thread of its own; `job.check` leaves it if it was cancelled."""
    began = monotonic()
    experiment, config = question.experiment, question.config
    runs = [Run(config, seed) for seed in range(seeds)]
    outcome = simulate(experiment, runs, label=experiment.name, listen=_Watch(question, runs[0], job))
    job.check()
    data, _ = recorded(experiment, runs, question.budget, outcome)
    shown = chosen(data.sizes["time"], MOST_TIMES)
    pictured = {"records": data.sizes["time"], "of": data.sizes["time"], "times": numbers(outcome.times[0][shown])}
    job.events.publish("points", pictured | {"series": lines(of_dataset(data, experiment), shown)})
    job.say("judging")
    predicted = theory(experiment, runs, outcome.times)
    job.check()
    if predicted is not None:
        series = lines(of_dataset(predicted, experiment), shown)
        job.events.publish("theory", {"times": pictured["times"], "series": series})
    result = judged(Result(experiment, config, data, predicted), question.budget)
    job.check()
    job.result, job.size = result, data.nbytes + (0 if predicted is None else predicted.nbytes)
    job.events.publish("claims", verdicts_of(result))
    seconds = monotonic() - began
    timings.note(experiment, config, seeds, seconds - (outcome.seconds - outcome.warm_seconds))
    job.end(
        "done",
        seconds=seconds,
        failures=result.failures,
        command=rerun_command(result),
        python=rerun_call(result),
    )


class _Watch:
    """Shows what is recorded as it comes, not more often than eyes can follow."""

    def __init__(self, question: Question, run: Run, job: Job) -> None:
        self.question, self.run, self.job = question, run, job
        self.times: np.ndarray | None = None
        self.next = -math.inf  # when the next picture is due

    def __call__(self, records: int, observed: dict[str, np.ndarray]) -> None:
        self.job.check()
        if self.times is None:
            self.job.say("running")
            self.times = times_of(self.question.experiment, self.run)
        began = monotonic()
        if began < self.next:
            return
        records_shown = chosen(records, MOST_TIMES)
        recordings = of_observed(self.question.experiment, observed, self.question.config)
        self.job.events.publish(
            "points",
            {
                "records": records,
                "of": len(self.times),
                "times": numbers(self.times[records_shown]),
                "series": lines(recordings, records_shown),
            },
        )
        done = monotonic()
        self.next = done + max(PACE, (done - began) / SHARE)


def verdicts_of(result: Result) -> dict[str, Any]:
    """The verdicts as the page shows them, and one sentence about all of them."""
    verdicts = [
        {
            "id": verdict.claim,
            "kind": verdict.kind,
            "sentence": verdict.statement,
            "source": verdict.source,
            "outcome": verdict.outcome,
            "word": verdict.word,
            "measured": verdict.measurement,
            "expected": verdict.expectation,
            "note": verdict.remark,
            "value": verdict.measured,
        }
        for verdict in result.verdicts
    ]
    return {"verdicts": verdicts, "sentence": summary(result.verdicts)}


def rerun_call(result: Result) -> str:
    """The line of Python that gives a result again."""
    budget, fields, options = what_was_asked(result)
    named = ({"budget": budget} if budget == "quick" else {}) | options | fields
    arguments = [repr(result.experiment.name), *(f"{name}={_literal(value)}" for name, value in named.items())]
    return f"festina.run({', '.join(arguments)})"


def _literal(value: Any) -> str:
    """A value as Python reads it; infinity has no literal of its own."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    return f"float({str(value)!r})" if isinstance(value, float) and not math.isfinite(value) else repr(value)
