"""What networks with gates made of a stream of unannounced tasks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from festina.errors import require
from festina.networks.abstraction import PathGated
from festina.notebook import Told, told

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Abstracted(Told):
    """What a network made of a stream: one entry for every step, that is, for every batch.

    Attributes:
        gates: the gates after each step, with one column for each path.
        loss: the loss on each batch before it was learned from.
        network: students and gates at the end; ``network(x)`` answers in the task it believes to be on.
        batch: examples in a step.
    """

    gates: Float[np.ndarray, "steps path"]
    loss: Float[np.ndarray, " steps"]
    network: PathGated
    batch: int

    @property
    def tasks(self) -> Int[np.ndarray, " steps"]:
        """The inferred task of every step: the path whose gate is most open."""
        return np.argmax(self.gates, axis=-1)

    @property
    def switches(self) -> Int[np.ndarray, " switches"]:
        """The steps in which the inferred task became another."""
        return np.flatnonzero(np.diff(self.tasks)) + 1

    def plot(self) -> "Figure":
        """Over steps: the gates, the task that they infer, and the loss with its running mean.

        Example:
            >>> import numpy as np
            >>> import festina as fs
            >>> inputs = np.random.default_rng(0).normal(size=(400, 6))
            >>> run = fs.abstract(inputs, inputs[:, :2], batch=10)
            >>> [axis.get_ylabel() for axis in run.plot().axes]
            ['gates', 'task', 'loss']
        """
        from festina.learning.picture import draw_abstractions

        return draw_abstractions({"": [self]})

    def __repr__(self) -> str:
        steps, paths = self.gates.shape
        used = np.bincount(self.tasks, minlength=paths) / steps
        shares = ", ".join(f"{share:.0%}" for share in used)
        return (
            f"{steps} steps of {self.batch} examples, {paths} paths in use {shares} of the time, "
            f"{len(self.switches)} switches inferred, loss {self.loss[: steps // 10 + 1].mean():.3g} at first and "
            f"{self.loss[-steps // 10 :].mean():.3g} at last"
        )


@dataclass(frozen=True, repr=False)
class AbstractedArms:
    """What several arms, each with a rule of its own, made of one and the same stream.

    ``arms["forgetful"]`` is one of them, an `Abstracted`; with several seeds, ``arms.sel("forgetful", seed=2)`` is.

    Attributes:
        runs: by the name of the arm, one run for each seed.
        seeds: of the initial weights, which all arms have in common.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> inputs = np.random.default_rng(0).normal(size=(400, 6))
        >>> rule = fs.learning.stream_rule(inputs, inputs[:, :2])
        >>> arms = fs.abstract(inputs, inputs[:, :2], arms={"fast": rule, "slow": rule.forgetful(50.0)}, seeds=2)
        >>> list(arms), arms.sel("slow", seed=1).gates.shape
        (['fast', 'slow'], (20, 2))
    """

    runs: dict[str, tuple[Abstracted, ...]]
    seeds: tuple[int, ...]

    def __getitem__(self, arm: str) -> Abstracted:
        """The only run of an arm."""
        return self.sel(arm)

    def __iter__(self) -> Iterator[str]:
        """Names of the arms."""
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def sel(self, arm: str, seed: int | None = None) -> Abstracted:
        """One run, by the name of its arm and, if there are several, its seed."""
        require(arm in self.runs, "arm", f"be one of {list(self.runs)}", arm)
        if seed is None:
            require(len(self.seeds) == 1, "seed", f"be one of {list(self.seeds)}, for there are several", seed)
            return self.runs[arm][0]
        require(seed in self.seeds, "seed", f"be one of {list(self.seeds)}", seed)
        return self.runs[arm][self.seeds.index(seed)]

    @property
    def data(self) -> xr.Dataset:
        """``gates`` (arm, seed, step, path), ``loss`` and ``task`` (arm, seed, step)."""

        def of(name: str) -> np.ndarray:
            return np.stack([np.stack([getattr(run, name) for run in runs]) for runs in self.runs.values()])

        dims = ("arm", "seed", "step")
        variables = {"gates": ((*dims, "path"), of("gates")), "loss": (dims, of("loss")), "task": (dims, of("tasks"))}
        return xr.Dataset(variables, coords={"arm": list(self.runs), "seed": list(self.seeds)})

    def plot(self) -> "Figure":
        """Gates and inferred tasks of every arm (of the first seed), and below them the losses of all.

        Of several seeds, losses are means, with single seeds behind them.
        """
        from festina.learning.picture import draw_abstractions

        return draw_abstractions({name: list(runs) for name, runs in self.runs.items()}, self.seeds)

    def __repr__(self) -> str:
        seeds = f", {len(self.seeds)} seeds" if len(self.seeds) > 1 else ""
        lines = [f"{len(self.runs)} arms on one stream{seeds}"]
        for name, runs in self.runs.items():
            lines += [
                f"  {name}{f', seed {seed}' if seeds else ''}: {run!r}"
                for seed, run in zip(self.seeds, runs, strict=True)
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return told(repr(self)) + self.data._repr_html_()
