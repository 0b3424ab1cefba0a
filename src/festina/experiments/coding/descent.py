"""Noisy descent, plain descent, momentum and Adam: which ways of training give the code of the posterior."""

from typing import Any

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np
from festina.experiment import Equation, Experiment, Preset, Variable, continuous, structural
from festina.experiments._side_by_side import side_by_side
from festina.experiments.coding._common import (
    VARIABLES,
    CodingConfig,
    between_classes,
    constant_in_time,
    coordinates,
    from_prior,
    in_turn,
    membership,
    world,
)
from festina.experiments.coding._comparison import long_enough, sampling_checks, worth
from festina.experiments.coding._descent_measures import (
    answer_difference,
    kernel_difference,
    loss_over_minimum,
    own_shares_difference,
    share_named,
    virial,
)
from festina.experiments.coding._sampled import class_activity, stacked
from festina.experiments.coding._trained import energy, noise, one_of, trained
from festina.models._wide import KINDS
from festina.ranges import LearningRate
from festina.sources import VAN_MEEGEN_2024

TRAININGS = ("noisy", "plain", "momentum", "Adam")
SCHEMES: dict[str, str] = dict(zip(KINDS, ("analog", "redundant", "sparse"), strict=True))
EARLIER = "our own earlier runs on the same energy"


