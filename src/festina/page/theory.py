"""What mathematics says of a configuration, at once: no simulation, no queue."""

from functools import partial
from typing import Any

import jax
import numpy as np

from festina.compiling import quick_jit
from festina.experiment import Experiment
from festina.lab.batch import Builder, Run, inputs_of, theory
from festina.page.series import MOST_TIMES, chosen, lines, numbers, of_dataset
from festina.precision import double


def times_of(experiment: Experiment, run: Run) -> np.ndarray:
    """When a run is recorded, without running it; compiled once for each structure."""
    with double():
        alone = jax.tree.map(lambda leaf: leaf[0], inputs_of([run]))
        return np.asarray(_times(Builder.of(experiment, run.config), alone))


def theory_of(experiment: Experiment, run: Run) -> dict[str, Any] | None:
    """The theory of one run at the times a chart shows; None if the experiment has none."""
    if type(experiment).theory is Experiment.theory:
        return None
    times = times_of(experiment, run)
    times = times[chosen(len(times), MOST_TIMES)]
    predicted = theory(experiment, [run], times[None])
    if predicted is None:
        return None
    series = lines(of_dataset(predicted, experiment), np.arange(len(times)))
    return {"times": numbers(times), "series": series, "config": run.config.model_dump(mode="json")}


@partial(quick_jit, static_argnums=0)
def _times(build: Builder, inputs: Any) -> Any:
    return build(inputs).times
