"""The evidence of features when all readouts are integrated out, and how it changes with one neuron.

For f = Φa/N, with the features Φ (examples × neurons), readouts a_i ~ N(0, s I) and the likelihood
exp(−(N/2T) Σ|y − f|²), every output of the targets Y is Gaussian with covariance C/N,

    C = T I + (s/N) ΦΦᵀ,    log p(Y|Φ) = −(m/2) log det C − (N/2) tr YᵀC⁻¹Y + const.

A neuron whose features go from φ to φ' changes C by two ranks, so that neither C⁻¹ nor the evidence has to be computed
anew: with U = (φ', φ), D = (s/N) diag(1, −1) and S = D⁻¹ + UᵀC⁻¹U,

    C'⁻¹ = C⁻¹ − C⁻¹U S⁻¹ UᵀC⁻¹,    det C' = det C · det D · det S.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from festina import draws


class Evidence(eqx.Module):
    """C⁻¹ of some features, and the targets Y that they are to explain.

    Attributes:
        inverse: C⁻¹.
        residual: C⁻¹Y, which is (Y − ⟨f⟩)/T with the mean ⟨f⟩ over readouts.
        neurons: N.
        gain: s/N.

    Example:
        >>> features, targets = np.array([[1.0, 0.0], [0.5, 1.0], [0.0, 1.0]]), np.array([[1.0], [-1.0]])
        >>> with fs.double():  # three neurons, two examples
        ...     whole = fs.learning.Evidence.of(features, targets, temperature=0.1, readout_variance=0.5)
        ...     change = whole.change(features[0], np.array([0.2, 0.9]), whole.inverse @ features[0])
        ...     moved = whole.after(change)
        >>> float(change.log_ratio) < 0, moved.inverse.shape  # a neuron for the first example is missed
        (True, (2, 2))
    """

    inverse: Float[Any, "p p"]
    residual: Float[Any, "p m"]
    neurons: Any
    gain: Any

    @classmethod
    def of(
        cls, features: Float[Any, "n p"], targets: Float[Any, "p m"], temperature: Any, readout_variance: Any
    ) -> "Evidence":
        """From scratch.

        Args:
            features: Φ, one neuron a row.
            targets: Y, one example a row.
            temperature: T.
            readout_variance: s.
        """
        neurons, examples = features.shape
        gain = jnp.asarray(readout_variance, float) / neurons
        covariance = temperature * jnp.eye(examples) + gain * (features.T @ features)
        inverse = jnp.linalg.inv(covariance)
        inverse = 0.5 * (inverse + inverse.T)
        return cls(inverse, inverse @ targets, jnp.asarray(neurons, float), gain)

    def without(self, old: Float[Any, " p"], pulled: Float[Any, " p"]) -> "Evidence":
        """That of all other neurons, with the same N and s, from what C⁻¹ makes of the features of one."""
        share = self.gain / (1.0 - self.gain * jnp.sum(old * pulled))
        inverse = self.inverse + share * pulled[:, None] * pulled[None]
        residual = self.residual + share * pulled[:, None] * (old @ self.residual)[None]
        return Evidence(inverse, residual, self.neurons, self.gain)

    def change(self, old: Float[Any, " p"], new: Float[Any, " p"], pulled: Float[Any, " p"]) -> "Change":
        """What becomes of it if one neuron's features are ``new`` and no longer ``old``, given C⁻¹ times the old."""
        both, pulled = jnp.stack([new, old], axis=1), jnp.stack([self.inverse @ new, pulled], axis=1)
        overlaps, seen = both.T @ pulled, both.T @ self.residual
        first, second, cross = 1.0 / self.gain + overlaps[0, 0], overlaps[1, 1] - 1.0 / self.gain, overlaps[0, 1]
        determinant = first * second - cross**2  # of S, which is negative, as that of D
        small = jnp.stack([jnp.stack([second, -cross]), jnp.stack([-cross, first])]) / determinant
        size = self.residual.shape[1] * jnp.log(-determinant * self.gain**2)
        return Change(0.5 * (self.neurons * jnp.sum(seen * (small @ seen)) - size), pulled, small, seen)

    def after(self, change: "Change", share: Any = 1.0) -> "Evidence":
        """With a change, if ``share`` is one; without, if it is zero."""
        pulled = change.pulled
        step = pulled @ (share * change.inner)
        # two outer products written out, which are faster than a product of matrices that are so thin
        inverse = self.inverse - step[:, :1] * pulled[:, 0][None] - step[:, 1:] * pulled[:, 1][None]
        return Evidence(inverse, self.residual - step @ change.seen, self.neurons, self.gain)


