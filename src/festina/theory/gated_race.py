"""The neural race: several ways to gate a network learn one world together; which of them explain it in the end?

Each candidate is a pathway with gates of its own, a deep linear network that is on for some samples and off for others.
All start alike, and share one loss, L = ½⟨|y − Σ_p g_p W_p x|²⟩ with W_p a product of layers. A pathway grows at first
with the singular values of its own Σyx(p) = ⟨g_p y xᵀ⟩, at 2 s/τ in two layers; what one of them has explained is no
longer there for the others. The whole is integrated, not reduced: candidates need not be mutually diagonalisable.

Source: A. M. Saxe, S. Sodhani, S. Lewallen, "The neural race reduction: dynamics of abstraction in gated networks"
(2022).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from festina.compiling import quick_jit
from festina.errors import require
from festina.notebook import table, told
from festina.precision import double
from festina.theory._descent import gradient_flow
from festina.theory.chain import time_to_reach
from festina.worlds.gated import GatedDataset
from festina.worlds.world import check_finite

RECORDS = 200
AT_REST, DOUBLINGS = 1e-3, 13  # a race is over if nothing changes by more than this in most of its time
TILT = 0.05  # of the first and last layer: an exactly balanced pathway could never change its sign
UNSEEN = 1e-10  # singular values below this share of the largest one carry no correlation


@dataclass(frozen=True)
class Contestant:
    """One candidate of a race.

    Attributes:
        name: as given.
        samples: the share of samples it is on for.
        strengths: singular values of ⟨g_p y xᵀ⟩, the largest first: what it learns first, and how fast.
        speed: the rate at which its strongest mode grows while all weights are small, in units of 1/τ.
        time_alone: when its strongest mode would be half learned if no other pathway were there.
        loss_alone: what would be left if it had the world for itself: the least loss of a linear map with its gate.
        share: of the energy ⟨|h_p|²⟩ of all pathways' answers, at the end.

    One of ``race.contestants``, or ``race[name]``: see the example of `gated_race`.
    """

    name: str
    samples: float
    strengths: Float[np.ndarray, " modes"]
    speed: float
    time_alone: float
    loss_alone: float
    share: float


@dataclass(frozen=True, repr=False)
class GatedRace:
    """The outcome of a race, made by `gated_race`: who takes part, the winner, and how it went.

    ``print`` it for a table.

    Attributes:
        contestants: the candidates, in their order; ``race[name]`` is one of them.
        settled: whether shares and loss had come to rest when it ended.
        curves: the `loss` (time) and each pathway's `energy` (time, candidate) ⟨|h_p|²⟩.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> world = fs.worlds.Dataset(np.eye(2), [[2.0], [1.0]])
        >>> race = fs.theory.gated_race({"both": [1.0, 1.0], "second": [0.0, 1.0]}, world, until=20.0)
        >>> [contestant.name for contestant in race.contestants], list(race.curves["energy"].dims)
        (['both', 'second'], ['time', 'candidate'])
    """

    contestants: tuple[Contestant, ...]
    settled: bool
    curves: xr.Dataset = field(compare=False)

    @property
    def winners(self) -> tuple[str, ...]:
        """The pathways with the largest share in the end; several where they are alike (within 1 %)."""
        best = max(one.share for one in self.contestants)
        return tuple(one.name for one in self.contestants if one.share > 0.99 * best)

    @property
    def shares(self) -> dict[str, float]:
        return {one.name: one.share for one in self.contestants}

    def __getitem__(self, name: str) -> Contestant:
        return {one.name: one for one in self.contestants}[name]

    def __repr__(self) -> str:
        width = max(9, *(len(one.name) for one in self.contestants))
        lines = [f"  {'pathway':<{width}}  on for       S  speed  half-time  loss alone   share"]
        for name, on, strength, speed, half, loss, share in self._rows():
            lines.append(f"  {name:<{width}}  {on:>6}  {strength:>6}  {speed:>5}  {half:>9}  {loss:>10}  {share:>6}")
        return "\n".join([self._about(), *lines])

    def _repr_html_(self) -> str:
        head = ("pathway", "on for", "S", "speed", "half-time", "loss alone", "share")
        return told(self._about()) + table(head, self._rows())

    def _about(self) -> str:
        loss = self.curves["loss"].values
        won = sum(self[name].share for name in self.winners)
        return (
            f"race of {len(self.contestants)} pathways, won by {', '.join(self.winners)} ({won:.1%} of the energy); "
            f"loss {loss[0]:.4g} → {loss[-1]:.3g}" + ("" if self.settled else "; NOT SETTLED: give a longer `until`")
        )

    def _rows(self) -> list[tuple[str, str, str, str, str, str, str]]:
        """A row for each pathway, the one with the largest share first."""
        return [
            (
                one.name,
                f"{one.samples:.1%}",
                f"{one.strengths[0]:.4g}",
                f"{one.speed:.3g}",
                f"{one.time_alone:.4g}",
                f"{one.loss_alone:.4g}",
                f"{one.share:.1%}",
            )
            for one in sorted(self.contestants, key=lambda one: -one.share)
        ]


def gated_race(
    candidates: Mapping[str, Any],
    world: Any,
    *,
    depth: int = 2,
    initial: float = 1e-4,
    until: float | None = None,
    timescale: float = 1.0,
) -> GatedRace:
    """Let candidate gatings race in one world.

    Each pathway starts with a map whose singular values are all ``initial``, along the singular vectors of its own
    Σyx(p) and nearly balanced over its layers: no pathway has a head start, and no seed decides.

    Args:
        candidates: gates by name, one number a sample (1 = on).
        world: a `Dataset`, or anything with ``inputs`` and ``targets``.
        depth: layers of each pathway, at least 2.
        initial: singular values of each pathway's initial map.
        until: when to stop; unless given, when shares and loss have come to rest (within a thousandth in seven
            eighths of the time), or after some thousand times what the slowest correlation would take alone.
        timescale: τ.

    Returns:
        A `GatedRace`: ``winners``, ``shares`` of the energy, ``curves``; ``print`` it.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> world = fs.worlds.margin(1.2)  # exclusive-or with a wide margin: a linear answer is faster
        >>> one_class, one_example = world.targets[:, 0] > 0, np.eye(4)[0]
        >>> race = fs.theory.gated_race({"class": one_class, "example": one_example}, world)
        >>> race.winners
        ('class',)
        >>> race["class"].strengths.round(2), race["example"].strengths.round(2)  # Δ/2 and √(2 + Δ²)/4
        (array([0.6]), array([0.46]))
    """
    inputs, targets = _matrices(world)
    require(len(candidates) >= 1, "candidates", "name at least one gating", candidates)
    require(int(depth) == depth, "depth", "be a whole number", depth)
    require(depth >= 2, "depth", "be at least 2: pathways without a hidden layer do not race", depth)
    require(0 < initial < np.inf, "initial", "be positive", initial)
    gates = {name: np.asarray(gate, float) for name, gate in candidates.items()}
    for name, gate in gates.items():
        fits = gate.shape == (len(inputs),) and bool(np.all(np.isfinite(gate)))
        require(fits, f"candidates[{name!r}]", f"be {len(inputs)} numbers, one a sample", gate)
        require(bool(np.any(gate)), f"candidates[{name!r}]", "be on for some sample", gate)
    spectra = {name: _spectrum(gate, inputs, targets) for name, gate in gates.items()}
    require(np.ndim(timescale) == 0, "timescale", "be one number", timescale)
    require(0 < timescale < np.inf, "timescale", "be positive and finite", timescale)
    require(until is None or 0 < until < np.inf, "until", "be positive and finite", until)
    first = _until(spectra, depth, initial, timescale) if until is None else until
    with double():
        rows = _rows(inputs, targets, gates)
        layers = _initial_layers(list(spectra.values()), depth, initial)
        times, loss, energy, settled = _course(layers, rows, first, timescale, longer=until is None)
    shares = _shares(energy)[-1]
    contestants = tuple(
        _contestant(name, gate, spectra[name], inputs, targets, share, (depth, initial, timescale))
        for (name, gate), share in zip(gates.items(), shares, strict=True)
    )
    curves = xr.Dataset(
        {"loss": ("time", loss), "energy": (("time", "candidate"), energy)},
        coords={"time": times, "candidate": list(gates)},
    )
    return GatedRace(contestants, settled, curves)


def _matrices(world: Any) -> tuple[Float[np.ndarray, "n i"], Float[np.ndarray, "n o"]]:
    """Inputs and targets of a world, one sample a row."""
    seen = getattr(world, "samples", world)
    arrays = []
    for name in ("inputs", "targets"):
        part = getattr(seen, name, None)
        require(part is not None and not isinstance(part, Mapping), "world", f"have {name}, one sample a row", world)
        values = np.asarray(part, float)
        require(values.ndim == 2, name, "have one sample a row", f"of shape {values.shape}")
        check_finite(name, values)
        arrays.append(values)
    return arrays[0], arrays[1]


def _course(
    layers: list[Array], rows: "_Rows", until: float, timescale: float, *, longer: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Times, loss and energies, and whether all came to rest; ever ``longer`` if it may be, until they do."""
    for _ in range(DOUBLINGS):
        times = np.linspace(0.0, until, RECORDS + 1)
        loss, energy = (np.asarray(part) for part in _integrate(layers, rows, jnp.asarray(times), timescale))
        shares = _shares(energy)
        early = RECORDS // 8  # a pathway that has to change its sign passes by a saddle, where all seems at rest
        moved = np.max(np.abs(shares[-1] - shares[early])) + abs(loss[-1] - loss[early]) / max(loss[0], 1e-300)
        settled = bool(moved < AT_REST)
        if settled or not longer:
            break
        until = 2.0 * until
    return times, loss, energy, settled  # pyright: ignore[reportPossiblyUnboundVariable] (after one round at least)


