"""The networks of `linear/depth`: start, gradient flow and layer-wise pretraining of one, and a draw of all."""

from typing import Any, NamedTuple

import festina as fs
from festina._lazy import jax, jnp, np

STARTS = ("small", "gaussian", "aligned", "orthogonal", "pretrained", "square")
SQUARE = STARTS.index("square")
LONGEST = 1e3  # in τ: a layer that is not pretrained by then never is


class Network(NamedTuple):
    """Weights W_1, those of the D − 2 layers between, and W_D; of shapes (N, Ni), (D − 2, N, N) and (No, N)."""

    first: Any
    middle: Any
    last: Any

    @property
    def depth(self) -> int:
        return self.middle.shape[0] + 2


def draw_target(left: Any, right: Any, strengths: Any) -> tuple[Any, Any, Any]:
    """Rotations U (No×No) and V (Ni×Ni) from normal matrices, and S = U diag(s) Vᵀ with as many s as outputs."""
    from festina.worlds.orthogonal import orthogonal_factor

    left, right = orthogonal_factor(left), orthogonal_factor(right)
    return left, right, (left * strengths[None]) @ right[:, : len(strengths)].T


def gaussian(normal: Network, gain: Any) -> Network:
    """Normal weights with a standard deviation of gain/√(inputs of the layer): singular values of mean square gain²."""
    return Network(*(gain * weights / weights.shape[-1] ** 0.5 for weights in normal))


def orthogonal(normal: Network, gain: Any) -> Network:
    """Random orthogonal layers times a gain; those at the ends are semi-orthogonal."""
    from festina.worlds.orthogonal import orthogonal_factor

    middle = normal.middle
    if normal.depth > 2:  # what is known needs no compiling
        known = isinstance(middle, np.ndarray)
        middle = np.stack([*map(orthogonal_factor, middle)]) if known else jax.vmap(orthogonal_factor)(middle)
    return Network(gain * orthogonal_factor(normal.first), gain * middle, gain * orthogonal_factor(normal.last))


def aligned(left: Any, right: Any, width: int, depth: int, gain: Any) -> Network:
    """Orthogonal layers times a gain that hand each mode of S to the next layer: the product is gain^D U Vᵀ."""
    inputs, outputs = len(right), len(left)
    middle = np.broadcast_to(np.eye(width), (depth - 2, width, width))
    return Network(gain * np.eye(width, inputs) @ right.T, gain * middle, gain * left @ np.eye(outputs, width))


def shortened(network: Network, depth: int) -> Network:
    """Without the last of the layers between: a network of a smaller depth, which begins and ends alike."""
    return network._replace(middle=network.middle[: depth - 2])


def silenced(weights: Any, like: Any) -> Any:
    """The same weights in a larger network, whose further units have none; gradient flow gives them none."""
    further = [(0, more - here) for more, here in zip(like.shape, weights.shape, strict=True)]
    return (np if isinstance(weights, np.ndarray) else jnp).pad(weights, further)


def product(network: Network) -> Any:
    """W_D ⋯ W_1."""
    return _from_above(network)[0] @ network.first


def determinant(matrix: Any) -> Any:
    """Of the square that a wide matrix begins with."""
    return jnp.linalg.det(matrix[:, : matrix.shape[0]])


def _from_above(network: Network) -> tuple[Any, Any]:
    """W_D ⋯ W_2, and W_D ⋯ W_{l+1} for each layer l between first and last; few rows, for there are few outputs."""
    return jax.lax.scan(lambda rows, weights: (rows @ weights, rows), network.last, network.middle, reverse=True)


def rate(network: Network, target: Any) -> Network:
    """(1/D) (W_D⋯W_{l+1})ᵀ (S − W_D⋯W_1) (W_{l−1}⋯W_1)ᵀ for every layer l."""
    rows, above = _from_above(network)
    error = target - rows @ network.first
    last, below = jax.lax.scan(
        lambda columns, weights: (weights @ columns, columns), network.first @ error.T, network.middle
    )
    # A sum over outputs of outer products: faster than many small matrix products.
    outer = [above[:, o, :, None] * below[:, None, :, o] for o in range(target.shape[0])]
    slopes = Network(rows.T @ error, sum(outer, start=jnp.zeros_like(network.middle)), last.T)
    return jax.tree.map(lambda slope: slope / network.depth, slopes)


