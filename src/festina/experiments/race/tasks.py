"""Several tasks on one input: does one shared pathway learn what they have in common, or each its own everything?"""

from typing import Annotated, Any

from pydantic import Field

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np, xr
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments._fields import Distinct, Start
from festina.experiments.race._log_time import LateDuration, log_time_flow
from festina.experiments.race._settled import require_settled
from festina.experiments.race._tasks_networks import (
    cosine_at,
    each,
    loss_of,
    networks_of,
    padded_strengths,
    pathway_maps,
    reduction_of,
    worlds_of,
)
from festina.sources import SAXE_2022

SMALL = 1e-4  # a start is small up to this strength
TINY = 1e-6  # and as good as vanishing up to this one: what is left of the loser goes with its third root
LARGE = 0.2  # and large from this one on

TaskCount = Annotated[int, Field(ge=2, le=12)]


class Tasks(Experiment):
    """A pathway shared by C tasks wins the race against private ones if their targets have a cosine above −1/C.

    One input, C tasks, unit targets y_c with the cosine ρ, pair by pair. One pathway of two layers is always on, one
    more for each task is on in that task only, all equally wide and equally small at first. Small weights grow along
    Σyx(p), at the rate 2S_p: S = |ȳ| = √((1 + (C−1)ρ)/C) for the shared pathway and 1/C for a private one. They are
    equal at ρ* = −1/C. Above, the shared pathway learns the mean target first, private ones are left with y_c − ȳ, and
    the shared one ends with the share |ȳ|² = (1 + (C−1)ρ)/C of all energy. Below, private ones learn all of y_c, and
    the shared one ends with nothing. The passage is a crossover which sharpens as the start gets smaller; curves of
    all small starts cross at ρ*. From a large start there is no passage: pathways learn side by side, each at the
    speed that its initial weights give it.

    So sharing is the rule and takes hardly any similarity: tasks with orthogonal targets share a pathway, as do tasks
    that contradict each other mildly. One pathway has all only where tasks are alike (ρ = 1). Conflict between tasks
    does not make a single winner: it makes C private ones.

    ρ is swept evenly in |ȳ|, from 0 (ρ = −1/(C−1)) to 1 (ρ = 1). Theory is `festina.theory.views.vector_race` from each
    run's own start, with nothing fitted; it neglects the part of a random start that does not grow, and so is for small
    starts.
    """

    name = "race/tasks"
    sources = (SAXE_2022,)
    variables = {
        "strength": Variable("norm of each pathway's map", ("tasks", "initial", "mean_target", "path")),
        "loss": Variable("loss ½⟨|y − h|²⟩", ("tasks", "initial", "mean_target")),
    }
    seeds = 10
    quick = {
        "seeds": 2,
        "tasks": (2, 3),
        "points": 13,
        "initial": (1e-8, 1e-4, 0.3),
        "width": 8,
        "until": 120.0,
        "records": 60,
    }

    class Config(ExperimentConfig):
        tasks: Annotated[tuple[TaskCount, ...], Distinct] = structural(
            (2, 3, 4), min_length=1, help="numbers of tasks C, one or several"
        )
        initial: Annotated[tuple[Start, ...], Distinct] = structural(
            (1e-8, 1e-4, 1e-2, 0.3), min_length=1, help="strengths of the pathways at t = 0 (their means), rising"
        )
        points: int = structural(25, ge=3, le=400, help="cosines, from the smallest possible to 1, evenly in |ȳ|")
        width: int = structural(16, ge=1, le=1024, help="hidden units of every pathway")
        until: LateDuration = continuous(200.0, unit="τ", help="when to stop")
        records: int = structural(80, ge=2, le=10_000, help="recordings, evenly spaced in log time")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {
            "tasks": list(config.tasks),
            "initial": list(config.initial),
            "mean_target": np.linspace(0.0, 1.0, config.points),
            "path": ["shared", *(f"task{number}" for number in range(1, max(config.tasks) + 1))],
        }

    def simulate(self, config: Any, key: Any) -> Any:
        worlds = [worlds_of(config, count) for count in config.tasks]
        networks = [networks_of(config, count, key) for count in config.tasks]

        def losses(networks: list[Any]) -> list[Any]:
            return [each(loss_of)(network, world) for network, world in zip(networks, worlds, strict=True)]

        def rate(networks: list[Any], stage: Any) -> list[Any]:
            return jax.grad(lambda networks: -sum(loss.sum() for loss in losses(networks)))(networks)

        def observe(state: Any) -> dict[str, Any]:
            maps = [each(pathway_maps)(network) for network in state.parameters]
            return {"strength": padded_strengths(config, maps), "loss": jnp.stack(losses(state.parameters))}

        return log_time_flow(config, rate, networks, observe)

    def theory(self, config: Any, key: Any) -> Any:
        races = [reduction_of(config, count, key) for count in config.tasks]

        def curves(time: Any) -> dict[str, Any]:
            maps = [race(time)["map"] for _, race in races]
            losses = [
                0.5 * np.mean(np.sum((targets - found[..., :1, :] - found[..., 1:, :]) ** 2, axis=-1), axis=-1)
                for (targets, _), found in zip(races, maps, strict=True)
            ]
            return {"strength": np.asarray(padded_strengths(config, maps)), "loss": np.stack(losses, axis=1)}

        return curves

    def measure(self, data: Any) -> dict[str, Any]:
        strength = data["strength"].transpose(..., "path")
        where = {"dims": strength.dims[:-1]}
        return {
            "share": shared_energy(strength),
            "dominance": xr.DataArray(fs.measures.dominance(strength.values), **where),
            "effective_number": xr.DataArray(fs.measures.effective_number(strength.values), **where),
        }

    equations = (
        Equation(
            r"S_{\text{shared}} = \sqrt{\frac{1 + (C - 1)\rho}{C}}, "
            r"\qquad S_{\text{private}} = \frac1C, \qquad \rho^* = -\frac1C",
            "Small pathways grow at the rates 2S, which are equal if the targets of C tasks have the cosine ρ*.",
        ),
        Equation(
            r"\frac{|\bar y|^2}{\langle |y|^2 \rangle} = \frac{1 + (C - 1)\rho}{C}",
            "Above ρ* the shared pathway learns the mean target ȳ and ends with this share of all energy; below, with "
            "nothing.",
        ),
    )
    presets = (
        Preset(
            "sharing is the rule",
            "Tasks share a pathway down to a cosine of −1/C; the smaller the start, the sharper the edge.",
        ),
        Preset(
            "six tasks",
            "With six tasks the edge is at −1/6: even mild conflict divides them.",
            {"tasks": (6,), "points": 25, "until": 600.0},
        ),
        Preset(
            "large starts",
            "From large weights all pathways learn side by side, and there is no edge.",
            {"initial": (0.1, 0.3, 1.0)},
        ),
    )

    @claims.theory(claims.below(0.02))
    def reduction(self, result: Any) -> Any:
        """From the smallest start a gated network ends where the race reduction for vectors does (largest gap of the
        shared pathway's share of energy, over all cosines).
        """
        return _gaps(result)

    @claims.theory(claims.below(0.05))
    def crossing(self, result: Any) -> Any:
        """Shares of the shared pathway from the two smallest starts, as functions of the targets' cosine, cross at
        ρ* = −1/C (distance of the crossing).
        """
        return np.abs(crossings(result) - _critical(result)).rename(tasks="world")

    @claims.theory(claims.below(0.05))
    def shared_wins(self, result: Any) -> Any:
        """A pathway shared by C tasks whose mean target has |ȳ| ≥ 1.5/C ends with the share (1 + (C−1)ρ)/C of the
        energy (largest gap, smallest start).
        """
        return _excess(result, 1.5, np.inf, lambda mean: mean**2)

    @claims.theory(claims.below(0.01))
    def private_win(self, result: Any) -> Any:
        """A pathway shared by C tasks whose mean target has |ȳ| ≤ 0.7/C ends with nothing (its largest share of the
        energy, smallest start).
        """
        return _excess(result, 0.0, 0.7, lambda mean: 0.0 * mean)

    @claims.theory(claims.above(20.0))
    def transition(self, result: Any) -> Any:
        """From the smallest start the shared pathway has far more energy just above ρ* = −1/C than just below (ratio at
        |ȳ| = 1.25/C and 0.75/C; our threshold).
        """
        return _contrast(result, _smallest(result, TINY))

    @claims.theory(claims.below(5.0))
    def no_transition(self, result: Any) -> Any:
        """From a large start the shared pathway has little more energy just above ρ* = −1/C than just below (ratio at
        |ȳ| = 1.25/C and 0.75/C; the mean target alone gives 2.8; our threshold).
        """
        return _contrast(result, _largest(result))

    @claims.theory(claims.near(1.0, 0.05))
    def one_does_all(self, result: Any) -> Any:
        """If all tasks are alike, ρ = 1, one pathway does everything (effective number of pathways, smallest start)."""
        return _final(result, "effective_number").isel(mean_target=-1).rename(tasks="world")

    @claims.theory(claims.near(1.0, 0.05))
    def each_its_own(self, result: Any) -> Any:
        """If tasks are as different as can be, all private pathways take part, and only they (effective number of
        pathways over C, smallest start).
        """
        return (_final(result, "effective_number").isel(mean_target=0) / result["tasks"]).rename(tasks="world")

    def figure(self, result: Any) -> Any:
        from festina.experiments.race._tasks_figure import draw

        return draw(result)


