"""The reduced model of task abstractions, its closed forms and its stability."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from festina.errors import ArgumentError
from festina.learning import JointDescent, drive, joint_process
from festina.networks import PathGated, Regularizer
from festina.theory import abstraction as theory
from festina.worlds import Blocks, Tasks


def rates(time, state, target, scales):
    """The reduced model written out by hand, path by path."""
    (a, b), (c, d), gates = state[:2], state[2:4], state[4:]
    error = target - gates[0] * np.array([a, b]) - gates[1] * np.array([c, d])
    change = [gates[0] * error, gates[1] * error]
    pull = [np.dot([a, b], error), np.dot([c, d], error)]
    return np.concatenate([*change, np.array(pull) * scales.weight_timescale / scales.gate_timescale])


def test_reduced_rates_are_the_equations_written_out():
    rng = np.random.default_rng(0)
    weights, gates, target = rng.normal(size=(2, 2)), rng.normal(size=2), np.array([0.0, 1.0])
    scales = theory.Scales(1.7, 0.3, 1.0)
    by_hand = rates(0.0, np.concatenate([weights.ravel(), gates]), target, scales) / scales.weight_timescale
    dw, dc = theory.reduced_rates(jnp.asarray(weights), jnp.asarray(gates), jnp.asarray(target), scales)
    np.testing.assert_allclose(np.concatenate([np.ravel(dw), dc]), by_hand, rtol=1e-13)


def test_specialization_and_separation_obey_their_own_equations():
    rng = np.random.default_rng(1)
    weights, gates, target = rng.normal(size=(2, 2)), rng.normal(size=2), np.array([1.0, 0.0])
    scales = theory.Scales(0.9, 0.2, 1.0)
    error = target - gates @ weights
    dw, dc = theory.reduced_rates(jnp.asarray(weights), jnp.asarray(gates), jnp.asarray(target), scales)
    here, moved = theory.specialization(weights, gates), theory.specialization(np.asarray(dw), np.asarray(dc))
    np.testing.assert_allclose(moved.overall, 0.5 * here.separation * (error[0] - error[1]) / 0.9, rtol=1e-12)
    np.testing.assert_allclose(moved.separation, (here.first * error[0] - here.second * error[1]) / 0.2, rtol=1e-12)
    both = gates[0] + gates[1]  # what paths have in common moves with the sum of the gates
    np.testing.assert_allclose(moved.shared, 0.5 * both * (error[0] - error[1]) / 0.9, rtol=1e-12)


@pytest.mark.parametrize("ratio", [0.02, 0.2, 1.0])
def test_protection_follows_the_integrated_adaptation(ratio):
    """From complete specialisation through a switch, with a regulariser so strong that the gates' sum stays 1."""
    scales, target = theory.Scales(1.0, ratio, 1.0), np.array([0.0, 1.0])

    def bounded(time, state):
        change = rates(time, state, target, scales)
        change[4:] -= change[4:].mean()
        return change

    start = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    found = solve_ivp(bounded, (0, 5), start, rtol=1e-11, atol=1e-13, method="DOP853").y.T
    seen = theory.specialization(found[:, :4].reshape(-1, 2, 2), found[:, 4:])
    np.testing.assert_allclose(seen.first, seen.second, atol=1e-8)
    np.testing.assert_allclose(theory.protected(seen.separation, ratio, 1.0), seen.overall, atol=1e-8)
    np.testing.assert_allclose(theory.co_specialized(seen.separation, ratio, 1.0), seen.shared, atol=1e-8)
    gap = seen.separation[-1] - theory.adapted_separation(ratio, 1.0)
    assert abs(gap) < 3 * np.linalg.norm(target - found[-1, 4:] @ found[-1, :4].reshape(2, 2)) + 1e-9  # what is left
    assert seen.separation[-1] < 0.9  # the gates did move


def test_protection_from_any_start_and_out_of_reach():
    np.testing.assert_allclose(theory.protected(0.4, 0.5, 2.0, initial_separation=0.8, initial=0.9), np.sqrt(0.75))
    assert np.isnan(theory.protected(0.0, 4.0, 1.0))


def test_fast_gates_do_all_and_slow_ones_stop_short():
    ratio = np.array([1e-8, 1e-3, 1.0, 1.999])
    ends = theory.adapted_separation(3.0 * ratio, 3.0)  # of the ratio alone
    np.testing.assert_allclose(ends[:2], -1 + ratio[:2], atol=1e-5)
    left = 1 + theory.co_specialized(ends, ratio, 1.0) + ends * theory.protected(ends, ratio, 1.0)
    np.testing.assert_allclose(left, 0.0, atol=1e-14)
    assert (np.diff(ends) > 0).all() and np.isnan(theory.co_specialized(0.0, 4.0, 1.0))
    with pytest.raises(ArgumentError, match="`gate_timescale` must be less than twice the weight timescale"):
        theory.adapted_separation(2.0, 1.0)


