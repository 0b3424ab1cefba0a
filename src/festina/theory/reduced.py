"""The reduced race: scalars B_e for each edge and mode, that grow and compete.

    τ Ḃ_e = Σ_{p ∋ e} B_{p∖e} [S(p) − Σ_j B_j D(j, p)],

made from a graph and a world by `festina.theory.reduction`.

Source: A. M. Saxe, S. Sodhani, S. Lewallen, "The neural race reduction: dynamics of abstraction in gated networks"
(2022).
"""

import itertools
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina.compiling import brief_jit
from festina.errors import ArgumentError, require
from festina.networks.graph import Graph
from festina.notebook import Told
from festina.precision import double, with_slope_of
from festina.theory._descent import gradient_flow
from festina.theory.chain import chain
from festina.theory.paths import UNSEEN, PathStatistics

Members = tuple[tuple[int, ...], ...]  # the edges of each path, by number

HOLDS = 1e-8  # a condition holds if it fails by less than this share of a matrix's norm


class _Numbers(NamedTuple):
    """What the loss of a race is made of."""

    overlaps: Float[Any, "paths paths modes"]
    strengths: Float[Any, "paths modes"]
    energy: Any
    roots: Float[Any, "paths paths modes"]
    wanted: Float[Any, "paths modes"]
    floor: Any


@dataclass(frozen=True)
class Condition(Told):
    """A condition of the reduction: how far each matrix is from meeting it, as a share of its norm.

    Attributes:
        says: the condition in words.
        misses: how far each matrix is from meeting it, by name.

    Example:
        >>> from festina.theory.reduced import Condition
        >>> print(Condition("moments are mutually diagonalisable", {"Σyx": 0.2}))
        FAILS: moments are mutually diagonalisable; 1 of 1 matrices are off, most of all Σyx, by 0.2 of its norm
    """

    says: str
    misses: dict[str, float]

    @property
    def worst(self) -> float:
        return max(self.misses.values(), default=0.0)

    @property
    def holds(self) -> bool:
        return self.worst < HOLDS

    def __str__(self) -> str:
        if not self.misses:
            return f"not asked: {self.says}"
        if self.holds:
            return f"holds: {self.says} (off by {self.worst:.1e} at most)"
        name = max(self.misses, key=lambda name: self.misses[name])
        failing = sum(not miss < HOLDS for miss in self.misses.values())
        return (
            f"FAILS: {self.says}; {failing} of {len(self.misses)} matrices are off, most of all {name}, "
            f"by {self.worst:.3g} of its norm"
        )