def shared_energy(strength: Any) -> Any:
    """|m_shared|²/(|m_shared|² + mean over tasks of |m_task|²)."""
    energy = strength**2
    shared, private = energy.isel(path=0), energy.isel(path=slice(1, None)).sum("path") / energy["tasks"]
    return shared / (shared + private)


def _final(result: Any, name: str) -> Any:
    """A variable at the end, from the smallest start: (run, tasks, mean target)."""
    require_settled(result, initial=_smallest(result))
    return result[name].isel(time=-1).sel(initial=_smallest(result)).transpose("run", "tasks", "mean_target")


def _smallest(result: Any, most: float = SMALL) -> float:
    smallest = min(result.config.initial)
    if smallest > most:
        raise claims.NotApplicable(f"needs a start of {most:g} or smaller")
    return smallest


def _largest(result: Any) -> float:
    largest = max(result.config.initial)
    if largest < LARGE:
        raise claims.NotApplicable(f"needs a start of {LARGE:g} or larger")
    return largest


def _critical(result: Any) -> Any:
    return np.array([fs.theory.views.critical_cosine(count) for count in result.config.tasks])[None]


def _gaps(result: Any) -> Any:
    predicted = shared_energy(result.theory["strength"].isel(time=-1).sel(initial=_smallest(result)))
    return np.abs(_final(result, "share") - predicted).max(["tasks", "mean_target"])


