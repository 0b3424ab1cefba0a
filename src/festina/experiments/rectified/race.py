"""The race of all sets of contexts, and what decides it."""

from typing import Annotated, Any

from pydantic import Field

import festina as fs
from festina import claims
from festina._lazy import jnp, np, xr
from festina.experiment import Equation, Experiment, Preset, Variable, continuous, structural
from festina.experiments._fields import Distinct, Start
from festina.experiments.rectified._pathways import (
    DescentConfig,
    Learner,
    descend,
    path_gates,
    path_names,
    pathways,
    single,
    small_start,
)
from festina.sources import JARVIS_2025

Count = Annotated[int, Field(ge=2, le=6)]
STARTS = ("scratch", "residual")
RIVALS = ("single", "all but one")
SETTLED = {"scratch": 0.1, "residual": 0.5}  # share of the loss at which rivals are compared, well within the residual


class Race(Experiment):
    """Paths on in all contexts but one win the race of all subsets by a head start, not by a larger correlation.

    Every non-empty subset of C contexts has a linear path that is on in these contexts alone, of equal width and
    initial scale, all on one joint loss in the world of `rectified/selectivity`. The *energy* of a path is the sum of
    squares of what it adds to the output over all samples. Subsets of C − 1 contexts win, with the path always on.

    How much they win by depends on what is called energy, and on what paths see, so that nothing is claimed of it. In
    one run, a dozen definitions (energies, norms of W_p or of units, centred or not; the whole input or objects alone
    for partial paths) gave C − 1 shares of .29 to .67, .44 to .76 and .49 to .82 with three, four and five contexts.
    Sizes below C − 1 had at most .17 together: that they lose does not depend on the definition. The one used here was
    chosen for coming closest to shares of .51, .69 and .75 that an earlier simulation of ours had found, and agreement
    with these is no evidence.

    The source explains this by correlation: paths that share contexts see more data, and so have a larger S. In a
    centred mode σ a path of k contexts has S = √(k² + k) σ/P *at the start*. On the *residual*, what the path always on
    leaves, it has S = √(k(C − k)/C) σ/P, the same for k = 1 and k = C − 1, and largest for the middle sizes
    (`festina.theory.rectified`). So there are two races, one from scratch, and one of all paths but the common one with
    the residual as the target; and two duels between single contexts and all but one, from scratch (each with a common
    path) and on the residual. On the residual the duel is a draw, and middle sizes win the race: what makes C − 1 win
    from scratch is how much larger these paths are when the common one is done.
    """

    name = "rectified/race"
    sources = (JARVIS_2025,)
    time_unit = "steps"
    variables = {
        "energy": Variable("share of energy in paths of exactly k contexts", ("contexts", "start", "size")),
        "race_loss": Variable("mean loss of all subsets together", ("contexts", "start")),
        "duel_loss": Variable("mean loss of one kind of path", ("contexts", "start", "paths")),
    }
    seeds = 10
    quick = {"seeds": 2, "contexts": (3, 4), "path_width": 10, "records": 80}

    class Config(DescentConfig):
        contexts: Annotated[tuple[Count, ...], Distinct] = structural(
            (3, 4, 5), min_length=1, help="contexts C, one or several"
        )
        path_width: int = structural(20, ge=8, le=1000, help="hidden units of each path")
        deviation: Start = continuous(8e-6, scale="log", help="s.d. of initial weights")

    def coordinates(self, config: Any) -> dict[str, Any]:
        sizes = list(range(1, max(config.contexts) + 1))
        return {"contexts": list(config.contexts), "start": list(STARTS), "paths": list(RIVALS), "size": sizes}

    def simulate(self, config: Any, key: Any) -> Any:
        worlds = {contexts: _with_residual(fs.worlds.multitask(contexts)) for contexts in config.contexts}
        learners = {
            name: learner
            for contexts, pair in worlds.items()
            for start, world in zip(STARTS, pair, strict=True)
            for name, learner in _learners(config, fs.draws.fold_in(key, contexts), start, world).items()
        }

        each = [(contexts, start) for contexts in worlds for start in STARTS]
        shape = (len(worlds), len(STARTS), -1)

        def observe(networks: Any) -> dict[str, Any]:
            losses = {name: learner.loss(networks[name]) for name, learner in learners.items()}
            energy = [
                _energy(networks[_name(contexts, start, "race")], worlds[contexts][0], start, max(worlds))
                for contexts, start in each
            ]
            duels = [losses[_name(*which, rival)] for which in each for rival in RIVALS]
            return {
                "energy": jnp.stack(energy).reshape(shape),
                "race_loss": jnp.stack([losses[_name(*which, "race")] for which in each]).reshape(shape[:2]),
                "duel_loss": jnp.stack(duels).reshape(shape),
            }

        return descend(config, key, learners, observe)

    equations = (
        Equation(
            r"S_{\text{start}} = \sqrt{k^2 + k}\; \frac{\sigma}{P}, "
            r"\qquad S_{\text{residual}} = \sqrt{\frac{k (C - k)}{C}}\; \frac{\sigma}{P}",
            "A path that is on in k of C contexts sees the first correlation at the start, and the second when the "
            "common path is done.",
        ),
    )
    presets = (
        Preset("head start", "Paths of all contexts but one win from scratch; on the residual they have no advantage."),
        Preset(
            "large weights",
            "From weights a hundred times as large all is learned sooner, and the same paths win.",
            {"deviation": 1e-3},
        ),
    )

    @claims.paper(JARVIS_2025.at("why mixed selectivity wins: the winning strategy"), claims.above(0.0))
    def mixed_wins(self, result: Any) -> Any:
        """In a race of all subsets of contexts, paths on in all contexts but one end with more energy than all smaller
        subsets together (difference of shares).
        """
        return lead_over_smaller(result)

    @claims.paper(
        JARVIS_2025.at("why mixed selectivity wins: sharing raises S"),
        claims.above(1.05),
        reason="the source's scope: sharing raises S before the common path is done, and not on what it leaves; see "
        "the experiment's description",
    )
    def sharing_raises_correlation(self, result: Any) -> Any:
        """On the residual that the common path leaves, a path of all contexts but one has a larger input-output
        correlation S than one of a single context (ratio; our threshold).
        """
        return correlation_ratios(result, "residual")

    @claims.paper(JARVIS_2025.at("why mixed selectivity wins: sharing raises S"), claims.above(1.0))
    def head_start(self, result: Any) -> Any:
        """At the start, a path of all contexts but one has a larger input-output correlation S than one of a single
        context (ratio; √(C(C − 1)/2) by theory).
        """
        return correlation_ratios(result, "scratch")

    @claims.theory(claims.near(1.0, 0.03))
    def draw_on_the_residual(self, result: Any) -> Any:
        """On the residual that the common path leaves, paths of single contexts learn as fast as paths of all but one
        (ratio of times to half of it).
        """
        return duel(result, "residual")

    @claims.paper(JARVIS_2025.at("why mixed selectivity wins: faster than modular alternatives"), claims.above(1.4))
    def won_from_scratch(self, result: Any) -> Any:
        """From scratch and beside a common path, paths of single contexts take longer than paths of all but one (ratio
        of times to a tenth of the loss; our threshold).
        """
        return duel(result, "scratch")

    @claims.theory(claims.below(0.0))
    def middle_sizes(self, result: Any) -> Any:
        """Without the head start middle sizes win the race: on the residual, with C ≥ 4, paths of C − 1 contexts do not
        lead (their share of energy less the largest other).
        """
        return _lead_on_residual(result)

    def figure(self, result: Any) -> Any:
        from festina.experiments.rectified._race_figure import draw

        return draw(result)


