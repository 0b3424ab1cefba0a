"""A small convolutional network for images in grey, and how it is trained before its features serve another learner."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt8

from festina.errors import require

PRECISION = jnp.float32  # images have eight bits: convolutions in float64 would cost much and give nothing
AT_ONCE = 500  # images whose features are computed together, at most


class Convolutional(eqx.Module):
    """Convolution, 2×2 maximum, ReLU; then layers of sigmoid and of ReLU units, and a linear readout of classes.

    Neighbouring windows of the maximum overlap (stride 1). Each row of a layer holds the weights of one unit and, last,
    its bias.

    Args:
        maps: kernels of the convolution.
        wide: sigmoid units.
        narrow: ReLU units, whose activity are the features.
        readout: of the features, one row a class.
        kernel: extent of the convolution.

    Example:
        >>> network = fs.networks.Convolutional.init(jax.random.key(0), height=8, width=8, wide=16, narrow=4)
        >>> images = np.zeros((5, 8, 8), np.uint8)
        >>> jax.eval_shape(network.features, images).shape, jax.eval_shape(network, images).shape
        ((5, 4), (5, 10))
    """

    maps: Float[Any, "maps _"]
    wide: Float[Any, "wide _"]
    narrow: Float[Any, "narrow _"]
    readout: Float[Any, "classes _"]
    kernel: int = eqx.field(static=True)  # extent of the convolution in either direction

    @classmethod
    def init(
        cls,
        key: Array,
        height: int,
        width: int,
        classes: int = 10,
        *,
        maps: int = 3,
        kernel: int = 4,
        wide: int = 512,
        narrow: int = 64,
    ) -> "Convolutional":
        """Weights and biases uniform within ±1/√(inputs of the layer).

        Args:
            key: of the weights.
            height: of the images, in pixels.
            width: of the images.
            classes: outputs of the readout.
            maps: of the convolution.
            kernel: its extent, in either direction.
            wide: sigmoid units.
            narrow: ReLU units, whose activity are the features.
        """
        require(min(height, width) > kernel, "height", f"exceed {kernel}, as must the width", (height, width))
        pooled = maps * (height - kernel) * (width - kernel)
        # rows of weights, each with its bias, layer by layer: drawn flat, which compiles several times faster
        shapes = ((maps, kernel**2 + 1), (wide, pooled + 1), (narrow, wide + 1), (classes, narrow + 1))
        drawn = jax.random.uniform(key, (sum(rows * size for rows, size in shapes),), PRECISION, -1.0, 1.0)
        layers, first = [], 0
        for rows, size in shapes:
            layers.append(drawn[first : first + rows * size].reshape(rows, size) / (size - 1) ** 0.5)
            first += rows * size
        return cls(*layers, kernel=kernel)

    def features(self, images: UInt8[Any, "n h w"]) -> Float[Array, "n narrow"]:
        """The activity of the last hidden layer; grey values from 0 to 255 are seen as −1 to 1."""
        seen = 2.0 * (images.astype(PRECISION) / 255.0) - 1.0
        kernels = self.maps[:, :-1].reshape(-1, 1, self.kernel, self.kernel)
        convolved = jax.lax.conv(seen[:, None], kernels, (1, 1), "VALID") + self.maps[None, :, -1, None, None]
        across = jnp.maximum(convolved[:, :, 1:], convolved[:, :, :-1])
        pooled = jnp.maximum(across[..., 1:], across[..., :-1])
        flat = jax.nn.relu(pooled).reshape(len(images), -1)
        return jax.nn.relu(_affine(self.narrow, jax.nn.sigmoid(_affine(self.wide, flat))))

    def scores(self, features: Float[Any, "n narrow"]) -> Float[Array, "n classes"]:
        """The readout of features, one score for each class."""
        return _affine(self.readout, features)

    def __call__(self, images: UInt8[Any, "n h w"]) -> Float[Array, "n classes"]:
        return self.scores(self.features(images))

    def features_of_many(self, images: UInt8[Any, "n h w"]) -> Float[Array, "n narrow"]:
        """The same, some images at a time, so that memory stays small."""
        piece = max(size for size in range(1, AT_ONCE + 1) if len(images) % size == 0)
        pieces = images.reshape(-1, piece, *images.shape[1:])
        return jax.lax.map(self.features, pieces).reshape(len(images), -1)


def _affine(layer: Float[Any, "o _"], inputs: Float[Any, "n i"]) -> Float[Array, "n o"]:
    return inputs @ layer[:, :-1].T + layer[None, :, -1]


def cross_entropy(scores: Float[Any, "*batch classes"], labels: Int[Any, "*batch"]) -> Float[Array, ""]:
    """−⟨log softmax(scores)[label]⟩ over the batch.

    Args:
        scores: one for each class, the classes last.
        labels: the right class of each.

    Example:
        >>> scores = np.log(np.array([[0.25, 0.75], [0.5, 0.5]]))
        >>> round(float(fs.networks.convolutional.cross_entropy(scores, np.array([1, 0]))), 4)  # −(log ¾ + log ½)/2
        0.4904
    """
    picked = jnp.take_along_axis(jax.nn.log_softmax(scores), labels[..., None], axis=-1)
    return -jnp.mean(picked)


def accuracy(scores: Float[Any, "*batch classes"], labels: Int[Any, "*batch"]) -> Float[Array, ""]:
    """The share of a batch whose label has the highest score.

    Args:
        scores: one for each class, the classes last.
        labels: the right class of each.

    Example:
        >>> scores = jax.numpy.array([[0.1, 0.9], [0.3, 0.7]])
        >>> float(fs.networks.convolutional.accuracy(scores, jax.numpy.array([1, 0])))
        0.5
    """
    best = jnp.argmax(scores, axis=-1).astype(labels.dtype)
    return jnp.mean(best == labels, dtype=scores.dtype)


def trained(
    network: Convolutional,
    key: Array,
    images: UInt8[Any, "n h w"],
    labels: Int[Any, " n"],
    *,
    steps: int,
    batch: int = 512,
    rate: float = 1e-3,
) -> Convolutional:
    """The network after so many steps of AdamW on cross-entropy, with a fresh batch in each.

    Args:
        network: where to start.
        key: of the batches.
        images: to learn from.
        labels: of the images.
        steps: of the optimiser.
        batch: images in one step, drawn with replacement.
        rate: of learning.

    Returns:
        A network of the same sizes.

    Example:
        >>> images, labels = np.zeros((100, 8, 8), np.uint8), np.arange(100) % 10
        >>> network = fs.networks.Convolutional.init(jax.random.key(0), height=8, width=8, wide=16, narrow=4)
        >>> learn = lambda key: fs.networks.convolutional.trained(network, key, images, labels, steps=250)
        >>> jax.eval_shape(learn, jax.random.key(1)).readout.shape  # learn(jax.random.key(1)) is the network itself
        (10, 5)
    """
    import optax

    images, labels = jnp.asarray(images), jnp.asarray(labels)
    optimiser = optax.adamw(rate)

    def loss(network: Convolutional, chosen: Int[Array, " batch"]) -> Float[Array, ""]:
        return cross_entropy(network(images[chosen]), labels[chosen])

    def step(carried: tuple[Any, Any], key: Array) -> tuple[tuple[Any, Any], None]:
        network, state = carried
        chosen = jax.random.randint(key, (batch,), 0, len(images), jnp.int32)
        uphill = jax.grad(loss)(network, chosen)
        with jax.numpy_dtype_promotion("standard"):  # optax counts in integers and divides by them
            changes, state = optimiser.update(uphill, state, network)
        return (eqx.apply_updates(network, changes), state), None

    begin: Any = network
    return jax.lax.scan(step, (begin, optimiser.init(begin)), jax.random.split(key, steps))[0][0]