@dataclass(frozen=True)
class Reduction(Told):
    """The race of one network in one world: numbers for each path, edge and mode; call it with times.

    Attributes:
        statistics: the moments of each path.
        conditions: whether the reduction applies; see ``applies`` and ``print(reduction)``.
        bases: R_v of each node, one column a mode; zero where the mode has no part in a node.
        strengths: S(p), path by mode.
        overlaps: D(j, p), path by path by mode; zero for paths that end in different nodes.
        initial: B_e(0), edge by mode, in the order of ``graph.edges``.
        timescale: τ.

    Made by `festina.theory.reduction`.

    Example:
        >>> import festina as fs
        >>> graph = fs.networks.Graph.of(
        ...     "x -> first -> y", "x -> second -> y", widths={"x": 1, "first": 1, "second": 1, "y": 1})
        >>> gates = {"first": [1.0, 0.0], "second": [0.0, 1.0]}  # never on together
        >>> world = fs.worlds.GatedDataset({"x": [[1.0], [1.0]]}, {"y": [[2.0], [1.0]]}, gates)
        >>> race = fs.theory.reduction(graph, world).starting(1e-2)
        >>> race.closed_form()([5.0, 100.0])["paths"].sum(axis=-1).round(2)  # as ``race(time)``, which integrates
        array([[1.05, 0.01],
               [2.  , 1.  ]])
    """

    statistics: PathStatistics
    conditions: tuple[Condition, ...]
    bases: dict[str, Float[np.ndarray, "_ modes"]]
    strengths: Float[np.ndarray, "paths modes"]
    overlaps: Float[np.ndarray, "paths paths modes"]
    initial: Float[np.ndarray, "edges modes"]
    timescale: float = 1.0

    @property
    def graph(self) -> Graph:
        return self.statistics.graph

    @property
    def applies(self) -> bool:
        return all(condition.holds for condition in self.conditions)

    @property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The edges of each path, by their numbers."""
        number = {edge: k for k, edge in enumerate(self.graph.edges)}
        return tuple(tuple(number[edge] for edge in itertools.pairwise(path)) for path in self.statistics.paths)

    def __str__(self) -> str:
        modes = self.strengths.shape[1]
        head = f"race of {len(self.statistics.paths)} paths in {modes} modes: the reduction "
        verdict = "applies" if self.applies else "does not apply"
        lines = [f"  {condition}" for condition in self.conditions]
        for name, strength in zip(self.statistics.names, self.strengths, strict=True):
            seen = strength[np.abs(strength) > 1e-12 * np.max(np.abs(self.strengths))]
            shown = ", ".join(f"{value:.4g}" for value in seen[np.argsort(-np.abs(seen))][:6])
            lines.append(f"  {name}: S = {shown or '0'}" + (", …" if len(seen) > 6 else ""))
        return "\n".join([head + verdict, *lines])

    def starting(self, initial: Float[Any, "edges modes"] | float) -> "Reduction":
        """The same race from other strengths B_e(0), decoupled by construction.

        Args:
            initial: an array, edge by mode; or one size for all edges in all modes in which a path sees correlations,
                with signs such that every path begins in the direction of its S(p).
        """
        values = np.asarray(initial, dtype=float)
        require(bool(np.all(np.isfinite(values))), "initial", "be finite", initial)
        if values.ndim == 0:
            values = values * self._signs()
        shape = self.initial.shape
        require(values.shape == shape, "initial", f"be one number, or {shape} (edges, modes)", values.shape)
        self._check_widths(values)
        decoupled = Condition("initial weights are decoupled", {"initial strengths, as given": 0.0})
        return replace(self, initial=values, conditions=(self.conditions[0], decoupled))

    def _signs(self) -> Float[np.ndarray, "edges modes"]:
        """±1 for each edge of a path that sees correlations in a mode, so that all its products have S(p)'s sign."""
        signs = np.zeros_like(self.initial)
        small = 1e-12 * np.max(np.abs(self.strengths))
        for mode, strengths in enumerate(self.strengths.T):
            paths = np.flatnonzero(np.abs(strengths) > small)
            members = np.zeros((len(paths), len(self.graph.edges)), dtype=bool)
            for row, p in enumerate(paths):
                members[row, list(self.members[p])] = True
            flipped = _solve_parity(members, strengths[paths] < 0)
            if flipped is None:
                raise ArgumentError(
                    f"Argument `initial` must be an array here: in mode {mode} paths that share edges see correlations "
                    "of opposite sign, so that one size for all edges does not start every path in its own direction."
                )
            signs[:, mode] = np.where(members.any(axis=0), np.where(flipped, -1.0, 1.0), 0.0)
        return signs

    def _check_widths(self, initial: Float[np.ndarray, "edges modes"]) -> None:
        """A hidden node carries at most as many modes as it has units."""
        ends = (*self.graph.inputs, *self.graph.outputs)
        for node, width in [(node, width) for node, width in self.graph.nodes if node not in ends]:
            touching = [k for k, edge in enumerate(self.graph.edges) if node in edge]
            modes = int(np.sum(np.any(initial[touching] != 0, axis=0)))
            require(modes <= width, "initial", f"have at most {width} modes in node {node!r}, one a unit", modes)

    def __call__(self, time: Any) -> dict[str, np.ndarray]:
        """`edges` B_e, `paths` B_p and the `loss` at any times ≥ 0, integrated to ten digits and more.

        Refused where the reduction does not apply, or has no start: what it would give is not the network's course.
        """
        self._check_start()
        times = np.asarray(time, dtype=float)
        sound = times.size > 0 and bool(np.all((times >= 0) & (times < np.inf)))
        require(sound, "time", "be finite numbers from 0 on", time)
        order, back = np.unique(times, return_inverse=True)
        with double():
            found = _followed(self.members, self._numbers, self.initial, order, float(self.timescale))
        edges, paths, losses = map(np.asarray, found)
        reshape = lambda values: values[back.reshape(times.shape)]  # noqa: E731
        return {"edges": reshape(edges), "paths": reshape(paths), "loss": reshape(losses)}

    def _check_start(self) -> None:
        """A course needs moments that are diagonalisable, and a start that is decoupled."""
        moments, start = self.conditions
        require(moments.holds, "world", "have mutually diagonalisable moments for a course in modes", str(moments))
        hint = "start from `reduction.starting(...)`, or integrate the network with `fs.flow`"
        require(start.holds, "weights", f"be decoupled for a course in modes ({hint})", str(start))
        given = bool(start.misses)
        require(given, "weights", f"be given for a course in modes ({hint})", "left out")

    def loss(self, edges: Float[Any, "edges modes"]) -> Any:
        """½⟨|y|²⟩ + Σ_modes [½ Σ_{j,p} B_j D(j, p) B_p − Σ_p B_p S(p)]; never negative."""
        return _loss(self.members, self._numbers, edges)

    @cached_property
    def _numbers(self) -> _Numbers:
        return _Numbers(self.overlaps, self.strengths, float(self.statistics.energy), *self._completed, self._floor)

    @property
    def _seen(self) -> np.ndarray:
        """The modes in which a path has inputs, path by mode."""
        own = np.einsum("ppm->pm", self.overlaps)
        return own > UNSEEN * np.max(own, axis=1, keepdims=True, initial=0.0)

    @cached_property
    def _completed(self) -> tuple[Float[np.ndarray, "paths paths modes"], Float[np.ndarray, "paths modes"]]:
        """R with RᵀR = D, and RB at the least loss, mode by mode: the loss is ½|RB − RB*|² and a floor."""
        own, seen = np.einsum("ppm->pm", self.overlaps), self._seen
        sizes = np.sqrt(np.where(seen, own, 1.0))
        scale = np.where(seen, 1.0 / sizes, 0.0)
        values, vectors = np.linalg.eigh(np.moveaxis(self.overlaps * scale[:, None] * scale[None], -1, 0))
        kept = values > UNSEEN
        root = np.sqrt(np.where(kept, values, 1.0))
        vectors = np.where(kept[:, None], vectors, 0.0)
        wanted = np.einsum("mpk,pm->mk", vectors, self.strengths * scale) / root
        return np.einsum("mk,mpk,pm->kpm", root, vectors, np.where(seen, sizes, 0.0)), wanted.T

    @cached_property
    def _floor(self) -> float:
        """The least loss; where moments are not diagonalisable, that of the race, which is not the network's."""
        if self.conditions[0].holds:
            return self.statistics.floor
        return max(0.0, self.statistics.energy - 0.5 * float(np.sum(self._completed[1] ** 2)))

    def products(self, edges: Float[Any, "edges modes"]) -> Float[Array, "paths modes"]:
        """B_p, the product of the edges along each path."""
        return _products(self.members, edges)

    def closed_form(self) -> Any:
        """The race in closed form, if it has one: `paths` B_p and the `loss` as functions of time.

        It has where every path is alone (it shares no edge and D(j, p) = 0 for all others) and balanced (all its edges
        start equal in each mode): each path and mode is then a `chain` of its own length. LookupError says why not.
        """
        self._check_start()
        self._check_separable()
        members, seen, floor = self.members, self._seen, self._floor
        chains = [
            chain(
                len(member),
                self.strengths[p],
                np.prod(self.initial[list(member)], axis=0),
                input_variance=np.maximum(self.overlaps[p, p], np.finfo(float).tiny),
                timescale=self.timescale,
            )
            for p, member in enumerate(members)
        ]

        def solution(time: Any) -> dict[str, np.ndarray]:
            answers = [one(time) for one in chains]
            paths, losses = (np.stack([answer[name] for answer in answers], axis=-2) for name in ("product", "loss"))
            # a path that sees nothing in a mode explains nothing there
            return {"paths": paths, "loss": np.sum(np.where(seen, losses, 0.0), axis=(-2, -1)) + floor}

        return solution

    def _check_separable(self) -> None:
        names = self.statistics.names
        for (p, one), (j, other) in itertools.combinations(enumerate(self.members), 2):
            if set(one) & set(other):
                raise LookupError(f"no closed form: {names[p]} and {names[j]} share an edge")
            overlap = float(np.max(np.abs(self.overlaps[p, j])))
            own = np.sqrt(np.max(np.abs(self.overlaps[p, p])) * np.max(np.abs(self.overlaps[j, j])))
            if overlap > HOLDS * own:
                raise LookupError(f"no closed form: {names[p]} and {names[j]} overlap, D = {overlap:.3g}")
        for p, member in enumerate(self.members):
            parts = np.abs(self.initial[list(member)])
            if np.max(np.ptp(parts, axis=0)) > HOLDS * max(np.max(parts), np.finfo(float).tiny):
                raise LookupError(f"no closed form: the edges of {names[p]} do not start balanced")


