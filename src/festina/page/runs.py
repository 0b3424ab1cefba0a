"""What a run of the page does: simulate and show it as it goes, put theory beside it, judge the claims."""

import math
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import xarray as xr

from festina.experiment import Result
from festina.lab.answer import Event, Recorded, Whole, answer
from festina.lab.batch import times_of
from festina.lab.labelled import so_far
from festina.lab.question import Question
from festina.page.jobs import Job
from festina.page.limits import Timings
from festina.page.scenes import scenes
from festina.page.series import MOST_TIMES, chosen, lines, numbers, of_dataset
from festina.verdicts import summary
from festina.views import views_of

PACE = 0.05  # seconds between two pictures, at least
SHARE = 0.2  # of the time may go into pictures


def carry_out(question: Question, store: Path | None, timings: Timings, job: Job) -> None:
    """The whole run, in a thread of its own; `job.check` leaves it if it was cancelled."""
    began = monotonic()
    watch = _Watch(question, job)
    result = answer(question, store=store, tell=watch)
    job.check()
    theory = 0 if result.theory is None else result.theory.nbytes
    job.result, job.size = result, result.data.nbytes + theory
    job.events.publish("claims", verdicts_of(result))
    seconds = monotonic() - began
    if not result.from_store:
        timings.note(question.experiment, question.config, len(question.seeds), seconds - watch.compiling)
    job.end(
        "done",
        seconds=seconds,
        failures=result.failures,
        command=question.command,
        python=question.python,
    )


class _Watch:
    """Shows what is recorded as it comes, not more often than eyes can follow; then all of it, and the theory."""

    def __init__(self, question: Question, job: Job) -> None:
        self.question, self.job = question, job
        self.times: np.ndarray | None = None
        self.shown = np.arange(0)
        self.compiling = 0.0
        self.next = -math.inf  # when the next picture is due
        self.views = views_of(question.experiment)

    def __call__(self, event: Event) -> None:
        self.job.check()
        if isinstance(event, Recorded):
            self._follow(event)
        elif isinstance(event, Whole):
            self._show(event)
        elif event.theory is not None:
            assert self.times is not None
            series = lines(of_dataset(event.theory, self.question.experiment), self.shown)
            pictured = {"times": numbers(self.times[self.shown]), "series": series}
            self.job.events.publish("theory", pictured | self._scenes(event.theory))

    def _show(self, event: Whole) -> None:
        count = event.data.sizes["time"]
        times, self.shown, self.compiling = event.times[0, 0], chosen(count, MOST_TIMES), event.compiling
        self.times = times
        pictured = {"records": count, "of": count, "times": numbers(times[self.shown])}
        series = lines(of_dataset(event.data, self.question.experiment), self.shown)
        self.job.events.publish("points", pictured | {"series": series} | self._scenes(event.data))
        self.job.say("judging")

    def _scenes(self, data: xr.Dataset) -> dict[str, Any]:
        return {"scenes": scenes(self.views, data, self.question.config)}

    def _follow(self, event: Recorded) -> None:
        if self.times is None:
            self.job.say("running")
            self.times = times_of(self.question.experiment, self.question.runs[0])
        began = monotonic()
        if began < self.next:
            return
        records_shown = chosen(event.records, MOST_TIMES)
        data = so_far(self.question.experiment, self.question.runs, event.observed, self.times[: event.records])
        self.job.events.publish(
            "points",
            {
                "records": event.records,
                "of": len(self.times),
                "times": numbers(self.times[records_shown]),
                "series": lines(of_dataset(data, self.question.experiment), records_shown),
                **self._scenes(data),
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
