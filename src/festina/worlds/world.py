"""The worlds every network can live in: a finite data set, and a linear teacher with Gaussian inputs."""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina.errors import require
from festina.precision import detached, is_traced
from festina.worlds.data import Moments, Root, Samples
from festina.worlds.wishart import second_moment_root

MOST_CLASSES = 100_000  # more is a number that is no label


@runtime_checkable
class World(Protocol):
    """What there is to learn.

    Example:
        >>> isinstance(fs.worlds.xor(), fs.worlds.World), isinstance(fs.worlds.Teacher(np.eye(2)), fs.worlds.World)
        (True, True)
    """

    @property
    def moments(self) -> Moments:
        """The second moments of the whole world."""
        ...

    def draw(self, key: Array, batch: int) -> Samples:
        """A fresh batch of samples."""
        ...


def as_array(values: Any) -> Any:
    """Lists, integers and tensors of other libraries as real NumPy arrays; arrays as they are.

    Example:
        >>> fs.worlds.routing.as_array([1, 2]).dtype
        dtype('float64')
    """
    if isinstance(values, jax.Array):
        return values
    array = np.asarray(detached(values))
    return array if np.issubdtype(array.dtype, np.floating) else array.astype(float)


def check_finite(name: str, values: Any) -> None:
    """Refuse NaN and infinity in data, saying where the first one stands.

    Args:
        name: of the argument, for the message.
        values: any array; what is traced cannot be looked at and is let through.

    Example:
        >>> fs.worlds.routing.check_finite("inputs", [1.0, np.nan])
        Traceback (most recent call last):
        festina.errors.ArgumentError: Argument `inputs` must be finite everywhere, but is '1 non-finite ...
    """
    if is_traced(values):
        return
    bad = np.argwhere(~np.isfinite(np.asarray(values)))
    first = tuple(int(i) for i in bad[0]) if len(bad) else None
    require(first is None, name, "be finite everywhere", f"{len(bad)} non-finite values, first at {first}")


class Dataset(eqx.Module):
    """A finite world: P examples, all seen equally often.

    Args:
        inputs: one example a row; an example may have any shape, such as that of an image.
        targets: what to answer, one example a row.
        classes: how many there are, if targets are 1 for the class of an example and 0 for the others (`labelled`).

    Example:
        >>> world = fs.worlds.Dataset([[0, 1], [1, 0], [1, 1]], [[1], [1], [2]])
        >>> world.moments.cross.round(2).tolist()  # ⟨y xᵀ⟩
        [[1.0, 1.0]]
        >>> world.draw(jax.random.key(0), batch=10).inputs.shape
        (10, 2)
    """

    inputs: Float[Any, "n ..."] = eqx.field(converter=as_array)
    targets: Float[Any, "_ o"] = eqx.field(converter=as_array)
    classes: int | None = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        shape = tuple(self.inputs.shape)
        fits = len(shape) >= 2 and min(shape) >= 1
        require(fits, "inputs", "have one example a row (a matrix, or a stack of images)", f"of shape {shape}")
        shape = tuple(self.targets.shape)
        fits = len(shape) == 2 and min(shape) >= 1
        require(fits, "targets", "be a matrix with one example a row", f"of shape {shape}")
        require(
            self.inputs.shape[0] == self.targets.shape[0],
            "targets",
            f"have one row for each of the {self.inputs.shape[0]} inputs",
            f"{self.targets.shape[0]} rows",
        )
        check_finite("inputs", self.inputs)
        check_finite("targets", self.targets)

    @classmethod
    def labelled(cls, inputs: Any, labels: Any) -> "Dataset":
        """Examples of classes: targets are 1 for the class of an example and 0 for the others.

        Args:
            inputs: one example a row.
            labels: the class of each: whole numbers from 0 on, or names, which are then sorted.

        Example:
            >>> Dataset.labelled([[0.0, 1.0], [2.0, 3.0]], ["cat", "dog"]).targets
            array([[1., 0.],
                   [0., 1.]])
        """
        labels = np.asarray(detached(labels))
        require(labels.ndim == 1, "labels", "be one for each example", f"of shape {labels.shape}")
        require(labels.size > 0, "labels", "name at least one example", "empty")
        if not np.issubdtype(labels.dtype, np.integer):
            labels = np.unique(labels, return_inverse=True)[1]
        require(bool(labels.min() >= 0), "labels", "be whole numbers from 0 on", int(labels.min()))
        require(bool(labels.max() < MOST_CLASSES), "labels", f"stay below {MOST_CLASSES}", int(labels.max()))
        classes = int(labels.max()) + 1
        return cls(inputs, np.eye(classes)[labels], classes)

    @property
    def samples(self) -> Samples:
        """The whole data set as one batch."""
        return Samples(self.inputs, self.targets)

    @property
    def moments(self) -> Moments:
        return self.samples.moments

    def draw(self, key: Array, batch: int) -> Samples:
        """``batch`` examples, drawn with replacement."""
        rows = jax.random.randint(key, (batch,), 0, self.inputs.shape[0])
        return Samples(jnp.asarray(self.inputs)[rows], jnp.asarray(self.targets)[rows])


