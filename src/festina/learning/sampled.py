"""What sampling leaves behind: draws, their effective sample size, and what they predict."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Float

from festina.chains import effective_sample_size, split_r_hat
from festina.compiling import brief_jit
from festina.errors import ArgumentError
from festina.learning.loop import Recording
from festina.learning.outlook import check_memory
from festina.learning.prior import Parts
from festina.networks.ensemble import Ensemble
from festina.notebook import told
from festina.precision import double, to_double, to_numpy
from festina.worlds.data import Samples

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENERGY, ANSWER = "energy", "answer"
WEIGHT, STATISTIC, MEAN = "weight:", "statistic:", "mean:"  # how recordings of another kind begin
DIMENSIONS = {"map": ("output", "input"), ANSWER: ("example", "output")}
DRAWS = ("chain", "draw")
STATISTICS = ("lp", "acceptance_rate", "n_steps", "step_size", "swap_rate")  # the last, where there is somebody to meet
HIGHEST_R_HAT, FEWEST_INDEPENDENT = 1.05, 100
BLOCK = 1000  # quantities whose autocorrelations are computed together


@dataclass(frozen=True)
class Shown:
    """The examples of the world, and those of the test set; None where there are none."""

    world: Samples | None
    test: Samples | None

    @property
    def asked(self) -> Samples | None:
        """Those whose inputs networks answer to."""
        return self.world if self.test is None else self.test


@dataclass(frozen=True)
class Origin:
    """Where draws come from: the network and its prior, the examples, the temperature, the method."""

    parts: Parts
    deviation: Any
    shown: Shown
    temperature: float
    method: str
    warm_up: int


@dataclass(frozen=True, repr=False)
class Posterior:
    """Draws from the posterior of a network's weights.

    ``posterior["loss"]`` is one variable of `data`. Sample sizes and R̂ are of what networks do (loss, energy, answers,
    and what else was observed) and not of their weights: neurons can be exchanged, so that chains which agree on every
    answer need not agree on any weight.

    Attributes:
        data: what was observed of every draw, with dimensions (chain, draw, …): the loss, the energy E = P L/T, the
            answers f(x) to the world's inputs or those of the test set (example, output), and so on.
        statistics: of the chains, (chain, draw): `lp`, which is −E − ½|z|²; `acceptance_rate`; `n_steps`, the
            gradients of each draw; `step_size`.
        weights: θ of every draw, one variable for each array; None if they were too large to be kept.
        final: the networks at the last draw of every chain.
        origin: of the draws: network and prior, examples, temperature, method.
        seconds: that it took.
        interrupted: whether it ended before its end.

    Example:
        >>> import jax
        >>> import numpy as np
        >>> import festina as fs
        >>> line = fs.networks.DeepLinear((np.zeros((1, 1)),))
        >>> posterior = fs.sample(line, ([[1.0], [2.0]], [[1.0], [2.0]]), temperature=1e-4, draws=200, warm_up=200)
        >>> posterior.mean.values.round(1).tolist()
        [[1.0], [2.0]]
    """

    data: xr.Dataset
    statistics: xr.Dataset
    weights: xr.Dataset | None
    final: Ensemble
    origin: Origin
    seconds: float
    interrupted: bool = False
    _means: dict[str, np.ndarray] = field(default_factory=dict)

    def __getitem__(self, name: str) -> xr.DataArray:
        return self.data[name]

    @cached_property
    def sample_sizes(self) -> xr.Dataset:
        """Independent draws that would give each mean as exactly; NaN for what never moves."""
        return self.data.map(partial(_of_every, effective_sample_size))

    @cached_property
    def r_hats(self) -> xr.Dataset:
        """Split-R̂ of everything observed: 1 if all halves of chains agree."""
        return self.data.map(partial(_of_every, split_r_hat))

    @property
    def answered(self) -> bool:
        """Whether `mean` and `deviation` are known: not in gated worlds, and of large answers only at the end."""
        return ANSWER in self.data or bool(self._means)

    @property
    def mean(self) -> xr.DataArray:
        """The mean over draws of the answers f(x), (example, output)."""
        if ANSWER in self.data:
            return self.data[ANSWER].mean(DRAWS)
        return self._mean_of("first")

    @property
    def deviation(self) -> xr.DataArray:
        """The standard deviation over draws of the answers f(x), (example, output).

        A target has the noise of the likelihood as well: for squared error its variance is T more.
        """
        if ANSWER in self.data:
            return self.data[ANSWER].std(DRAWS)
        return (self._mean_of("second") - self._mean_of("first") ** 2).clip(min=0.0) ** 0.5

    @property
    def networks(self) -> Ensemble:
        """The networks of all draws, those of the first chain first."""
        weights = self._kept_weights()
        leaves = [weights[name].values.reshape(-1, *weights[name].shape[2:]) for name in self.origin.parts.names]
        return _ensemble(leaves, self.origin.parts)

    def predict(self, inputs: Any) -> xr.DataArray:
        """The answers of all draws to other inputs, (chain, draw, example, output).

        Args:
            inputs: one example a row.
        """
        count = self.data.sizes["chain"] * self.data.sizes["draw"]
        with double():
            members, given = to_double(self.networks.members), jnp.asarray(np.asarray(inputs, dtype=float))
            weights, rest = eqx.partition(members, eqx.is_inexact_array)
            fixed, static = eqx.partition(rest, lambda leaf: isinstance(leaf, np.ndarray | np.generic | jax.Array))

            def answers(weights: Any, fixed: Any, given: Any) -> Any:
                one = lambda own: jax.vmap(eqx.combine(own, fixed, static))(given)  # noqa: E731
                return jax.lax.map(one, weights, batch_size=min(count, 100))

            work = brief_jit(answers)
            check_memory("The answers of all draws", 8 * work.shapes(weights, fixed, given).size)
            found = np.asarray(work(weights, fixed, given))
        values = found.reshape(*(self.data.sizes[name] for name in DRAWS), *found.shape[1:])
        return _as_variables({ANSWER: values})[ANSWER]

    def to_datatree(self) -> xr.DataTree:
        """All of it as plain xarray, in the groups that ArviZ reads.

        `posterior` holds weights and what was observed of networks; `sample_stats` the `statistics`; `observed_data`
        and `constant_data` the world's targets and inputs. Answers are in `posterior_predictive`, those to the inputs
        of a test set in `predictions`, with `predictions_constant_data`; they are f(x), without the noise of the
        likelihood.
        """
        weights = {} if self.weights is None else dict(self.weights.data_vars)
        others = {name: values for name, values in self.data.items() if name != ANSWER}
        groups = {"posterior": self.data[[]].assign(weights | others), "sample_stats": self.statistics}
        shown = self.origin.shown
        if ANSWER in self.data:
            groups["posterior_predictive" if shown.test is None else "predictions"] = self.data[[ANSWER]]
        if shown.world is not None:
            groups["observed_data"] = _labelled("target", shown.world.targets)
            groups["constant_data"] = _labelled("input", shown.world.inputs)
        if shown.test is not None:
            groups["predictions_constant_data"] = _labelled("input", shown.test.inputs)
        about = {"temperature": self.origin.temperature, "method": self.origin.method, "inference_library": "festina"}
        return xr.DataTree.from_dict({name: group.assign_attrs(about) for name, group in groups.items()})

    def plot(self) -> "Figure":
        """The trace of the loss in every chain, its histogram, and the mean answer with its standard deviation.

        Answers are drawn over the input if that is one number, and over the target otherwise.
        """
        from festina.learning.sampled_picture import draw_posterior

        return draw_posterior(self)

    @property
    def troubles(self) -> list[str]:
        """What speaks against these draws, one sentence each; none if R̂ ≤ 1.05 and there are 100 independent draws."""
        said, (name, high), (other, few) = [], self._worst(self.r_hats, max), self._worst(self.sample_sizes, min)
        if high > HIGHEST_R_HAT:
            said.append(f"Chains disagree: R̂ of {name} is {high:.3g}, above {HIGHEST_R_HAT}; warm up for longer.")
        if few < FEWEST_INDEPENDENT:
            said.append(
                f"Draws are few: the effective sample size of {other} is {few:.0f}, below {FEWEST_INDEPENDENT}; "
                "draw more."
            )
        return said

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}{tuple(v.shape)}" for name, v in self.data.data_vars.items())
        (_, high), (_, few) = self._worst(self.r_hats, max), self._worst(self.sample_sizes, min)
        sizes, rate = self.data.sizes, float(self.statistics["acceptance_rate"].mean())
        ended = ", interrupted" if self.interrupted else ""
        line = (
            f"Posterior({self.origin.method} at T = {self.origin.temperature:g}, {sizes['chain']} chains of "
            f"{sizes['draw']} draws after {self.origin.warm_up}{ended}: mean energy {float(self[ENERGY].mean()):.4g}, "
            f"acceptance {rate:.2f}, R̂ ≤ {high:.3f}, sample size ≥ {few:.0f}, {self.seconds:.2f} s: {shapes})"
        )
        return "\n".join([line, *self.troubles])

    def _repr_html_(self) -> str:
        return told(repr(self)) + self.data._repr_html_()

    def _worst(self, found: xr.Dataset, which: Callable[..., Any]) -> tuple[str, float]:
        """The variable in which a number is highest or lowest, and the number; if nothing moves, there is none."""
        extreme = np.nanmax if which is max else np.nanmin
        values = {str(name): extreme(part) for name, part in found.items() if np.any(np.isfinite(part))}
        name = which(values, key=lambda name: values[name], default="everything")
        return name, float(values.get(name, np.nan if which is max else 0.0))

    def _mean_of(self, name: str) -> xr.DataArray:
        if not self.answered:
            raise ArgumentError(
                "Argument `world` must have inputs that networks answer one by one, in chains that were not "
                "interrupted, for there to be a mean answer."
            )
        return _as_variables({ANSWER: self._means[MEAN + name][:, None]})[ANSWER].mean(DRAWS)

    def _kept_weights(self) -> xr.Dataset:
        if self.weights is None:
            raise ArgumentError(
                "Argument `draws` must be smaller for the weights of all draws to be kept; those of the last draw of "
                "every chain are in `.final`."
            )
        return self.weights


def posterior_of(outcome: Recording, origin: Origin) -> Posterior:
    """The posterior that chains have drawn."""
    kept = slice(origin.warm_up + 1, outcome.records)
    seen = {name: values[:, kept] for name, values in outcome.observed.items()}
    gradients = outcome.observed[f"{STATISTIC}n_steps"][:, origin.warm_up : outcome.records]
    seen[f"{STATISTIC}n_steps"] = np.diff(gradients, axis=1)
    weights = {name: seen.pop(WEIGHT + name) for name in origin.parts.names if WEIGHT + name in seen}
    statistics = {name: seen.pop(STATISTIC + name) for name in STATISTICS if STATISTIC + name in seen}
    last = jax.tree.map(np.multiply, origin.deviation, jax.tree.map(np.asarray, outcome.state.parameters))
    return Posterior(
        _as_variables(seen),
        _as_variables(statistics),
        _as_variables(weights) if weights else None,
        _ensemble(jax.tree.leaves(last), origin.parts),
        origin,
        outcome.seconds,
        outcome.interrupted,
        outcome.concluded,
    )


def _as_variables(arrays: dict[str, np.ndarray]) -> xr.Dataset:
    """Arrays with leading axes of chains and draws, as a labelled data set."""
    variables = {}
    for name, values in arrays.items():
        own = DIMENSIONS.get(name, ())
        own = own if len(own) == values.ndim - 2 else tuple(f"{name}_{axis}" for axis in range(values.ndim - 2))
        variables[name] = ((*DRAWS, *own), values)
    sizes = zip(DRAWS, next(iter(arrays.values())).shape, strict=False)
    return xr.Dataset(variables, coords={name: np.arange(size) for name, size in sizes})


def _labelled(name: str, values: Any) -> xr.Dataset:
    array = np.asarray(values)
    own = (name if name == "input" else "output",) if array.ndim == 2 else range(array.ndim - 1)
    dims = ("example", *(axis if isinstance(axis, str) else f"{name}_{axis}" for axis in own))
    return xr.Dataset({f"{name}s": (dims, array)})


def _of_every(function: Callable[[Any], np.ndarray], values: xr.DataArray) -> xr.DataArray:
    """A number for every quantity from its draws, some quantities at a time; NaN where draws are not finite."""
    first = values.isel(chain=0, draw=0, drop=True)
    flat = np.asarray(values.values, dtype=float).reshape(*values.shape[:2], -1)
    found = np.full(flat.shape[2], np.nan)
    sound = np.flatnonzero(np.isfinite(flat).all(axis=(0, 1)))
    for start in range(0, len(sound), BLOCK):
        some = sound[start : start + BLOCK]
        found[some] = function(flat[:, :, some])
    return xr.DataArray(found.reshape(first.shape), dims=first.dims)


def _ensemble(leaves: list[Float[Any, "n ..."]], parts: Parts) -> Ensemble:
    """Networks from their weights, each with a leading axis."""
    count = len(leaves[0])
    weights = jax.tree.unflatten(jax.tree.structure(parts.weights), leaves)
    # An ensemble has every real array once for each of its members, also those that are the same in all.
    real, others = eqx.partition(to_numpy(parts.fixed), eqx.is_inexact_array)
    repeated = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (count, *np.shape(leaf))), real)
    return Ensemble(eqx.combine(weights, repeated, others, parts.static), count)
