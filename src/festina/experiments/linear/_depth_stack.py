"""The networks of `linear/depth`: all depths and all starts as one stack of matrices, each network on its own clock."""

from typing import Any

from festina._lazy import jax, jnp, np

STARTS = ("small", "random", "aligned", "orthogonal", "pretrained")
SMALL, RANDOM, ALIGNED, ORTHOGONAL, PRETRAINED = range(len(STARTS))
EXACT = [SMALL, ALIGNED, ORTHOGONAL]  # starts with a theory of the whole course of learning
TRAINED = 0.01  # of the loss at zero weights: a network below it is trained
PATIENCE, PATIENCE_AT_TWO = 150.0, 30.0  # how long random starts are watched, in units of τ/s
STAGE_END = 0.99  # WᵀW at which the pretraining of a layer ends


def progress(config: Any) -> Any:
    """Recordings: one at the end of every stage of pretraining, then evenly spaced in the logarithm of time."""
    return np.concatenate([np.linspace(0, 1, max(config.depths)), 1 + np.geomspace(1e-3, 1, config.records)])


def _matmul(left: Any, right: Any) -> Any:
    """Matrix products of many networks at once, their axes last: faster than small products one by one."""
    return jnp.sum(left[:, :, None] * right[None], axis=1)


def _transposed(matrix: Any) -> Any:
    return jnp.swapaxes(matrix, 0, 1)


def _identity(width: int, axes: int) -> Any:
    return jnp.eye(width).reshape(width, width, *(1,) * axes)


def places(config: Any) -> tuple[Any, Any]:
    """Layer and depth of each matrix in the stack of all networks' layers, which holds them one after the other."""
    numbers = np.concatenate([np.arange(depth) for depth in config.depths])
    return numbers, np.repeat(np.arange(len(config.depths)), config.depths)


def networks(config: Any, stack: Any) -> list[Any]:
    """The layers of each depth, of shape (layer, start, N, N)."""
    return [np.moveaxis(stack[places(config)[1] == k], -1, 1) for k in range(len(config.depths))]


def unfolded(config: Any, stack: Any) -> Any:
    """From (matrix, N, N, start) to (layer, N, N, start, depth); layers a network does not have are the identity."""
    place = np.full((max(config.depths), len(config.depths)), len(stack))
    place[places(config)] = np.arange(len(stack))
    identity = jnp.broadcast_to(_identity(config.width, 1), stack.shape[1:])
    return jnp.moveaxis(jnp.concatenate([stack, identity[None]])[place], 1, -1)


def folded(config: Any, layers: Any) -> Any:
    return jnp.moveaxis(layers, -1, 1)[places(config)]


def starts(config: Any, key: Any) -> tuple[Any, Any]:
    """The target S, and the stack of all initial weights; a network of depth D uses the first D matrices drawn."""
    width, deepest = config.width, max(config.depths)
    # One draw for all compiles faster than one for each network.
    normal = jax.random.normal(key, (3 * deepest + 1, width, width))
    factor, triangle = jnp.linalg.qr(normal)
    rotations = factor * jnp.sign(jnp.diagonal(triangle, axis1=1, axis2=2))[:, None]
    rotation, first, second = rotations[0], rotations[1 : deepest + 1], rotations[deepest + 1 : 2 * deepest + 1]
    aligned = jnp.broadcast_to(jnp.eye(width), first.shape).at[0].set(rotation)
    random = normal[2 * deepest + 1 :] / width**0.5
    numbers, networks = places(config)
    drawn = jnp.stack([aligned, random, aligned, first, second], axis=-1)[numbers]
    small, large, readout = (jnp.asarray(gain) for gain in (config.small, config.large, config.readout))
    gains = jnp.broadcast_to(jnp.stack([small, small, large, large, small]), (len(numbers), len(STARTS)))
    last = numbers == np.asarray(config.depths)[networks] - 1
    gains = gains.at[:, PRETRAINED].set(jnp.where(last, readout, small))
    return config.strength * rotation[..., None, None], drawn * gains[:, None, None]


def forward(layers: Any) -> tuple[Any, Any]:
    """The product W_D⋯W_1, and for each layer the product of those before it."""
    start = jnp.broadcast_to(_identity(layers.shape[1], layers.ndim - 3), layers.shape[1:])
    return jax.lax.scan(lambda product, layer: (_matmul(layer, product), product), start, layers)