def test_tangent_kernel_and_speeds_are_those_of_autodiff():
    rng = np.random.default_rng(2)
    weights, gates, error = rng.normal(size=(3, 2)), rng.normal(size=3), rng.normal(size=2)
    answer = lambda w, c: jnp.sum(c[:, None] * w, axis=0)  # noqa: E731
    by_weights, by_gates = jax.jacobian(answer, argnums=(0, 1))(jnp.asarray(weights), jnp.asarray(gates))
    kernel = jnp.einsum("kpl,mpl->km", by_weights, by_weights) + jnp.einsum("kp,mp->km", by_gates, by_gates)
    np.testing.assert_allclose(theory.tangent_kernel(weights, gates), kernel, rtol=1e-12)
    scales = theory.Scales(0.7, 0.1, 1.0)
    loss = lambda w, c: 0.5 * jnp.sum((error + answer(weights, gates) - answer(w, c)) ** 2)  # noqa: E731
    slopes = jax.grad(loss, argnums=(0, 1))(jnp.asarray(weights), jnp.asarray(gates))
    expected = [float(jnp.sum(slope**2)) / tau for slope, tau in zip(slopes, (0.7, 0.1), strict=True)]
    np.testing.assert_allclose(theory.adaptation_speeds(weights, gates, error, scales), expected, rtol=1e-12)


def test_the_speed_of_adaptation_of_symmetric_students_is_1_plus_squares():
    """1 + c̄² + 2w̄² just after a switch, for gates of sum 1; figures draw it."""
    separation, specialised = 0.3, 0.7
    gates = 0.5 * np.array([1 + separation, 1 - separation])
    weights = 0.5 * np.array([[1 + specialised, 1 - specialised], [1 - specialised, 1 + specialised]])
    speeds = theory.adaptation_speeds(weights, gates, np.array([-1.0, 1.0]), theory.Scales(1.0, 1.0, 1.0))
    np.testing.assert_allclose(sum(speeds), 1 + separation**2 + 2 * specialised**2, rtol=1e-12)


def test_gate_drive_is_a_sum_over_singular_values():
    rng = np.random.default_rng(3)
    left, right = np.linalg.qr(rng.normal(size=(6, 4)))[0], np.linalg.qr(rng.normal(size=(9, 4)))[0]
    strong, weak = np.array([2.0, 1.0, 0.5, 0.2]), np.array([0.3, 0.2, 0.1, 0.05])
    teacher, student = (left * s @ right.T for s in (strong, weak))
    expected = np.sum(strong * weak - weak**2)
    np.testing.assert_allclose(theory.gate_drive(teacher, student), expected, rtol=1e-12)
    stacked = theory.gate_drive(np.stack([teacher] * 3), np.stack([student, teacher, 0.0 * student]))
    np.testing.assert_allclose(stacked, [expected, 0.0, 0.0], atol=1e-12)


def test_block_gain_is_the_second_order_of_two_blocks_with_reset_gates():
    scales, error, small = theory.Scales(1.3, 0.2, 1.0), 0.6, 1e-3
    growth = np.sqrt(error**2 / (scales.weight_timescale * scales.gate_timescale))
    for length in (0.02, 0.04):
        exact = small * np.cosh(growth * length) ** 2 - small  # constant error, gates at zero when each block begins
        np.testing.assert_allclose(theory.block_gain(small, error, length, scales), exact, rtol=0.02)


def _reduced_run(difference, scales, length, rounds, normalization, step=1e-3):
    """Two nearly equal paths of the reduced model, simulated in full."""
    bounds = Regularizer(0.0, normalization)
    rule = JointDescent(scales.weight_timescale, scales.gate_timescale, bounds)
    steps = 2 * round(length / step)

    def build(inputs):
        first, second = jnp.asarray([[0.25 + difference, 0.25]]), jnp.asarray([[0.25, 0.25]])
        network = PathGated((first, second), (jnp.asarray(0.5), jnp.asarray(0.5)))
        return joint_process(
            network,
            rule,
            Blocks.of((0, 1), length, step),
            Tasks(jnp.eye(2)[:, None, :]),
            jax.random.key(0),
            step_size=step,
            records=rounds,
            steps_per_record=steps,
            observe=lambda view: {"students": jnp.stack(view.network.students), "gates": view.gates},
        )

    return drive(build, {"seed": jnp.zeros(1)}).observed


