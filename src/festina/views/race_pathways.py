"""What to look at in races of pathways: what makes one fast, views of one target, tasks that share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from festina._lazy import np, xr
from festina.views._parts import at, beside, first_run, largest, panel, smallest
from festina.views.vocabulary import Bars, Curves, Edge, Graph, Mark, Node, Quantity

RIVALS = {
    "less data": ("data", {"rival_correlation": smallest}),
    "deeper": ("depth", {"rival_depth": largest, "depth_initial": smallest}),
    "larger start": ("start", {"rival_start": largest}),
    "imbalanced": ("balance", {"rival_imbalance": largest}),
    "shared edge": ("sharing", {"path_count": largest, "shared_depth": smallest}),
}


def _rivals(data: xr.Dataset, config: Any) -> xr.DataArray:
    """The first pathway, and rivals that differ from it most in one thing, all with outputs of their own."""
    parts: dict[str, xr.DataArray] = {}
    for name, (group, choices) in RIVALS.items():
        learned = panel(data, config, "race/speeds", group, "learned")
        for dim, choose in choices.items():
            learned = at(learned, dim, choose)
        parts.setdefault("first pathway", learned.sel(pathway="first", drop=True))
        parts[name] = learned.sel(pathway="rival", drop=True)
    return beside("pathway", parts)


def _contest(data: xr.Dataset, config: Any) -> xr.DataArray:
    """What the rival has of both, where both answer the same."""
    learned = panel(data, config, "race/speeds", "contest", "learned")
    return learned.sel(pathway="rival", drop=True) / learned.sum("pathway", skipna=False)


def _large_start(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Rivals of every depth, from the largest start."""
    learned = panel(data, config, "race/speeds", "depth", "learned").sel(pathway="rival", drop=True)
    return at(learned, "depth_initial", largest)


SPEEDS = (
    Curves(
        "What makes a pathway fast",
        Quantity("learned", "strength π of a pathway", of=_rivals),
        by=("pathway",),
        x="log",
        note="Each rival differs from the first pathway in one thing alone.",
    ),
    Bars(
        "Who explains the target if there is one for both",
        Quantity("learned", "share of the rival", of=_contest),
        along="rival",
        note="Above one half the rival wins: the faster pathway has most in the end.",
    ),
    Curves(
        "From a large start deeper is faster",
        Quantity("learned", "strength π of the rival", of=_large_start),
        by=("rival_depth",),
        x="log",
        note="Depth is slow only near zero.",
    ),
)


def _two_drawn(config: Any) -> tuple[Sequence[Node], Sequence[Edge]]:
    """The two pathways, the rival below, with their layers; outputs are one or two."""
    depths, heights = {"first": config.depth, "rival": config.rival_depth}, {"first": 0.8, "rival": 0.2}
    same = config.answers == "same"
    nodes, edges = [Node("x", "x", 0.0, 0.5)], []
    if same:
        nodes.append(Node("y", "y", 1.0, 0.5))
    for name, depth in depths.items():
        hidden = [Node(f"{name}{layer}", "", layer / depth, heights[name]) for layer in range(1, depth)]
        end = "y" if same else f"y {name}"
        nodes += hidden + ([] if same else [Node(end, end, 1.0, heights[name])])
        route = ["x", *(node.name for node in hidden), end]
        pairs = pairwise(route)
        edges += [Edge(begin, to, name, {"pathway": name}) for begin, to in pairs]
    return nodes, edges


TWO_PATHWAYS = (
    Curves(
        "A pathway and its rival",
        "learned",
        by=("pathway",),
        x="log",
        note="Both are alike but for what is chosen to differ.",
    ),
    Graph(
        "The network",
        Quantity("learned", "strength π of a pathway"),
        drawing=_two_drawn,
        note="Every edge is as wide as its pathway is strong.",
    ),
)


def _racing(array: xr.DataArray) -> xr.DataArray:
    """From the smallest start, at the smallest depth with a race: three, or the largest there is."""
    array = at(array, "initial", smallest)
    return at(array, "depth", lambda depths: np.argmin(np.where(depths >= 3, depths, 1000 - depths)))


def _views_of(data: xr.Dataset, config: Any) -> xr.DataArray:
    return panel(data, config, "race/views", "views", "strength")


def _always_together(data: xr.Dataset, config: Any) -> xr.DataArray:
    return first_run(at(_racing(_views_of(data, config)), "together", largest))


def _sometimes_apart(data: xr.Dataset, config: Any) -> xr.DataArray:
    """The largest p below one, or the largest there is."""
    chosen = _racing(_views_of(data, config))
    return first_run(at(chosen, "together", lambda p: np.argmax(np.where(p < 1, p, -1.0))))


def _dominance(strength: xr.DataArray) -> xr.DataArray:
    return strength.max("view", skipna=False) / strength.sum("view", skipna=False)


def _dominance_of_starts(data: xr.Dataset, config: Any) -> xr.DataArray:
    return at(_dominance(_views_of(data, config)), "together", largest).sortby("initial")