def _with_residual(world: Any) -> tuple[Any, Any]:
    """A world, and the same with what the best linear map of the input leaves as its targets."""
    import equinox as eqx

    x, y = world.dataset.inputs, world.dataset.targets
    left = y - x @ np.linalg.lstsq(x, y)[0]
    return world, eqx.tree_at(lambda world: world.dataset.targets, world, left)


def _name(contexts: int, start: str, what: str) -> str:
    return f"{contexts} {start} {what}"


def _racing_sets(contexts: int, start: str) -> Any:
    """All subsets; on the residual without the one of all contexts, for which nothing is left."""
    return fs.worlds.contexts.context_subsets(contexts, *range(1, contexts + (start == "scratch")))


def _learners(config: Any, key: Any, start: str, world: Any) -> dict[str, Learner]:
    """The race of all subsets, and the two rivals of the duel."""
    contexts, width = world.context_count, config.path_width
    rate, data = config.rate * len(world.contexts), single(world.dataset)
    keys = fs.draws.split(fs.draws.fold_in(key, STARTS.index(start)), 3)
    sets = _racing_sets(contexts, start)
    names = path_names(sets)
    widths = {"x": int(data.inputs.shape[1]), "y": int(data.targets.shape[1])} | dict.fromkeys(names, int(width))
    graph = fs.networks.Graph.of(f"x -> {', '.join(names)} -> y", widths=widths)
    gated = fs.worlds.GatedDataset({"x": data.inputs}, {"y": data.targets}, path_gates(world, sets))
    learners = {"race": Learner(small_start(keys[0], graph, config.deviation), gated.samples.loss, rate)}
    common = fs.worlds.contexts.context_subsets(contexts, contexts)[: 1 if start == "scratch" else 0]
    for rival, size, one in zip(RIVALS, (1, contexts - 1), keys[1:], strict=True):
        chosen = np.concatenate([common, fs.worlds.contexts.context_subsets(contexts, size)])
        graph, gated = pathways(world, chosen, [width] * len(chosen))
        learners[rival] = Learner(small_start(one, graph, config.deviation), gated.samples.loss, rate)
    return {_name(contexts, start, what): learner for what, learner in learners.items()}