class Teacher(eqx.Module):
    """A linear teacher, y = W* x + noise, with white Gaussian inputs.

    Args:
        map: the teacher's matrix W*.
        noise: standard deviation of the noise on each output.

    Example:
        >>> teacher = fs.worlds.Teacher(np.diag([3.0, 1.0]), noise=0.1)
        >>> teacher.moments.outputs.round(4).tolist()
        [[9.01, 0.0], [0.0, 1.01]]
        >>> teacher.draw(jax.random.key(0), batch=10).targets.shape
        (10, 2)
    """

    map: Float[Any, "o i"] = eqx.field(converter=as_array)
    noise: Any = 0.0

    def __check_init__(self) -> None:
        fits = self.map.ndim == 2 and min(self.map.shape) >= 1
        require(fits, "map", "be a matrix", f"of shape {tuple(self.map.shape)}")
        check_finite("map", self.map)
        if not is_traced(self.noise):
            require(float(self.noise) >= 0.0, "noise", "be zero or positive", self.noise)

    @property
    def moments(self) -> Moments:
        """Σxx = I, Σyx = W*, Σyy = W* W*ᵀ + noise² I."""
        rows, columns = self.map.shape
        noise = self.noise**2 * np.eye(rows, dtype=self.map.dtype)
        white = np.eye(columns, dtype=self.map.dtype)
        root = Root(white, self.map.T, 1.0, 0.5 * rows * self.noise**2)
        return Moments(white, self.map, self.map @ self.map.T + noise, root)

    def draw(self, key: Array, batch: int) -> Samples:
        mapping = jnp.asarray(self.map)
        for_inputs, for_noise = jax.random.split(key)
        inputs = jax.random.normal(for_inputs, (batch, mapping.shape[1]), mapping.dtype)
        noise = jax.random.normal(for_noise, (batch, mapping.shape[0]), mapping.dtype)
        return Samples(inputs, inputs @ mapping.T + self.noise * noise)

    def draw_moments(self, key: Array, batch: int) -> Moments:
        """The moments of a batch, drawn from their own law without drawing the batch.

        Σxx = L Lᵀ/B as in `festina.worlds.wishart`. Given the inputs, the noise enters Σyx as noise · Z Lᵀ/B with Z
        standard normal: a batch of I inputs is as good as I pairs, the columns of L and of W* L + noise · Z. The noise
        in the other B − I directions, which no gradient sees, has its expected size.
        """
        mapping = jnp.asarray(self.map)
        rows, columns = mapping.shape
        for_root, for_noise = jax.random.split(key)
        factor = second_moment_root(for_root, columns, batch, mapping.dtype)
        noise = self.noise * jax.random.normal(for_noise, (rows, columns), mapping.dtype)
        targets = mapping @ factor + noise
        rest = self.noise**2 * (batch - columns) / batch
        return Moments(
            factor @ factor.T / batch,
            targets @ factor.T / batch,
            targets @ targets.T / batch + rest * jnp.eye(rows, dtype=mapping.dtype),
            Root(factor.T, targets.T, 1.0 / batch, 0.5 * rows * rest),
        )
