"""The modes of a single neuron's law, found by climbing from where neurons are.

Every climb goes towards the Gaussian N(μ, S) that is nearest to the law in one respect: the mean of its slope vanishes.
With φ̄, φ̄', φ̄'' the means of φ and of its derivatives over that Gaussian, and the force f = ∂V/∂φ of
`festina.learning.mode_law.Others`, a step is

    μ ← μ + S (Rᵀ(φ̄' f) − μ),    S⁻¹ = I − Rᵀ diag(min(f φ̄'', 0)) R + ⟨|a|²⟩ Rᵀ diag(φ̄') G diag(φ̄') R,

in which nothing can be negative. At the end S⁻¹ is the whole curvature, as the readout follows, too; where that is not
positive there is no mode. Of equal ends one is kept.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina.learning.mode_law import ModeLaw, Others
from festina.networks.bayesian import SIGMOIDAL, Nonlinearity

ROUNDS = 30  # of climbing
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
LONGEST = 3.0  # step
SAME = 0.1  # largest difference of any z at which two climbs ended at the same mode
FLATTEST = 0.05  # smallest curvature of a mode, where that of the prior is 1
TRIED = 64  # draws of a Gaussian by which its mass is measured
NEVER = -1e30  # logarithm of the weight of a mode that is not there


def modes_of(
    key: Array,
    others: Others,
    starts: Float[Any, "starts r"],
    inputs: Float[Any, "p r"],
    nonlinearity: Nonlinearity = SIGMOIDAL,
    most: int = 8,
) -> ModeLaw:
    """The law of a neuron in the field of others, of the modes of largest mass that climbs from some starts lead to.

    Args:
        key: of the draws by which masses are measured.
        others: t, G and s.
        starts: v, one a row.
        inputs: R, one a row.
        nonlinearity: φ, smooth and bounded.
        most: modes, at most.

    Example:
        >>> others = fs.learning.mode_law.Others(np.array([[9.0], [-9.0]]), 0.01 * np.eye(2), 0.5)
        >>> with fs.double():  # on for one example or for the other
        ...     starts = np.array([[1.0, -1.0], [0.9, -1.1], [-1.0, 1.0]])
        ...     law = fs.learning.climbing.modes_of(jax.random.key(0), others, starts, np.eye(2), most=2)
        >>> sorted((np.asarray(law.means)[:, 0] > 0).tolist())
        [False, True]
    """
    inputs, unit = jnp.asarray(inputs), jnp.eye(inputs.shape[1])
    means, curvatures, features, slopes = jax.lax.map(
        lambda start: _climbed(others, start, inputs, nonlinearity), jnp.asarray(starts)
    )
    flattest = jnp.linalg.eigvalsh(curvatures)[:, 0]
    good = jnp.isfinite(flattest) & (flattest > FLATTEST)  # of what is not, nothing may be left: not even a NaN
    means, features, slopes = (jnp.where(good[:, None], each, 0.0) for each in (means, features, slopes))
    factors = _square_root(jnp.where(good[:, None, None], curvatures, unit[None]))
    heights = jax.vmap(lambda phi: others.seen(phi)[0])(features) - 0.5 * jnp.sum(means**2, axis=1)
    masses = jnp.where(good, heights + _log_size(factors), NEVER)
    chosen, there = _different(means @ inputs.T, masses, most)
    means, features, slopes, factors = (each[chosen] for each in (means, features, slopes, factors))
    inverses = jax.vmap(lambda factor: jax.scipy.linalg.solve_triangular(factor, unit))(factors)
    law = ModeLaw(means, factors, inverses, features, slopes, jnp.zeros(most), inputs, nonlinearity)
    return _weighed(key, others, law, there)


def _climbed(
    others: Others, start: Float[Any, " r"], inputs: Float[Array, "p r"], nonlinearity: Nonlinearity
) -> tuple[Float[Array, " r"], Float[Array, "r r"], Float[Array, " p"], Float[Array, " p"]]:
    """μ, S⁻¹, φ̄ and φ̄' of where a start leads to."""
    unit = jnp.eye(inputs.shape[1])

    def around(mean: Any, covariance: Any) -> Any:
        return smoothed(nonlinearity, inputs @ mean, jnp.sum((inputs @ covariance) * inputs, axis=1))

    def step(_: Any, state: Any) -> Any:
        mean, covariance = state
        phi, slope, bend = around(mean, covariance)
        _, force, square = others.seen(phi)
        sloped = slope[:, None] * inputs
        bent = jnp.maximum(-force * bend, 0.0)[:, None] * inputs
        covariance = jnp.linalg.inv(unit + inputs.T @ bent + square * sloped.T @ (others.inverse @ sloped))
        move = covariance @ (force @ sloped - mean)
        return mean + move * jnp.minimum(1.0, LONGEST / jnp.maximum(jnp.linalg.norm(move), LONGEST)), covariance

    mean, covariance = jax.lax.fori_loop(0, ROUNDS, step, (start, unit))
    phi, slope, bend = around(mean, covariance)
    _, force, _ = others.seen(phi)
    stiffness = slope[:, None] * jax.jacfwd(lambda phi: others.seen(phi)[1])(phi) * slope[None]
    curvature = unit - inputs.T @ ((stiffness + jnp.diag(force * bend)) @ inputs)
    return mean, 0.5 * (curvature + curvature.T), phi, slope