VIEWS_EXPERIMENT = (
    Curves(
        "Views never seen apart: one takes most",
        Quantity("strength", "strength π of a view's pathway", of=_always_together),
        by=("view",),
        x="log",
        note="The first run at the largest p, from the smallest start: which view wins depends on the seed.",
    ),
    Curves(
        "Views sometimes seen apart: all end alike",
        Quantity("strength", "strength π of a view's pathway", of=_sometimes_apart),
        by=("view",),
        x="log",
        note="The same start at the largest p below 1: a transient race that leaves no trace.",
    ),
    Curves(
        "The smaller the start, the more the winner takes",
        Quantity("strength", "dominance max π / Σπ", of=_dominance_of_starts),
        by=("depth",),
        along="initial",
        x="log",
        note="Mean over runs at the largest p: at depth 2 ratios are kept, from depth 3 on one view takes over.",
    ),
)


def _views_drawn(config: Any) -> tuple[Sequence[Node], Sequence[Edge]]:
    """A pathway for every view, to one answer or to one each."""
    heights = np.linspace(0.9, 0.1, config.views)
    own, nodes, edges = config.answers == "own", [], []
    if not own:
        nodes.append(Node("y", "y", 1.0, 0.5))
    for number, height in enumerate(heights.tolist(), 1):
        end = f"y{number}" if own else "y"
        hidden = [Node(f"{number}.{k}", "", k / config.depth, height) for k in range(1, config.depth)]
        nodes += [Node(f"x{number}", f"view {number}", 0.0, height), *hidden]
        nodes += [Node(end, f"answer {number}", 1.0, height)] if own else []
        route = [f"x{number}", *(node.name for node in hidden), end]
        pairs = pairwise(route)
        edges += [Edge(begin, to, f"view {number}", {"view": number}) for begin, to in pairs]
    return nodes, edges


VIEWS_MODEL = (
    Curves("Views share a target, or race for it", "strength", by=("view",), x="log"),
    Graph("The network", "strength", drawing=_views_drawn, note="Every edge is as wide as its pathway is strong."),
)


def _amplitudes(config: Any) -> Sequence[Mark]:
    return [Mark("", y=float(size)) for size in np.linspace(1.0, config.weakest, config.views)]


BOTTLENECK = (
    Curves(
        "As many slots as hidden units, the strongest first",
        "learned",
        by=("slot",),
        x="log",
        marks=_amplitudes,
    ),
    Bars("What is learned of each slot", "learned", along="slot"),
)


def _shared_energy(data: xr.Dataset, config: Any) -> xr.DataArray:
    """|m_shared|²/(|m_shared|² + mean over tasks of |m_task|²)."""
    energy = data["strength"] ** 2
    shared, private = energy.isel(path=0, drop=True), energy.isel(path=slice(1, None)).mean("path")
    return shared / (shared + private)


def _over_cosine(data: xr.Dataset, config: Any) -> xr.DataArray:
    """The shared pathway's part for the smallest number of tasks, over the cosine (C|ȳ|² − 1)/(C − 1) of targets."""
    count = min(config.tasks)
    share = at(_shared_energy(data, config), "tasks", smallest).sortby("mean_target").rename(mean_target="cosine")
    return share.assign_coords(cosine=(count * share["cosine"].values ** 2 - 1.0) / (count - 1.0))


def _critical(config: Any) -> Sequence[Mark]:
    return (Mark("ρ* = −1/C", x=-1.0 / min(config.tasks)),)


def _side(relative: float) -> Quantity:
    """Pathways of the fewest tasks from the smallest start, at the mean target nearest to ``relative``/C."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        count = min(config.tasks)
        strength = first_run(at(at(data["strength"], "tasks", smallest), "initial", smallest))
        strength = at(strength, "mean_target", lambda means: np.argmin(np.abs(means - relative / count)))
        return strength.isel(path=slice(count + 1))

    return Quantity("strength", "strength of a pathway", of=of)


TASKS = (
    Curves(
        "Tasks share unless they contradict each other",
        Quantity("strength", "energy of the shared pathway", of=_over_cosine),
        by=("initial",),
        along="cosine",
        marks=_critical,
        note="For the smallest number C of tasks, over the cosine of their targets: the smaller the start, the sharper "
        "the edge at −1/C.",
    ),
    Curves(
        "Above the edge the shared pathway is first",
        _side(1.5),
        by=("path",),
        x="log",
        note="It learns the mean target, and private pathways what is left.",
    ),
    Curves(
        "Below it each task has its own",
        _side(0.6),
        by=("path",),
        x="log",
        note="Private pathways learn all, and the shared one ends with nothing.",
    ),
)

TASKS_MODEL = (
    Curves("A shared pathway and one for each task", "strength", by=("path",), x="log"),
    Curves("Energy of the shared pathway", Quantity("strength", "share of energy", of=_shared_energy), x="log"),
)

VIEWS = {
    "race/speeds": SPEEDS,
    "race/views": VIEWS_EXPERIMENT,
    "race/tasks": TASKS,
    "model/two-pathways": TWO_PATHWAYS,
    "model/views": VIEWS_MODEL,
    "model/bottleneck": BOTTLENECK,
    "model/similar-tasks": TASKS_MODEL,
}
HEADLINES = {
    "race/speeds": ("initial", "rival_depth", "path_count"),
    "race/views": ("together", "initial", "depth"),
    "race/tasks": ("initial", "tasks"),
    "model/two-pathways": ("initial", "rival_depth", "rival_correlation"),
    "model/views": ("together", "initial", "depth"),
    "model/bottleneck": ("bottleneck", "weakest"),
    "model/similar-tasks": ("mean_target", "initial", "tasks"),
}
MATTERS: dict[str, Any] = {}
