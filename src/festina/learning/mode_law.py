"""The law of a single neuron for any inputs: a Gaussian at each of its modes, in the field of all other neurons.

With the evidence C₋ of all other neurons, t = C₋⁻¹Y and G = C₋⁻¹/N, the weights v of a neuron, of which z = vRᵀ and
φ = φ(z), have the density

    p(v) ∝ N(v|0, I) e^{V(φ)},    V = ½ s|b|²/(1 + sκ) − (m/2) log(1 + sκ),    b = tᵀφ,    κ = φᵀGφ,

which is exact: its readout is integrated out. It has few modes, about one for each code. `festina.learning.climbing`
finds them at a mean t and G, each with a mean μ, a covariance S, and the means φ̄ and φ̄' of φ and dφ/dz over N(μ, S). At
the t and G that one neuron sees, a Newton step moves means and masses,

    μ' = μ + Sg,    log w' = V(φ̄) + ½ gᵀSg + const,    g = Rᵀ(φ̄' ∂V/∂φ) − μ,
    q(v) = .98 Σ_k w_k' N(v|μ_k', S_k) + .02 N(v|0, I).

As a proposal q need not be exact, but its weights must follow each neuron's own t: V is of the order of hundreds, and
grows by several units where one neuron of a code is missing. The share of the prior is for neurons between modes.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from festina.errors import require
from festina.learning.evidence import Evidence
from festina.networks.bayesian import SIGMOIDAL, Nonlinearity
from festina.precision import is_traced

SAFE = 0.02  # share of the prior


class Others(NamedTuple):
    """What all other neurons leave to one.

    Attributes:
        residual: t.
        inverse: G.
        variance: s.

    Example:
        >>> others = fs.learning.mode_law.Others(np.array([[2.0]]), np.array([[0.0]]), 1.0)
        >>> with fs.double():  # ½ s (tφ)², and its slope
        ...     value, force, _ = others.seen(np.array([0.5]))
        >>> float(value), float(force[0])
        (0.5, 2.0)
    """

    residual: Float[Any, "p m"]
    inverse: Float[Any, "p p"]
    variance: Any

    @classmethod
    def of(cls, evidence: Evidence) -> "Others":
        """Of the evidence of all others."""
        return cls(evidence.residual, evidence.inverse / evidence.neurons, evidence.gain * evidence.neurons)

    def seen(self, features: Float[Any, " p"]) -> tuple[Float[Array, ""], Float[Array, " p"], Float[Array, ""]]:
        """V, ∂V/∂φ = ta − ⟨|a|²⟩ Gφ, and ⟨|a|²⟩, the readout having the mean a = sb/(1 + sκ)."""
        pulled, pull = self.inverse @ features, self.residual.T @ features
        widening, outputs = 1.0 + self.variance * (features @ pulled), self.residual.shape[1]
        readout = self.variance * pull / widening
        square = jnp.sum(readout**2) + outputs * self.variance / widening
        value = 0.5 * (jnp.sum(pull * readout) - outputs * jnp.log(widening))
        return value, self.residual @ readout - square * pulled, square


class ModeLaw(eqx.Module):
    """The law q(v) of a neuron's weights for any inputs; `fs.learning.piloted_law` finds it.

    Attributes:
        means: μ of every mode.
        factors: L of every mode, S = LLᵀ.
        inverses: L⁻¹.
        features: φ̄ of every mode.
        slopes: φ̄'.
        offsets: the constant in log w of every mode; less than −1e29 where there is none.
        coordinates: R, one input a row.
        nonlinearity: φ.

    Example:
        >>> one, none = np.ones((1, 1)), np.zeros((1, 1))
        >>> law = fs.learning.ModeLaw(none, one[None], one[None], 0.5 * one, none, np.zeros(1), one)  # a prior
        >>> with fs.double():
        ...     evidence = fs.learning.Evidence.of(0.5 * np.ones((3, 1)), one, 0.1, 1.0)
        ...     ratio = float(law.among(evidence).log_ratio(np.array([2.0]), None, None))  # of q to the prior
        >>> abs(ratio) < 1e-12
        True
    """

    means: Float[Any, "modes r"]
    factors: Float[Any, "modes r r"]
    inverses: Float[Any, "modes r r"]
    features: Float[Any, "modes p"]
    slopes: Float[Any, "modes p"]
    offsets: Float[Any, " modes"]
    coordinates: Float[Any, "p r"]
    nonlinearity: Nonlinearity = eqx.field(static=True, default=SIGMOIDAL)

    def __check_init__(self) -> None:
        arrays = [leaf for leaf in jax.tree.leaves(self) if eqx.is_array_like(leaf)]
        if not is_traced(arrays):
            finite = all(bool(np.all(np.isfinite(array))) for array in arrays)
            require(finite, "law", "be finite everywhere", "NaN or infinite somewhere")

    @property
    def tables(self) -> "ModeLaw":
        """Itself: nothing is left to compute."""
        return self

    def check(self, coordinates: Float[np.ndarray, "p r"], outputs: int, nonlinearity: Nonlinearity) -> None:
        """Refuse to be a law of other neurons."""
        given, asked = np.shape(self.coordinates), coordinates.shape
        require(given == asked, "law", f"be about {asked[0]} inputs in {asked[1]} coordinates", given)
        require(self.nonlinearity == nonlinearity, "law", f"be that of {nonlinearity.name} neurons", self.nonlinearity)

    def among(self, evidence: Evidence) -> "Modes":
        """The law in the field of all other neurons, given their evidence."""
        values, forces, _ = jax.vmap(Others.of(evidence).seen)(self.features)
        slopes = (forces * self.slopes) @ self.coordinates - self.means
        steps = jnp.einsum("kji,kj->ki", self.factors, slopes)
        means = self.means + jnp.einsum("kij,kj->ki", self.factors, steps)
        log_weights = self.offsets + values + 0.5 * jnp.sum(steps**2, axis=1)
        log_weights = np.log(1.0 - SAFE) + jax.nn.log_softmax(log_weights)
        return Modes(means, self.factors, self.inverses, jnp.append(log_weights, np.log(SAFE)))


class Modes(NamedTuple):
    """A mixture of Gaussians, of which the prior is the last: `ModeLaw` in the field of all other neurons."""

    means: Float[Any, "modes r"]
    factors: Float[Any, "modes r r"]
    inverses: Float[Any, "modes r r"]
    log_weights: Float[Any, " points"]

    def place(self, point: Int[Array, ""], normal: Float[Array, " r"]) -> Float[Array, " r"]:
        """v of a neuron at a mode, or of the prior, from standard normal numbers."""
        mode = jnp.minimum(point, len(self.means) - 1)
        return jnp.where(point == mode, self.means[mode] + self.factors[mode] @ normal, normal)

    def log_ratio(self, place: Float[Any, " r"], z: Any, features: Any) -> Float[Array, ""]:
        """log q(v)/N(v|0, I)."""
        away = jnp.einsum("kij,kj->ki", self.inverses, place[None] - self.means)
        sizes = jnp.sum(jnp.log(jnp.diagonal(self.inverses, axis1=1, axis2=2)), axis=1)
        exponents = self.log_weights[:-1] + sizes + 0.5 * (jnp.sum(place**2) - jnp.sum(away**2, axis=1))
        return jax.scipy.special.logsumexp(jnp.append(exponents, self.log_weights[-1]))