def smoothed(
    nonlinearity: Nonlinearity, z: Float[Any, " p"], variance: Float[Any, " p"]
) -> tuple[Float[Array, " p"], Float[Array, " p"], Float[Array, " p"]]:
    """Means of φ, φ' and φ'' over Gaussians, for a smooth φ.

    Args:
        nonlinearity: φ.
        z: the means of the Gaussians.
        variance: their variances.

    Example:
        >>> square = fs.networks.Nonlinearity("square", lambda z: z**2)
        >>> with fs.double():
        ...     found = fs.learning.climbing.smoothed(square, np.ones(1), 2 * np.ones(1))
        >>> [round(float(each[0]), 6) for each in found]
        [3.0, 2.0, 2.0]
    """
    at = z[:, None] + jnp.sqrt(variance)[:, None] * jnp.asarray(NODES)[None]
    ones, weights = jnp.ones_like(at), jnp.asarray(WEIGHTS / WEIGHTS.sum())
    slope, bend = jax.jvp(lambda at: jax.jvp(nonlinearity, (at,), (ones,))[1], (at,), (ones,))
    return nonlinearity(at) @ weights, slope @ weights, bend @ weights


def _square_root(curvatures: Float[Array, "n r r"]) -> Float[Array, "n r r"]:
    """Upper triangles L with LLᵀ = S: by rows and columns in reverse, a Cholesky factor of S⁻¹ is an upper one."""
    unit = jnp.eye(curvatures.shape[1])
    lower = jnp.linalg.cholesky(curvatures)
    return jax.vmap(lambda each: jax.scipy.linalg.solve_triangular(each, unit, lower=True).T)(lower)


def _log_size(factors: Float[Array, "n r r"]) -> Float[Array, " n"]:
    return jnp.sum(jnp.log(jnp.diagonal(factors, axis1=1, axis2=2)), axis=1)


def _different(z: Float[Array, "n p"], masses: Float[Array, " n"], most: int) -> Any:
    """Numbers of the modes of largest mass, of equal ones the first; and which of these numbers mean anything."""

    def choose(left: Any, _: Any) -> Any:
        best = jnp.argmax(left)
        near = jnp.max(jnp.abs(z - z[best][None]), axis=1) < SAME
        return jnp.where(near, NEVER, left), (best, left[best] > NEVER)

    return jax.lax.scan(choose, masses, None, length=most)[1]


def _weighed(key: Array, others: Others, law: ModeLaw, there: Any) -> ModeLaw:
    """The law with the masses that its modes have by importance sampling."""
    normals = jnp.asarray(draws.normal(key, (TRIED, law.means.shape[1])))

    def mass(mean: Any, factor: Any) -> Any:
        places = mean[None] + normals @ factor.T
        values = jax.vmap(lambda z: others.seen(law.nonlinearity(z))[0])(places @ law.coordinates.T)
        return jax.scipy.special.logsumexp(values + 0.5 * jnp.sum(normals**2 - places**2, axis=1))

    values, forces, _ = jax.vmap(others.seen)(law.features)
    steps = jnp.einsum("kji,kj->ki", law.factors, (forces * law.slopes) @ law.coordinates - law.means)
    known = values + 0.5 * jnp.sum(steps**2, axis=1)
    masses = jax.vmap(mass)(law.means, law.factors) + _log_size(law.factors)
    offsets = jnp.where(there, masses - known, NEVER)
    return ModeLaw(
        law.means, law.factors, law.inverses, law.features, law.slopes, offsets, law.coordinates, law.nonlinearity
    )
