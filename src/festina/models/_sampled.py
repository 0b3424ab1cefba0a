"""What models of wide networks share that are sampled from their posterior while they cool down to a temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import field_validator

import festina as fs
from festina._lazy import jax, jnp, np, xr
from festina.config import structural
from festina.errors import ArgumentError
from festina.model import Variable
from festina.models._wide import METHOD, VARIABLES, Begin, CooledNetwork, Method, at_all_times, collapsible

if TYPE_CHECKING:
    from collections.abc import Callable

    from festina.models._types import (
        Array,
        Bayesian,
        Float,
        Int,
        Key,
        ModeLaw,
        NeuronLaw,
        Observed,
        Predictor,
        Process,
        Sampler,
        Solution,
    )

FEWEST_RECORDINGS = 4  # for a sample size
FEW_NEURONS = 20  # whose readouts stand for those of all

SAMPLED = VARIABLES | {
    "kernel": Variable("kernel of the last layer, mean over draws", ("example", "other"), final=True),
    "answer": Variable("answer f, mean over draws", ("example", "output"), final=True),
    "mean": Variable("answer f to test inputs, mean over draws", ("input", "output"), final=True),
    "square": Variable("f² of test inputs, mean over draws", ("input", "output"), final=True),
}
"""What is recorded of every network that is sampled; the last two with test inputs only."""


class SampledNetwork(CooledNetwork):
    """A wide network that is sampled from its posterior, with test inputs if there are any."""

    method: Method = structural("hmc", help=METHOD)
    sweeps: int = structural(1, ge=1, le=1000, help="sweeps over all neurons in a draw of the collapsed method")
    tests: int = structural(0, ge=0, le=1000, help="test inputs of each class")

    def test_inputs(self) -> Any:
        """One a row."""
        raise NotImplementedError

    def test_labels(self) -> Int[np.ndarray, " inputs"]:
        """The class of each test input."""
        raise NotImplementedError

    def start(self, key: Key) -> Begin:
        for_network, for_draws = fs.draws.split(key, 2)
        return Begin(self.prior(for_network), jax.random.key_data(for_draws))

    def process(self, start: Begin) -> Process:
        return self.chain(
            start,
            self.heat,
            records=self.records,
            draws_per_record=self.draws_per_record,
            warm_up=self.warm_up,
            observe=lambda network, state: {"heat": self.heat(state.step)} | self.seen(network),
            sampler=self.sampler(start),
            law=start.law if isinstance(start.law, fs.learning.ModeLaw) else (),
            average=self.averaged,
            conclude=lambda network, state: state.memory.means | self.concluded(network),
        )

    _collapsible = field_validator("method")(collapsible)

    def heat(self, draw: Int[Array, ""]) -> Float[Array, ""]:
        """The temperature of each draw, by its number; the collapsed sampler needs no cooling."""
        return fs.learning.constant(self.temperature)(draw) if self.method == "collapsed" else super().heat(draw)

    def sampler(self, start: Begin) -> Sampler | Callable[[Any], Sampler] | None:
        """How a chain is drawn: neuron by neuron, if there is a law of one; by `HMC()` otherwise."""
        if isinstance(start.law, tuple):
            return None
        examples = np.asarray(self.world().inputs), np.asarray(self.world().targets)

        def by(law: NeuronLaw | ModeLaw) -> Sampler:
            within = () if isinstance(law, fs.learning.NeuronLaw) else (fs.learning.Slice(),)
            moves = fs.learning.Redraw(law), *within
            return fs.learning.Collapsed(start.network, *examples, self.temperature, moves, self.sweeps)

        return by(start.law) if isinstance(start.law, fs.learning.NeuronLaw) else by

    def averaged(self, network: Bayesian) -> Observed:
        """What is averaged over all draws after warming up."""
        inputs = np.asarray(self.world().inputs)
        activity = network.hidden(inputs)[-1]
        found = {"kernel": fs.networks.bayesian.kernel(activity), "answer": network.answer(activity)}
        if self.tests:
            answers = network(jnp.asarray(self.test_inputs()))
            found |= {"mean": answers, "square": answers**2}
        return found

    def concluded(self, network: Bayesian) -> Observed:
        """What else is recorded of the last network."""
        return {}

    def solution(self, start: Begin) -> Solution | None:
        """Equilibrium at the final temperature, the same at every time; None where theory cannot be solved."""
        try:
            theory = self.prediction(self.temperature)
        except ArgumentError:
            return None
        kernel = theory.kernels[-1]
        class_kernel = fs.measures.between_classes(kernel, self.world().membership)
        found = {"kernel": kernel, "class_kernel": class_kernel, "answer": theory.mean}
        if self.tests:
            mean, variance = self.predictor()
            found |= {"mean": mean, "square": variance + mean**2}
        return at_all_times(found)

    def input_kernel(self) -> Float[np.ndarray, "examples examples"]:
        """K_0 = XXᵀ."""
        inputs = np.asarray(self.world().inputs)
        return inputs @ inputs.T

    def predictor(self, lazy: bool = False) -> Predictor:
        """Mean and variance of f at the test inputs; or of the ``lazy`` network, a Gaussian process at the same T."""
        data, tests = self.world(), self.test_inputs()
        if lazy:
            unit = fs.theory.coding.UNITS[self.nonlinearity]
            theory = fs.theory.coding.lazy(self.input_kernel(), np.asarray(data.targets), self.temperature, unit)
        else:
            theory = self.prediction(self.temperature)
        return theory.predict(tests @ np.asarray(data.inputs).T, np.sum(tests**2, axis=1), self.width)

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        """The effective sample size of the kernel and of single readouts in each chain, after warming up."""
        late = data.isel(time=np.flatnonzero(data["kept"].max([d for d in data["kept"].dims if d != "time"]) > 0))
        if late.sizes["time"] < FEWEST_RECORDINGS:
            return {}
        readout = _sample_size(late["readout"].isel(neuron=slice(0, FEW_NEURONS)))
        return {
            "kernel_sample_size": _sample_size(late["class_kernel"]),
            "readout_sample_size": readout.median(["neuron", "output"]).fillna(0.0),  # a chain that never moved
        }


def _sample_size(values: xr.DataArray) -> xr.DataArray:
    """Of every entry of every run by itself; not a number where a chain failed, or an entry never moves."""
    chains = values.transpose("time", ...)
    size = fs.measures.effective_sample_size(np.nan_to_num(chains.values)[None])
    return chains.isel(time=0, drop=True).copy(data=size).where(chains.notnull().all("time"))
