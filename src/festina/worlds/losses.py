"""What a network is asked to make small: the mean over examples of ℓ(answer, target)."""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina.errors import ArgumentError


@runtime_checkable
class Loss(Protocol):
    """``loss(answers, targets)`` of a batch (both with one example a row): one number, or one for each example.

    Any function of answers and targets will do, as one for each example here.

    Example:
        >>> absolute = lambda answers, targets: jax.numpy.sum(jax.numpy.abs(answers - targets), axis=1)
        >>> float(fs.worlds.losses.mean_loss(absolute, np.array([[1.0], [2.0]]), np.zeros((2, 1))))
        1.5
    """

    def __call__(self, answers: Any, targets: Any, /) -> Any: ...


class SquaredError(eqx.Module):
    """½|y − f|², averaged over examples.

    Example:
        >>> import numpy as np
        >>> float(SquaredError()(np.array([[1.0, 2.0]]), np.array([[0.0, 0.0]])))
        2.5
    """

    def __call__(self, answers: Float[Any, "n *o"], targets: Float[Any, "n *o"]) -> Float[Array, ""]:
        return 0.5 * jnp.mean(jnp.sum(_rows(targets - answers) ** 2, axis=1))


class CrossEntropy(eqx.Module):
    """−Σ_k y_k log softmax(f)_k, averaged over examples.

    Targets are one row of probabilities for each example, such as 1 at its class and 0 elsewhere, or whole numbers, the
    classes themselves.

    Example:
        >>> import numpy as np
        >>> scores = np.log(np.array([[0.25, 0.75], [0.5, 0.5]]))
        >>> round(float(CrossEntropy()(scores, np.array([1, 0]))), 4)  # −(log ¾ + log ½)/2
        0.4904
    """

    def __call__(self, answers: Float[Any, "n classes"], targets: Any) -> Float[Array, ""]:
        logarithms = jax.nn.log_softmax(answers)
        if jnp.ndim(targets) == jnp.ndim(answers) - 1:
            return -jnp.mean(jnp.take_along_axis(logarithms, jnp.asarray(targets)[..., None], axis=-1))
        return -jnp.mean(jnp.sum(targets * logarithms, axis=-1))

    def accuracy(self, answers: Float[Any, "n classes"], targets: Any) -> Float[Array, ""]:
        """The share of examples whose class has the highest score."""
        labels = targets if jnp.ndim(targets) == jnp.ndim(answers) - 1 else jnp.argmax(targets, axis=-1)
        return jnp.mean(jnp.argmax(answers, axis=-1) == labels, dtype=answers.dtype)


class _Signs(eqx.Module):
    """A loss of the margin yf, where y is the sign of the target: +1 above zero, −1 at zero and below."""

    def of_margin(self, margin: Float[Array, "n o"]) -> Float[Array, "n o"]:
        raise NotImplementedError

    def __call__(self, answers: Float[Any, "n *o"], targets: Float[Any, "n *o"]) -> Float[Array, ""]:
        return jnp.mean(jnp.sum(self.of_margin(_rows(_sign(targets, answers) * answers)), axis=1))

    def accuracy(self, answers: Float[Any, "n *o"], targets: Float[Any, "n *o"]) -> Float[Array, ""]:
        """The share of examples of which all answers have the right sign."""
        right = _rows(_sign(targets, answers) * answers) > 0
        return jnp.mean(jnp.all(right, axis=1), dtype=answers.dtype)


class Logistic(_Signs):
    """log(1 + exp(−yf)), summed over outputs and averaged over examples, where y = ±1 is the sign of the target.

    Example:
        >>> import numpy as np
        >>> round(float(Logistic()(np.array([[0.0]]), np.array([[1.0]]))), 4)  # log 2
        0.6931
    """

    def of_margin(self, margin: Float[Array, "n o"]) -> Float[Array, "n o"]:
        return jax.nn.softplus(-margin)


class Hinge(_Signs):
    """max(0, 1 − yf), summed over outputs and averaged over examples, where y = ±1 is the sign of the target.

    Example:
        >>> import numpy as np
        >>> float(Hinge()(np.array([[0.25]]), np.array([[-1.0]])))
        1.25
    """

    def of_margin(self, margin: Float[Array, "n o"]) -> Float[Array, "n o"]:
        return jax.nn.relu(1 - margin)


def mean_loss(loss: Loss, answers: Any, targets: Any) -> Float[Array, ""]:
    """A loss as one number, whether it gives the mean of a batch or one number for each example.

    Args:
        loss: a `Loss`.
        answers: of a network, one example a row.
        targets: as the loss takes them.

    Example:
        >>> hinge = fs.worlds.losses.Hinge()
        >>> float(fs.worlds.losses.mean_loss(hinge, np.array([[0.25], [2.0]]), np.ones((2, 1))))
        0.375
    """
    value = jnp.asarray(loss(answers, targets))
    if value.shape not in ((), (np.shape(answers)[0],)):
        raise ArgumentError(
            "Argument `loss` must give one number, or one for each example, for answers of shape "
            f"{tuple(np.shape(answers))}, but gives an array of shape {value.shape}."
        )
    return jnp.mean(value)


def _rows(values: Any) -> Any:
    return values.reshape(values.shape[0], -1)


def _sign(targets: Any, answers: Any) -> Any:
    one = jnp.ones((), jnp.asarray(answers).dtype)
    return jnp.where(jnp.asarray(targets) > 0, one, -one)
