"""Joint descent of students and gates on the features of a convolutional network, under cross-entropy."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from festina.experiments.abstraction._stacked import Arm, side_by_side
from festina.learning import JointDescent, Process, State, descent_process
from festina.learning.joint import as_type
from festina.networks import Convolutional, PathGated
from festina.networks.convolutional import accuracy, cross_entropy, trained
from festina.worlds import ImageSet


class Lessons(eqx.Module):
    """What is learned in all tasks together: the features of the images, and their labels in each task."""

    features: Float[Any, "n i"]
    labels: Int[Any, "m n"]
    test_features: Float[Any, "k i"]
    test_labels: Int[Any, "m k"]
    pretrained: Float[Any, ""]  # accuracy, on the test images, of the network that gives the features

    @classmethod
    def of(cls, images: ImageSet, codes: Int[Any, "m classes"], key: Array, steps: int) -> "Lessons":
        """Train a convolutional network on the images, and keep what its last hidden layer says of them.

        Args:
            images: for learning and for testing.
            codes: the label of each class in each task.
            key: of the network's weights and batches.
            steps: of its training.
        """
        for_weights, for_batches = jax.random.split(key)
        seen, unseen, codes = jnp.asarray(images.images), jnp.asarray(images.test_images), jnp.asarray(codes, jnp.int32)
        labels, test_labels = jnp.asarray(images.labels), jnp.asarray(images.test_labels)
        network = Convolutional.init(for_weights, *seen.shape[1:], classes=codes.shape[1])
        network = trained(network, for_batches, seen, labels, steps=steps)
        test_features = network.features_of_many(unseen)
        right = accuracy(network.scores(test_features), test_labels)
        return cls(network.features_of_many(seen), codes[:, labels], test_features, codes[:, test_labels], right)


def entropy_rate(
    rule: JointDescent, network: PathGated, features: Float[Any, "b i"], labels: Int[Any, " b"]
) -> PathGated:
    """dθ/dt of students and gates: −∂/∂θ [cross-entropy of softmax(y) + bounds on the gates], each over its τ."""
    uphill = jax.grad(lambda network: -cross_entropy(network(features), labels))(network)
    return rule.followed(network, uphill)


def seen_of(network: PathGated, lessons: Lessons, task: Int[Array, ""]) -> dict[str, Array]:
    """Accuracy on the test images of the task shown, gates, and accuracy of each student alone in each task."""
    single = lessons.test_features.dtype
    by_path = [lessons.test_features @ student.T.astype(single) for student in network.students]
    together = sum(
        (gate.astype(single) * scores for gate, scores in zip(network.gates, by_path, strict=True)),
        jnp.zeros_like(by_path[0]),
    )
    alone = [[accuracy(scores, labels) for scores in by_path] for labels in lessons.test_labels]
    return {
        "accuracy": accuracy(together, lessons.test_labels[task]),
        "gates": network.gate_vector,
        "alone": jnp.stack([jnp.stack(row) for row in alone]),
    }


def entropy_process(
    network: PathGated, arms: Arm, lessons: Lessons, key: Array, batch: int, step_size: Any, **clock: int
) -> Process:
    """Every arm from the same network, through the same batches of ``batch`` images, drawn with replacement."""
    network, arms = as_type(jnp.float64, (network, arms))
    count = lessons.features.shape[0]

    def now(step: Int[Array, ""], lessons: Lessons) -> tuple[Int[Array, " arms"], Lessons]:
        return jax.vmap(lambda blocks: blocks.task_at(step))(arms.blocks), lessons

    def rate(networks: Any, chosen: Int[Array, " batch"], now: tuple[Int[Array, " arms"], Lessons]) -> Any:
        tasks, lessons = now
        features = lessons.features[chosen].astype(jnp.float64)
        labels = lessons.labels[:, chosen]
        return jax.vmap(lambda network, rule, task: entropy_rate(rule, network, features, labels[task]))(
            networks, arms.rule, tasks
        )

    def watch(state: State) -> dict[str, Any]:
        tasks, lessons = now(state.step, state.memory)
        seen = jax.vmap(lambda network, task: seen_of(network, lessons, task))(state.parameters, tasks)
        return seen | {"pretrained": lessons.pretrained}

    return descent_process(
        rate,
        side_by_side(network, arms),
        key,
        step_size,
        observe=watch,
        stage_at=now,
        draw=lambda key: jax.random.randint(key, (batch,), 0, count, jnp.int32),
        memory=lessons,
        **clock,
    )
