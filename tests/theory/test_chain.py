"""The scalar chain against integrated flows, closed forms and its own laws."""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import lambertw, wrightomega

from festina.errors import ArgumentError
from festina.theory.chain import chain, imbalanced, stage_index, time_to_reach

DEPTHS = (1, 1.5, 2, 2.5, 3, 4, 7, math.inf)
TIMES = np.linspace(0.0, 5.0, 11)
TIMESCALE = 0.7


# s = 3, λ = 1.5, a0 = 0.01, t = 1.1: depths 1 and 2 by their closed forms, the others integrated at rtol 3e-14.
FROZEN = {
    1: 1.6178206818446994,
    1.5: 1.7252230367521708,
    2: 1.5739192273081068,
    2.5: 0.9355486579154663,
    3: 0.32374952974483984,
    4: 0.08186731961127888,
    7: 0.03727335900670876,
    math.inf: 0.010339467789446676,
}


def cases(depth):
    """Strength, initial product and input variance in all combinations that the depth allows."""
    strengths, starts, variances = (0.0, 0.4, 1.0, 2.0, -1.0), (1e-3, 0.2, 1.0, 3.0, -0.01, -1.5), (0.7, 1.0, 2.0)
    grid = np.array([(s, a, v) for s in strengths for a in starts for v in variances])
    if 1 < depth < 2:
        grid = grid[(grid[:, 0] * grid[:, 1] > 0) | (grid[:, 0] == 0)]
    return grid.T


def course(depth, times, strength, initial, input_variance: Any = 1.0, timescale: Any = 1.0):
    """The solution in one padded shape, so that each depth is compiled once for most of this file."""
    modes = np.broadcast_arrays(np.ravel(strength), np.ravel(initial), np.ravel(input_variance), np.ravel(timescale))
    s, a, variance, tau = (np.resize(mode, 90) for mode in modes)
    solution = chain(depth, s, a, input_variance=variance, timescale=tau)(np.resize(times, len(TIMES)))
    return {name: np.asarray(value)[: np.size(times), : modes[0].size] for name, value in solution.items()}


def velocity(depth, product, strength, input_variance):
    speed = 1.0 if math.isinf(depth) else depth
    return speed * np.abs(product) ** (2 - 2 / depth) * (strength - input_variance * product)


def integrate(flow, start, times):
    """An independent reference: (time, *start.shape)."""

    def flat(_, state):
        return flow(state.reshape(start.shape)).ravel()

    # The steps are kept well inside the method's region of stability, at whose edge its error estimate fails.
    options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14, "max_step": 0.03}
    solution = solve_ivp(flat, (0.0, times[-1]), start.ravel(), t_eval=times, **options)
    assert solution.success
    return solution.y.T.reshape(times.shape + start.shape)


def loss(product, strength, input_variance):
    return input_variance * (product - strength / input_variance) ** 2 / 2


