"""The law of a single neuron for any inputs: a mixture of Gaussians by expectation propagation.

With a readout a_c a neuron sees the fields h_μ = a_c·t_μ, and its weights v, of which z = vRᵀ, have the density
N(v|0, I) Π_μ exp(h_μ φ(z_μ)). Expectation propagation replaces every factor by a Gaussian *site*,
exp(ν_μ z_μ − ½τ_μ z_μ²), such that means and variances of each z_μ agree: a Gaussian with precision I + Rᵀ diag(τ) R,
from which it is easy to draw, and whose density next to the prior is a sum over examples,

    q(v) = N(v|0, I) Σ_c w_c exp(Σ_μ (ν_cμ z_μ − ½τ_cμ z_μ²) − k_c),

with k_c such that it is normalised. As a proposal it need not be exact.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from festina.errors import require
from festina.learning.neuron_law import following, of_known
from festina.networks.bayesian import SIGMOIDAL, Nonlinearity

ROUNDS, DAMPING = 60, 0.4  # of expectation propagation; the share of old sites that is kept in each round
NARROWEST = -0.9  # precision of a site next to that of what surrounds it: less, and there would be no Gaussian
NODES = np.linspace(-8.0, 8.0, 161)  # in widths of what surrounds a site
HIGHEST = 1e6  # precision of a site


class SiteLaw(eqx.Module):
    """The law q(v) of a neuron's weights for any inputs, at fixed readouts and residual.

    Attributes:
        readouts: a of every point.
        weights: w of every point, of any sum.
        residual: t of every example.
        coordinates: R, one input a row.
        nonlinearity: φ, bounded.

    Example:
        >>> law = fs.learning.SiteLaw(np.array([[3.0], [-3.0]]), np.ones(2), np.array([[1.0], [-1.0]]), np.eye(2))
        >>> with fs.double():
        ...     means = np.asarray(law.tables.means)
        >>> means.shape, bool(means[0, 0] > 0 > means[0, 1])  # on for the first example
        ((2, 2), True)
    """

    readouts: Float[Any, "points m"]
    weights: Float[Any, " points"]
    residual: Float[Any, "p m"]
    coordinates: Float[Any, "p r"]
    nonlinearity: Nonlinearity = eqx.field(static=True, default=SIGMOIDAL)

    @property
    def tables(self) -> "Sites":
        """What is needed to draw and to tell densities; of a known law it is computed now, and not by a program."""
        return of_known(Sites.of, self)

    def check(self, coordinates: Float[np.ndarray, "p r"], outputs: int, nonlinearity: Nonlinearity) -> None:
        """Refuse to be a law of other neurons."""
        given = np.shape(self.residual)
        require(given == (len(coordinates), outputs), "law", f"be about {len(coordinates)} × {outputs} targets", given)
        require(self.nonlinearity == nonlinearity, "law", f"be that of {nonlinearity.name} neurons", self.nonlinearity)


class Sites(eqx.Module):
    """A `SiteLaw` after expectation propagation; a law as well, of which nothing is left to compute.

    Attributes:
        precisions: τ of every point and example.
        shifts: ν of every point and example.
        log_weights: log w of every point.
        log_partitions: k of every point.
        means: of v.
        factors: L with v = mean + Lξ, ξ standard normal.
        responses: ∂(log of a point's mass)/∂t' at every example: ⟨φ⟩ a.
        residual: t.
    """

    precisions: Float[Array, "points p"]
    shifts: Float[Array, "points p"]
    log_weights: Float[Array, " points"]
    log_partitions: Float[Array, " points"]
    means: Float[Array, "points r"]
    factors: Float[Array, "points r r"]
    responses: Float[Array, "points pm"]
    residual: Float[Array, "p m"]

    @classmethod
    def of(cls, law: SiteLaw) -> "Sites":
        readouts, weights, residual, inputs = (
            jnp.asarray(part) for part in (law.readouts, law.weights, law.residual, law.coordinates)
        )
        fields = readouts @ residual.T
        precisions, shifts, activity = jax.vmap(lambda field: propagated(law.nonlinearity, inputs, field))(fields)
        cholesky, means, covariances = jax.vmap(lambda tau, nu: _gaussian(inputs, tau, nu))(precisions, shifts)
        size = jnp.sum(jnp.log(jnp.diagonal(cholesky, axis1=1, axis2=2)), axis=1)
        partition = 0.5 * jnp.sum(shifts * (means @ inputs.T), axis=1) - size
        return cls(
            precisions,
            shifts,
            jnp.log(weights / jnp.sum(weights)),
            partition,
            means,
            jnp.linalg.cholesky(covariances),
            (activity[:, :, None] * readouts[:, None]).reshape(len(readouts), -1),
            residual,
        )

    @property
    def tables(self) -> "Sites":
        """Itself."""
        return self

    def check(self, coordinates: Float[np.ndarray, "p r"], outputs: int, nonlinearity: Nonlinearity) -> None:
        """Refuse to be a law of other neurons."""
        given, asked = (np.shape(self.means)[1], *np.shape(self.residual)), (*coordinates.shape[::-1], outputs)
        require(given == asked, "law", f"be about {asked[0]} weights and {asked[1]} × {outputs} targets", given)

    def following(self, residual: Float[Any, "p m"]) -> Float[Array, " points"]:
        """log w' of every point at the residual that other neurons leave; a share of .1 stays as it was."""
        return following(self.log_weights, self.responses @ (residual - self.residual).reshape(-1))

    def log_ratio(
        self, place: Any, z: Float[Any, " p"], features: Any, log_weights: Float[Array, " points"]
    ) -> Float[Array, ""]:
        """log q(v)/N(v|0, I)."""
        exponents = self.shifts @ z - 0.5 * (self.precisions @ z**2) - self.log_partitions
        return jax.scipy.special.logsumexp(log_weights + exponents)

    def place(self, point: Int[Array, ""], normal: Float[Array, " r"]) -> Float[Array, " r"]:
        """v of a neuron at a point, from standard normal numbers."""
        return self.means[point] + self.factors[point] @ normal


def propagated(
    nonlinearity: Nonlinearity, inputs: Float[Array, "p r"], field: Float[Array, " p"]
) -> tuple[Float[Array, " p"], Float[Array, " p"], Float[Array, " p"]]:
    """τ and ν of all sites of one neuron, and ⟨φ⟩, by a fixed number of rounds with damping; all sites at once.

    Args:
        nonlinearity: φ.
        inputs: R, one input a row.
        field: h of each example.

    Example:
        >>> with fs.double():  # a linear factor is a Gaussian site already
        ...     inputs, fields = jax.numpy.eye(2), jax.numpy.array([1.0, -2.0])
        ...     found = fs.learning.site_law.propagated(fs.networks.LINEAR, inputs, fields)
        >>> [np.asarray(part).round(6).tolist() for part in found[1:]]
        [[1.0, -2.0], [1.0, -2.0]]
    """

    def surroundings(precision: Array, shift: Array) -> tuple[Array, Array]:
        """Mean and variance of every z without its own site."""
        _, mean, covariance = _gaussian(inputs, precision, shift)
        variance = jnp.maximum(jnp.sum((inputs @ covariance) * inputs, axis=1), 1e-12)
        widened = 1.0 / jnp.maximum(1.0 / variance - precision, 1e-9)
        return widened * ((inputs @ mean) / variance - shift), widened

    def moments(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """Of each z under its exact factor: ⟨z⟩, its variance, and ⟨φ⟩."""
        z = mean[:, None] + jnp.sqrt(variance)[:, None] * jnp.asarray(NODES)[None]
        phi = nonlinearity(z)
        weight = jax.nn.softmax(field[:, None] * phi - 0.5 * jnp.asarray(NODES)[None] ** 2, axis=1)
        first = jnp.sum(weight * z, axis=1)
        return first, jnp.sum(weight * (z - first[:, None]) ** 2, axis=1), jnp.sum(weight * phi, axis=1)

    def once(_: Any, sites: tuple[Array, Array]) -> tuple[Array, Array]:
        mean, variance = surroundings(*sites)
        first, spread, _ = moments(mean, variance)
        precision = jnp.clip(1.0 / spread - 1.0 / variance, NARROWEST / variance, HIGHEST)
        shift = first * (precision + 1.0 / variance) - mean / variance
        return DAMPING * sites[0] + (1.0 - DAMPING) * precision, DAMPING * sites[1] + (1.0 - DAMPING) * shift

    sites = jax.lax.fori_loop(0, ROUNDS, once, (jnp.zeros_like(field), jnp.zeros_like(field)))
    return *sites, moments(*surroundings(*sites))[2]


def _gaussian(inputs: Any, precision: Any, shift: Any) -> tuple[Array, Array, Array]:
    """The Cholesky factor of I + Rᵀ diag(τ) R, and mean and covariance of v."""
    whole = jnp.eye(inputs.shape[1]) + inputs.T @ (precision[:, None] * inputs)
    cholesky = jnp.linalg.cholesky(whole)
    covariance = jax.scipy.linalg.cho_solve((cholesky, True), jnp.eye(inputs.shape[1]))
    return cholesky, covariance @ (inputs.T @ shift), 0.5 * (covariance + covariance.T)
