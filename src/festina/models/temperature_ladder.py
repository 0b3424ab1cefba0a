"""A wide network whose temperature goes down a ladder, or up, while it is sampled from its posterior."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import field_validator

import festina as fs
from festina._lazy import jax, jnp, np, xr
from festina.config import structural
from festina.model import Preset, Variable
from festina.models._wide import METHOD, ON, VARIABLES, Begin, Method, WideNetwork, collapsible
from festina.ranges import Hottest

if TYPE_CHECKING:
    from collections.abc import Callable

    from festina.models._types import Array, Bayesian, Float, Int, Key, Observed, Process, Sampler, Solution

RECORDS = 8  # at each temperature; the second half of them counts
LATE = slice(RECORDS // 2, None)
LADDER = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.17, 0.15, 0.12, 0.1, 0.07, 0.05)


class TemperatureLadder(WideNetwork):
    """A wide network sampled from its posterior on classes of orthogonal inputs, at one temperature after the other.

    The posterior of one hidden layer is exp(−(N/2T) Σ|y − f|²) times the prior, f = aφ(z)/N. A chain stays on each rung
    T of the ladder for as many draws, and is recorded eight times there. It goes down from a network of the prior, or,
    *heated*, up from neurons drawn from the theory at the lowest temperature. Its step adapts all the way; by the
    `collapsed` method neurons are proposed from the theory's law of one at the temperature of the rung. Theory is that
    of equilibrium on each rung.

    Example:
        >>> import festina as fs
        >>> model = fs.models.TemperatureLadder(nonlinearity="linear", counts=(4, 4), ladder=(1.0, 0.1))
        >>> model.theory()(0.0)["class_kernel"].shape
        (2, 2)
    """

    name = "temperature-ladder"
    variables = VARIABLES | {
        "outliers": Variable("neurons that stand out, with readouts |a| > 8√s"),
        "served": Variable("classes in which some of them is most active"),
    }
    quick = {"width": 60, "ladder": (1.0, 0.4, 0.1), "stay": 16}

    ladder: tuple[Hottest, ...] = structural(LADDER, min_length=2, help="temperatures T, falling")
    stay: int = structural(40, ge=RECORDS, le=100_000, help=f"draws at each temperature, a multiple of {RECORDS}")
    method: Method = structural("hmc", help=METHOD)
    heated: bool = structural(False, help="whether the chain goes up, from neurons drawn from theory, and not down")

    presets = (
        Preset("cooled", "Sigmoidal neurons choose a code as it gets colder, and then keep it."),
        Preset("heated", "Neurons drawn from the theory of the lowest temperature melt.", {"heated": True}),
        Preset("sparse", "Rectified outliers appear one after the other.", {"nonlinearity": "rectified"}),
    )

    _collapsible = field_validator("method")(collapsible)

    @field_validator("ladder")
    @classmethod
    def _falling(cls, ladder: tuple[float, ...]) -> tuple[float, ...]:
        if any(after >= before for before, after in pairwise(ladder)):
            raise ValueError("fall")
        return ladder

    @field_validator("stay")
    @classmethod
    def _whole(cls, stay: int) -> int:
        if stay % RECORDS:
            raise ValueError(f"be a multiple of {RECORDS}, the recordings at each temperature")
        return stay

    @property
    def climb(self) -> tuple[float, ...]:
        """Temperatures in the order in which the chain has them."""
        return self.ladder[::-1] if self.heated else self.ladder

    def start(self, key: Key) -> Begin:
        for_network, for_draws = fs.draws.split(key, 2)
        network = self.planted(for_network, self.ladder[-1]) if self.heated else self.prior(for_network)
        laws = tuple(map(self.neuron_law, self.climb)) if self.method == "collapsed" else ()
        return Begin(network, jax.random.key_data(for_draws), laws)

    def rung(self, draw: Int[Array, ""]) -> Int[Array, ""]:
        """The number of the rung of each draw, by its number."""
        return jnp.clip(draw // self.stay, 0, len(self.climb) - 1)

    def heat(self, draw: Int[Array, ""]) -> Float[Array, ""]:
        """The temperature of each draw, by its number."""
        return jnp.asarray(self.climb)[self.rung(draw)]

    def sampler(self, start: Begin) -> Callable[[Int[Array, ""]], Sampler] | None:
        """How each draw is drawn: neuron by neuron, by the law of its rung, if there are laws; by `HMC()` otherwise."""
        if not isinstance(start.law, tuple) or not start.law:
            return None
        laws = jax.tree.map(lambda *each: jnp.stack(each), *start.law)
        examples = np.asarray(self.world().inputs), np.asarray(self.world().targets)

        def at(draw: Int[Array, ""]) -> Sampler:
            law = jax.tree.map(lambda each: each[self.rung(draw)], laws)
            return fs.learning.Collapsed(start.network, *examples, self.heat(draw), (fs.learning.Redraw(law),))

        return at

    def process(self, start: Begin) -> Process:
        return self.chain(
            start,
            self.heat,
            records=RECORDS * len(self.ladder),
            draws_per_record=self.stay // RECORDS,
            warm_up=self.stay * len(self.ladder),
            observe=lambda network, state: {"heat": self.heat(state.step - 1)} | self.seen(network),
            sampler=self.sampler(start),
        )

    def seen(self, network: Bayesian) -> Observed:
        found = super().seen(network)
        standing_out = fs.measures.outliers(found["readout"], self.readout_variance)
        served = fs.measures.serving(standing_out, found["activity"]).any(axis=0)
        return found | {"outliers": standing_out.sum().astype(float), "served": served.sum().astype(float)}

    def solution(self, start: Begin) -> Solution:
        """Equilibrium on each rung."""
        members = self.world().membership
        kernels = np.stack(
            [fs.measures.between_classes(self.prediction(heat).kernels[-1], members) for heat in self.climb]
        )
        last = len(self.climb) - 1
        return lambda time: {"class_kernel": kernels[np.clip((np.asarray(time) - 1) // self.stay, 0, last).astype(int)]}

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        """By temperature: mean kernels between classes and outliers, shares of codes, and how much codes persist.

        Means are over the second half of the draws there; persistence compares codes before it with those after it.
        """
        rungs = by_rung(data[["heat", "class_kernel", "activity", "outliers", "served"]])
        codes = xr.apply_ufunc(fs.measures.code_numbers, rungs["activity"] > ON, input_core_dims=[["class"]])
        every = xr.DataArray(np.arange(2 ** data.sizes["class"]), dims="code")
        shares = (codes.isel(recording=LATE) == every).mean(("recording", "neuron"))
        before, after = codes.isel(recording=LATE.start - 1), codes.isel(recording=-1)
        means = rungs[["class_kernel", "outliers", "served"]].isel(recording=LATE).mean("recording")
        return {f"rung_{name}": mean for name, mean in means.items()} | {
            "code_shares": shares,
            "persistence": xr.apply_ufunc(
                fs.measures.persistence, before, after, shares, input_core_dims=[["neuron"], ["neuron"], ["code"]]
            ),
        }


def by_rung(data: xr.Dataset) -> xr.Dataset:
    """Recordings by temperature, from hot to cold for every chain, and `recording`, in place of time; not the first."""
    number = np.arange(data.sizes["time"] - 1)
    places = {"rung": ("time", number // RECORDS), "recording": ("time", number % RECORDS)}
    later = data.isel(time=slice(1, None)).drop_vars("time").assign_coords(places)
    rungs = later.set_index(time=list(places)).unstack("time").drop_vars("rung")
    heat = rungs["heat"].isel(recording=-1)
    rungs = xr.where(heat.isel(rung=0) < heat.isel(rung=-1), rungs.isel(rung=slice(None, None, -1)), rungs)
    falling = -np.sort(-heat.transpose(..., "rung").values.reshape(-1, heat.sizes["rung"])[0])
    return rungs.assign_coords(rung=falling).rename(rung="temperature")
