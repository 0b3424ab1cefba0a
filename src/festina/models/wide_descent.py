"""A wide network that descends the energy from whose posterior samplers draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import continuous, structural
from festina.errors import ArgumentError
from festina.model import Equation, Preset, Variable
from festina.models._wide import VARIABLES, Begin, CooledNetwork, at_all_times
from festina.ranges import LearningRate

if TYPE_CHECKING:
    from optax import GradientTransformation

    from festina.models._types import Array, Bayesian, Float, Int, Key, Observed, Process, Solution, State

    Whitened = Any  # the weights of all layers, standard normal a priori: a tree of arrays

RECORDED = ("heat", "loss", "kept", "class_kernel", "readout", "activity")


class Descending(NamedTuple):
    """What descent carries along besides θ: the optimiser's state, and running means over the draws kept so far."""

    optimiser: Any
    kept: Int[Array, ""]
    means: Observed


class WideDescent(CooledNetwork):
    """A wide network that starts from its prior and descends the energy of its posterior, with noise or without.

    U = (N/2T) Σ|y − f|² + ½|θ|² for weights θ that are standard normal a priori, so that the prior is weight decay:

        descent:   v ← μ v + ∂U/∂θ + ν √(2(1 − μ)/η) ξ,   θ ← θ − η v
        Adam:      on ∂U/∂θ, with its usual constants

    With noise of the size ν = 1 these are Langevin dynamics, whose law is the posterior exp(−U) up to the length of
    steps: without momentum a direction of curvature λ has the variance 1/(λ(1 − ηλ/2)). Without noise descent should
    reach the least U: with D = T/√s, linear networks then have residuals min(σ, D) for each singular value σ of the
    targets, and rectified ones min(√n_c |y_c|, D) for each class, as none of their neurons serves two classes.

    So many steps make one draw, as they are counted in recordings; steps are in float32, whose rounding is far below
    their noise, and what is recorded is computed in float64.

    Example:
        >>> import festina as fs
        >>> model = fs.models.WideDescent(nonlinearity="linear", counts=(4, 4), noise=0.0, temperature=0.1)
        >>> round(float(model.theory()(0.0)["loss"]), 6)  # what weight decay leaves
        0.01
    """

    name = "wide-descent"
    variables = {name: VARIABLES[name] for name in RECORDED} | {
        "hidden": Variable("activity at the end", ("example", "neuron"), final=True),
        "mean_class_kernel": Variable("class kernel, mean over draws kept", ("class", "other_class"), final=True),
        "mean_answer": Variable("answer in each class, mean over draws kept", ("class", "output"), final=True),
        "virial": Variable("θ·∂U/∂θ a weight, mean over draws kept", final=True),
    }
    equations = (
        Equation(
            r"\theta \leftarrow \theta - \eta\, \frac{\partial U}{\partial \theta} + \sqrt{2\eta}\; \xi, "
            r"\qquad U = \frac{N}{2T} \sum |y - f|^2 + \tfrac12 |\theta|^2",
            "Noisy descent samples the posterior; plain descent lacks the noise ξ, and the prior acts as weight decay.",
        ),
    )
    quick = {"width": 60, "warm_up": 60, "draws": 60, "records": 40}
    presets = (
        Preset("Langevin", "Noisy descent draws from the posterior, and sigmoidal neurons fall into groups."),
        Preset("plain", "Without noise the same groups form, and their neurons come to agree.", {"noise": 0.0}),
        Preset("Adam", "Steps of much the same length for all weights.", {"optimiser": "Adam"}),
    )

    optimiser: Literal["descent", "Adam"] = structural("descent", help="how steps follow from gradients")
    noise: float = continuous(1.0, ge=0, le=10, help="size ν of noise; 1 for that of the posterior; Adam has none")
    step: LearningRate = continuous(0.01, help="length η of a step, of all but Adam", scale="log")
    momentum: float = continuous(0.0, ge=0, le=0.999, help="momentum μ, what is left of a velocity after a step")
    rate: LearningRate = continuous(0.003, help="learning rate of Adam", scale="log")
    steps: int = structural(10, ge=1, le=10_000, help="steps of descent for each draw")

    def start(self, key: Key) -> Begin:
        for_network, for_noise = fs.draws.split(key, 2)
        return Begin(self.prior(for_network), jax.random.key_data(for_noise))

    def energy(self, network: Bayesian, whitened: Whitened, temperature: Float[Array, ""]) -> Float[Array, ""]:
        """U(θ, T) = (N/2T) Σ|y − f|² + ½|θ|²: minus the logarithm of the posterior, in the precision of θ."""
        data, kind = self.world(), jax.tree.leaves(whitened)[0].dtype
        inputs, targets = np.asarray(data.inputs, kind), np.asarray(data.targets, kind)
        squares = [jnp.sum(leaf**2) for leaf in jax.tree.leaves(whitened)]
        error = network.having(whitened).energy(inputs, targets, temperature)
        return error + 0.5 * sum(squares[1:], start=squares[0])

    def rule(self) -> GradientTransformation:
        """How steps follow from gradients."""
        import optax

        step, momentum, rate = (jnp.asarray(each, np.float32) for each in (self.step, self.momentum, self.rate))
        if self.optimiser == "Adam":
            return optax.adam(rate)
        return optax.chain(optax.trace(momentum), optax.scale_by_learning_rate(step))  # pyright: ignore

    def shaken(self, key: Key, gradient: Whitened) -> Whitened:
        """A gradient with noise of variance ν² 2(1 − μ)/η added; of descent only."""
        from festina.learning.samplers import normal_like

        if self.optimiser == "Adam":
            return gradient
        step, momentum, noise = (jnp.asarray(each, np.float32) for each in (self.step, self.momentum, self.noise))
        size = noise * (2.0 * (1.0 - momentum) / step) ** 0.5
        return jax.tree.map(lambda g, d: g + size * d, gradient, normal_like(key, gradient))

    def process(self, start: Begin) -> Process:
        network, rule = start.network, self.rule()
        key = jax.random.wrap_key_data(jnp.asarray(start.words))

        def step(number: Int[Array, ""], carried: tuple[Whitened, Any], heat: Float[Array, ""]) -> tuple[Whitened, Any]:
            whitened, state = carried
            gradient = jax.grad(self.energy, 1)(network, whitened, heat)
            gradient = self.shaken(fs.draws.fold_in(key, number), gradient)
            with jax.numpy_dtype_promotion("standard"):  # optax counts in integers and divides by them
                changes, state = rule.update(gradient, state, whitened)
            return jax.tree.map(lambda p, c: p + c.astype(p.dtype), whitened, changes), state

        def draw(state: State, number: Int[Array, ""]) -> State:
            memory, heat, first = state.memory, self.heat(number), number * self.steps
            carried = state.parameters, memory.optimiser
            whitened, optimiser = jax.lax.fori_loop(0, self.steps, lambda k, own: step(first + k, own, heat), carried)
            kept = memory.kept + jnp.where(number < self.warm_up, 0, 1)
            share = jnp.where(kept > 0, 1.0 / jnp.maximum(kept, 1).astype(float), 0.0)
            here = self.averaged(_seen(network, whitened))
            means = jax.tree.map(lambda mean, new: mean + share * (new - mean), memory.means, here)
            done = number + 1
            return fs.learning.State(done.astype(float), done, whitened, Descending(optimiser, kept, means))

        def advance(state: State, index: Int[Array, ""]) -> State:
            """Draws are numbered by the recordings, which all arms of a seed have in common, and so their noise."""
            first = ((index - 1) * self.draws_per_record).astype(state.step.dtype)
            numbers = first + jnp.arange(self.draws_per_record, dtype=first.dtype)
            return jax.lax.scan(lambda state, number: (draw(state, number), None), state, numbers)[0]

        begin = jax.tree.map(lambda leaf: leaf.astype(np.float32), network.whitened)
        means = jax.tree.map(jnp.zeros_like, jax.eval_shape(lambda own: self.averaged(_seen(network, own)), begin))
        times = jnp.arange(self.records + 1).astype(float) * self.draws_per_record
        memory = Descending(rule.init(begin), jnp.asarray(0), means)
        return fs.learning.Process(
            fs.learning.State.start(begin, times[0], memory),
            advance,
            lambda state: self.observed(_seen(network, state.parameters), state),
            times,
            lambda state: draw(state, state.step),
            lambda state: state.memory.means | self.concluded(_seen(network, state.parameters)),
            self.records * self.draws_per_record,
        )

    def observed(self, network: Bayesian, state: State) -> Observed:
        return {"heat": self.heat(state.step), "kept": state.memory.kept} | self.seen(network)

    def averaged(self, network: Bayesian) -> Observed:
        """What is averaged over all draws after warming up."""
        activity, members = network.hidden(np.asarray(self.world().inputs))[-1], self.members()
        slope = jax.grad(self.energy, 1)(network, network.whitened, jnp.asarray(self.temperature))
        products = jax.tree.leaves(jax.tree.map(lambda p, g: jnp.sum(p * g), network.whitened, slope))
        weights = sum(leaf.size for leaf in jax.tree.leaves(network.whitened))
        return {
            "mean_class_kernel": fs.measures.between_classes(fs.networks.bayesian.kernel(activity), members),
            "mean_answer": members.T @ network.answer(activity) / members.sum(axis=0)[:, None],
            "virial": sum(products[1:], start=products[0]) / weights,
        }

    def concluded(self, network: Bayesian) -> Observed:
        return {"hidden": network.hidden(np.asarray(self.world().inputs))[-1]}

    def solution(self, start: Begin) -> Solution | None:
        """The posterior with the noise of Langevin dynamics; the loss at the least U without; else nothing."""
        if self.optimiser == "Adam" or self.noise == 0.0:
            least = self.least_loss()
            return at_all_times({"loss": least}) if np.isfinite(least) else None
        try:
            theory = self.prediction(self.temperature)
        except ArgumentError:
            return None
        members = self.world().membership
        kernel = fs.measures.between_classes(theory.kernels[-1], members)
        answer = (members / members.sum(axis=0)[None]).T @ theory.mean
        known = {"class_kernel": kernel, "mean_class_kernel": kernel, "mean_answer": answer}
        return at_all_times(known) if self.noise == 1.0 else None

    def least_loss(self) -> float:
        """(1/2P) Σ_k min(σ_k, T/√s)²: σ are singular values of the targets or, for rectified neurons, √n_c |y_c|.

        A linear network at the least U has balanced layers, and its U is (N/2T)|Y − F|² + (N/√s) × the sum of singular
        values of F. Activity of rectified neurons is not negative, and if targets of different classes have negative
        products, as here, each class has neurons of its own. Of sigmoidal ones there is no closed form: not a number.
        """
        data = self.world()
        if self.nonlinearity == "sigmoidal":
            return float("nan")
        if self.nonlinearity == "linear":
            sizes = np.linalg.svd(np.asarray(data.targets), compute_uv=False)
        else:
            sizes = np.sqrt(np.asarray(self.counts)) * np.linalg.norm(data.class_targets, axis=1)
        residuals = np.minimum(sizes, self.temperature / np.sqrt(self.readout_variance))
        return float(0.5 * np.sum(residuals**2) / sum(self.counts))


def _seen(network: Bayesian, whitened: Whitened) -> Bayesian:
    """The network with other weights, in double precision."""
    return network.having(jax.tree.map(lambda leaf: leaf.astype(float), whitened))