def relative_loss(network: Network, target: Any) -> Any:
    """|S − W_D⋯W_1|²/|S|²."""
    return jnp.sum((product(network) - target) ** 2) / jnp.sum(target**2)


def reconstruction(encoder: Any, activity: Any) -> Any:
    """⟨|h − WᵀWh|²⟩/⟨|h|²⟩, where h is what ``activity`` makes of white inputs."""
    return jnp.sum((activity - encoder.T @ (encoder @ activity)) ** 2) / jnp.sum(activity**2)


def pretrain_layer(encoder: Any, activity: Any, level: Any) -> tuple[Any, Any]:
    """An encoder trained until its reconstruction error has fallen to ``level``, and how long that took.

    The autoencoder WᵀW has two layers, and so half the rate: with R = (1 − WᵀW)⟨hhᵀ⟩, τ dW/dt = ½ W (R + Rᵀ). A factor
    stops this flow, and its clock, as soon as the error is at the level; the integrator's control of errors finds
    that moment. The clock stands at `LONGEST` if it never comes.
    """
    import diffrax

    def slope(state: Any, stage: Any) -> Any:
        encoder, _ = state
        missing = (activity - encoder.T @ (encoder @ activity)) @ activity.T
        goes_on = jnp.where(reconstruction(encoder, activity) > level, 1.0, 0.0)
        return goes_on * 0.5 * encoder @ (missing + missing.T), goes_on

    start, times = (encoder, jnp.zeros(())), jnp.asarray([0.0, LONGEST])
    flow = fs.learning.flow_process(slope, start, times, lambda state: {}, solver=diffrax.Tsit5())
    return flow.advance(flow.initial, jnp.asarray(1)).parameters


def pretrain(network: Network, level: Any) -> tuple[Network, Any]:
    """A network whose layers but the last were pretrained one after the other, and how long each of them took.

    Each is the encoder of an autoencoder of what the layers before it, which are done, make of white inputs.
    """
    width, inputs = network.first.shape
    first = jnp.zeros((width, width)).at[:, :inputs].set(network.first)  # there is no other input, and never will be

    def stage(activity: Any, encoder: Any) -> Any:
        encoder, duration = pretrain_layer(encoder, activity, level)
        return encoder @ activity, (encoder, duration)

    encoders = jnp.concatenate([first[None], network.middle])
    _, (encoders, durations) = jax.lax.scan(stage, jnp.eye(width, inputs), encoders)
    return Network(encoders[0, :, :inputs], encoders[1:], network.last), durations


def strengths(config: Any) -> Any:
    """Singular values of the target, evenly spaced from s on."""
    return config.strength * (1.0 + (config.spread - 1.0) * np.linspace(0.0, 1.0, config.outputs))


def draw(config: Any, key: Any) -> tuple[dict[str, Any], dict[str, Network]]:
    """For every start the target, and a network of the largest depth; `pretrained` before its pretraining."""
    width, inputs, outputs, deepest = config.width, config.inputs, config.outputs, max(config.depths)
    for_target, for_weights = fs.draws.split(key, 2)
    pair = fs.draws.normal(for_target, (2, inputs, inputs))
    left, right, target = draw_target(pair[0, :outputs, :outputs], pair[1], strengths(config))
    # One draw for all compiles faster than one for each.
    drawn = fs.draws.normal(for_weights, (4, deepest, width, width))
    normal = [Network(some[0, :, :inputs], some[1:-1], some[-1, :outputs]) for some in drawn]
    square = orthogonal(Network(*(weights[..., :outputs, :outputs] for weights in normal[3])), config.large)
    starts = {
        "small": aligned(left, right, width, deepest, config.small),
        "gaussian": gaussian(normal[0], config.small),
        "aligned": aligned(left, right, width, deepest, config.large),
        "orthogonal": orthogonal(normal[1], config.large),
        "pretrained": gaussian(normal[2], config.small),
        "square": Network(*map(silenced, square, normal[3])),
    }
    targets = dict.fromkeys(STARTS, target) | {"square": silenced(config.strength * left, target)}
    return targets, starts
