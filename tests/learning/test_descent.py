"""Gradient descent: against a plain loop, against flow, and where it breaks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.learning import Diverged, descent_process, drive, scaled_by
from festina.learning.asked import OBSERVED, Sight
from festina.networks import DeepLinear, Rectified
from festina.worlds import Curriculum, Dataset, Moments, Population, Sampled, Teacher, Wishart
from festina.worlds.losses import SquaredError


@pytest.fixture
def network():
    return DeepLinear.init(jax.random.key(1), (4, 5, 3), 0.5)


@pytest.fixture
def teacher():
    return Teacher(np.random.default_rng(0).normal(size=(3, 4)))


def test_descent_is_the_plain_loop(network, teacher):
    run = fs.descent(network, teacher, until=1.0, step_size=0.01)
    plain = jax.tree.map(jnp.asarray, network)
    for _ in range(100):
        slope = jax.grad(teacher.moments.loss)(plain)
        plain = jax.tree.map(lambda w, g: w - 0.01 * g, plain, slope)
    np.testing.assert_allclose(run.final.map, plain.map, atol=1e-12)
    assert run.steps == 100


@pytest.mark.full
def test_stochastic_descent_is_the_plain_loop_on_the_same_batches(network, teacher):
    run = fs.descent(network, teacher, until=0.5, step_size=0.01, statistics=Sampled(8), seed=5)
    plain = jax.tree.map(jnp.asarray, network)
    for step in range(50):
        batch = teacher.draw(fs.draws.fold_in(jax.random.key(5), step), 8)
        slope = jax.grad(batch.loss)(plain)
        plain = jax.tree.map(lambda w, g: w - 0.01 * g, plain, slope)
    np.testing.assert_allclose(run.final.map, plain.map, atol=1e-12)


@pytest.mark.full
def test_descent_approaches_flow_to_first_order(network, teacher):
    exact = fs.flow(network, teacher, times=[0.0, 1.0]).final.map
    errors = [
        np.abs(fs.descent(network, teacher, until=1.0, step_size=dt).final.map - exact).max() for dt in (0.02, 0.01)
    ]
    assert 1.8 < errors[0] / errors[1] < 2.2


def final_losses(world, network, statistics, runs):
    """The loss after twenty steps, for many seeds in one batch."""

    def build(inputs):
        def rate(net, key, stage):
            return scaled_by(1.0, jax.grad(statistics(world, net, key).loss)(net))

        observe = lambda state: {"loss": world.moments.loss(state.parameters)}  # noqa: E731
        key = jax.random.key(inputs["seed"])
        return descent_process(rate, jax.tree.map(jnp.asarray, network), key, 0.1, 1, 20, observe)

    return drive(build, {"seed": jnp.arange(runs)}).observed["loss"][:, -1]


@pytest.mark.full
def test_sampled_and_wishart_end_with_the_same_statistics(teacher):
    """Final loss over 1000 seeds: means within four standard errors, spreads within 15 %."""
    network = DeepLinear.init(jax.random.key(1), (4, 3), 0.5)
    noisy = Teacher(teacher.map, 0.5)
    one, other = (final_losses(noisy, network, rule, 1000) for rule in (Sampled(6), Wishart(6)))
    assert abs(one.mean() - other.mean()) < 4 * np.sqrt((one.var() + other.var()) / 1000)
    assert 0.85 < one.std() / other.std() < 1.15


def test_blocks_switch_at_the_exact_step(network):
    """Ten steps in the first world, ten in the second, whatever the recordings."""
    worlds = (Teacher(np.eye(3, 4)), Teacher(-np.eye(3, 4)))
    run = fs.descent(network, Curriculum.of(worlds, [0.1]), until=0.2, step_size=0.01, records=2)
    plain = jax.tree.map(jnp.asarray, network)
    for step in range(20):
        slope = jax.grad(worlds[step // 10].moments.loss)(plain)
        plain = jax.tree.map(lambda w, g: w - 0.01 * g, plain, slope)
    np.testing.assert_allclose(run.final.map, plain.map, atol=1e-13)


def test_divergence_is_dated_to_the_step(teacher):
    network = DeepLinear.init(jax.random.key(1), (4, 5, 3), 1.0)
    with pytest.raises(Diverged, match=r"run 0 failed at step (\d+) .*non-finite value in `weights\[0\]`") as caught:
        fs.descent(network, teacher, until=400.0, step_size=2.0, records=10)
    plain = jax.tree.map(jnp.asarray, network)
    step = 0
    while all(bool(jnp.all(jnp.isfinite(weight))) for weight in plain.weights):
        plain = jax.tree.map(lambda w, g: w - 2.0 * g, plain, jax.grad(teacher.moments.loss)(plain))
        step += 1
    assert f"at step {step} " in str(caught.value)
    assert np.isfinite(caught.value.trajectory["loss"][0])


def test_a_network_that_is_not_linear_learns_too():
    """One linear layer that hides its map learns from samples exactly what it would learn from moments."""
    rng = np.random.default_rng(0)
    world = Dataset(rng.normal(size=(20, 4)), rng.normal(size=(20, 3)))
    import equinox as eqx

    class Opaque(eqx.Module):
        weight: jax.Array

        def __call__(self, x):
            return self.weight @ x

    start = rng.normal(size=(3, 4))
    opaque = fs.descent(Opaque(jnp.asarray(start)), world, until=1.0, step_size=0.05)
    linear = fs.descent(DeepLinear((start,)), world, until=1.0, step_size=0.05)
    np.testing.assert_allclose(opaque["loss"], linear["loss"], atol=1e-12)


def test_of_a_world_without_end_linear_networks_see_exact_moments_and_others_the_same_examples():
    world, key, see = Teacher(np.eye(3)), jax.random.key(0), Sight(SquaredError(), Population())
    assert isinstance(see.whole(world, DeepLinear((np.zeros((3, 3)),)), key), Moments)
    rectified = Rectified((np.ones((4, 3)), np.ones((3, 4))))
    one, other = (see.whole(world, rectified, key) for _ in range(2))
    assert one.inputs.shape == (OBSERVED, 3)
    np.testing.assert_array_equal(one.inputs, other.inputs)


def test_bad_arguments_are_refused(network, teacher):
    with pytest.raises(ArgumentError, match="`step_size` must be positive, but is 0"):
        fs.descent(network, teacher, until=1.0, step_size=0)
    with pytest.raises(ArgumentError, match="`until` must hold at least one step"):
        fs.descent(network, teacher, until=0.001, step_size=0.01)
    with pytest.raises(ArgumentError, match="`records` must be at least 1"):
        fs.descent(network, teacher, until=1.0, records=0)


@pytest.mark.parametrize(("until", "records"), [(1.0, 7), (3.99, 150), (0.997, 200)])
def test_no_step_is_lost_to_the_recordings(network, teacher, until, records):
    run = fs.descent(network, teacher, until=until, step_size=0.001 if until < 2 else 0.01, records=records)
    assert until - 1e-9 <= run.time[-1] < until * 1.01
    assert records / 2 < len(run.time) - 1 <= records


def test_a_switch_is_recorded_in_the_new_world(network):
    worlds = (Teacher(np.eye(3, 4)), Teacher(-9.0 * np.eye(3, 4)))
    curriculum = Curriculum.of(worlds, [0.33])
    losses = [
        fs.descent(network, curriculum, until=0.66, step_size=0.03, records=22)["loss"].values[11],
        fs.flow(network, curriculum, times=[0.0, 0.33, 0.66])["loss"].values[1],
    ]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)