class Descent(Experiment):
    """Networks trained by noisy gradient descent have the code of their posterior; those trained by Adam need not.

    Samplers draw weights from exp(−U), with U = (N/2T) Σ|y − f|² + ½|θ|² for weights θ that are standard normal a
    priori. Here the same networks start from the prior and *descend* U, in which the prior is weight decay:

        noisy:     θ ← θ − η ∂U/∂θ + √(2η) ξ    (Langevin dynamics; T falls to its final value while warming up)
        plain:     θ ← θ − η ∂U/∂θ
        momentum:  v ← μ v + ∂U/∂θ,   θ ← θ − η v
        Adam:      on the gradient of U, with its usual constants

    and `fs.measures.coding` names the code of each at the end. The source speaks of the posterior alone; what is
    expected of training is ours, from the law of noisy descent and from earlier runs: that noise and momentum keep the
    scheme of the posterior (analog for linear, redundant for sigmoidal, sparse for rectified neurons) and that Adam
    keeps none; that plain descent keeps it was expected only after a first look at short runs. Steps of noisy descent
    bias its law: a direction of curvature λ has the variance 1/(λ(1 − ηλ/2)). The largest λ is about 1.75/T, so that η
    = .01 at T = .1 overstates the variance of the stiffest direction by a tenth. For exact samples the mean of θ·∂U/∂θ
    is the number of weights; directions with λ = 1, those of the prior alone, make it .5% more here.

    Without noise, descent should reach the least U. With D = T/√s, linear networks then have residuals min(σ, D) for
    each singular value σ of the targets, and rectified ones min(√n_c |y_c|, D) for each class, as none of their
    neurons serves two classes. That gives the loss at the minimum in closed form.

    Found, in all of three runs: noisy descent has the three codes, with kernels .0007 (linear) and .003 (rectified)
    from the theory; sigmoidal networks freeze, and are .24 from equilibrium but .001 from the theory at their own
    shares of codes. Plain descent and momentum keep the names, but rectified neurons trained with momentum only just
    (share of the top tenth .52 to .57; the cut is .45; .98 with noise). Adam makes both linear and rectified codes
    redundant at the same loss as momentum: what it selects is no matter of energy. Sigmoidal codes stay redundant under
    Adam too, against the expectation.

    Not reproduced besides: plain descent of rectified networks ends at 1.54 times the least loss. A neuron that is off
    for an example receives no gradient from it and, inputs being orthogonal, its weight decays to zero without crossing
    it. Judging by the spread of their activity, the strongest neurons are on for about two thirds of their class, where
    noise, momentum and Adam turn on nearly all of it. The
    mean of θ·∂U/∂θ is 1.4% too large for sigmoidal networks (tolerance 1%; .5% for the others), and about half as much
    at half the step. And noisy descent is a slow sampler: for linear networks split-R̂ is below 1.05 and the sample
    size above 100, but the kernel between classes of rectified networks has R̂ = 1.26 and a sample size of 9, so that
    its agreement with theory rests on few independent draws. The full budget has 300 neurons to take minutes; 500
    neurons and 1600 draws gave the same verdicts on schemes, kernels and minima.
    """

    name = "coding/descent"
    sources = (VAN_MEEGEN_2024,)
    time_unit = "draws"
    seeds = 3
    quick = {"seeds": 2, "width": 100, "counts": (20, 10, 10), "warm_up": 150, "draws": 250, "records": 40}
    variables = {
        **{
            name: Variable(VARIABLES[name].label, ("nonlinearity", "training", *VARIABLES[name].dims))
            for name in ("temperature", "loss", "kept", "class_kernel", "readout", "activity")
        },
        "deviation": Variable(
            "standard deviation of activity within each class", ("nonlinearity", "training", "neuron", "class")
        ),
        "mean_class_kernel": Variable(
            "class kernel, mean over draws kept", ("nonlinearity", "training", "class", "other_class")
        ),
        "mean_answer": Variable(
            "answer in each class, mean over draws kept", ("nonlinearity", "training", "class", "output")
        ),
        "virial": Variable("θ·∂U/∂θ a weight, mean over draws kept", ("nonlinearity", "training")),
    }

    class Config(CodingConfig):
        width: int = structural(300, ge=10, le=5000, help="neurons N of the hidden layer")
        warm_up: int = structural(300, ge=1, le=100_000, help="draws to warm up")
        draws: int = structural(900, ge=8, le=1_000_000, help="draws after warming up")
        records: int = structural(60, ge=2, le=10_000, help="recordings, evenly spaced; must divide all draws")
        steps: int = structural(10, ge=1, le=10_000, help="steps of descent for each draw")
        step: LearningRate = continuous(0.01, help="length η of a step, of all but Adam", scale="log")
        momentum: float = continuous(0.9, ge=0, le=0.999, help="momentum μ, what is left of a velocity after a step")
        rate: LearningRate = continuous(0.003, help="learning rate of Adam", scale="log")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"nonlinearity": list(KINDS), "training": list(TRAININGS)} | coordinates(config)

    def simulate(self, config: Any, key: Any) -> Any:
        data = world(config)
        each = []
        for kind, of_kind in zip(KINDS, fs.draws.split(key, len(KINDS)), strict=True):
            for_network, for_noise = fs.draws.split(of_kind, 2)
            network = from_prior(config, for_network, data, fs.networks.bayesian.NONLINEARITIES[kind])
            each.append(_in_every_way(config, network, data, for_noise))
        return side_by_side(each, stacked)

    def theory(self, config: Any, key: Any) -> Any:
        labels = membership(world(config))
        kernels = np.stack([between_classes(each.kernels[-1], labels) for each in predictions(config)])
        answers = np.stack([(labels / labels.sum(axis=0)[None]).T @ each.mean for each in predictions(config)])
        each_way = {"class_kernel": kernels, "mean_class_kernel": kernels, "mean_answer": answers}
        return constant_in_time(
            **{name: np.repeat(value[:, None], len(TRAININGS), axis=1) for name, value in each_way.items()}
        )

    def measure(self, data: Any) -> dict[str, Any]:
        return worth(data.sel(training="noisy"))

    equations = (
        Equation(
            r"\theta \leftarrow \theta - \eta\, \frac{\partial U}{\partial \theta} + \sqrt{2\eta}\; \xi, "
            r"\qquad U = \frac{N}{2T} \sum |y - f|^2 + \tfrac12 |\theta|^2",
            "Noisy descent samples the posterior; plain descent lacks the noise ξ, and the prior acts as weight decay.",
        ),
    )
    presets = (
        Preset(
            "four ways to train", "Noise, plain descent and momentum keep the code of each nonlinearity; Adam need not."
        ),
        Preset("slow Adam", "At a third of its rate Adam comes less far in the same number of steps.", {"rate": 0.001}),
    )

    @claims.theory(claims.near(1.0, 0.0), each={"kind": KINDS})
    def code_noisy(self, result: Any, kind: str) -> Any:
        """Noisy gradient descent, whose law is the posterior, gives {kind} neurons the coding scheme of the posterior
        (share of runs the analyser says so of).
        """
        return share_named(long_enough(result), kind, "noisy", SCHEMES[kind])

    @claims.reference(EARLIER, claims.near(1.0, 0.0), each={"training": TRAININGS[1:-1], "kind": KINDS})
    def code(self, result: Any, training: str, kind: str) -> Any:
        """Descent without noise ({training}) gives {kind} neurons the coding scheme of the posterior (share of runs the
        analyser says so of).
        """
        return share_named(long_enough(result), kind, training, SCHEMES[kind])

    @claims.reference(
        EARLIER,
        claims.near(0.0, 0.0),
        reason="our expectation was too general: sigmoidal codes stay redundant under Adam; see the experiment's "
        "description",
        each={"kind": KINDS},
    )
    def code_adam(self, result: Any, kind: str) -> Any:
        """Adam does not give {kind} neurons the coding scheme of the posterior (share of runs the analyser says so
        of).
        """
        return share_named(long_enough(result), kind, "Adam", SCHEMES[kind])

    @claims.theory(claims.below(0.02), loosely=claims.below(0.05), each={"kind": ("linear", "rectified")})
    def kernel(self, result: Any, kind: str) -> Any:
        """Noisy descent of {kind} networks has the kernel of our theory (relative difference of class means)."""
        return kernel_difference(result, kind)

    @claims.theory(claims.below(0.05))
    def own_shares(self, result: Any) -> Any:
        """Noisy descent of sigmoidal networks has the kernel of our theory at its own shares of codes, since it freezes
        as samplers do (relative difference of class means).
        """
        return own_shares_difference(result)

    @claims.theory(claims.below(0.02), each={"kind": ("linear", "rectified")})
    def answer(self, result: Any, kind: str) -> Any:
        """Noisy descent of {kind} networks gives the mean answers of our theory (largest difference of class means;
        targets are 1 and −½).
        """
        return answer_difference(result, kind)

    @claims.theory(
        claims.near(1.0, 0.02),
        budget="full",
        reason="rectified neurons that are off receive no gradient from plain descent, and Adam is slow at our budget; "
        "see the experiment's description",
        each={"training": TRAININGS[1:], "kind": ("linear", "rectified")},
    )
    def minimum(self, result: Any, training: str, kind: str) -> Any:
        """Descent without noise ({training}) takes {kind} networks to the least energy (loss over that of our closed
        form).
        """
        return loss_over_minimum(result, kind, training)

    @claims.check(
        claims.near(1.0, 0.01),
        budget="full",
        reason="our budget: the bias of sigmoidal networks is about half as much at half the step; see the "
        "experiment's description",
        each={"kind": KINDS},
    )
    def bias(self, result: Any, kind: str) -> Any:
        """Steps of noisy descent are short enough for {kind} networks: θ·∂U/∂θ is the number of weights, as for exact
        samples (ratio).
        """
        return virial(result, kind)  # draws of few small networks do not resolve a hundredth

    checks = sampling_checks(
        what="the kernel between classes by noisy descent",
        reason="our budget: noisy descent is a slow sampler of rectified networks; see the experiment's description",
        nonlinearity=["linear", "rectified"],
        training="noisy",
    )

    def figure(self, result: Any) -> Any:
        from festina.experiments.coding._descent_figure import draw

        return draw(result)