def _products(members: Members, edges: Float[Any, "edges modes"]) -> Float[Array, "paths modes"]:
    return jnp.stack([jnp.prod(edges[jnp.asarray(member)], axis=0) for member in members])


def _loss(members: Members, race: _Numbers, edges: Float[Any, "edges modes"]) -> Any:
    """The loss in squares, which keep its digits, with the slope of its expansion."""
    paths = _products(members, edges)
    fitted = jnp.einsum("jm,jpm,pm->", paths, jnp.asarray(race.overlaps), paths)
    expanded = race.energy + 0.5 * fitted - jnp.sum(paths * jnp.asarray(race.strengths))
    left = jnp.einsum("kpm,pm->km", jnp.asarray(race.roots), paths) - jnp.asarray(race.wanted)
    return with_slope_of(0.5 * jnp.sum(left**2) + race.floor, expanded)


@partial(brief_jit, static_argnums=0)
def _followed(
    members: Members,
    race: _Numbers,
    start: Float[Array, "edges modes"],
    times: Float[Array, " times"],
    timescale: Float[Array, ""],
) -> tuple[Array, Array, Array]:
    """Edges, paths and the loss at rising times: one program for all races between the same paths."""

    def seen(edges: Array) -> tuple[Array, Array, Array]:
        return edges, _products(members, edges), _loss(members, race, edges)

    loss = partial(_loss, members, race)
    return gradient_flow(loss, start, times, timescale, seen, relative=1e-11, absolute=1e-14)


def _solve_parity(members: np.ndarray, odd: np.ndarray) -> np.ndarray | None:
    """Which edges to flip so that exactly the ``odd`` paths hold an odd number of them; None if there is no way.

    Gaussian elimination over the field of two elements.
    """
    table = np.concatenate([members, odd[:, None]], axis=1)
    pivots: list[int] = []
    for column in range(members.shape[1]):
        row = len(pivots)
        candidates = np.flatnonzero(table[row:, column])
        if len(candidates):
            table[[row, row + candidates[0]]] = table[[row + candidates[0], row]]
            others = np.flatnonzero(table[:, column])
            table[others[others != row]] ^= table[row]
            pivots.append(column)
    if np.any(table[len(pivots) :, -1]):
        return None
    flipped = np.zeros(members.shape[1], dtype=bool)
    flipped[pivots] = table[: len(pivots), -1]
    return flipped