class TestFlow:
    @pytest.mark.mostly_full
    @pytest.mark.parametrize("depth", DEPTHS)
    def test_follows_the_integrated_equation(self, depth):
        strength, initial, variance = cases(depth)
        expected = integrate(lambda a: velocity(depth, a, strength, variance) / TIMESCALE, initial, TIMES)
        got = course(depth, TIMES, strength, initial, variance, TIMESCALE)
        np.testing.assert_allclose(got["product"], expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(got["loss"], loss(expected, strength, variance), rtol=0, atol=1e-8)

    @pytest.mark.mostly_full
    @pytest.mark.parametrize("depth", [1, 2, 3, 4, 7])
    def test_follows_the_weights_of_an_actual_chain(self, depth):
        strength, initial, variance = cases(depth)
        weights = np.stack([np.abs(initial) ** (1 / depth)] * depth)
        weights[0] *= np.sign(initial)

        def flow(w):
            error = strength - variance * np.prod(w, axis=0)
            others = [np.prod(np.delete(w, layer, axis=0), axis=0) for layer in range(depth)]
            return np.stack(others) * error / TIMESCALE

        expected = integrate(flow, weights, TIMES).prod(axis=1)
        got = course(depth, TIMES, strength, initial, variance, TIMESCALE)
        np.testing.assert_allclose(got["product"], expected, rtol=0, atol=1e-9)

    def test_infinite_depth_is_wright_omega_and_both_branches_of_lambert(self):
        strength, variance, time = 1.3, 0.8, TIMES[1:]
        best = strength / variance

        def exponent(initial):
            start = best / initial - 1
            return start + np.log(np.abs(start)) - strength**2 * time / variance

        below, above, opposite = course(math.inf, time, strength, [1e-3, 5.0, -0.5], variance)["product"].T
        np.testing.assert_allclose(below, best / (1 + wrightomega(exponent(1e-3))), rtol=1e-12)
        np.testing.assert_allclose(above, best / (1 + lambertw(-np.exp(exponent(5.0)), 0).real), rtol=1e-12)
        np.testing.assert_allclose(opposite, best / (1 + lambertw(-np.exp(exponent(-0.5)), -1).real), rtol=1e-12)

    def test_frozen_numbers(self):
        for depth, value in FROZEN.items():
            product = course(depth, 1.1, 3.0, 0.01, 1.5)["product"].item()
            assert product == pytest.approx(value, rel=1e-12), depth

    def test_the_late_loss_keeps_its_relative_precision(self):
        for depth in (1, 2, 3, math.inf):
            late = course(depth, [40.0, 60.0], 1.0, 0.5)["loss"].ravel()
            rate = 1 if math.isinf(depth) else depth
            assert np.log(late[0] / late[1]) == pytest.approx(2 * rate * 20, rel=1e-12)

    def test_weak_strength_joins_zero_strength(self):
        strength = np.array([-1e-6, -1e-9, -1e-12, 0.0, 1e-12, 1e-9, 1e-6])
        for depth in (2, 3, math.inf):
            product = course(depth, 2.0, strength, 1.0)["product"].ravel()
            slope = np.diff(product) / np.diff(strength)
            np.testing.assert_allclose(slope[[0, -1]], slope[1], rtol=1e-4)


class TestLaws:
    settings = settings(max_examples=25)
    depth = st.sampled_from([1, 1.5, 2, 3, math.inf])
    positive = st.floats(1e-2, 10.0)

    @settings
    @given(depth, positive, positive, positive)
    def test_the_fixed_point_stays(self, depth, strength, variance, time):
        solution = course(depth, [0.0, time], strength, strength / variance, variance)
        np.testing.assert_allclose(solution["product"], strength / variance, rtol=1e-14)

    @settings
    @given(depth, positive, positive, positive)
    def test_monotone_between_start_and_fixed_point(self, depth, strength, variance, initial):
        product = course(depth, TIMES, strength, initial, variance)["product"].ravel()
        direction = np.sign(strength / variance - initial)
        slack = 1e-13 * max(initial, strength / variance)
        assert product[0] == pytest.approx(initial, rel=1e-12)
        assert np.all(direction * np.diff(product) >= -slack)
        assert np.all(direction * (strength / variance - product) >= -slack)

    @settings
    @given(depth, positive, positive, st.floats(0.0, 3.0), st.floats(0.0, 3.0))
    def test_restarting_changes_nothing(self, depth, strength, initial, first, second):
        whole, half = course(depth, [first + second, first], strength, initial)["product"].ravel()
        again = course(depth, [second, 0.0], strength, half)["product"].ravel()
        assert again[0] == pytest.approx(whole, rel=1e-10)
        assert again[1] == pytest.approx(half, rel=1e-12)

    @settings
    @given(depth, positive, positive, positive, positive)
    def test_time_counts_in_units_of_the_timescale(self, depth, strength, initial, timescale, time):
        slow = course(depth, time * timescale, strength, initial, timescale=timescale)
        fast = course(depth, time, strength, initial)
        np.testing.assert_allclose(slow["product"], fast["product"], rtol=1e-10)

    @settings
    @given(depth, positive, positive, st.floats(0.05, 0.95))
    def test_the_level_is_reached_in_time(self, depth, strength, variance, level):
        best = strength / variance
        time = time_to_reach(depth, strength, 0.02 * best, level, input_variance=variance)
        product = course(depth, time, strength, 0.02 * best, variance)["product"].item()
        assert product == pytest.approx(level * best, rel=1e-11)

    def test_mirrored_signs_give_the_mirrored_course(self):
        for depth in (1, 2, 2.5, math.inf):
            one, other = course(depth, TIMES, 1.0, -0.3), course(depth, TIMES, -1.0, 0.3)
            np.testing.assert_array_equal(one["product"], -other["product"])
            np.testing.assert_array_equal(one["loss"], other["loss"])


class TestExtremes:
    @pytest.mark.parametrize("depth", [1, 1.5, 2, 3, math.inf])
    def test_no_overflow_anywhere(self, depth):
        strength, initial = np.meshgrid([1e3, 1.0, 1e-20, 0.0, -1.0, -1e3], [1e-300, 1e-3, 1.0, 1e3])
        if depth == 1.5:
            strength = np.abs(strength)
        solution = course(depth, [0.0, 1e-9, 1.0, 1e6, 1e300, np.inf], strength, initial)
        assert all(np.all(np.isfinite(value)) for value in solution.values())
        np.testing.assert_allclose(np.asarray(solution["product"])[0], initial.ravel(), rtol=1e-12)

    @pytest.mark.parametrize("depth", [2, 3, math.inf])
    def test_zero_is_a_saddle(self, depth):
        start = np.array([0.0, 1e-300, -0.5])
        product = course(depth, [1.0, 1e6], 1.0, start)["product"]
        np.testing.assert_array_equal(product[:, 0], 0.0)
        assert np.all(product[:, 2] < 0) or depth == 2
        assert -1e-3 <= product[1, 2] <= 0
        assert product[1, 1] == pytest.approx(1.0 if depth == 2 else 1e-300)

    def test_far_from_the_fixed_point_in_infinite_depth(self):
        """s/(λ a0) = 1e5, where the exponential inside Lambert's function overflows."""
        time = time_to_reach(math.inf, 1.0, 1e-5, 0.5)
        assert time == pytest.approx(1e5 - 1 + math.log(1e5 - 1) - 1, rel=1e-14)
        assert course(math.inf, time, 1.0, 1e-5)["product"].item() == pytest.approx(0.5, rel=1e-9)


def closed_form(depth, x):
    """F of integer depths from 3 on, by partial fractions over the roots of unity."""
    z = x ** (1 / depth)
    roots = np.exp(2j * np.pi * np.arange(depth) / depth)
    return depth * z ** (2 - depth) / (2 - depth) - np.sum(roots**2 * np.log(1 - z / roots)).real


class TestTimes:
    @pytest.mark.mostly_full
    @pytest.mark.parametrize("depth", [3, 4, 5, 7, 12])
    def test_integer_depths_have_a_closed_form(self, depth):
        strength, variance, level = 1.7, 0.6, np.array([0.05, 0.3, 0.49, 0.51, 0.9, 0.999])
        got = time_to_reach(depth, strength, 0.01 * strength / variance, level, input_variance=variance)
        clock = np.array([closed_form(depth, x) for x in level]) - closed_form(depth, 0.01)
        expected = clock / (depth * variance * (strength / variance) ** (2 - 2 / depth))
        np.testing.assert_allclose(got, expected, rtol=1e-12)

    def test_depths_one_and_two(self):
        assert time_to_reach(1, 2.0, -1.0, 0.5, input_variance=0.5) == pytest.approx(2 * math.log(2.5))
        assert time_to_reach(2, 1.0, 1e-3, 0.5) == pytest.approx(math.log(999) / 2, rel=1e-14)

    def test_depths_close_to_one_and_two_and_infinity_join_up(self):
        level = np.array([0.05, 0.5, 0.9])
        for near, exact, timescale in ((1 + 1e-9, 1, 1.0), (2 + 1e-9, 2, 1.0), (1e9, math.inf, 1e9)):
            close = time_to_reach(near, 1.0, 0.01, level, timescale=timescale)
            np.testing.assert_allclose(close, time_to_reach(exact, 1.0, 0.01, level), rtol=1e-7)

    def test_never_and_already(self):
        got = time_to_reach(3, np.array([1.0, 1.0, 1.0, 0.0, -1.0]), np.array([0.6, 3.0, -0.1, 0.1, -0.6]), 0.5)
        np.testing.assert_array_equal(got, [0.0, 0.0, np.inf, np.inf, 0.0])

    def test_stage_index(self):
        assert stage_index(1, 2.0, 0.0) == pytest.approx(math.log(9) / math.log(10 / 9), rel=1e-13)
        early, late = math.log(999) - math.log(9), math.log(999) + math.log(9)
        assert stage_index(2, 1.0, 1e-3) == pytest.approx(late / early - 1, rel=1e-13)
        assert np.all(np.diff(stage_index(3, 1.0, np.array([1e-1, 1e-2, 1e-4, 1e-8])) / 1.0) < 0)
        assert stage_index(3, 1.0, 0.5) == math.inf

    def test_stage_index_where_there_are_no_stages(self):
        for depth, strength, initial in ((2, 1.0, 0.95), (3, 1.0, np.array([0.1, -0.1])), (2, 1.0, 0.0), (2, 0.0, 0.1)):
            with pytest.raises(ArgumentError, match="`initial` must be below 90 % of s/λ and not be stuck"):
                stage_index(depth, strength, initial)
        assert np.isfinite(stage_index(1, 1.0, -0.1))


class TestShapes:
    def test_time_comes_first(self):
        solution = chain(2, np.ones((2, 1)), np.full(3, 0.1))
        assert solution(np.zeros((4, 5)))["product"].shape == (4, 5, 2, 3)
        assert solution(1)["loss"].shape == (2, 3)
        assert isinstance(solution(1.0)["product"], np.ndarray)
        assert imbalanced(np.ones((2, 1)), np.full(3, 0.1), 0.0)(np.zeros(4))["product"].shape == (4, 2, 3)
        assert time_to_reach(1, np.ones((2, 1)), 0.0, np.full(3, 0.1)).shape == (2, 3)

    def test_single_precision_callers_get_double(self):
        with jax.enable_x64(False):
            product = chain(2, 1.0, np.float32(0.25))(np.float32(1.0))["product"]
        assert product.dtype == np.float64
        assert product == pytest.approx(1 / (1 + 3 * math.exp(-2)), rel=1e-15)

    def test_compiled_and_batched(self):
        def product(strength, initial):
            return chain(3, strength, initial)(TIMES)["product"]

        strength, initial = jnp.asarray([1.0, 2.0]), jnp.asarray([0.1, 0.01])
        batched = jax.jit(jax.vmap(product))(strength, initial)
        np.testing.assert_allclose(batched.T, course(3, TIMES, strength, initial)["product"], rtol=1e-13)


def central_difference(function, arguments, position):
    """Fourth order; arrays are elementwise, so that one shift serves all entries."""
    step = 1e-3 * np.maximum(np.abs(arguments[position]), 1e-3)

    def at(shift):
        moved = list(arguments)
        moved[position] = arguments[position] + shift * step
        return np.asarray(function(*moved))

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


@partial(jax.jit, static_argnums=0)
def gradient(depth, *arguments):
    """Of the summed product, by strength, initial, input variance, timescale (elementwise) and time (summed)."""

    def total(s, a, variance, timescale, time):
        return jnp.sum(chain(depth, s, a, input_variance=variance, timescale=timescale)(time)["product"])

    return jax.grad(total, argnums=(0, 1, 2, 3, 4))(*arguments)


class TestGradients:
    @pytest.mark.mostly_full
    @pytest.mark.parametrize("depth", [1.5, 1, 2, math.inf])
    def test_agree_with_differences(self, depth):
        # The last five change the sign of s, or have it opposite to that of a0: not for depths between 1 and 2.
        strength = np.array([1.0, 1.0, 1.0, 1.0, 2.0, 0.01, 0.0, 1e-9, -1e-9, 1.0, -1.0])
        initial = np.array([0.05, 0.5, 1.0, 1 - 1e-9, 5.0, 1.0, 1.0, 1.0, 1.0, -0.5, 0.2])
        variance = np.array([1.1, 1.1, 1.0, 1.0, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1])
        kept = slice(None, -5 if depth == 1.5 else None)
        arguments = [each[kept] for each in (strength, initial, variance, np.full_like(variance, 0.8))]

        gradients = gradient(depth, *arguments, 1.3)
        for position in range(4):
            expected = central_difference(lambda *x: course(depth, 1.3, *x)["product"][0], arguments, position)
            np.testing.assert_allclose(gradients[position], expected, rtol=1e-7, atol=1e-8)
        product = course(depth, 1.3, *arguments)["product"][0]
        speed = velocity(depth, product, arguments[0], arguments[2]) / arguments[3]
        assert gradients[4] == pytest.approx(speed.sum(), rel=1e-12)

    @pytest.mark.parametrize("depth", [2, math.inf])
    def test_finite_at_the_smallest_starts(self, depth):
        start = np.resize([0.0, 1e-300, 1e-200, -1e-300], 11)
        slope = gradient(depth, np.ones(11), start, np.ones(11), np.ones(11), 1.0)[1][:4]
        np.testing.assert_allclose(slope, np.exp([2.0, 2.0, 2.0, -2.0]) if depth == 2 else np.ones(4), rtol=1e-12)

    def test_of_the_time_to_reach(self):
        for depth in (1, 2.5, math.inf):
            slope = jax.grad(lambda a, depth=depth: time_to_reach(depth, 1.2, a, 0.7))(0.1)
            assert slope == pytest.approx(-1 / velocity(depth, 0.1, 1.2, 1.0), rel=1e-12)

    @pytest.mark.full
    def test_of_the_imbalanced_chain(self):
        strength = np.array([1.0, 1.0, -1.0, 1.0, 0.5, 0.0, 1.0])
        initial = np.array([0.1, -0.1, 0.1, 1.0, 0.0, 0.3, 2.0])
        imbalance = np.array([0.5, -0.5, 1e-3, 2.0, 0.2, 0.1, 0.0])

        def product(s, a, imbalance):
            return imbalanced(s, a, imbalance)(1.3)["product"]

        gradients = jax.grad(lambda *x: jnp.sum(product(*x)), argnums=(0, 1, 2))(strength, initial, imbalance)
        for position in range(3):
            expected = central_difference(product, (strength, initial, imbalance), position)
            np.testing.assert_allclose(gradients[position], expected, rtol=1e-6, atol=1e-7)

    def test_of_the_imbalanced_chain_in_balance(self):
        start = np.array([0.1, -0.1, 0.1, 1.0, 0.1, 0.0, 0.0])
        strength = np.array([1.0, 1.0, -1.0, 1.0, 0.0, 1.0, 0.0])

        def total(s, a, imbalance):
            return jnp.sum(imbalanced(s, a, imbalance)(1.0)["product"])

        slopes = jax.grad(total, argnums=(0, 1, 2))(strength, start, np.zeros(7))
        balanced = jax.grad(lambda s, a: jnp.sum(chain(2, s, a)(1.0)["product"]), argnums=(0, 1))(strength, start)
        assert np.all(np.isfinite(slopes))
        np.testing.assert_array_equal(slopes[2], 0.0)
        for slope, expected in zip(slopes[:2], balanced, strict=True):
            np.testing.assert_allclose(slope[:5], expected[:5], rtol=1e-12)


class TestImbalanced:
    def test_follows_the_two_weights(self):
        strengths, starts, imbalances = (
            (0.0, 1.0, -1.5),
            (0.0, 1e-3, -1e-3, 0.7, -0.7, 3.0),
            (0, 1e-8, -1e-3, 0.3, -2, 30),
        )
        strength, initial, imbalance = np.array(
            [(s, a, lam) for s in strengths for a in starts for lam in imbalances]
        ).T
        variance = 1.3
        second = np.sqrt((imbalance + np.hypot(imbalance, 2 * initial)) / 2)
        first = np.sign(initial) * np.sqrt((np.hypot(imbalance, 2 * initial) - imbalance) / 2)
        # From no product the smaller weight is zero, whichever it is.
        first = np.where(initial == 0, np.sqrt(np.maximum(-imbalance, 0)), first)

        def flow(w):
            return w[::-1] * (strength - variance * w[0] * w[1]) / TIMESCALE

        expected = integrate(flow, np.stack([first, second]), TIMES).prod(axis=1)
        got = imbalanced(strength, initial, imbalance, input_variance=variance, timescale=TIMESCALE)(TIMES)
        np.testing.assert_allclose(got["product"], expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(got["loss"], loss(expected, strength, variance), rtol=0, atol=1e-8)

    def test_balanced_it_is_the_chain_of_depth_two(self):
        strength, initial, variance = cases(2)
        one = imbalanced(strength, initial, 0.0, input_variance=variance, timescale=TIMESCALE)(TIMES)
        other = course(2, TIMES, strength, initial, variance, TIMESCALE)
        for name in ("product", "loss"):
            np.testing.assert_allclose(one[name], other[name], rtol=1e-12, atol=1e-300)

    def test_an_imbalance_crosses_the_saddle(self):
        product = imbalanced(1.0, -1.0, np.array([0.0, 1e-100, 1e-6]))(np.array([100.0, 300.0]))["product"]
        np.testing.assert_allclose(product, [[0.0, -1e-87, 1.0], [0.0, 1.0, 1.0]], atol=1e-12)

    def test_any_size_of_the_imbalance(self):
        """With 1 - 1e-12 < √(ℓ² + 4a²)/|ℓ| ≤ 1 the course is an exponential of rate λ|ℓ|, whatever ℓ is."""
        imbalance = np.array([1e7, -1e9, 1e15, 1e20, 1e100, -1e300])
        for strength, initial in ((1.0, 0.2), (-1.0, 0.2), (1.0, -0.3), (0.0, 0.3), (1.0, 1e-9), (2.0, 5.0)):
            for shared in (0.0, 0.01, 0.7, 3.0, 50.0):
                time = shared / 1.3 / np.abs(imbalance)
                pairs = zip(imbalance, time, strict=True)
                got = [imbalanced(strength, initial, each, input_variance=1.3)(when) for each, when in pairs]
                gap = (initial - strength / 1.3) * math.exp(-shared)
                products = np.stack([each["product"] for each in got])
                np.testing.assert_allclose(products, strength / 1.3 + gap, rtol=1e-11, atol=1e-15)
                np.testing.assert_allclose([each["loss"] for each in got], 0.65 * gap**2, rtol=1e-11)

    def test_large_imbalances_follow_the_two_weights(self):
        """In the time scale of ℓ, for which an explicit integration is accurate."""
        for imbalance in (3.0, 1e2, 1e4):
            for strength, initial in ((1.0, 0.2), (-1.0, 0.2), (-1.4, 1e-6), (0.0, 2.0), (1.0, -30.0)):
                span = np.linspace(0.0, 6.0, 7) / imbalance
                root = math.hypot(imbalance, 2 * initial)
                second = math.sqrt((imbalance + root) / 2)
                begin = np.array([initial / second, second])

                def flow(_, weights, strength=strength):
                    return weights[::-1] * (strength - weights.prod())

                solved = solve_ivp(flow, (0, span[-1]), begin, "DOP853", span, rtol=1e-13, atol=1e-18).y.prod(axis=0)
                got = imbalanced(strength, initial, imbalance)(span)["product"]
                np.testing.assert_allclose(got, solved, rtol=1e-10, atol=1e-12)

    def test_what_is_no_imbalance_is_refused(self):
        for imbalance in (math.nan, math.inf, np.array([1.0, -math.inf])):
            with pytest.raises(ArgumentError, match="`imbalance` must be finite"):
                imbalanced(1.0, 0.1, imbalance)

    def test_no_overflow_anywhere(self):
        grid = np.meshgrid([0.0, 1.0, -1e3, 1e3, 1e-300], [0.0, 1e-300, -1e-3, 1.0, 1e6], [0.0, 1e-200, -5.0, 1e6])
        strength, initial, imbalance = map(np.ravel, grid)
        solution = imbalanced(strength, initial, imbalance)(np.array([0.0, 1e-9, 1.0, 1e6, 1e300, np.inf]))
        assert all(np.all(np.isfinite(value)) for value in solution.values())
        np.testing.assert_allclose(np.asarray(solution["product"])[0], initial, rtol=1e-9, atol=1e-9)

    def test_imbalance_turns_the_sigmoid_into_an_exponential(self):
        times = np.linspace(0.0, 6.0, 60001)
        rich, lazy = np.asarray(imbalanced(1.0, 1e-3, np.array([0.0, 100.0]))(times / 1.0)["product"]).T
        assert times[np.argmax(rich > 0.1)] / times[np.argmax(rich > 0.9)] == pytest.approx(0.517, abs=1e-3)
        assert times[np.argmax(lazy > 0.1)] / times[np.argmax(lazy > 0.9)] == pytest.approx(0.0458, abs=5e-3)


class TestErrors:
    @pytest.mark.parametrize("depth", [0.5, 0, -1, math.nan, np.array([2.0, 3.0])])
    def test_depth(self, depth):
        with pytest.raises(ArgumentError, match="`depth`"):
            chain(depth, 1.0, 0.1)

    def test_a_traced_depth(self):
        with pytest.raises(ArgumentError, match="`depth`"):
            jax.jit(lambda depth: chain(depth, 1.0, 0.1)(1.0)["product"])(3.0)

    @pytest.mark.parametrize("name", ["input_variance", "timescale"])
    @pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
    def test_positive(self, name, value):
        with pytest.raises(ArgumentError, match=name):
            chain(2, 1.0, 0.1, **{name: value})
        with pytest.raises(ArgumentError, match=name):
            imbalanced(1.0, 0.1, 0.0, **{name: value})

    def test_level(self):
        for level in (0.0, 1.0, np.array([0.5, 1.5]), math.nan):
            with pytest.raises(ArgumentError, match="level"):
                time_to_reach(2, 1.0, 0.1, level)

    def test_between_depth_one_and_two_zero_cannot_be_crossed(self):
        for initial in (0.0, -0.1):
            with pytest.raises(ArgumentError, match="initial"):
                chain(1.5, 1.0, initial)
        traced = jax.jit(lambda initial: chain(1.5, 1.0, initial)(1.0)["product"])
        assert np.all(np.isnan(traced(jnp.asarray([0.0, -0.1]))))


def test_modes_that_do_not_fit_and_numbers_that_are_none_are_refused():
    with pytest.raises(ArgumentError, match=r"`strength` must have one entry for each mode.*\(3,\), \(2,\)"):
        chain(2, np.ones(3), np.ones(2))
    with pytest.raises(ArgumentError, match="`input_variance` must be finite"):
        chain(2, 1.0, 0.1, input_variance=np.inf)
    with pytest.raises(ArgumentError, match="`imbalance` must be finite"):
        imbalanced(1.0, 0.1, np.inf)


def test_times_of_imbalanced_weights_invert_the_closed_form():
    """For tasks of either sign, from either side of zero, and whatever the imbalance."""
    starts, imbalances = (0.02, -0.02, -30.0), (1e-4, 0.03, -2.0, 300.0)
    grid = [(s, np.sign(s) * a, ell) for s in (1.7, -0.4) for a in starts for ell in imbalances]
    strength, initial, imbalance = np.array(grid).T
    solution = imbalanced(strength, initial, imbalance, input_variance=0.8, timescale=TIMESCALE)
    for level in (0.1, 0.5, 0.9):
        time = np.asarray(solution.time_to_reach(level))
        assert np.all(time > 0)
        products = np.diagonal(solution(time)["product"])
        np.testing.assert_allclose(products, level * strength / 0.8, rtol=1e-9)


def test_times_without_imbalance_are_those_of_two_balanced_weights():
    strength, initial = np.array([1.7, 1.7, -0.4, 1.0, 1.0, 0.0]), np.array([0.02, 3.0, -0.01, 0.0, -0.1, 0.1])
    found = np.asarray(imbalanced(strength, initial, 0.0).time_to_reach(0.6))
    np.testing.assert_allclose(found, time_to_reach(2, strength, initial, 0.6), rtol=1e-12)
    assert np.isinf(found[3:]).all() and found[1] == 0
    with pytest.raises(ArgumentError, match="`level` must"):
        imbalanced(1.0, 0.1, 0.0).time_to_reach(1.0)