def downhill(config: Any, layers: Any, target: Any) -> tuple[Any, Any]:
    """(1/D) (W_D⋯W_{l+1})ᵀ (S − W_D⋯W_1) (W_{l−1}⋯W_1)ᵀ for every layer, and the products of the layers before."""
    product, befores = forward(layers)

    def back(error: Any, at: Any) -> tuple[Any, Any]:
        layer, before = at
        return _matmul(_transposed(layer), error), _matmul(error, _transposed(before))

    _, slopes = jax.lax.scan(back, target - product, (layers, befores), reverse=True)
    depths = np.asarray(config.depths)
    share = jnp.asarray((np.arange(len(layers))[:, None] < depths) / depths)  # none for layers a network does not have
    return slopes * share[:, None, None, None], befores


def encoder_slopes(config: Any, layers: Any, befores: Any, stage: Any) -> Any:
    """½ W (1 − WᵀW) ⟨hhᵀ⟩ of the layer whose stage it is; h is what the layers before make of white inputs."""

    def slope(layer: Any, before: Any) -> Any:
        missing = _identity(config.width, 1) - _matmul(_transposed(layer), layer)
        return 0.5 * _matmul(_matmul(layer, missing), _matmul(before, _transposed(before)))

    numbers = np.arange(max(config.depths))[:, None]
    encodes = jnp.asarray(numbers < np.asarray(config.depths) - 1)
    now = (jnp.asarray(numbers, stage.dtype) == stage) & encodes
    return jnp.where(now[:, None, None], jax.vmap(slope)(layers, befores), 0.0)


def reconstruction(layer: Any) -> Any:
    """|1 − WᵀW|²/N, the loss of an autoencoder with white inputs."""
    return jnp.mean(jnp.sum((jnp.eye(len(layer)) - layer.T @ layer) ** 2, axis=1))


def determinant(matrices: Any) -> Any:
    return jnp.linalg.det(jnp.moveaxis(matrices, (0, 1), (-2, -1)))


def stage_time(gain: Any) -> Any:
    """How long a layer is pretrained: the time of the sigmoid from b² to 0.99."""
    return jnp.log(STAGE_END / (1 - STAGE_END)) - jnp.log(gain**2 / (1 - gain**2))


def _law(config: Any, depth: int, gain: Any) -> Any:
    """The time ∫ da a^(2/D−2)/s from b^D to s: for small b and D > 2, b^(2−D)/(s(1−2/D))."""
    s = config.strength
    if depth == 2:
        return jnp.log(s / gain**2) / s
    power = 2 / depth - 1
    return (gain ** (depth * power) - s**power) / (-power * s)


def horizons(config: Any) -> Any:
    """How long each network is watched while it learns S, in τ, of shape (start, depth)."""
    columns = []
    for depth in config.depths:
        small, large = (
            5 * config.strength ** (2 / depth - 2) + 1.5 * jnp.maximum(_law(config, depth, gain), 0.0)
            for gain in (config.small, config.large)
        )
        patience = (PATIENCE if depth > 2 else PATIENCE_AT_TWO) / config.strength
        columns.append(jnp.stack([jnp.asarray(t) for t in (small, patience, large, patience, 10.0 + 2.0 * depth)]))
    return jnp.stack(columns, axis=1)


def elapsed(config: Any, progress: Any) -> Any:
    """Time on each network's own clock; a network of depth D is pretrained for D − 1 stages."""
    stages = max(config.depths) - 1
    pretraining = jnp.minimum(progress * stages, jnp.asarray(config.depths, float) - 1) * stage_time(config.small)
    return (horizons(config) * jnp.maximum(progress - 1, 0.0)).at[PRETRAINED].add(pretraining)


def straight_lines(config: Any, starts: Any, clocks: Any, times: Any) -> Any:
    """Eigenvalues z = s + (z0 − s) e^(−σ) with dσ/dt = |z|^(2−2/D), of shape (time, start, depth, eigenvalue)."""
    from scipy.integrate import solve_ivp

    powers = 2 - 2 / np.asarray(config.depths, float)[:, None]

    def place(way: Any) -> Any:
        return config.strength + (starts - config.strength) * np.exp(-way.reshape(-1, *starts.shape))

    def speed(_: Any, way: Any) -> Any:
        return (clocks[..., None] * np.abs(place(way)[0]) ** powers).ravel()

    run = solve_ivp(speed, (0, 1), np.zeros(starts.size), "DOP853", dense_output=True, rtol=1e-10, atol=1e-12)
    return place(run.sol(times).T)