def crossings(result: Any) -> Any:
    """The cosine at which the smaller of the two smallest starts begins to have the larger share: (run, tasks)."""
    _smallest(result)
    starts = sorted(result.config.initial)[:2]
    if len(starts) < 2 or starts[1] > SMALL:
        raise claims.NotApplicable(f"needs two starts of {SMALL:g} or smaller")
    _require_close(result)
    require_settled(result, initial=starts)
    share = result["share"].isel(time=-1).transpose("run", "tasks", "initial", "mean_target")
    ahead = (share.sel(initial=starts[0]) - share.sel(initial=starts[1])).values
    means = [[_last_rise(result["mean_target"].values, row) for row in rows] for rows in ahead]
    return xr.DataArray(cosine_at(np.array(result.config.tasks, float)[None], np.array(means)), dims=("run", "tasks"))


def _last_rise(position: Any, values: Any) -> float:
    """Where values pass from their minimum through zero to positive ones."""
    lowest = int(np.argmin(values))
    above_zero = np.flatnonzero(values[lowest:] > 0)
    if values[lowest] >= 0 or not above_zero.size:
        return np.nan
    after = lowest + int(above_zero[0])
    return float(np.interp(0.0, values[after - 1 : after + 1], position[after - 1 : after + 1]))


def _excess(result: Any, low: float, high: float, expected: Any) -> Any:
    """The largest |share − expected| of each run over |ȳ| between ``low``/C and ``high``/C."""
    _smallest(result, TINY)
    share = _final(result, "share")
    relative = share["mean_target"] * share["tasks"]
    gap = np.abs(share - expected(share["mean_target"])).where((relative >= low - 1e-9) & (relative <= high + 1e-9))
    return gap.max(["tasks", "mean_target"])


def _require_close(result: Any) -> None:
    """Cosines must be as close to each other as those at which the two sides of ρ* are compared are to ρ*."""
    most = max(result.config.tasks)
    if 1.0 / (result.config.points - 1) > (0.25 + 1e-9) / most:
        raise claims.NotApplicable(f"needs at least {4 * most + 1} points for {most} tasks")


def _contrast(result: Any, initial: float) -> Any:
    """The share just above ρ* over that just below (means over runs), for every C."""
    _require_close(result)
    require_settled(result, initial=initial)
    share = result["share"].isel(time=-1).sel(initial=initial).mean("run").transpose("tasks", "mean_target").values
    ratios = []
    for count, row in zip(result.config.tasks, share, strict=True):
        after, before = np.interp(np.array([1.25, 0.75]) / count, result["mean_target"].values, row)
        ratios.append(after / before)
    return xr.DataArray(ratios, dims="world")