def _shares(energy: Float[np.ndarray, "times candidates"]) -> Float[np.ndarray, "times candidates"]:
    return energy / np.maximum(energy.sum(axis=-1, keepdims=True), np.finfo(float).tiny)


class _Rows(eqx.Module):
    """The samples, condensed: inputs, targets and the candidates' gates, one a column, and what is left of the loss."""

    inputs: Float[Array, "n i"]
    targets: Float[Array, "n o"]
    gates: Float[Array, "n candidates"]
    constant: Float[Array, ""]

    def answers(self, layers: list[Any]) -> Float[Array, "n candidates o"]:
        """g_p W_p x of each pathway."""
        hidden = jnp.einsum("cmi,ni,nc->ncm", layers[0], self.inputs, self.gates)
        for layer in layers[1:]:
            hidden = jnp.einsum("com,ncm->nco", layer, hidden)
        return hidden

    def loss(self, layers: list[Any]) -> Float[Array, ""]:
        return 0.5 * jnp.sum((self.targets - self.answers(layers).sum(axis=1)) ** 2) + self.constant

    def energies(self, layers: list[Any]) -> Float[Array, " candidates"]:
        """⟨|g_p W_p x|²⟩."""
        return jnp.sum(self.answers(layers) ** 2, axis=(0, 2))


