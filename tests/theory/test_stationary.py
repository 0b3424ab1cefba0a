"""Stationary points: against autodiff, a search, and the flow of animals with choices of their own."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import root

from festina.errors import ArgumentError
from festina.theory.saddles import directions_out, growth, mean_field, saddle
from festina.theory.stationary import Task, directions_down, found_from, gradient, hessian, loss, points, weights
from festina.worlds.gratings import PATHWAYS, inputs, rewards, shares

GRADED = inputs((0.25, 0.5), 1.0)


def by_chance(blank=0.1, seen=None):
    seen = inputs() if seen is None else seen
    return Task(seen, rewards(len(seen)), shares(len(seen), blank)[:, None] * np.array([0.4, 0.6]))


def literal_loss(both, seen, reward, chances):
    """L of all nine weights, tutor before executor."""
    tutor, executor = both[:3], both[3:].reshape(2, 3)
    values = jnp.einsum("ak,k,sk->sa", executor, tutor, seen)
    return 0.5 * jnp.sum(chances * (reward - values) ** 2)


@jax.jit
def autodiff(both, *task):
    return tuple(of(literal_loss)(both, *task) for of in (lambda loss: loss, jax.grad, jax.hessian))


def derivatives(task, tutor, executor):
    """L, its gradient and its Hessian."""
    return [np.asarray(it) for it in autodiff(np.concatenate([tutor, executor.ravel()]), *task)]


def test_derivatives_are_those_of_autodiff():
    task, random = by_chance(0.3, GRADED), np.random.default_rng(0)
    tutor, executor = random.normal(size=3), random.normal(size=(2, 3))
    _, slope, bend = derivatives(task, tutor, executor)
    np.testing.assert_allclose(gradient(task, tutor, executor), slope, atol=1e-14)
    np.testing.assert_allclose(hessian(task, tutor, executor), bend, atol=1e-14)


def test_where_nothing_is_rewarded_no_pathway_helps():
    task = Task(inputs(), np.zeros((3, 2)), np.full((3, 2), 1 / 6))
    assert [point.index for point in points(task)] == [0] * 8


@pytest.mark.parametrize("blank", [0.001, 0.1, 0.99])
def test_points_are_at_rest_and_their_index_is_that_of_autodiff(blank):
    """Balanced or not, and with an executor that a closed tutor hides."""
    task = by_chance(blank)
    found = points(task)
    assert [point.index for point in found] == [3, 2, 2, 2, 1, 1, 1, 0]
    for point in found:
        tutor, executor = weights(point.products)
        assert directions_down(task, point.products) == point.index
        slopes = -((task.chances * (task.reward - task.seen @ point.products.T)).T @ task.seen)
        hidden = np.stack([slopes[1], -slopes[0]]) * (tutor == 0)  # orthogonal to the slope
        for both in ((tutor, executor), (3 * tutor, executor / 3), (tutor, executor + hidden)):
            height, slope, bend = derivatives(task, *both)
            assert np.max(np.abs(slope)) < 1e-14 and point.loss == pytest.approx(float(height), abs=1e-15)
            assert np.sum(np.linalg.eigvalsh(bend) < -1e-9) == point.index


def test_a_shallow_network_has_one_point_where_it_knows_everything():
    task = by_chance()
    (only,) = points(task, layers=1)
    np.testing.assert_allclose(task.seen @ only.products.T, task.reward, atol=1e-14)
    assert only.index == directions_down(task, only.products, layers=1) == 0 and abs(only.loss) < 1e-28


@pytest.mark.parametrize("seen", [inputs(), GRADED], ids=["full", "graded"])
def test_a_search_finds_all_points_and_no_other(seen):
    task = by_chance(0.2, seen)
    for layers, count in ((1, 1), (2, 8)):
        found = found_from(task, np.random.default_rng(3), starts=120, layers=layers)
        known = np.stack([point.products for point in points(task, layers=layers)])
        assert len(found) == len(known) == count
        apart = np.linalg.norm(found[:, None] - known[None], axis=(-2, -1))
        assert apart.min(axis=0).max() < 1e-7 and apart.min(axis=1).max() < 1e-7


@pytest.mark.parametrize("beta", [0.5, 9.0])
def test_with_choices_of_its_own_a_network_rests_at_the_same_points_with_the_same_index(beta):
    """There the flow is linearised as that of the loss in which the choices of the point are frozen."""
    field = mean_field(crosstalk=1.0, inverse_temperature=beta)

    def flow(both):
        on_tutor, on_executor = field(both[:3], both[3:].reshape(2, 3))
        return jnp.concatenate([on_tutor, on_executor.ravel()])

    motion = jax.jit(lambda both: (flow(both), jax.jacfwd(flow)(both)))
    for point in points(by_chance()):
        tutor, executor = weights(point.products)
        drift, jacobian = motion(jnp.concatenate([tutor, executor.ravel()]))
        right = np.asarray(field.choices(point.products))
        frozen = Task(inputs(), rewards(3), shares(3, 0.1)[:, None] * right)
        assert np.max(np.abs(drift)) < 1e-15
        np.testing.assert_allclose(jacobian, -hessian(frozen, tutor, executor), atol=1e-14)
        assert np.sum(np.linalg.eigvals(np.asarray(jacobian)).real > 1e-9) == point.index


def drift(products, beta, blank, seen):
    """E[δ 1{a} x_k] of an animal with choices of its own, in NumPy."""
    values = seen @ products.T
    right = 1 / (1 + np.exp(-beta * (values[:, 1] - values[:, 0])))
    chances = shares(len(seen), blank)[:, None] * np.stack([1 - right, right], axis=1)
    return (chances * (rewards(len(seen)) - values)).T @ seen


def bounded_points(beta, blank, seen, random):
    """Rest points of weights that cannot be negative: all sets of positive weights, each from several starts."""
    found = []
    for pattern in product((False, True), repeat=6):
        active = np.array(pattern).reshape(2, 3)

        def residual(unknown, active=active):
            products = np.zeros((2, 3))
            products[active] = unknown
            return drift(products, beta, blank, seen)[active]

        for _ in range(8 if active.any() else 1):
            products = np.zeros((2, 3))
            if active.any():
                end = root(residual, random.uniform(0, 1, active.sum()), tol=1e-13, options={"maxfev": 60}).x
                products[active] = end
                if np.max(np.abs(residual(end))) > 1e-11 or np.min(end) < 1e-9:
                    continue
            pulled = drift(products, beta, blank, seen)[:, active.any(axis=0)]  # a closed tutor hides any pull
            if np.all(pulled < 1e-9) and all(np.max(np.abs(products - other)) > 1e-6 for other in found):
                found.append(products)
    return found


@pytest.mark.full
@pytest.mark.parametrize(
    ("beta", "blank", "seen"), [(9.0, 0.1, inputs()), (2.0, 0.6, GRADED)], ids=["published", "graded"]
)
@pytest.mark.filterwarnings("ignore")
def test_weights_that_cannot_be_negative_have_as_many_rest_points_with_the_same_index(beta, blank, seen):
    task = {"blank": blank, "inverse_temperature": beta, "seen": seen}
    field, found = mean_field(crosstalk=1.0, **task), bounded_points(beta, blank, seen, np.random.default_rng(0))
    assert len(found) == 8
    for point in points(by_chance(blank, seen)):
        opened = [PATHWAYS[k] for k in point.opened]
        ours = saddle(opened, **task)
        assert min(np.max(np.abs(ours - other)) for other in found) < 1e-8
        closed = [k for k in range(3) if k not in point.opened]
        assert directions_out(field, ours) == np.count_nonzero(growth(field, ours)[0][closed]) == point.index
    shallow = [it for it in found if np.all(drift(it, beta, blank, seen) < 1e-9)]
    assert len(shallow) == 1
    assert directions_out(mean_field(crosstalk=1.0, tutor_speed=0.0, **task), shallow[0]) == 0


def test_what_has_no_isolated_points_is_refused():
    task = by_chance()
    with pytest.raises(ArgumentError, match="`layers` must be 1 or 2"):
        points(task, layers=3)
    with pytest.raises(ArgumentError, match="`chances` must all be positive"):
        points(by_chance(0.0))
    with pytest.raises(ArgumentError, match="`seen` must have 3 independent columns"):
        points(task._replace(seen=np.ones((3, 3))))
    assert loss(task, np.zeros((4, 2, 3))).shape == (4,)
