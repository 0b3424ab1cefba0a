"""The tutor-executor network of Liebana Garcia et al. (2025): a mouse that learns to say on which side a grating is.

Three pathways lead from what is seen to the values of the two choices: one for a grating on the left, one for a
grating on the right, and one that is always on and so carries the animal's bias. Each pathway has one weight w1
(the tutor, in cortex) and two weights w2 (the executor, in striatum), one for each choice:

    Q[a] = Σ_k W2[a, k] w1[k] x[k],    x = (1{left}, 1{right}, 1),    P(right) = σ(β (Q[right] − Q[left])).
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from festina.worlds.gratings import inputs

SIGNALS = ("total", "stimulus", "const")
"""Teaching signals: δ_tot, δ_stim and δ_const."""
SEEN = inputs()
"""What the stimuli left, none and right switch on, if the contrast of a grating does not matter."""


class TutorExecutor(eqx.Module):
    """A network with one tutor weight for each pathway, and one executor weight for each choice and pathway.

    Args:
        tutor: w1, one for each pathway: left, right, constant.
        executor: W2, one row for each choice: left, right.

    Example:
        >>> mouse = fs.networks.TutorExecutor(np.ones(3), np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]))
        >>> mouse(np.array([1.0, 0.0, 1.0])).tolist()  # values of both choices for a grating on the left
        [2.0, 0.0]
        >>> [round(float(chance), 3) for chance in mouse.right(inverse_temperature=1.0)]
        [0.119, 0.5, 0.881]
    """

    tutor: Float[Any, " pathway"]
    executor: Float[Any, "choice pathway"]

    @property
    def products(self) -> Float[Any, "choice pathway"]:
        """W2[a, k] w1[k]: all of the network that behaviour can see."""
        return self.executor * self.tutor[None, :]

    def __call__(self, seen: Float[Any, "*batch pathway"]) -> Float[Any, "*batch choice"]:
        """The value Q of each choice."""
        return seen @ self.products.T

    def right(self, inverse_temperature: Any, seen: Float[Any, "stimulus pathway"] = SEEN) -> Float[Any, " stimulus"]:
        """P(right) for every stimulus; the sums are written out, for XLA is slow at tiny ones."""
        gap = inverse_temperature * (self.products[1] - self.products[0])
        return jax.nn.sigmoid(gap[2] * seen[:, 2] + gap[0] * seen[:, 0] + gap[1] * seen[:, 1])

    @classmethod
    def newborn(cls, key: Array, spread: Any, noise: Any) -> "TutorExecutor":
        """The published start: w1 = (.05, .05, 1), W2 = .2 for both stimulus pathways, 0 for the constant one.

        Args:
            key: where the noise comes from.
            spread: standard deviation of the constant pathway's executor weights, of which nothing is published.
            noise: standard deviation of what is added to every weight (1e-5).
        """
        return cls(*_newborn_weights(key, spread, noise))

    @property
    def flattened(self) -> "TutorExecutor":
        """The shallow network of the same behaviour: every tutor weight is 1."""
        return TutorExecutor(jnp.ones_like(self.tutor), self.products)


@jax.jit
def _newborn_weights(key: Array, spread: Any, noise: Any) -> tuple[Float[Array, "3"], Float[Array, "2 3"]]:
    first, second, third = jax.random.split(key, 3)
    tutor = jnp.array([0.05, 0.05, 1.0]) + noise * jax.random.normal(first, (3,))
    executor = jnp.array([[0.2, 0.2, 0.0]] * 2) + noise * jax.random.normal(second, (2, 3))
    bias = spread * jax.random.normal(third, (2, 1))
    return jnp.abs(tutor), jnp.abs(executor + jnp.pad(bias, ((0, 0), (2, 0))))


class Rule(eqx.Module):
    """How a trial changes the network: three numbers that hold the published model and its two controls.

    With the chosen row a, reward R, stimulus part Qs and constant part Qc of the chosen value Q = Qs + Qc,

        Δw1[k]    = η t (R − Q) W2[a, k] x[k],
        ΔW2[a, k] = η δ[k] w1[k] x[k],      δ[stimulus] = R − Qs − m Qc,   δ[const] = R − Qc − m Qs,

    with the old weights on the right, and then W ← |W|. Between m = 0 and m = 1 the executor's errors go from the
    partial ones of the published model to the total one of gradient descent.

    Args:
        rate: η.
        crosstalk: m, how much of the other pathways' value enters an executor's error.
        tutor_speed: t, the tutor's learning rate in units of the executor's.

    Example:
        >>> mouse = fs.networks.TutorExecutor(np.ones(3), np.zeros((2, 3)))
        >>> rule = fs.networks.tutor.Rule.partial_errors(rate=0.5)
        >>> after = rule(mouse, np.array([1.0, 0.0, 1.0]), np.array(False), np.array(1.0))  # left, and rewarded
        >>> after.executor.tolist()
        [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]
    """

    rate: Float[Any, ""]  # η
    crosstalk: Float[Any, ""]  # m: how much of the other pathways' value enters an executor's error
    tutor_speed: Float[Any, ""]  # t: the tutor's learning rate in units of the executor's

    @classmethod
    def partial_errors(cls, rate: Any) -> "Rule":
        """The published model: each part of the executor has an error of its own, the tutor learns from the total."""
        return cls(jnp.asarray(rate), jnp.asarray(0.0), jnp.asarray(1.0))

    @classmethod
    def total_error(cls, rate: Any) -> "Rule":
        """The deep control: gradient descent on (R − Q)²/2 in both layers."""
        return cls(jnp.asarray(rate), jnp.asarray(1.0), jnp.asarray(1.0))

    @classmethod
    def shallow(cls, rate: Any) -> "Rule":
        """The shallow control: the delta rule, with tutor weights that stay what they are (ones)."""
        return cls(jnp.asarray(rate), jnp.asarray(1.0), jnp.asarray(0.0))

    def __call__(
        self,
        network: TutorExecutor,
        seen: Float[Any, " pathway"],
        chose_right: Bool[Any, ""],
        reward: Float[Any, ""],
    ) -> TutorExecutor:
        """The network after one trial."""
        row = jnp.where(chose_right, network.executor[1], network.executor[0])
        total, stimulus, constant = self.signals(network, seen, chose_right, reward)
        on_tutor = self.rate * self.tutor_speed * total * row * seen
        on_row = self.rate * jnp.stack([stimulus, stimulus, constant]) * network.tutor * seen
        chosen = jnp.stack([~chose_right, chose_right]).astype(on_row.dtype)
        return TutorExecutor(
            jnp.abs(network.tutor + on_tutor), jnp.abs(network.executor + chosen[:, None] * on_row[None, :])
        )

    def signals(
        self,
        network: TutorExecutor,
        seen: Float[Any, " pathway"],
        chose_right: Bool[Any, ""],
        reward: Float[Any, ""],
    ) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """The teaching signals of a trial: (R − Q, δ[stimulus], δ[const]), for the tutor and both of the executor."""
        parts = jnp.where(chose_right, network.executor[1], network.executor[0]) * network.tutor * seen
        stimulus, constant = parts[0] + parts[1], parts[2]
        for_stimulus = reward - stimulus - self.crosstalk * constant
        for_constant = reward - constant - self.crosstalk * stimulus
        return reward - stimulus - constant, for_stimulus, for_constant


class Trial(NamedTuple):
    """What happened in a trial.

    Attributes:
        right: P(right) for every stimulus, before learning.
        stimulus: which one was shown: its row among the inputs.
        chose_right: which choice was made.
        correct: whether the rewarded side was chosen.
        grating: whether there was anything to see.
        signals: the teaching signals δ_tot, δ_stim and δ_const.

    Example:
        >>> mouse = fs.networks.TutorExecutor(np.ones(3), np.zeros((2, 3)))
        >>> rule = fs.networks.tutor.Rule.shallow(rate=0.1)
        >>> _, seen = fs.networks.tutor.trial(mouse, rule, 0.2, 1.0, np.array([0.5, 0.1]))
        >>> bool(seen.grating), bool(seen.correct)
        (False, True)
    """

    right: Float[Array, " stimulus"]  # P(right) for every stimulus, before learning
    stimulus: Int[Array, ""]
    chose_right: Bool[Array, ""]
    correct: Bool[Array, ""]
    grating: Bool[Array, ""]  # whether there was anything to see
    signals: Float[Array, " signal"]


def trial(
    network: TutorExecutor,
    rule: Rule,
    blank: Any,
    inverse_temperature: Any,
    uniforms: Float[Any, "2"],
    seen: Float[Any, "stimulus pathway"] = SEEN,
) -> tuple[TutorExecutor, Trial]:
    """One trial: a stimulus, a choice, its reward, and what is learned from it.

    Of two uniform numbers the first says what is shown and which side is rewarded (below ½ the left one; close to ½,
    within ``blank``/2, there is no grating, and the rewarded side cannot be seen), the second which choice is made.
    Gratings of a side are shown equally often, the strongest where the first number is farthest from ½.

    Args:
        network: before the trial.
        rule: how it learns.
        blank: how often there is no grating.
        inverse_temperature: β.
        uniforms: two numbers between 0 and 1.
        seen: inputs of all stimuli, from `festina.worlds.gratings.inputs`; gratings of one contrast unless given.

    Returns:
        The network after the trial, and the `Trial`.

    Example:
        >>> mouse = fs.networks.TutorExecutor(np.ones(3), np.zeros((2, 3)))
        >>> rule = fs.networks.tutor.Rule.total_error(rate=0.1)
        >>> after, seen = fs.networks.tutor.trial(mouse, rule, 0.0, 1.0, np.array([0.2, 0.7]))  # left, and chosen
        >>> bool(seen.correct), np.asarray(after.executor, float).round(3).tolist()
        (True, [[0.1, 0.0, 0.1], [0.0, 0.0, 0.0]])
    """
    world, chance, contrasts = uniforms[0], uniforms[1], len(seen) // 2
    side = 0.5 - 0.5 * blank
    left, right = world < side, world >= 0.5 + 0.5 * blank
    from_end = jnp.where(left, world, 1.0 - world) / side * contrasts  # 0 is the end of the strongest grating
    place = jnp.clip(jnp.floor(from_end).astype(int), 0, contrasts - 1)
    stimulus = jnp.where(left, place, jnp.where(right, 2 * contrasts - place, contrasts))
    probabilities = network.right(inverse_temperature, seen)
    chose_right = chance < probabilities[stimulus]
    correct = chose_right == (world >= 0.5)
    shown, reward = jnp.asarray(seen)[stimulus], correct.astype(probabilities.dtype)
    signals = jnp.stack(rule.signals(network, shown, chose_right, reward))
    after = rule(network, shown, chose_right, reward)
    return after, Trial(probabilities, stimulus, chose_right, correct, left | right, signals)