def _rows(inputs: np.ndarray, targets: np.ndarray, gates: dict[str, np.ndarray]) -> _Rows:
    few = GatedDataset({"x": inputs}, {"y": targets}, gates).condensed
    columns = np.stack([few.gates[name] for name in gates], axis=1)
    return _Rows(*(jnp.asarray(part) for part in (few.inputs["x"], few.targets["y"], columns, few.constant)))


@quick_jit
def _integrate(layers: list[Array], rows: _Rows, times: Array, timescale: Any) -> tuple[Array, Array]:
    """Gradient flow of all pathways together: the loss and their energies at each time."""

    def seen(layers: list[Array]) -> tuple[Array, Array]:
        return rows.loss(layers), rows.energies(layers)

    return gradient_flow(rows.loss, layers, times, timescale, seen, relative=1e-10, absolute=1e-13)


@dataclass(frozen=True)
class _Spectrum:
    """The singular value decomposition of a candidate's Σyx(p), and the variance of its inputs along each mode."""

    left: Float[np.ndarray, "o modes"]
    strengths: Float[np.ndarray, " modes"]
    right: Float[np.ndarray, "i modes"]
    variances: Float[np.ndarray, " modes"]

    @property
    def seen(self) -> np.ndarray:
        return self.strengths > UNSEEN * max(self.strengths[0], np.finfo(float).tiny)


def _spectrum(gate: np.ndarray, inputs: np.ndarray, targets: np.ndarray) -> _Spectrum:
    gated = gate[:, None] * inputs
    left, strengths, right = np.linalg.svd(targets.T @ gated / len(inputs), full_matrices=False)
    return _Spectrum(left, strengths, right.T, np.mean((gated @ right.T) ** 2, axis=0))


def _until(spectra: Mapping[str, _Spectrum], depth: int, initial: float, timescale: float) -> float:
    slowest = []
    for spectrum in spectra.values():
        seen = spectrum.seen & (spectrum.strengths > 0)
        times = time_to_reach(
            depth,
            spectrum.strengths[seen],
            initial,
            0.99,
            input_variance=spectrum.variances[seen],
            timescale=timescale,
        )
        slowest.extend(np.asarray(times)[np.isfinite(times)])
        slowest.extend(timescale / spectrum.variances[seen])
    require(len(slowest) > 0, "candidates", "have some correlation with the targets", "none")
    return 2.0 * max(slowest)


def _initial_layers(spectra: list[_Spectrum], depth: int, initial: float) -> list[Array]:
    """Every pathway's map starts as ``initial`` · U Vᵀ, nearly balanced; one array a layer, candidates first."""
    part = initial ** (1.0 / depth)
    modes = len(spectra[0].strengths)
    first = np.stack([part * (1 + TILT) * spectrum.right.T for spectrum in spectra])
    last = np.stack([part / (1 + TILT) * spectrum.left for spectrum in spectra])
    middle = np.tile(part * np.eye(modes), (len(spectra), 1, 1))
    return [jnp.asarray(layer) for layer in (first, *([middle] * (depth - 2)), last)]


def _contestant(
    name: str,
    gate: np.ndarray,
    spectrum: _Spectrum,
    inputs: np.ndarray,
    targets: np.ndarray,
    share: float,
    setting: tuple[int, float, float],
) -> Contestant:
    depth, initial, timescale = setting
    strongest, variance = float(spectrum.strengths[0]), float(spectrum.variances[0])
    growing = strongest > 0 and bool(spectrum.seen[0])
    alone = time_to_reach(depth, strongest, initial, 0.5, input_variance=variance, timescale=timescale)
    gated = gate[:, None] * inputs
    fitted = gated @ np.linalg.lstsq(gated, targets, rcond=None)[0]
    return Contestant(
        name,
        float(np.mean(gate != 0)),
        spectrum.strengths,
        depth * strongest * initial ** (1.0 - 2.0 / depth) / timescale,
        float(alone) if growing else np.inf,
        float(0.5 * np.mean(np.sum((targets - fitted) ** 2, axis=1))),
        float(share),
    )
