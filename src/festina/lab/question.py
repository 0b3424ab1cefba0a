"""ONE question: what, with which settings, of which seeds, at which budget. Run, page, map and report ask no other.

Imports neither JAX nor NumPy: a question can be put into words before anything is computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from festina.config import ExperimentConfig
from festina.errors import require
from festina.experiment import Budget, Experiment, Result
from festina.lab.identity import identity
from festina.lab.own_files import name_to_ask_for
from festina.lab.provenance import digest
from festina.lab.tables import run_command

if TYPE_CHECKING:
    from festina.lab.batch import Run


@dataclass(frozen=True)
class Question:
    """What is asked of the lab.

    Attributes:
        experiment: what is run.
        config: all its fields.
        seeds: of the runs.
        budget: of the fields that were not given.
    """

    experiment: Experiment
    config: ExperimentConfig
    seeds: tuple[int, ...]
    budget: Budget

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        budget: Budget = "full",
        seeds: int | None = None,
        first_seed: int = 0,
        **fields: Any,
    ) -> Question:
        """A question that is checked: fields within their bounds, and a number of seeds."""
        require(budget in ("quick", "full"), "budget", "be 'quick' or 'full'", budget)
        count = experiment.seeds_at(budget) if seeds is None else seeds
        for name, number in (("seeds", count), ("first_seed", first_seed)):
            require(isinstance(number, Integral), name, "be a whole number", number)
        require(count >= 1, "seeds", "be at least 1", count)
        require(first_seed >= 0, "first_seed", "be zero or positive", first_seed)
        config = experiment.configure(budget, **fields)
        return cls(experiment, config, tuple(range(int(first_seed), int(first_seed) + int(count))), budget)

    @classmethod
    def answered_by(cls, result: Result) -> Question:
        """The question to which a result is the answer."""
        seeds = tuple(int(seed) for seed in result.data["seed"].values)
        return cls(result.experiment, result.config, seeds, result.data.attrs.get("budget", "full"))

    @property
    def runs(self) -> list[Run]:
        from festina.lab.batch import Run

        return [Run(self.config, seed) for seed in self.seeds]

    @property
    def key(self) -> str:
        """A hash of the question and of all code that its answer depends on."""
        return digest(self.as_json(), identity(self.experiment))

    def as_json(self) -> dict[str, Any]:
        """The question as data."""
        return {
            "experiment": self.experiment.name,
            "config": self.config.model_dump(mode="json"),
            "seeds": list(self.seeds),
            "budget": self.budget,
        }

    @property
    def unusual(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Those of the fields, and of the options, that are not the budget's own."""
        usual = self.experiment.configure(self.budget)
        values = {name: getattr(self.config, name) for name in type(self.config).model_fields}
        fields = {name: value for name, value in values.items() if value != getattr(usual, name)}
        options = {}
        if len(self.seeds) != self.experiment.seeds_at(self.budget):
            options["seeds"] = len(self.seeds)
        if self.seeds and self.seeds[0] != 0:
            options["first_seed"] = self.seeds[0]
        return fields, options

    @property
    def command(self) -> str:
        """The exact command that asks it."""
        return run_command(name_to_ask_for(self.experiment), self.budget, *self.unusual)

    @property
    def python(self) -> str:
        """The line of Python that asks it."""
        fields, options = self.unusual
        given = ({"budget": self.budget} if self.budget == "quick" else {}) | options | fields
        arguments = [
            repr(name_to_ask_for(self.experiment)),
            *(f"{name}={_literal(value)}" for name, value in given.items()),
        ]
        return f"festina.run({', '.join(arguments)})"


def _literal(value: Any) -> str:
    """A value as Python reads it; infinity has no literal of its own."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    return f"float({str(value)!r})" if isinstance(value, float) and not math.isfinite(value) else repr(value)