def test_growth_of_specialization_is_that_of_a_simulated_difference():
    scales = theory.Scales(1.3, 0.06, 2.0)
    growth = theory.specialization_growth(scales, 4.0, 0.9)
    seen = _reduced_run(1e-15, scales, 4.0, 8, 0.9)
    apart = np.abs(seen["gates"][0, :, 0] - seen["gates"][0, :, 1])
    assert growth.multiplier > 6
    np.testing.assert_allclose(apart[-2:] / apart[-3:-1], growth.multiplier, rtol=3e-3)


@pytest.mark.full
def test_short_blocks_are_undone_and_long_ones_are_not():
    scales = theory.Scales(1.3, 0.06, 2.0)
    rates = [float(theory.specialization_growth(scales, length, 0.9).rate) for length in (0.2, 2.0, 4.0)]
    assert abs(rates[0]) < 1e-6 < rates[1] < rates[2]
    with pytest.raises(theory.NoOrbit, match="`settle` must be long enough"):
        theory.specialization_growth(scales, 1.0, 0.0)
    with pytest.raises(theory.NoOrbit, match="`step_size` must be small enough for stable steps"):
        theory.specialization_growth(scales, 1.0, 0.9, 0.5)
    with pytest.raises(ArgumentError, match="block_length"):
        theory.specialization_growth(scales, 1e-5, 0.9)


def test_growth_is_that_on_the_orbit_however_slowly_it_is_reached():
    """Weak bounds: after 60 τ_w errors are still off by 10⁻⁸, and the multiplier by ten times that."""
    weights, gates, step, normalization, steps = np.full(2, 0.3), 0.45, 0.02, 0.3, 100
    growth = theory.specialization_growth(theory.Scales(0.5, 0.06, 1.0), steps * step, normalization, step)
    for number in range(2 * steps * 100):
        error = np.eye(2)[(number // steps) % 2] - 2 * gates * weights
        pull = weights @ error - 2 * normalization * (2 * gates - 1)
        weights, gates = weights + step / 0.5 * gates * error, gates + step / 0.06 * pull
    propagator = np.eye(3)
    for number in range(2 * steps):
        error = np.eye(2)[(number // steps) % 2] - 2 * gates * weights
        np.testing.assert_allclose(growth.errors[number], error, atol=1e-13)
        pull = weights @ error - 2 * normalization * (2 * gates - 1)
        weights, gates = weights + step / 0.5 * gates * error, gates + step / 0.06 * pull
        slope = np.block([[np.zeros((2, 2)), error[:, None] / 0.5], [error[None] / 0.06, np.zeros((1, 1))]])
        propagator = propagator + step * slope @ propagator
    assert growth.multiplier == pytest.approx(np.abs(np.linalg.eigvals(propagator)).max(), rel=1e-11)


def test_reduced_scales_make_the_reduced_model_follow_the_full_one():
    """Every row of both paths starts in the span of its teachers, at the same coordinates: the reduction is exact."""
    key = jax.random.key(4)
    tasks = Tasks.orthogonal(key, 2, 10, 20)
    row_norm = 20**-0.5
    coordinates = jnp.asarray([[0.3, 0.05], [0.1, 0.2]])
    students = jnp.einsum("pm,moi->poi", coordinates, tasks.maps)
    scales = theory.reduced_scales(1.3, 0.03, 10, row_norm, 1.0)

    def build(full):
        def make(inputs):
            if full:
                network = PathGated(tuple(students), (jnp.asarray(0.5), jnp.asarray(0.4)))
                taus, shown, share = (1.3, 0.03), tasks, 1.0
            else:
                network = PathGated(tuple(coordinates[:, None]), (jnp.asarray(0.5), jnp.asarray(0.4)))
                taus, shown, share = scales[:2], Tasks(jnp.eye(2)[:, None, :]), scales.regularization
            rule = JointDescent(*taus, Regularizer(share / 11, share * 5 / 11))
            return joint_process(
                network,
                rule,
                Blocks.of((0, 1), 0.5, 1e-3),
                shown,
                key,
                step_size=1e-3,
                records=30,
                steps_per_record=100,
                observe=lambda view: {"gates": view.gates},
            )

        return make

    one, other = (drive(build(full), {"seed": jnp.zeros(1)}).observed["gates"] for full in (True, False))
    np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"block_length": np.nan}, "`block_length` must be positive and finite"),
        ({"step_size": 0.0}, "`step_size` must be positive"),
        ({"normalization": -1.0}, "`normalization` must be finite"),
        ({"scales": theory.Scales(-1.0, 1.0, 1.0)}, "`scales` must have positive timescales"),
    ],
)
def test_blocks_and_timescales_that_are_none_are_refused(fields, message):
    settings = {"scales": theory.Scales(1.0, 1.0, 1.0), "block_length": 1.0, "normalization": 0.5} | fields
    with pytest.raises(ArgumentError, match=message):
        theory.specialization_growth(**settings)
