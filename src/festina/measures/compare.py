"""Simulation and theory side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from festina.errors import ArgumentError, require
from festina.notebook import table, told

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Theory = Callable[[np.ndarray], dict[str, Any]]


@dataclass(frozen=True, repr=False)
class Comparison:
    """The variables a run and a theory share, and how far apart they are.

    Attributes:
        run: what was simulated.
        theory: what was predicted for the same times.
        solutions: the theory itself, or one for each seed.

    Example:
        >>> import jax
        >>> import numpy as np
        >>> import festina as fs
        >>> network = fs.networks.DeepLinear.init(jax.random.key(0), (2, 2))
        >>> run = fs.flow(network, np.diag([3.0, 1.0]), until=2.0)
        >>> found = fs.compare(run, fs.theory.modes(fs.worlds.Teacher(np.diag([3.0, 1.0])), initial=network))
        >>> found.doubt, bool(found.max_error < 1e-8)
        (0.0, True)
    """

    run: xr.Dataset
    theory: xr.Dataset
    solutions: tuple[Any, ...] = ()

    @property
    def errors(self) -> dict[str, float]:
        """max |run − theory| of every variable."""
        gaps = {str(name): abs(self.run[name] - self.theory[name]) for name in self.theory.data_vars}
        return {name: float(gap.max(skipna=False)) for name, gap in gaps.items()}

    @property
    def relative_errors(self) -> dict[str, float]:
        """max |run − theory|/max |theory| of every variable; of a theory that is zero everywhere, 0 or infinite."""
        return {name: _ratio(error, float(abs(self.theory[name]).max())) for name, error in self.errors.items()}

    @property
    def max_error(self) -> float:
        """The largest of all `errors`."""
        return max(self.errors.values())

    @property
    def doubt(self) -> float | None:
        """How far theory says that it may be off, at most over seeds; 0 if it is exact, None if it does not say."""
        doubts = [getattr(solution, "doubt", None) for solution in self.solutions]
        return max((float(doubt) for doubt in doubts if doubt is not None), default=None)

    @property
    def strengths(self) -> xr.Dataset | None:
        """u_kᵀ W v_k of ``run`` and ``theory`` along the theory's own singular vectors, (…, time, mode).

        Among modes of equal strength any basis would do; theory has chosen one, in which both are compared. None if
        theory has no singular vectors, or no map was recorded.
        """
        if "map" not in self.theory or not all(_has_modes(solution) for solution in self.solutions):
            return None
        bases = [(np.asarray(each.left), np.asarray(each.right)) for each in self.solutions]
        pair = {"run": self.run["map"], "theory": self.theory["map"]}
        fits = all((len(left), len(right)) == pair["run"].shape[-2:] for left, right in bases)
        return xr.Dataset({name: _along(maps, bases) for name, maps in pair.items()}) if fits and bases else None

    @property
    def standing(self) -> str:
        """Whether theory is exact here, in words; nothing if it does not say."""
        if self.doubt is None:
            return ""
        return "exact" if self.doubt == 0 else f"approximate, because weights are not decoupled (by {self.doubt:.2g})"

    def __repr__(self) -> str:
        relative = self.relative_errors
        listed = ", ".join(f"{name} {error:.2e} ({percent(relative[name])})" for name, error in self.errors.items())
        seeds = f"; {self.run.sizes['seed']} seeds" if "seed" in self.run.dims else ""
        return f"Comparison(max error: {listed}{seeds}{'; theory is ' if self.standing else ''}{self.standing})"

    def _repr_html_(self) -> str:
        relative = self.relative_errors
        rows = ((name, f"{error:.2e}", percent(relative[name])) for name, error in self.errors.items())
        said = told(f"Theory is {self.standing}.") if self.standing else ""
        return table(("variable", "max |run − theory|", "of max |theory|"), rows) + said

    def plot(self, most: int = 12) -> "Figure":
        """One panel a variable: simulation as dots, theory as lines.

        Of a map the strengths of its modes are shown, where theory has any (`strengths`).

        Args:
            most: curves in one panel: the strongest modes, or the entries of an array that change most.
        """
        from festina.measures.compare_figure import draw

        require(most >= 1, "most", "be at least 1", most)
        return draw(self, most)


def compare(run: Any, theory: Theory | Sequence[Theory]) -> Comparison:
    """Evaluate a solution at a run's recordings and put both side by side.

    Args:
        run: a `Trajectory`, or a data set with a dimension ``time``, and ``seed`` if there are several runs.
        theory: a solution: ``theory(t)`` gives named arrays with the shape of t before their own. Of several seeds, a
            sequence of solutions, one for each of them.

    Returns:
        Errors, absolute and relative, of all variables they share; ``plot()`` draws them.

    Example:
        >>> import jax
        >>> import festina as fs
        >>> world = fs.worlds.tree(branching=(2, 2), features=30)
        >>> networks = fs.networks.DeepLinear.init(jax.random.key(0), (4, 64, 30), 1e-3, seeds=2)
        >>> run = fs.flow(networks, world, until=20.0)
        >>> solutions = [fs.theory.modes(world, initial=network) for network in run.initial]
        >>> comparison = fs.compare(run, solutions)
        >>> comparison.relative_errors["map"] < comparison.doubt < 0.3
        True
    """
    data = run if isinstance(run, xr.Dataset) else run.data
    solutions = _solutions(data, theory)
    answers = [solution(data["time"].values) for solution in solutions]
    shared = [name for name in answers[0] if name in data]
    if not shared:
        raise ArgumentError(
            f"Argument `theory` must give a variable the run recorded ({', '.join(map(str, data.data_vars))}), "
            f"but gives {', '.join(answers[0])}."
        )
    predicted = {}
    for name in shared:
        values = data[name].transpose("seed", ...) if "seed" in data[name].dims else data[name]
        own = values.shape[1:] if "seed" in values.dims else values.shape
        for answer in answers:
            shape = np.shape(answer.get(name, np.nan))
            if shape != own:
                raise ArgumentError(
                    f"Argument `theory` must give `{name}` with shape {own}, but gives it with shape {shape}."
                )
        arrays = [np.asarray(answer[name]) for answer in answers]
        predicted[name] = (values.dims, np.stack(arrays) if "seed" in values.dims else arrays[0])
    found = xr.Dataset(predicted, coords={name: data[name] for name in ("time", "seed") if name in data.coords})
    return Comparison(data[shared], found, solutions)


def percent(share: float) -> str:
    """A share in per cent, with as many digits as it takes to see it."""
    return f"{100 * share:.2g} %" if 0.001 <= share < 10 or share == 0 else f"{100 * share:.1e} %"


def _solutions(data: xr.Dataset, theory: Any) -> tuple[Any, ...]:
    """One solution, or as many as there are seeds."""
    several = data.sizes.get("seed") if "seed" in data.dims else None
    given = None if callable(theory) else tuple(theory)
    if several is None:
        require(given is None, "theory", "be one solution, for there is one run", f"{len(given or ())} of them")
        return (theory,)
    must = f"be a sequence of {several} solutions, one for each seed, as every seed starts from weights of its own"
    require(given is not None, "theory", must, "a single one")
    require(len(given or ()) == several, "theory", must, f"{len(given or ())} of them")
    return given or ()


def _ratio(error: float, largest: float) -> float:
    if largest == 0:
        return 0.0 if error == 0 else (np.nan if np.isnan(error) else np.inf)
    return error / largest


def _has_modes(solution: Any) -> bool:
    return np.ndim(getattr(solution, "left", 0)) == 2 and np.ndim(getattr(solution, "right", 0)) == 2


def _along(maps: xr.DataArray, bases: list[tuple[np.ndarray, np.ndarray]]) -> xr.DataArray:
    """u_kᵀ W v_k, seed by seed with the vectors of each."""
    several = "seed" in maps.dims
    values = maps.transpose("seed", ...).values if several else maps.values[None]
    found = [
        np.einsum("ok,...oi,ik->...k", left, each, right) for each, (left, right) in zip(values, bases, strict=True)
    ]
    stacked = np.stack(found)
    lead = ("seed", "time") if several else ("time",)
    coords = {name: maps[name] for name in lead if name in maps.coords}
    number = np.arange(1, stacked.shape[-1] + 1)
    return xr.DataArray(stacked if several else stacked[0], dims=(*lead, "mode"), coords={**coords, "mode": number})
