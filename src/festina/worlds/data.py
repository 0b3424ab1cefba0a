"""What a network can see of a world at one moment: its second moments, or samples.

Both know the loss of a network on them, so that a way of learning needs no case distinction.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from festina.errors import require
from festina.precision import precise, with_slope_of
from festina.worlds.columns import answers
from festina.worlds.losses import Loss, mean_loss


class Root(eqx.Module):
    """Pairs (x, y) that have the moments of a world: share · Σ x xᵀ = Σxx, share · Σ y xᵀ = Σyx.

    A loss is computed from what is left of their targets. The moments themselves say the same, but as a difference of
    numbers of the size of ½⟨|y|²⟩, which has no digits left where a network has learned.

    Attributes:
        inputs: one pair a row.
        targets: one pair a row.
        share: the weight of each pair.
        rest: ½⟨|y|²⟩ less what these targets have of it, the part that no linear map explains whatever it is.
    """

    inputs: Float[Any, "*batch n i"]
    targets: Float[Any, "*batch n o"]
    share: Any = 1.0
    rest: Any = 0.0

    def loss(self, mapping: Float[Any, "o i"]) -> Float[Array, ""]:
        """½ share Σ |y − W x|² + rest: a sum of squares, so never negative."""
        error = self.targets - self.inputs @ mapping.T
        return 0.5 * self.share * jnp.sum(error**2) + self.rest


class Moments(eqx.Module):
    """Second moments Σxx = ⟨x xᵀ⟩, Σyx = ⟨y xᵀ⟩, Σyy = ⟨y yᵀ⟩: all that a linear network sees.

    Args:
        inputs: Σxx.
        cross: Σyx.
        outputs: Σyy.
        root: what they were made of, where that is known. Without it a loss is known up to the rounding errors of the
            moments, some 1e-16 of ½ tr Σyy.

    Example:
        >>> moments = fs.worlds.Moments(np.eye(2), np.diag([2.0, 1.0]), np.diag([4.0, 1.0]))
        >>> round(float(moments.loss(fs.networks.DeepLinear((np.eye(2),)))), 6)  # ½(2 − 1)²
        0.5
    """

    inputs: Float[Any, "*batch i i"]
    cross: Float[Any, "*batch o i"]
    outputs: Float[Any, "*batch o o"]
    root: Root | None = None

    @property
    def moments(self) -> "Moments":
        """Themselves, so that moments are a world, too: one for linear networks."""
        return self

    @precise
    def loss(self, network: Any) -> Float[Array, ""]:
        """½⟨|y − W x|²⟩ = ½ tr Σyy − tr(W Σyxᵀ) + ½ tr(W Σxx Wᵀ), with W = ``network.map``.

        Its value comes from the residual, which keeps its digits; its slope from the moments, which do not grow with
        the number of samples.
        """
        mapping = jnp.asarray(network.map)
        fitted = jnp.sum(mapping * (mapping @ self.inputs))
        expanded = 0.5 * jnp.trace(self.outputs) - jnp.sum(mapping * self.cross) + 0.5 * fitted
        root = root_of(self) if self.root is None else self.root
        return with_slope_of(root.loss(mapping), expanded)


def root_of(moments: Moments) -> Root:
    """Pairs with given moments: x = √λ v for the eigenvalues and eigenvectors of Σxx, and y = Σyx v/√λ.

    A rest that is smaller than the rounding error of the moments is none.
    """
    values, vectors = jnp.linalg.eigh(jnp.asarray(moments.inputs))
    grain = len(values) * jnp.finfo(values.dtype).eps
    seen = values > grain * jnp.max(values)
    sizes = jnp.sqrt(jnp.where(seen, values, 1.0))
    targets = (moments.cross @ (vectors * jnp.where(seen, 1.0 / sizes, 0.0)[None])).T
    energy = 0.5 * jnp.trace(moments.outputs)
    rest = energy - 0.5 * jnp.sum(targets**2)
    return Root(
        jnp.where(seen, sizes, 0.0)[:, None] * vectors.T, targets, 1.0, jnp.where(rest > grain * energy, rest, 0.0)
    )


class Samples(eqx.Module):
    """Pairs (x, y): what any network sees. Inputs may have any shape, such as that of an image.

    Args:
        inputs: x, one example a row.
        targets: y, one example a row.

    Example:
        >>> samples = fs.worlds.Samples(np.array([[1.0], [2.0]]), np.array([[2.0], [4.0]]))
        >>> float(samples.loss(fs.networks.DeepLinear((np.eye(1),))))  # ½(1² + 2²)/2
        1.25
        >>> samples.moments.cross.tolist()
        [[5.0]]
    """

    inputs: Float[Any, "..."]  # (*batch, n, *shape of an input)
    targets: Float[Any, "*batch n o"]

    @property
    def samples(self) -> "Samples":
        """Themselves, so that samples are a world, too."""
        return self

    @precise
    def loss(self, network: Any) -> Float[Array, ""]:
        """½ mean |y − f(x)|² over the samples."""
        error = self.targets - answers(network, self.inputs)
        return 0.5 * jnp.mean(jnp.sum(error**2, axis=-1))

    @property
    def moments(self) -> Moments:
        """The samples' own second moments, XᵀX/n and so on."""
        require(self.inputs.ndim == self.targets.ndim, "inputs", "be vectors to have moments", self.inputs.shape)
        count = self.inputs.shape[-2]
        return Moments(
            inputs=self.inputs.T @ self.inputs / count,
            cross=self.targets.T @ self.inputs / count,
            outputs=self.targets.T @ self.targets / count,
            root=Root(self.inputs, self.targets, 1.0 / count),
        )


class Judged(eqx.Module):
    """Samples under a loss of their own: what a network sees that is not judged by its squared error."""

    samples: Samples
    judge: Loss = eqx.field(static=True)

    @precise
    def loss(self, network: Any) -> Float[Array, ""]:
        """The mean loss over the samples."""
        return mean_loss(self.judge, answers(network, self.samples.inputs), self.samples.targets)
