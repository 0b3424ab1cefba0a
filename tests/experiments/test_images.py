"""abstraction/images: its claims, and what they cannot check."""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from scipy.special import softmax

import festina as fs
from festina.errors import FestinaWarning
from festina.experiment import Result
from festina.experiments.abstraction import _images_process as process
from festina.experiments.abstraction import _images_sets as sets
from festina.experiments.abstraction._stacked import Arm, stacked
from festina.experiments.abstraction.images import Images, recovery_times
from shared import quick

pytestmark = pytest.mark.full

OTHERS = {
    "pretrained": "needs the full budget",
    "original-accuracy": "needs the full budget",
    "shared-structure": "not applicable",
}
STUDENTS, GATES = 10.0, 0.005  # timescales


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/images")


def test_quick_claims_hold(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert outcomes == {claim: OTHERS.get(claim, "reproduced") for claim in outcomes}, result
    assert 0.85 < result["pretrained"].values.min() <= result["pretrained"].values.max() < 0.95


def test_the_figure_is_drawn_without_a_warning_and_says_what_was_seen(result, recwarn):
    figure = result.figure()
    figure.canvas.draw()
    assert "digits of scikit-learn" in figure.get_suptitle()
    assert len(figure.axes) == 6 and not recwarn.list
    plt.close(figure)


def lessons(count, inputs=4):
    random = np.random.default_rng(1)
    codes = np.array([[0, 1, 2], [1, 2, 0]])
    features = jnp.asarray(random.normal(size=(count, inputs)), jnp.float32)
    labels = jnp.asarray(codes[:, random.integers(0, 3, count)], jnp.int32)
    return process.Lessons(features, labels, features, labels, jnp.asarray(1.0, jnp.float32))


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


def test_the_rate_of_a_batch_is_the_literal_one(network):
    taught, gates = lessons(30), (jnp.asarray(0.9), jnp.asarray(-0.3))
    network = network.rebuilt(network.students, gates)
    rule = fs.learning.JointDescent(STUDENTS, GATES, fs.networks.Regularizer(0.5, 0.25))
    x, labels = taught.features.astype(float), taught.labels[1]
    rate = process.entropy_rate(rule, network, x, labels)
    begin = np.asarray(network.students), np.asarray(gates)
    end = literal_step(*begin, x, labels, (1 / STUDENTS, 1 / GATES), 0.5, 0.25)
    np.testing.assert_allclose(np.stack(rate.students), end[0] - begin[0], atol=1e-12)
    np.testing.assert_allclose(np.stack(rate.gates), end[1] - begin[1], atol=1e-10)


def test_both_arms_go_the_literal_way_through_a_switch(network):
    """With a single image, so that every batch is known."""
    taught, dt, switch = lessons(1), 0.001, 4
    flexible = fs.learning.JointDescent(STUDENTS, GATES, fs.networks.Regularizer(0.5, 0.25))
    blocks = fs.worlds.Blocks.of((0, 1), switch * dt, dt)
    arms = stacked(*(Arm(rule, blocks) for rule in (flexible, flexible.forgetful(STUDENTS))))
    made = process.entropy_process(network, arms, taught, jax.random.key(5), 7, dt, records=1, steps_per_record=6)
    end = jax.jit(made.advance)(made.initial, jnp.asarray(1)).parameters
    x = np.asarray(taught.features, float)
    for arm, (fast, strength) in enumerate([(dt / GATES, 1.0), (dt / STUDENTS, 0.0)]):
        students, gates = np.asarray(network.students), np.array([0.5, 0.5])
        for step in range(6):
            labels, rates = np.asarray(taught.labels)[step // switch], (dt / STUDENTS, fast)
            students, gates = literal_step(students, gates, x, labels, rates, 0.5 * strength, 0.25 * strength)
        np.testing.assert_allclose(np.stack(end.students)[:, arm], students, atol=1e-12)
        np.testing.assert_allclose(np.stack(end.gates)[:, arm], gates, atol=1e-12)


def test_accuracy_is_that_of_the_gated_sum_and_of_each_student(network):
    taught = lessons(30)
    network = network.rebuilt(network.students, (jnp.asarray(0.2), jnp.asarray(1.1)))
    seen = process.seen_of(network, taught, jnp.asarray(1))
    x, labels, students = (np.asarray(part) for part in (taught.features, taught.labels, network.students))
    best = (x @ (0.2 * students[0] + 1.1 * students[1]).T).argmax(axis=1)
    alone = [[np.mean((x @ student.T).argmax(axis=1) == row) for student in students] for row in labels]
    np.testing.assert_allclose(seen["accuracy"], np.mean(best == labels[1]), atol=1e-6)
    np.testing.assert_allclose(seen["alone"], alone, atol=1e-6)


def test_images_that_are_not_there_are_replaced_and_the_result_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("FESTINA_DATA", str(tmp_path))
    with pytest.warns(FestinaWarning, match="MNIST is not in .*; `festina data fetch mnist` gets it"):
        config = Images().configure("quick", images="mnist")
    assert (config.images, config.instead_of) == ("digits", "mnist")
    assert sets.title(config).startswith("8×8 digits of scikit-learn (instead of MNIST, not found)")
    stored = Images.Config(images="mnist")  # what a stored result was made of does not depend on what is there now
    assert stored.images == "mnist" and stored.instead_of == "nothing"


def test_the_two_orders_of_clothes_share_more_or_fewer_labels():
    assert sets.PAIRS["fashion_upper_lower"].kept == 0.2 and sets.PAIRS["fashion_warm_cold"].kept == 0.5
    assert sets.PAIRS["mnist"].codes[1].tolist() == [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]


def test_recovery_is_timed_from_the_switch_to_the_accuracy_before():
    config = Images.Config(until=3.0, step_size=0.01, records=30)
    accuracy = np.full((1, 2, 31), 0.8)
    accuracy[0, 0, 10:13] = 0.2  # .3 after the first switch it is back
    accuracy[0, 0, 13:20] = 0.77  # 95 % of .8 is enough
    accuracy[0, 1, 20:] = 0.1  # never back after the second
    data = xr.Dataset({"accuracy": (("run", "arm", "time"), accuracy)}, {"time": np.linspace(0, 3, 31)})
    np.testing.assert_allclose(recovery_times(Result(Images(), config, data)), [[[0.3, 0.0], [0.0, 1.0]]], atol=1e-12)
