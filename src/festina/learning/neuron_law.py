"""The law of a single neuron from which new ones are proposed: a mixture of neurons with fixed readouts.

In a wide network a neuron is independent of all others, p(a, z) ∝ N(a|0, s) N(z|0, I) exp(Σ_μ a·t_μ φ(z_μ)), for inputs
that are orthonormal. With the integral over its readout a as a sum over points a_c of weight w_c,

    q(z) = Σ_c w_c Π_μ N(z_μ|0, 1) exp(h_cμ φ(z_μ))/Z(h_cμ),    h_cμ = a_c·t_μ,

which is drawn from by choosing c and then each z_μ by itself, and whose density is a short sum: residuals t are alike
in all examples of a class, so that sums of φ over classes are all it needs.

The other neurons of a network of finite width leave a residual t' that is not t. Weights that follow it to first order,
log w_c' = log w_c + Σ_μ G'(h_cμ) a_c·(t'_μ − t_μ) + const, make for a law that is nearer to the neuron's own.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from festina import draws
from festina.errors import require
from festina.learning.evidence import Evidence
from festina.learning.tilted import STRONGEST, at_normal, log_partitions, quantile_rows
from festina.networks.bayesian import SIGMOIDAL, Nonlinearity
from festina.precision import is_traced

FAITHFUL = 0.1  # share of proposals by the weights as they are, wherever the others lead


class NeuronLaw(eqx.Module):
    """The law q(z) of a neuron's preactivations, for orthonormal inputs.

    Attributes:
        readouts: a of every point.
        weights: w of every point; zeros are allowed, and they are normalised to a sum of one.
        residual: t of every class. Fields a·t stronger than ±200 count as such.
        labels: the class of each example.
        nonlinearity: φ, smooth and bounded.

    Example:
        >>> law = fs.learning.NeuronLaw(np.array([[3.0], [-3.0]]), np.ones(2), np.array([[1.0], [-1.0]]), (0, 0, 1))
        >>> with fs.double():
        ...     places = law.draw(jax.random.key(0), 1000)
        >>> places.shape, bool(np.corrcoef(places.T)[0, 2] < -0.3)  # neurons are on for one of the classes
        ((1000, 3), True)
    """

    readouts: Float[Any, "points m"]
    weights: Float[Any, " _"]
    residual: Float[Any, "classes _"]
    labels: tuple[int, ...] = eqx.field(static=True)
    nonlinearity: Nonlinearity = eqx.field(static=True, default=SIGMOIDAL)

    def __check_init__(self) -> None:
        points, outputs = np.shape(self.readouts)
        classes = np.shape(self.residual)[0]
        fits = np.shape(self.weights) == (points,)
        require(fits, "weights", f"be one for each of {points} points", np.shape(self.weights))
        fits = np.shape(self.residual)[1] == outputs
        require(fits, "residual", f"have {outputs} columns, as readouts have", np.shape(self.residual))
        named = len(self.labels) > 0 and min(self.labels) >= 0 and max(self.labels) < classes
        require(named, "labels", f"name one of {classes} classes for each example", self.labels)
        if not is_traced((self.readouts, self.weights, self.residual)):
            good = bool(np.all(np.isfinite(self.readouts)) and np.all(np.isfinite(self.residual)))
            require(good, "readouts", "be finite everywhere, as residuals must", "NaN or infinite somewhere")
            good = bool(np.all(np.asarray(self.weights) >= 0) and 0 < np.sum(self.weights) < np.inf)
            require(good, "weights", "not be negative, and not all zero", self.weights)

    @property
    def tables(self) -> "Tables":
        """What is needed to draw and to tell densities; of a known law it is computed now, and not by a program."""
        return of_known(Tables.of, self)

    def check(self, coordinates: Float[np.ndarray, "p r"], outputs: int, nonlinearity: Nonlinearity) -> None:
        """Refuse to be a law of other neurons."""
        given = len(self.labels), np.shape(self.residual)[1]
        require(given == (len(coordinates), outputs), "law", f"be about {len(coordinates)} × {outputs} targets", given)
        alike = self.nonlinearity == nonlinearity
        require(alike, "law", f"be that of {nonlinearity.name} neurons", self.nonlinearity.name)
        orthonormal = coordinates.shape[0] == coordinates.shape[1] and np.array_equal(
            coordinates, np.eye(len(coordinates))
        )
        require(orthonormal, "inputs", "be orthonormal for a `NeuronLaw`; a `ModeLaw` is for any", "others")

    def draw(self, key: Array, count: int) -> Float[Array, "n p"]:
        """z of so many neurons, independent of each other."""
        for_points, for_places = draws.split(key, 2)
        tables = self.tables
        point = chosen(tables.log_weights, jnp.asarray(draws.uniform(for_points, (count,))))
        return jax.vmap(tables.place)(point, jnp.asarray(draws.normal(for_places, (count, len(self.labels)))))


class Tables(eqx.Module):
    """What a law needs to draw and to tell densities, computed once for many neurons.

    Attributes:
        fields: h of every point and class, no stronger than there are tables for: any fields will do, as long as draws
            and densities agree.
        log_weights: log w of every point.
        log_partitions: Σ_μ G(h_μ) of every point.
        responses: ∂(Σ_μ G(h_μ))/∂t' of every point, for a t' in each class: G'(h) a.
        rows: z of normal numbers for every point and class.
        members: which examples are in each class.
        expected: Σ_μ t_μ over each class.
    """

    fields: Float[Array, "points classes"]
    log_weights: Float[Array, " points"]
    log_partitions: Float[Array, " points"]
    responses: Float[Array, "points classes m"]
    rows: Float[Array, "rows places"]
    members: Float[Array, "p classes"]
    expected: Float[Array, "classes m"]
    labels: Int[Array, " p"]

    @classmethod
    def of(cls, law: NeuronLaw) -> "Tables":
        readouts, weights, residual = (jnp.asarray(part) for part in (law.readouts, law.weights, law.residual))
        members = jnp.asarray(np.eye(residual.shape[0])[np.array(law.labels)])
        counts = members.sum(axis=0)
        fields = jnp.clip(readouts @ residual.T, -STRONGEST, STRONGEST)
        partition, mean = jax.jvp(lambda h: log_partitions(law.nonlinearity, h), (fields,), (jnp.ones_like(fields),))
        rows = quantile_rows(law.nonlinearity, fields).reshape(fields.size, -1)
        return cls(
            fields,
            jnp.log(weights / jnp.sum(weights)),
            partition @ counts,
            mean[:, :, None] * readouts[:, None],
            rows,
            members,
            counts[:, None] * residual,
            jnp.asarray(np.array(law.labels)),
        )

    def following(self, residual: Float[Any, "p m"]) -> Float[Array, " points"]:
        """log w' of every point at the residual that other neurons leave; a share of .1 stays as it was."""
        shift = self.members.T @ residual - self.expected
        return following(self.log_weights, self.responses.reshape(len(self.responses), -1) @ shift.reshape(-1))

    def among(self, evidence: Evidence) -> "Following":
        """The law in the field of all other neurons, given their evidence."""
        return Following(self, self.following(evidence.residual))

    def log_ratio(
        self, place: Any, z: Any, features: Float[Any, " p"], log_weights: Float[Array, " points"]
    ) -> Float[Array, ""]:
        """log q(z)/N(z|0, I) of a neuron with these features: log Σ_c w_c exp(Σ_μ h_cμ φ_μ − G(h_cμ))."""
        sums = features @ self.members
        return jax.scipy.special.logsumexp(log_weights - self.log_partitions + self.fields @ sums)

    def place(self, point: Int[Array, ""], normal: Float[Array, " p"]) -> Float[Array, " p"]:
        """z of a neuron at a point, from a standard normal number for every example."""
        return at_normal(self.rows, self.fields.shape[1] * point + self.labels, normal)