class Change(NamedTuple):
    """What one neuron's new features do; made by `Evidence.change`.

    Attributes:
        log_ratio: log p(Y|Φ') − log p(Y|Φ).
        pulled: C⁻¹U.
        inner: S⁻¹.
        seen: UᵀC⁻¹Y.
    """

    log_ratio: Float[Array, ""]
    pulled: Float[Array, "p 2"]
    inner: Float[Array, "2 2"]
    seen: Float[Array, "2 m"]


def log_evidence(
    features: Float[Any, "n p"], targets: Float[Any, "p m"], temperature: Any, readout_variance: Any
) -> Float[Array, ""]:
    """log p(Y|Φ) of features, with all constants.

    Args:
        features: Φ, one neuron a row.
        targets: Y, one example a row.
        temperature: T.
        readout_variance: s.

    Example:
        >>> with fs.double():  # no features at all: Y is noise of variance T/N
        ...     alone = fs.learning.log_evidence(np.zeros((4, 1)), np.ones((1, 1)), 2.0, 1.0)
        >>> round(float(alone), 6) == round(float(-0.5 * np.log(2 * np.pi * 0.5) - 1.0), 6)
        True
    """
    neurons, examples = features.shape
    covariance = temperature * jnp.eye(examples) + readout_variance / neurons * (features.T @ features)
    _, size = jnp.linalg.slogdet(covariance)
    outputs = targets.shape[1]
    fit = jnp.sum(targets * jnp.linalg.solve(covariance, targets))
    return -0.5 * (outputs * (size + examples * jnp.log(2.0 * jnp.pi / neurons)) + neurons * fit)


def drawn_readouts(
    key: Array,
    features: Float[Any, "n p"],
    targets: Float[Any, "p m"],
    temperature: Any,
    readout_variance: Any,
) -> Float[Array, "n m"]:
    """Readouts a drawn from their law given features and targets.

    A draw a₀ of the prior and a draw ε of the noise, of variance T/N, are mended by what they fail to explain:
    a = a₀ + s ΦᵀC⁻¹(Y − Φa₀/N − ε).

    Args:
        key: of the draw.
        features: Φ, one neuron a row.
        targets: Y, one example a row.
        temperature: T.
        readout_variance: s.

    Example:
        >>> features, targets = np.ones((3, 1)), np.array([[2.0]])
        >>> with fs.double():  # without noise the answer is the target
        ...     drawn = fs.learning.drawn_readouts(jax.random.key(0), features, targets, 1e-12, 1.0)
        >>> round(float(np.asarray(drawn).mean()), 4)
        2.0
    """
    (neurons, examples), outputs = features.shape, targets.shape[1]
    row = draws.normals(key, (neurons * outputs, examples * outputs))
    prior = jnp.sqrt(readout_variance) * row[: neurons * outputs].reshape(neurons, outputs)
    noise = jnp.sqrt(temperature / neurons) * row[neurons * outputs :].reshape(examples, outputs)
    inverse = Evidence.of(features, targets, temperature, readout_variance).inverse
    missed = targets - features.T @ prior / neurons - noise
    return prior + readout_variance * (features @ (inverse @ missed))
