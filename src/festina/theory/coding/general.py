"""Any kernel of the inputs: a neuron's preactivations by expectation propagation.

Given its readout a, the preactivations of a neuron have the density

    p(z|a) ∝ N(z|0, K_0) Π_μ exp(b_μ φ(z_μ)),    b = t a.

Expectation propagation replaces each factor by a Gaussian of precision τ_μ, such that the mean and the variance of
every z_μ agree with those of the exact factor among the Gaussian others: Σ = (I + K_0 diag τ)⁻¹ K_0. It is exact for
K_0 = I and for linear networks.

This is a *consistency check*, not a solution: given t and the readouts of all neurons, both of which can be measured on
any sample, it says what kernel and what answers they imply, and these can be measured too.

The equations were derived independently and checked against posterior sampling.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from festina.errors import require
from festina.theory.coding._quadrature import WIDEST, Site
from festina.theory.coding.prediction import check_symmetric, check_unit
from festina.theory.coding.units import Unit

TOLERANCE = 1e-9
ROUNDS = 500
LARGEST_PRECISION = 1e6


@dataclass(frozen=True)
class Preactivations:
    """The density of preactivations of some neurons, made by :func:`expectation_propagation`.

    Attributes:
        mean: ⟨z⟩ of each neuron.
        covariance: Σ of each neuron.
        log_partition: log∫dz N(z|0, K_0) exp(Σ_μ b_μ φ(z_μ)) of each neuron.
        site: cumulants of each z_μ under the exact factor.
        pull: K_0⁻¹⟨z⟩.
        precision: τ.
        gap: the largest change in the last round.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> state = fs.theory.coding.expectation_propagation(np.eye(2), np.zeros((1, 2)), fs.theory.coding.RECTIFIED)
        >>> state.second_moments.round(3)[0]  # without a field, the kernel of the prior: ½, and 1/2π between two inputs
        array([[0.5  , 0.159],
               [0.159, 0.5  ]])
    """

    mean: Float[np.ndarray, "neurons examples"]
    covariance: Float[np.ndarray, "neurons examples examples"]
    log_partition: Float[np.ndarray, " neurons"]
    site: Site
    pull: Float[np.ndarray, "neurons examples"]
    precision: Float[np.ndarray, "neurons examples"]
    gap: float

    @property
    def second_moments(self) -> Float[np.ndarray, "neurons examples examples"]:
        """⟨φφᵀ⟩ of each neuron: exact on the diagonal, and off it to first order in Σ_μν."""
        response = self.site.covariance / self.site.spread
        joint = response[:, :, None] * self.covariance * response[:, None]
        own = np.arange(self.mean.shape[1])
        joint[:, own, own] = self.site.variance
        return joint + self.site.mean[:, :, None] * self.site.mean[:, None]


@dataclass(frozen=True)
class Implied:
    """What a residual and readouts imply; made by :func:`implied`.

    Attributes:
        kernel: K_1.
        answers: ⟨f⟩ at the training inputs; to be compared with Y − T t.
        readouts: a of each neuron.
        preactivations: of each neuron.
        unit: φ.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> found = fs.theory.coding.implied(np.eye(2), np.zeros((2, 1)), np.ones((5, 1)), fs.theory.coding.LINEAR)
        >>> found.answers_at(cross=np.zeros((3, 2)), diagonal=np.ones(3)).shape
        (3, 1)
    """

    kernel: Float[np.ndarray, "examples examples"]
    answers: Float[np.ndarray, "examples outputs"]
    readouts: Float[np.ndarray, "neurons outputs"]
    preactivations: Preactivations
    unit: Unit

    def answers_at(
        self, cross: Float[np.ndarray, "inputs examples"], diagonal: Float[np.ndarray, " inputs"]
    ) -> Float[np.ndarray, "inputs outputs"]:
        """⟨f*⟩ at other inputs, from their overlaps k* with the training inputs and their own k** = |x*|²."""
        cross, diagonal = np.asarray(cross, float), np.asarray(diagonal, float)
        state = self.preactivations
        mean = state.pull @ cross.T
        # K_0⁻¹ − K_0⁻¹ Σ K_0⁻¹ = τ − τ Σ τ: how much the factors narrow the prior
        scaled = cross[None] * state.precision[:, None]
        narrowed = np.sum(scaled * cross[None], axis=2) - np.sum((scaled @ state.covariance) * scaled, axis=2)
        activity = self.unit.mean(mean, np.maximum(diagonal[None] - narrowed, 1e-12))
        return activity.T @ self.readouts / len(self.readouts)


def implied(
    inputs: Float[np.ndarray, "examples examples"],
    residual: Float[np.ndarray, "examples outputs"],
    readouts: Float[np.ndarray, "neurons outputs"],
    unit: Unit,
) -> Implied:
    """The kernel and the answers that go with a residual and the readouts of neurons.

    Args:
        inputs: K_0 = XXᵀ.
        residual: t = (Y − ⟨f⟩)/T.
        readouts: a of each neuron; a sample, or a few that stand for all.
        unit: φ, one of `LINEAR`, `SIGMOIDAL`, `RECTIFIED`.

    Returns:
        An `Implied`, with `kernel`, `answers` and ``answers_at``.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> residual, readouts = np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]])
        >>> found = fs.theory.coding.implied(np.eye(2), residual, readouts, fs.theory.coding.LINEAR)
        >>> found.kernel.round(6)  # K_0 + K_0 t ⟨aaᵀ⟩ tᵀ K_0
        array([[ 2., -1.],
               [-1.,  2.]])
    """
    residual, readouts = np.asarray(residual, float), np.asarray(readouts, float)
    fits = residual.ndim == 2 and len(residual) == len(inputs)
    require(fits, "residual", f"have {len(inputs)} rows", residual.shape)
    fits = readouts.ndim == 2 and readouts.shape[1] == residual.shape[1] and len(readouts) > 0
    require(fits, "readouts", f"have a row for each neuron and {residual.shape[1]} columns", readouts.shape)
    state = expectation_propagation(inputs, readouts @ residual.T, unit)
    answers = state.site.mean.T @ readouts / len(readouts)
    return Implied(state.second_moments.mean(axis=0), answers, readouts, state, unit)


def expectation_propagation(
    inputs: Float[np.ndarray, "examples examples"],
    fields: Float[np.ndarray, "neurons examples"],
    unit: Unit,
    damping: float = 0.3,
) -> Preactivations:
    """Preactivations z ∝ N(z|0, K_0) Π_μ exp(b_μ φ(z_μ)) of several neurons at once.

    Args:
        inputs: K_0 = XXᵀ, with a positive diagonal.
        fields: b, one neuron a row.
        unit: φ, one of `LINEAR`, `SIGMOIDAL`, `RECTIFIED`.
        damping: the share of the old precision that is kept in every round.

    Returns:
        `Preactivations`: mean, covariance and log-partition function of each neuron, and how far the last round moved.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> inputs, fields = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0, -1.0]])
        >>> state = fs.theory.coding.expectation_propagation(inputs, fields, fs.theory.coding.LINEAR)
        >>> state.mean.round(6), state.log_partition.round(6)  # K_0 b and ½ bᵀK_0 b
        (array([[ 0.5, -0.5]]), array([0.5]))
    """
    require(0.0 <= damping < 1.0, "damping", "be at least 0 and less than 1", damping)
    check_unit(unit)
    inputs, fields = check_symmetric(inputs), np.asarray(fields, float)
    fits = fields.ndim == 2 and fields.shape[1] == len(inputs) and len(fields) > 0
    require(fits, "fields", f"have a row for each neuron and {len(inputs)} columns", fields.shape)
    require(bool(np.all(np.isfinite(fields))), "fields", "be finite everywhere", "NaN or infinite somewhere")
    variances = np.diag(inputs)
    known = bool(np.all((variances > 0) & (variances <= WIDEST)))
    require(known, "inputs", f"have a diagonal that is positive and at most {WIDEST:g}", variances)
    precision, shift = np.zeros_like(fields), np.zeros_like(fields)
    covariance, mean = _gaussian(inputs, precision, shift)
    gap, site, cavity = np.inf, None, None
    for _ in range(ROUNDS):
        spread = np.diagonal(covariance, axis1=1, axis2=2)
        cavity_variance = spread / (1.0 - precision * spread)
        found = cavity_variance, cavity_variance * (mean / spread - shift)
        if not (np.all(np.isfinite(found)) and np.all(cavity_variance > 0)):
            gap = np.inf  # a neuron went astray: the last round that was sound is the end
            break
        cavity = found
        site = unit.tilted(cavity[1], cavity[0], fields)
        wanted = np.clip(1.0 / site.spread - 1.0 / cavity[0], -0.99 / cavity[0], LARGEST_PRECISION)
        wanted_shift = site.preactivation * (wanted + 1.0 / cavity[0]) - cavity[1] / cavity[0]
        gap = float(max(np.abs(site.preactivation - mean).max(), np.abs(site.spread / spread - 1.0).max()))
        if gap < TOLERANCE:
            break
        precision = damping * precision + (1.0 - damping) * wanted
        shift = damping * shift + (1.0 - damping) * wanted_shift
        covariance, mean = _gaussian(inputs, precision, shift)
    assert site is not None and cavity is not None
    log_partition = _log_partition(inputs, precision, shift, mean, site, *cavity)
    return Preactivations(mean, covariance, log_partition, site, shift - precision * mean, precision, gap)


def _gaussian(inputs: np.ndarray, precision: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ = (I + K_0 diag τ)⁻¹ K_0 and its mean Σ ν."""
    system = np.eye(len(inputs))[None] + inputs[None] * precision[:, None]
    covariance = np.linalg.solve(system, np.broadcast_to(inputs, system.shape))
    covariance = 0.5 * (covariance + covariance.swapaxes(1, 2))
    return covariance, np.einsum("kij,kj->ki", covariance, shift)


def _log_partition(
    inputs: np.ndarray,
    precision: np.ndarray,
    shift: np.ndarray,
    mean: np.ndarray,
    site: Site,
    cavity_variance: np.ndarray,
    cavity_mean: np.ndarray,
) -> np.ndarray:
    """Σ_μ log of exact over Gaussian factor in its cavity, and the Gaussian integral over all of them."""
    inner = 1.0 + precision * cavity_variance
    wide = cavity_mean + cavity_variance * shift
    gaussian = -0.5 * np.log(inner) + 0.5 * (wide**2 / inner - cavity_mean**2) / cavity_variance
    system = np.eye(len(inputs))[None] + inputs[None] * precision[:, None]
    whole = 0.5 * np.sum(shift * mean, axis=1) - 0.5 * np.linalg.slogdet(system)[1]
    return np.sum(site.log_partition - gaussian, axis=1) + whole