class Following(NamedTuple):
    """`Tables` with weights that follow the residual of all other neurons."""

    tables: Tables
    log_weights: Float[Array, " points"]

    def place(self, point: Int[Array, ""], normal: Float[Array, " p"]) -> Float[Array, " p"]:
        """z of a neuron at a point, from standard normal numbers."""
        return self.tables.place(point, normal)

    def log_ratio(self, place: Any, z: Any, features: Float[Any, " p"]) -> Float[Array, ""]:
        """log q(z)/N(z|0, I)."""
        return self.tables.log_ratio(place, z, features, self.log_weights)


def of_known(made: Callable[[Any], Any], law: Any) -> Any:
    """Something made from a law: at once if that is known, lest XLA takes its time to fold constants."""
    if is_traced(law):
        return made(law)
    with jax.ensure_compile_time_eval():
        return made(law)


def following(log_weights: Float[Array, " points"], gains: Float[Array, " points"]) -> Float[Array, " points"]:
    """Weights that grow with e^gain, but for a share of .1 that stay, lest the others lead astray; logarithms."""
    moved = jax.nn.log_softmax(log_weights + gains)
    return jnp.logaddexp(np.log(1.0 - FAITHFUL) + moved, np.log(FAITHFUL) + log_weights)


def chosen(log_weights: Float[Array, " points"], uniform: Float[Array, "*n"]) -> Int[Array, "*n"]:
    """A point for every number between 0 and 1, with the probability that weights give it."""
    cumulative = jnp.cumsum(jnp.exp(log_weights))
    point = jnp.searchsorted(cumulative, uniform * cumulative[-1], method="compare_all")
    return jnp.minimum(point.astype(int), len(log_weights) - 1)
