"""Averages over a few Gaussian variables under a weight with several peaks, by importance sampling at fixed points.

The density is exp(−|w|²/2 + Σ_c n_c G(b_c, δ_c; g_c, v_c)) with b and g linear in w, and

    G(b, δ; g, v) = log∫Dx exp(bφ(z) + ½δφ(z)²),    z = g + √v x.

Points come from a mixture of Gaussians, one at each maximum with the width it has there and one for all, adapted to the
density in a few rounds. They are made of one Sobol sequence, so that averages depend smoothly on all parameters.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float

from festina._lazy import special
from festina.theory._sobol import sobol
from festina.theory.coding._quadrature import Site, by_quadrature
from festina.theory.coding.units import Unit

STARTS, FEW_POINTS, POINTS = 32, 1024, 4096
ADAPTATIONS = 3
BETWEEN, LEAST_SHARE = 0.15, 1e-3  # share of the wide part of a mixture, and the least of a part that is adapted
ASCENT_STEPS = 60
INFLATION = 1.4  # of the Gaussians, as variances
WIDEST = 6.0  # variance of a Gaussian, where the prior's is 1
SAME = 0.05  # distance below which two maxima are one
FAINT = 12.0  # by how much log p may be below its maximum at another maximum


@dataclass(frozen=True)
class Weight:
    """The density of w.

    Attributes:
        counts: n_c.
        fields: b = w · fields, one column a class.
        shifts: g = w · shifts, one column a class.
        curvatures: δ_c.
        variances: v_c.
        unit: φ.
    """

    counts: Float[np.ndarray, " classes"]
    fields: Float[np.ndarray, "variables classes"]
    shifts: Float[np.ndarray, "variables classes"]
    curvatures: Float[np.ndarray, " classes"]
    variances: Float[np.ndarray, " classes"]
    unit: Unit

    def site(self, points: Float[np.ndarray, "points variables"]) -> Site:
        """Cumulants of z and φ(z), for each point and class."""
        field = points @ self.fields
        variance = np.broadcast_to(self.variances, field.shape)
        return by_quadrature(self.unit.function, points @ self.shifts, variance, field, self.curvatures[None])

    def log_density(self, points: Float[np.ndarray, "points variables"], site: Site) -> Float[np.ndarray, " points"]:
        """−|w|²/2 + Σ_c n_c G, normalised as to the Gaussian."""
        norm = 0.5 * points.shape[1] * np.log(2.0 * np.pi)
        return site.log_partition @ self.counts - 0.5 * np.sum(points**2, axis=1) - norm

    def pull(self, points: Float[np.ndarray, "points variables"], site: Site) -> Float[np.ndarray, "points classes"]:
        """∂G/∂g = ⟨z − g⟩/v."""
        return (site.preactivation - points @ self.shifts) / self.variances[None]

    def stiffness(self, site: Site) -> Float[np.ndarray, "points classes"]:
        """∂²G/∂g² = (Var z/v − 1)/v."""
        return (site.spread / self.variances[None] - 1.0) / self.variances[None]

    def slope(self, points: np.ndarray, site: Site) -> tuple[np.ndarray, np.ndarray]:
        """The gradient of the log density, and minus its second derivatives."""
        towards = self.counts[None] * site.mean, self.counts[None] * self.pull(points, site)
        gradient = towards[0] @ self.fields.T + towards[1] @ self.shifts.T - points
        parts = (
            (site.variance, self.fields, self.fields),
            (site.covariance / self.variances[None], self.fields, self.shifts),
            (site.covariance / self.variances[None], self.shifts, self.fields),
            (self.stiffness(site), self.shifts, self.shifts),
        )
        second = sum(np.einsum("pc,ic,jc->pij", self.counts[None] * values, one, two) for values, one, two in parts)
        return gradient, np.eye(points.shape[1])[None] - second


@dataclass(frozen=True)
class Cloud:
    """Points, the logarithm of how dense they are (integrals are sums over points, divided by it), and all maxima."""

    points: Float[np.ndarray, "points variables"]
    log_proposal: Float[np.ndarray, " points"]
    maxima: Float[np.ndarray, "maxima variables"]


def cloud(weight: Weight, near: Float[np.ndarray, "starts variables"] | None = None) -> Cloud:
    """Points for averages with this weight; ``near`` are more places to look for maxima from."""
    size = weight.fields.shape[0]
    starts = 2.0 * _normal_points(STARTS, size)
    starts = np.concatenate([np.zeros((1, size)), starts] + ([] if near is None else [near]))
    maxima, heights, widths = _maxima(weight, starts)
    sizes = heights + 0.5 * np.linalg.slogdet(widths)[1]
    mixture = _Mixture(0.5 * normalised(sizes) + 0.5 / len(sizes), maxima, INFLATION * widths)
    for _ in range(ADAPTATIONS):
        points, log_proposal = mixture.place(FEW_POINTS)
        log_masses = weight.log_density(points, weight.site(points)) - log_proposal
        mixture = mixture.adapted(points, normalised(log_masses))
    return Cloud(*mixture.place(POINTS), maxima)


@dataclass(frozen=True)
class _Mixture:
    """A mixture of Gaussians."""

    shares: Float[np.ndarray, " parts"]
    means: Float[np.ndarray, "parts variables"]
    covariances: Float[np.ndarray, "parts variables variables"]

    def place(self, count: int) -> tuple[Float[np.ndarray, "points variables"], Float[np.ndarray, " points"]]:
        """Points in proportion to the shares, and the logarithm of how dense they are."""
        size = self.means.shape[1]
        counts = np.maximum(np.round(self.shares * count).astype(int), size + 1)
        normal, roots = _normal_points(count, size), np.linalg.cholesky(self.covariances)
        parts = zip(self.means, counts, roots, strict=True)
        points = np.concatenate([mean[None] + normal[:number] @ root.T for mean, number, root in parts])
        return points, _log_sum(self._log_densities(points, counts.astype(float)))

    def adapted(self, points: np.ndarray, probability: np.ndarray) -> "_Mixture":
        """The mixture that fits weighted points better, and a wide Gaussian for what lies between its parts."""
        logs = self._log_densities(points, self.shares)
        belongs = np.exp(logs - _log_sum(logs)[None]) * probability[None]
        shares = belongs.sum(axis=1)
        parts = [_moments(points, each, old) for each, old in zip(belongs, self.covariances, strict=True)]
        parts = [part if share > LEAST_SHARE else (mean, old) for part, share, mean, old in
                 zip(parts, shares, self.means, self.covariances, strict=True)]  # fmt: skip
        mean, covariance = _moments(points, probability, np.eye(points.shape[1]))
        shares = np.concatenate([(1.0 - BETWEEN) * (0.8 * shares + 0.2 / len(shares)), [BETWEEN]])
        means = np.stack([part[0] for part in parts] + [mean])
        return _Mixture(shares, means, np.stack([INFLATION * part[1] for part in parts] + [INFLATION**2 * covariance]))

    def _log_densities(self, points: np.ndarray, shares: np.ndarray) -> np.ndarray:
        logs = []
        for share, mean, root in zip(shares, self.means, np.linalg.cholesky(self.covariances), strict=True):
            scaled = np.linalg.solve(root, (points - mean[None]).T)
            volume = np.log(np.diag(root)).sum() + 0.5 * len(mean) * np.log(2.0 * np.pi)
            logs.append(np.log(share) - 0.5 * np.sum(scaled**2, axis=0) - volume)
        return np.stack(logs)


def _log_sum(logs: Float[np.ndarray, "parts points"]) -> Float[np.ndarray, " points"]:
    return np.asarray(special.logsumexp(logs, axis=0))


def _moments(points: np.ndarray, weights: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weighted mean and covariance, with a little of another covariance lest it be singular."""
    weights = weights / max(weights.sum(), 1e-300)
    mean = weights @ points
    apart = points - mean[None]
    return mean, 0.9 * (weights[:, None] * apart).T @ apart + 0.1 * other


