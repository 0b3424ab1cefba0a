"""Students and gates on features of images as a model: literal gradients, accuracies, sorting, published settings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy.special import softmax

import festina as fs
from festina import models
from festina.models.image_abstraction import Begin, Lessons, entropy_rate, seen_of
from festina.testing import check_model

STUDENTS, GATES = 10.0, 0.005  # timescales


def lessons(count, inputs=4):
    random = np.random.default_rng(1)
    codes = np.array([[0, 1, 2], [1, 2, 0]])
    features = jnp.asarray(random.normal(size=(count, inputs)), jnp.float32)
    labels = jnp.asarray(codes[:, random.integers(0, 3, count)], jnp.int32)
    return Lessons(features, labels, features, labels, jnp.asarray(1.0, jnp.float32))


def literal_step(students, gates, x, labels, rates, nonnegativity, normalization):
    """One step of descent on cross-entropy and bounds (L1), with the gradients of the textbook."""
    error = np.eye(3)[labels] - softmax(x @ np.einsum("p,poi->io", gates, students), axis=1)
    along = np.einsum("bo,bi->oi", error, x) / len(x)
    slope = nonnegativity * (gates < 0) - normalization * 2 * (np.abs(gates).sum() - 1) * np.sign(gates)
    on_gates = np.einsum("poi,oi->p", students, along) + slope
    return students + rates[0] * gates[:, None, None] * along, gates + rates[1] * on_gates


@pytest.fixture
def network():
    return fs.networks.PathGated.init(jax.random.key(0), 2, 3, 4, scale=1.0)


BRIEF = {"until": 0.01, "records": 2, "block_length": 0.005, "pretraining": 1, "scale": 0.1}


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    check_model(models.ImageAbstraction, differentiate=False, **BRIEF)


@pytest.mark.full
def test_derivatives_are_those_of_finite_differences():
    slope = models.ImageAbstraction(**BRIEF).derivative("gates", "gate_timescale").values
    below, above = (
        models.ImageAbstraction(**BRIEF, gate_timescale=GATES + shift).run()["gates"].values[0]
        for shift in (-1e-7, 1e-7)
    )
    np.testing.assert_allclose(slope, (above - below) / 2e-7, rtol=1e-4, atol=1e-6)
    assert np.abs(slope[-1]).min() > 1e-2


def test_the_rate_of_a_batch_is_the_literal_one(network):
    taught, gates = lessons(30), (jnp.asarray(0.9), jnp.asarray(-0.3))
    network = network.rebuilt(network.students, gates)
    x, labels = taught.features.astype(float), taught.labels[1]
    rate = entropy_rate(models.ImageAbstraction().rule(), network, x, labels)
    begin = np.asarray(network.students), np.asarray(gates)
    end = literal_step(*begin, x, labels, (1 / STUDENTS, 1 / GATES), 0.5, 0.25)
    np.testing.assert_allclose(np.stack(rate.students), end[0] - begin[0], atol=1e-12)
    np.testing.assert_allclose(np.stack(rate.gates), end[1] - begin[1], atol=1e-10)


@pytest.mark.parametrize(("strength", "gate_timescale"), [(1.0, GATES), (0.0, STUDENTS)])
def test_a_run_goes_the_literal_way_through_a_switch(network, strength, gate_timescale):
    """With a single image, so that every batch is known."""
    taught, dt, switch = lessons(1), 0.001, 4
    model = models.ImageAbstraction(
        until=6 * dt, records=1, block_length=switch * dt, batch=7, strength=strength, gate_timescale=gate_timescale
    )
    made = model.process(Begin(network, taught, jax.random.key(5)))
    end = jax.jit(made.advance)(made.initial, jnp.asarray(1)).parameters
    x, rates = np.asarray(taught.features, float), (dt / STUDENTS, dt / gate_timescale)
    students, gates = np.asarray(network.students), np.array([0.5, 0.5])
    for step in range(6):
        labels = np.asarray(taught.labels)[step // switch]
        students, gates = literal_step(students, gates, x, labels, rates, 0.5 * strength, 0.25 * strength)
    np.testing.assert_allclose(np.stack(end.students), students, atol=1e-12)
    np.testing.assert_allclose(np.stack(end.gates), gates, atol=1e-12)


def test_accuracy_is_that_of_the_gated_sum_and_of_each_student(network):
    taught = lessons(30)
    network = network.rebuilt(network.students, (jnp.asarray(0.2), jnp.asarray(1.1)))
    seen = seen_of(network, taught, jnp.asarray(1))
    x, labels, students = (np.asarray(part) for part in (taught.features, taught.labels, network.students))
    best = (x @ (0.2 * students[0] + 1.1 * students[1]).T).argmax(axis=1)
    alone = [[np.mean((x @ student.T).argmax(axis=1) == row) for student in students] for row in labels]
    np.testing.assert_allclose(seen["accuracy"], np.mean(best == labels[1]), atol=1e-6)
    np.testing.assert_allclose(seen["alone"], alone, atol=1e-6)


def test_students_are_sorted_by_the_task_they_are_best_at():
    """In one arm the second student is the better one at the first task."""
    alone = np.stack([[[0.9, 0.2], [0.3, 0.8]], [[0.2, 0.9], [0.8, 0.3]]])  # arm, task, path
    repeat = lambda values: np.broadcast_to(values, (1, 3, *values.shape))  # noqa: E731
    data = xr.Dataset({
        "alone": (("run", "time", "arm", "task", "path"), repeat(alone)),
        "gates": (("run", "time", "arm", "path"), repeat(np.array([[1.0, 0.0], [0.1, 0.7]]))),
        "accuracy": (("run", "time", "arm"), np.ones((1, 3, 2))),
    })  # fmt: skip
    found = models.ImageAbstraction.measure(data)
    in_order = np.array([[0.9, 0.2], [0.3, 0.8]])
    for arm, gates in enumerate([[1.0, 0.0], [0.7, 0.1]]):
        np.testing.assert_allclose(found["sorted_gates"].isel(arm=arm, time=-1, run=0), gates)
        np.testing.assert_allclose(found["sorted_alone"].isel(arm=arm, time=-1, run=0), in_order)


@pytest.mark.parametrize(
    ("fields", "order"),
    [({}, 1), ({"images": "mnist"}, 1), ({"images": "fashion_warm_cold"}, 2), ({"order": 2}, 2)],
    ids=str,
)
def test_the_norm_of_gates_is_the_published_one_unless_another_is_asked_for(fields, order):
    assert models.ImageAbstraction(**fields).rule().regularizer.order == order
