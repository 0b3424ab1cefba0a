"""The networks of `linear/regimes`, what is measured of them, and what theory says of them."""

from typing import Any

import festina as fs
from festina._lazy import jax, jnp, np

ARCHITECTURES = ("funnel", "square", "anti-funnel")


def sizes(config: Any) -> dict[str, tuple[int, int]]:
    """Inputs and outputs of each architecture."""
    ends = (config.wide, config.narrow), (config.square, config.square), (config.narrow, config.wide)
    return dict(zip(ARCHITECTURES, ends, strict=True))


def draw_arms(config: Any, key: Any) -> dict[str, tuple[Any, Any]]:
    """For each architecture a task, and one network for every imbalance; they differ in nothing else.

    All are cut from one draw, which compiles faster than many.
    """
    most, arms = 2 * max(config.wide * config.narrow, config.square**2), {}
    drawn = jax.random.normal(key, (len(ARCHITECTURES), most))
    for numbers, (name, (inputs, outputs)) in zip(drawn, sizes(config).items(), strict=True):
        pair = numbers[: 2 * inputs * outputs].reshape(2, outputs, inputs)
        target = jnp.linspace(config.strongest, config.weakest, min(inputs, outputs))
        arms[name] = draw_arm(pair, target, config.scale, jnp.asarray(config.imbalance))
    return arms


def draw_arm(drawn: Any, target: Any, scale: Any, imbalance: Any) -> tuple[Any, Any]:
    """From two normal matrices a task with singular values ``target``, and λ-balanced networks stacked over λ.

    The hidden layer's own rotation changes nothing that is measured here, and is left out.
    """
    left, size, right = jnp.linalg.svd(drawn, full_matrices=False)
    if left.shape[-2] == right.shape[-1]:  # the sign of the determinant of the initial map
        target = target.at[-1].multiply(jnp.prod(jnp.sign(jnp.linalg.det(drawn))))
    task = (left[0] * target[None, :]) @ right[0]
    start = scale * size[1]

    def network(imbalance: Any) -> Any:
        first, second = split(start, imbalance)
        return fs.networks.DeepLinear((first[:, None] * right[1], left[1] * second[None, :]))

    return task, jax.vmap(network)(imbalance)


def split(product: Any, imbalance: Any) -> tuple[Any, Any]:
    """d₁ and d₂ with d₁d₂ = product > 0 and d₂² − d₁² = λ, without a difference of near numbers."""
    larger = jnp.sqrt((jnp.hypot(imbalance, 2.0 * product) + jnp.abs(imbalance)) / 2.0)
    smaller = product / larger
    return jnp.where(imbalance > 0, smaller, larger), jnp.where(imbalance > 0, larger, smaller)


def maps_of(networks: Any) -> Any:
    """W₂W₁ of stacked networks."""
    return jax.vmap(lambda network: network.map)(networks)


def loss_of(task: Any, mapping: Any) -> Any:
    return 0.5 * jnp.sum((jnp.broadcast_to(task, mapping.shape) - mapping) ** 2, axis=(-2, -1))


def grams_of(network: Any) -> tuple[Any, Any]:
    """W₁ᵀW₁ and W₂W₂ᵀ of stacked networks."""
    first, second = network.weights
    return first.mT @ first, second @ second.mT


def compare_grams(task: Any, start: tuple[Any, Any], grams: tuple[Any, Any]) -> dict[str, Any]:
    """What is measured of W₁ᵀW₁ and W₂W₂ᵀ."""
    from festina.measures.kernels import kernel_distance, kernel_movement, representational_similarity

    return {
        "distance": kernel_distance(*grams, *start),
        "movement": kernel_movement(*grams, *start),
        "first_similarity": representational_similarity(grams[0], task.T @ task),
        "second_similarity": representational_similarity(grams[1], task @ task.T),
    }


def exact(task: Any, network: Any, time: Any) -> tuple[Any, tuple[Any, Any]]:
    """Loss and grams of stacked networks, times first.

    An anti-funnel is solved as the funnel it is when seen from its outputs: the flow does not change if W₁ and W₂ᵀ are
    exchanged, S is transposed and λ changes its sign. That compiles one solution less.
    """
    from festina.theory.balanced import balanced

    first, second = network.weights
    mirrored = task.shape[0] > task.shape[1]
    weights, task = ((second.mT, first.mT), task.T) if mirrored else ((first, second), task)
    solved = [balanced(one, two, task)(time) for one, two in zip(*weights, strict=True)]
    loss, *grams = (np.stack([arm[name] for arm in solved], axis=1) for name in ("loss", "input_gram", "output_gram"))
    return loss, (grams[1], grams[0]) if mirrored else (grams[0], grams[1])


def rotation(config: Any, task: Any, network: Any, time: Any) -> Any:
    """The loss while the visible part turns, for every λ; NaN unless (No − Ni)·λ > 0.

    With Q₀ = VA + V⊥B an orthonormal basis of the visible part and r the rates, span e^(Rt)Q₀ leaves the loss
    ½ tr s²(I + C)⁻¹C, where C = e^(−rt) ((AAᵀ)⁻¹ − I) e^(−rt). At t = 0 it is the plateau.
    """
    task, (first, second) = np.asarray(task), (np.asarray(weight) for weight in network.weights)
    outputs, inputs = task.shape
    curves = np.full((len(time), len(config.imbalance)), np.nan)
    for arm, imbalance in enumerate(config.imbalance):
        if (outputs - inputs) * imbalance > 0:
            visible, wide_task = (second[arm], task) if outputs > inputs else (first[arm].T, task.T)
            basis, strength, _ = np.linalg.svd(wide_task, full_matrices=False)
            overlap = basis.T @ np.linalg.qr(visible)[0]
            unseen = np.linalg.inv(overlap @ overlap.T) - np.eye(len(strength))
            faded = np.exp(-np.outer(time, np.hypot(strength, imbalance / 2) - abs(imbalance) / 2))
            remains = faded[:, :, None] * unseen * faded[:, None, :]
            remains = np.linalg.solve(np.eye(len(strength)) + remains, remains)
            curves[:, arm] = np.einsum("k,tkk->t", strength**2, remains) / 2
    return curves