def predictions(config: Any) -> list[Any]:
    """The theory of each nonlinearity."""
    shared = {"width": config.width, "counts": config.counts, "amplitude": config.amplitude}
    networks = (fs.models.WideBayesian(nonlinearity=kind, **shared) for kind in KINDS)
    return [network.prediction(config.temperature) for network in networks]


def _in_every_way(config: Any, network: Any, data: Any, key: Any) -> Any:
    """One network trained in all ways, recorded in the order of `TRAININGS`.

    Only what is noisy is cooled: without noise, hot networks would forget where they started.
    """
    ways = optimisers(config, key)
    hottest = jnp.array([config.hottest, *[config.temperature] * (len(TRAININGS) - 1)])
    cases = {"way": jnp.arange(len(TRAININGS)), "hottest": hottest}

    def one(case: dict[str, Any]) -> Any:
        heat = fs.learning.annealed(case["hottest"], config.temperature, max(1, config.warm_up // 2))
        return _descent(config, network, data, one_of(ways, case["way"]), heat)

    return in_turn(one, cases)


def optimisers(config: Any, key: Any) -> tuple[Any, ...]:
    """The ways of training, in the order of `TRAININGS`."""
    import optax

    step, momentum, rate = (jnp.asarray(each, np.float32) for each in (config.step, config.momentum, config.rate))
    return (
        optax.chain(noise(key, step), optax.sgd(step)),
        optax.sgd(step),
        optax.chain(optax.trace(momentum), optax.scale_by_learning_rate(step)),
        optax.adam(rate),
    )


def _descent(config: Any, network: Any, data: Any, optimiser: Any, heat: Any) -> Any:
    """One network trained in one way."""
    inputs, targets = jnp.asarray(data.inputs), jnp.asarray(data.targets)
    labels = jnp.asarray(membership(data))
    slope = jax.grad(energy(network, data))

    def class_kernel(own: Any) -> Any:
        return between_classes(own.kernels(inputs)[-1], labels)

    def averaged(own: Any) -> dict[str, Any]:
        return {
            "mean_class_kernel": class_kernel(own),
            "mean_answer": labels.T @ own(inputs) / labels.sum(axis=0)[:, None],
            "virial": _per_weight(own.whitened, slope(own.whitened, jnp.asarray(config.temperature))),
        }

    def observe(own: Any, state: Any) -> dict[str, Any]:
        activity = class_activity(own, inputs, labels)
        away = (own.hidden(inputs)[-1] - labels @ activity.T) ** 2
        return {
            "temperature": heat(state.step),
            "loss": 0.5 * jnp.mean(jnp.sum((targets - own(inputs)) ** 2, axis=-1)),
            "kept": state.memory.kept,
            "class_kernel": class_kernel(own),
            "readout": own.readouts,
            "activity": activity,
            "deviation": jnp.sqrt(away.T @ labels / labels.sum(axis=0)[None]),
            **state.memory.means,
        }

    return trained(
        network,
        data,
        optimiser,
        heat,
        records=config.records,
        draws_per_record=(config.warm_up + config.draws) // config.records,
        steps_per_draw=config.steps,
        warm_up=config.warm_up,
        observe=observe,
        average=averaged,
    )


def _per_weight(whitened: Any, gradient: Any) -> Any:
    """θ·∂U/∂θ over the number of weights."""
    products = jax.tree.leaves(jax.tree.map(lambda p, g: jnp.sum(p * g), whitened, gradient))
    return sum(products[1:], start=products[0]) / sum(leaf.size for leaf in jax.tree.leaves(whitened))