def normalised(log_masses: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
    return np.exp(log_masses - special.logsumexp(log_masses))


def effective_share(probability: Float[np.ndarray, " points"]) -> float:
    """1/(n Σ p²): which share of the points counts."""
    return float(1.0 / (len(probability) * np.sum(probability**2)))


def _maxima(weight: Weight, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Maxima reached from the starts, with their heights and the covariances of Gaussians for them."""
    points = starts
    for _ in range(ASCENT_STEPS):
        gradient, precision = weight.slope(points, weight.site(points))
        values, axes = np.linalg.eigh(precision)
        step = np.einsum("pij,pj->pi", axes / np.maximum(np.abs(values), 0.3)[:, None] @ axes.swapaxes(1, 2), gradient)
        length = np.linalg.norm(step, axis=1)
        points = points + step * np.minimum(1.0, 0.7 / np.maximum(length, 1e-300))[:, None]
        if float(length.max()) < 1e-6:
            break
    site = weight.site(points)
    heights = weight.log_density(points, site)
    order = np.argsort(-heights)
    chosen: list[int] = []
    for each in order[heights[order] > heights.max() - FAINT]:
        if all(np.linalg.norm(points[each] - points[other]) > SAME for other in chosen):
            chosen.append(int(each))
    values, axes = np.linalg.eigh(weight.slope(points[chosen], _rows(site, chosen))[1])
    spread = np.where(values > 1.0 / WIDEST, 1.0 / np.maximum(values, 1.0 / WIDEST), WIDEST)
    return points[chosen], heights[chosen], (axes * spread[:, None]) @ axes.swapaxes(1, 2)


def _rows(site: Site, rows: list[int]) -> Site:
    return Site(*(part[rows] for part in site))


@cache
def _normal_points(count: int, size: int) -> Float[np.ndarray, "count size"]:
    return special.ndtri(sobol(count, size))
