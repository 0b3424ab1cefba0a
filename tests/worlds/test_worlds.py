"""Moments, batches and curricula."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.networks import DeepLinear
from festina.worlds import Curriculum, Dataset, Population, Sampled, Samples, Teacher, Wishart


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return Dataset(rng.normal(size=(7, 4)), rng.normal(size=(7, 3)))


def test_loss_from_moments_is_loss_from_samples(data):
    network = DeepLinear.init(jax.random.key(0), (4, 5, 3), 1.0)
    assert np.isclose(data.moments.loss(network), data.samples.loss(network), rtol=1e-12)


def test_gradient_from_moments_is_gradient_from_samples(data):
    network = jax.tree.map(jnp.asarray, DeepLinear.init(jax.random.key(0), (4, 5, 3), 1.0))
    for one, other in zip(
        jax.tree.leaves(jax.grad(data.moments.loss)(network)),
        jax.tree.leaves(jax.grad(data.samples.loss)(network)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-13)


@pytest.mark.full
@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_wishart_has_the_law_of_sampled_batches(noise):
    """Means and variances of every entry of Σxx and Σyx agree within five standard errors."""
    teacher = Teacher(np.random.default_rng(1).normal(size=(2, 3)), noise)
    network = DeepLinear.init(jax.random.key(0), (3, 2), 1.0)
    keys = jax.random.split(jax.random.key(2), 4000)
    draws = [
        jax.jit(jax.vmap(lambda key, rule=rule: rule(teacher, network, key)))(keys) for rule in (Sampled(9), Wishart(9))
    ]
    for name in ("inputs", "cross"):
        sampled, direct = (np.asarray(getattr(draw, name)) for draw in draws)
        error = np.sqrt((sampled.var(0) + direct.var(0)) / len(keys))
        assert np.all(np.abs(sampled.mean(0) - direct.mean(0)) < 5 * error)
        np.testing.assert_allclose(sampled.var(0), direct.var(0), rtol=0.18)


@pytest.mark.full
def test_sampled_moments_converge_to_the_population():
    teacher = Teacher(np.random.default_rng(1).normal(size=(2, 3)), 0.3)
    drawn = teacher.draw(jax.random.key(0), 400_000).moments
    for name in ("inputs", "cross", "outputs"):
        np.testing.assert_allclose(getattr(drawn, name), getattr(teacher.moments, name), atol=0.02)


def test_wishart_needs_a_teacher_and_a_batch_as_large_as_the_inputs(data):
    network = DeepLinear.init(jax.random.key(0), (4, 3), 1.0)
    with pytest.raises(ArgumentError, match="Wishart"):
        Wishart(10)(data, network, jax.random.key(0))
    with pytest.raises(ArgumentError, match=r"`batch` must be at least the 4 inputs .*but is 3"):
        Wishart(3)(Teacher(np.ones((3, 4))), network, jax.random.key(0))
    with pytest.raises(ArgumentError, match=r"`batch` must be at least 1, but is 0"):
        Sampled(0)


def test_a_network_that_is_not_linear_sees_samples(data):
    seen = Population()(data, lambda x: x, jax.random.key(0))
    assert isinstance(seen, Samples)
    with pytest.raises(ArgumentError, match="finite data set"):
        Population()(Teacher(np.ones((3, 4))), lambda x: x, jax.random.key(0))


def test_curriculum_switches_belong_to_the_new_world():
    worlds = tuple(Teacher(np.full((1, 2), float(k))) for k in range(3))
    curriculum = Curriculum.of(worlds, [1.0, 2.5])
    stages = [int(curriculum.stage_at(jnp.asarray(t))) for t in (0.0, 0.99, 1.0, 2.49, 2.5, 9.0)]
    assert stages == [0, 0, 1, 1, 2, 2]
    assert float(curriculum.at(jnp.asarray(2)).map[0, 0]) == 2.0


def test_blocked_curriculum_goes_round():
    worlds = tuple(Teacher(np.full((1, 2), float(k))) for k in range(2))
    curriculum = Curriculum.blocked(worlds, 0.5, 5)
    np.testing.assert_allclose(curriculum.switches, [0.5, 1.0, 1.5, 2.0])
    assert [float(x) for x in curriculum.stages.map[:, 0, 0]] == [0, 1, 0, 1, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dataset(np.array([[1.0, np.nan]]), np.ones((1, 1))), r"`inputs` must be finite .*first at \(0, 1\)"),
        (lambda: Dataset(np.ones((2, 1)), np.ones((3, 1))), "`targets` must have one row for each of the 2 inputs"),
        (lambda: Teacher(np.ones((1, 1)), -1.0), "`noise` must be zero or positive, but is -1.0"),
        (lambda: Curriculum.of((Teacher(np.ones((1, 1))),), [1.0]), "`switches` must have 0 entries"),
        (lambda: Curriculum.of((Teacher(np.ones((1, 1))),) * 2, [-1.0]), "`switches` must be positive and rise"),
        (
            lambda: Curriculum.of((Teacher(np.ones((1, 1))), Teacher(np.ones((1, 2)))), [1.0]),
            "`worlds` must all be of one kind and shape",
        ),
    ],
)
def test_bad_worlds_are_refused_in_one_sentence(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_lists_and_integers_are_data_too():
    assert Dataset([[1, 2], [3, 4]], [[1], [0]]).moments.cross.shape == (1, 2)
    assert Teacher([[1, 2]]).moments.cross.dtype == np.float64
    with pytest.raises(ArgumentError, match="`inputs` must have one example a row"):
        Dataset(np.zeros((0, 2)), np.zeros((0, 1)))
