"""A person at a terminal hears how long a run will take, if more than a minute, and that nothing can be lost."""

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from festina.errors import FestinaWarning
from festina.experiment import Experiment
from festina.lab import machine
from festina.wording import duration

REMEDY = "Ctrl-C loses nothing that is finished, and the same command goes on from there"


@contextmanager
def forecasts(experiment: Experiment, question: Mapping[str, Any]) -> Iterator[None]:
    """Within, a run says once how long it takes: as the store remembers it, or else once its pace is known."""
    from festina.lab.question import Question
    from festina.lab.remembered import seconds_remembered
    from festina.learning.outlook import MINUTE, foretold

    if not sys.stderr.isatty():
        yield
        return
    asked = {name: value for name, value in question.items() if name not in ("store", "fresh")}
    with warnings.catch_warnings():  # what there is to warn of is said when work begins
        warnings.simplefilter("ignore", FestinaWarning)
        known = seconds_remembered(Question.of(experiment, **asked), question["store"], fresh=question["fresh"])
    if known is not None:
        if known > MINUTE:
            machine.say(f"{experiment.name} will take about {duration(known)}, as it did before; {REMEDY}")
        yield
        return
    with foretold(lambda label, left: machine.say(f"{label} will take about {duration(left)} more; {REMEDY}")):
        yield
