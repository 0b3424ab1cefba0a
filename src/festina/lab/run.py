"""Run an experiment, or a model by itself: the main function of the lab."""

from pathlib import Path
from typing import Any

from festina.errors import ArgumentError
from festina.experiment import Budget, Experiment, Result
from festina.lab.answer import answer
from festina.lab.question import Question
from festina.lab.registry import find


def run(
    experiment: str | Experiment | type[Experiment],
    *,
    budget: Budget = "full",
    seeds: int | None = None,
    first_seed: int = 0,
    store: str | Path | None = None,
    fresh: bool = False,
    **fields: Any,
) -> Result:
    """Simulate an experiment, put theory beside it, and judge its claims.

    Args:
        experiment: its name (`festina list` shows them), an `Experiment` or its class, or `model/` with the name of a
            model.
        budget: `full` for the sources' settings, `quick` for a look.
        seeds: how many independent runs.
        first_seed: the seed of the first; the others follow.
        store: a folder of results; a question asked before is answered from it, a killed run goes on from it.
        fresh: compute even if the store has the answer.
        **fields: configuration fields that differ from the budget's defaults.

    Returns:
        A `Result`: ``result["loss"]`` as simulated, ``result.theory["loss"]`` as solved, ``result.verdicts``.

    Example:
        >>> import festina as fs
        >>> result = fs.run("model/chain", depth=3, records=20, seeds=2)
        >>> result["product"].dims, bool(result.errors("product").max() < 1e-6)
        (('run', 'time'), True)
    """
    question = Question.of(as_experiment(experiment), budget, seeds, first_seed, **fields)
    return answer(question, store=None if store is None else Path(store), fresh=fresh)


def as_experiment(experiment: Any) -> Experiment:
    """An experiment from its name, from itself, or from its class."""
    if isinstance(experiment, str):
        return find(experiment)
    if isinstance(experiment, type) and issubclass(experiment, Experiment):
        return experiment()
    if not isinstance(experiment, Experiment):
        raise ArgumentError(f"Argument `experiment` must be a name or an Experiment, but is {experiment!r}.")
    return experiment