def _energy(network: Any, world: Any, start: str, widest: int) -> Any:
    """The share of energy in paths of each size: Σ over samples of |g_p W_p x|²."""
    sets = _racing_sets(world.context_count, start)
    inputs, outputs = network.blocks
    into = inputs.reshape(len(sets), -1, inputs.shape[-1])
    out = outputs.reshape(outputs.shape[0], len(sets), -1)
    hidden = jnp.einsum("pwi,ni->pnw", into, single(world.dataset.inputs))
    hidden = hidden * np.asarray(sets[:, world.contexts], np.float32)[:, :, None]
    gram = jnp.einsum("opw,opv->pwv", out, out)
    energy = jnp.einsum("pnw,pwv,pnv->p", hidden, gram, hidden)
    by_size = (sets.sum(axis=1)[None] == np.arange(1, widest + 1)[:, None]).astype(np.float32) @ energy
    return by_size / by_size.sum()


def _final_energy(result: Any, contexts: int, start: str) -> Any:
    loss = result["race_loss"].sel(contexts=contexts, start=start)
    if bool((loss.isel(time=-1) > SETTLED[start] * loss.isel(time=0)).any()):
        raise claims.Undecided(f"the race of {contexts} contexts ({start}) is not over; {_more(result)}")
    return result["energy"].sel(contexts=contexts, start=start).isel(time=-1).drop_vars("contexts")


def _more(result: Any) -> str:
    return f"needs more than --steps {result['time'].values[-1]:g}"


def lead_over_smaller(result: Any) -> Any:
    """The share of energy in paths on in all contexts but one at the end, less that of all smaller subsets."""
    leads = []
    for contexts in at_least(result, 3):
        energy = _final_energy(result, contexts, "scratch")
        leads.append(energy.sel(size=contexts - 1, drop=True) - energy.sel(size=slice(1, contexts - 2)).sum("size"))
    return xr.concat(leads, "world")


def _lead_on_residual(result: Any) -> Any:
    leads = []
    for contexts in at_least(result, 4):
        energy = _final_energy(result, contexts, "residual")
        leads.append(energy.sel(size=contexts - 1, drop=True) - energy.drop_sel(size=contexts - 1).max("size"))
    return xr.concat(leads, "world")


def at_least(result: Any, least: int) -> list[int]:
    """The numbers of contexts from one on; with two, all contexts but one are a single one."""
    many = [contexts for contexts in result.config.contexts if contexts >= least]
    if not many:
        raise claims.NotApplicable(f"needs {'three' if least == 3 else 'four'} contexts or more")
    return many


def correlations(contexts: int, start: str) -> Any:
    """S of one path of each size from 1 on, in units of σ/P, measured on the strongest centred mode of the data."""
    world = _with_residual(fs.worlds.multitask(contexts))[STARTS.index(start)]
    _, strengths, modes = np.linalg.svd(world.common)
    along = world.dataset.inputs[:, : world.object_count] @ modes[1]
    gates = [world.contexts < size for size in range(1, contexts + 1)]
    return np.array([np.linalg.norm(along[gate] @ world.dataset.targets[gate]) / strengths[1] for gate in gates])


def correlation_ratios(result: Any, start: str) -> Any:
    """S of a path on in all contexts but one over S of a path of one context, for every number of contexts."""
    measured = [correlations(contexts, start) for contexts in at_least(result, 3)]
    return xr.DataArray([every[-2] / every[0] for every in measured], dims="world")


def duel(result: Any, start: str) -> Any:
    """The time single contexts take until the loss has settled, over that of all but one; runs × contexts."""
    loss = result["duel_loss"].sel(start=start, contexts=at_least(result, 3))
    loss = loss.transpose("paths", "run", "contexts", "time").values
    share = loss / loss[..., :1]
    first, second = (fs.measures.crossing_time(result["time"].values, -one, -SETTLED[start]) for one in share)
    if not np.all(np.isfinite([first, second])):
        raise claims.Undecided(f"the loss of a rival ({start}) has not settled; {_more(result)}")
    return xr.DataArray(first / second, dims=("run", "world"))
