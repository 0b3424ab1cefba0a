"""What mathematics says of a configuration, at once: no simulation, no queue."""

from typing import Any

import numpy as np

from festina.experiment import Experiment
from festina.lab.batch import Run, times_of
from festina.lab.tables import as_json
from festina.page.kept import Latest
from festina.page.scenes import scenes
from festina.page.series import MOST_TIMES, chosen, lines, numbers, of_dataset
from festina.views import views_of

KEPT = Latest()


def theory_of(experiment: Experiment, run: Run) -> dict[str, Any] | None:
    """The theory of one run at the times a chart shows; None if the experiment has none."""
    if not experiment.has_theory():
        return None
    times = times_of(experiment, run)
    times = times[chosen(len(times), MOST_TIMES)]
    predicted = experiment.predicted(run.config, run.seed, times, KEPT)
    if predicted is None:
        return None
    series = lines(of_dataset(predicted, experiment), np.arange(len(times)))
    return {
        "times": numbers(times),
        "series": series,
        "scenes": scenes(views_of(experiment), predicted, run.config),
        "config": as_json(run.config.model_dump(mode="json")),  # an infinity among a thousand numbers slows all of them
    }
