"""The λ-balanced solution against integration, its own invariants, the printed formula and frozen numbers."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from festina.errors import ArgumentError, FestinaWarning
from festina.networks.balanced import balanced_weights, feasible
from festina.theory import _riccati_known
from festina.theory._riccati import BLOCK, _lower_gram, _times_inverse
from festina.theory.balanced import balanced, determinant_obstruction
from festina.theory.balanced_literal import ACCURATE_UNTIL, literal
from narrowing import there

TIMES = np.array([0.0, 0.1, 0.7, 2.0, 6.0])
PRODUCTS = ("map", "input_gram", "output_gram")


@pytest.fixture(autouse=True, scope="module")
def quick_compilation():
    """Most of this file's time is XLA compiling small programs; unoptimised, they compute the same."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def problem(sizes, imbalance, scale=0.1, seed=0, rank=None):
    """Weights, and a correlation with singular values in [0.5, 2] that no determinant sign obstructs."""
    inputs, _, outputs = sizes
    first, second = balanced_weights(jax.random.key(seed), sizes, imbalance, scale)
    left, _, right = np.linalg.svd(np.random.default_rng(seed).normal(size=(outputs, inputs)), full_matrices=False)
    strength = np.linspace(2.0, 0.5, min(inputs, outputs))
    if rank is not None:
        strength[rank:] = 0.0
    correlation = left * strength @ right
    if determinant_obstruction(first, second, correlation):
        correlation = correlation * np.where(np.arange(outputs) == 0, -1.0, 1.0)[:, None]
    return first, second, correlation


def integrated(first, second, correlation, times, variance=1.0, timescale=1.0):
    """The three products by DOP853 at relative tolerance 1e-12."""
    split = first.size

    def field(_, weights):
        w1, w2 = weights[:split].reshape(first.shape), weights[split:].reshape(second.shape)
        error = correlation - variance * w2 @ w1
        return np.concatenate([(w2.T @ error).ravel(), (error @ w1.T).ravel()]) / timescale

    start = np.concatenate([first.ravel(), second.ravel()])
    span = (0.0, float(np.max(times)))
    solved = solve_ivp(field, span, start, "DOP853", times, rtol=1e-12, atol=1e-14).y.T
    w1, w2 = solved[:, :split].reshape(-1, *first.shape), solved[:, split:].reshape(-1, *second.shape)
    return {
        "map": w2 @ w1,
        "input_gram": np.swapaxes(w1, 1, 2) @ w1,
        "output_gram": w2 @ np.swapaxes(w2, 1, 2),
        "loss": variance / 2 * np.sum((correlation / variance - w2 @ w1) ** 2, axis=(1, 2)),
    }


def worst(one, other, names=PRODUCTS):
    return max(float(np.max(np.abs(one[name] - other[name]))) for name in names)


# ---------------------------------------------------------------------------------------------- reference

SHAPES = {
    0.0: [(3, 3, 5), (5, 3, 3), (4, 4, 4), (6, 2, 5), (3, 5, 6)],
    1e-3: [(3, 3, 5), (5, 3, 3), (4, 4, 4), (3, 5, 6)],
    -1e-3: [(3, 3, 5), (5, 3, 3), (4, 4, 4), (6, 2, 5)],
    1.0: [(3, 3, 5), (5, 3, 3), (4, 4, 4), (6, 2, 5)],
    -1.0: [(3, 3, 5), (5, 3, 3), (4, 4, 4), (6, 2, 5)],
    8.0: [(3, 3, 5), (5, 3, 3), (4, 4, 4), (3, 5, 6)],
    -8.0: [(3, 3, 5), (5, 3, 3), (4, 4, 4), (6, 2, 5)],
}


@pytest.mark.mostly_full
@pytest.mark.parametrize("imbalance", SHAPES)
def test_agrees_with_integration(imbalance):
    for seed, sizes in enumerate(SHAPES[imbalance]):
        for rank in (None, 1):
            weights = problem(sizes, imbalance, seed=seed, rank=rank)
            solution, reference = balanced(*weights), integrated(*weights, TIMES)
            assert worst(solution(TIMES), reference, (*PRODUCTS, "loss")) < 1e-9, (sizes, rank)


def test_singular_growing_part():
    """Hidden directions without any growing component: B = W₂ᵀU + W₁V is singular."""
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    first = np.diag([0.3, 0.2, 0.4]) @ turn
    second = turn.T @ np.diag([0.3, 0.2, -0.4])
    correlation = turn.T @ np.diag([2.0, 1.0, 0.5]) @ turn
    with pytest.warns(FestinaWarning, match="saddle"):
        solution = balanced(first, second, correlation)
    assert worst(solution(TIMES), integrated(first, second, correlation, TIMES)) < 1e-9
    saddle = turn.T @ np.diag([2.0, 1.0, 0.0]) @ turn  # rounding errors would leave it at t ≈ 35/0.5
    for times in (np.linspace(0, 1e5, 5), np.array([3.0, 50.0, 1e3, 1e4, 1e5])):
        np.testing.assert_allclose(solution(times)["map"][-1], saddle, atol=1e-12)
    np.testing.assert_allclose(solution.limit()["map"], saddle, atol=1e-12)


def test_tiny_fast_mode_overtakes_in_a_bottleneck():
    """Two hidden units hold the slower modes; the fastest starts at 1e-9 and still takes one of them."""
    first = np.array([[1e-9, 0.6, 0.8], [2e-9, -0.8, 0.6]])
    correlation = np.diag([1.5, 1.4, 1.2])
    solution = balanced(first, first.T, correlation)
    np.testing.assert_allclose(solution.limit()["map"], np.diag([1.5, 1.4, 0.0]), atol=1e-12)
    chain, leap = solution(np.linspace(0, 60, 160)), solution(np.full(160, 60.0))
    assert max(np.max(np.abs(chain[name][-1] - leap[name][-1])) for name in PRODUCTS) < 1e-12


@pytest.mark.mostly_full
@pytest.mark.parametrize("sizes, imbalance", [((4, 4, 4), 0.0), ((3, 3, 5), 1.0), ((5, 3, 3), -8.0)])
def test_long_times_reach_the_limits(sizes, imbalance):
    weights = problem(sizes, imbalance)
    solution = balanced(*weights)
    left, strength, right = np.linalg.svd(weights[2], full_matrices=False)
    root = np.sqrt(4 * strength**2 + imbalance**2)
    expected = {
        "map": weights[2],
        "input_gram": right.T * (root - imbalance) / 2 @ right,
        "output_gram": left * (root + imbalance) / 2 @ left.T,
    }
    assert worst(solution.limit(), expected) < 1e-12
    for times in (np.full(5, 1e5), np.array([2e3, 1e5, 3e3, 2e3, 5e4]), np.linspace(2e3, 1e5, 5)):
        late = solution(times)
        assert all(np.all(np.isfinite(value)) for value in late.values())
        assert worst(late, {name: value[None] for name, value in expected.items()}) < 1e-9


def test_input_variance_and_timescale():
    first, second, correlation = problem((3, 3, 5), 1.0)
    solution = balanced(first, second, correlation, 2.5, input_variance=0.3)
    reference = integrated(first, second, correlation, TIMES, variance=0.3, timescale=2.5)
    assert worst(solution(TIMES), reference, (*PRODUCTS, "loss")) < 1e-9
    np.testing.assert_allclose(solution.limit()["map"], correlation / 0.3, atol=1e-12)


@pytest.mark.parametrize("imbalance", [0.0, 0.1, -8.0, 1e3])
@pytest.mark.parametrize("sizes", [(4, 4, 4), (3, 3, 5), (5, 3, 3)])
def test_leaps_agree_with_steps(monkeypatch, sizes, imbalance):
    """Where the growing modes are independent, all times are computed from t = 0; elsewhere from one another."""
    first, second, correlation = problem(sizes, imbalance)
    for strengths in (correlation, np.linalg.svd(correlation)[0] @ np.eye(*correlation.shape)):
        solution = balanced(first, second, strengths)
        for times in (np.linspace(0, 10, 30), np.array([1e5, 0.0, 1e-9, 3.0, 40.0, 3.0])):
            with monkeypatch.context() as patch:
                patch.setattr(_riccati_known, "LEVEL", 0.0)
                steps = solution(times), solution.limit()
            for one, other in zip((solution(times), solution.limit()), steps, strict=True):
                for name, values in other.items():
                    np.testing.assert_allclose(one[name], values, rtol=0, atol=1e-13 * (1 + np.max(np.abs(values))))


def test_large_results_are_the_same(monkeypatch):
    """Only where they lie in memory depends on their size."""
    solution = balanced(*problem((3, 3, 5), 1.0))
    usual = solution(TIMES)
    monkeypatch.setattr(_riccati_known, "RECYCLED", 0)
    for name, values in solution(TIMES).items():
        np.testing.assert_array_equal(values, usual[name])
        assert isinstance(values, np.ndarray) and values.flags.writeable


@pytest.mark.parametrize("sizes", [(4, 4, 4), (3, 3, 5), (5, 3, 3)])
def test_squares_are_the_same_in_both_ways(monkeypatch, sizes):
    """Small matrices are multiplied with a copy of themselves, large ones with themselves."""
    solution = balanced(*problem(sizes, 1.0))
    small = solution(TIMES)
    monkeypatch.setattr(_riccati_known, "SMALL", 0)
    for name, values in solution(TIMES).items():
        np.testing.assert_allclose(values, small[name], rtol=0, atol=1e-14 * np.max(np.abs(values)))


@pytest.mark.parametrize("size", [1, 2, 7, 70])
def test_condition_is_never_called_better_than_it_is(size):
    """What is computed from the inverse bounds the condition number that singular values give."""
    rows = np.random.default_rng(size).normal(size=(size, size)) * np.logspace(0, 6, size)[:, None]
    lengths = np.linalg.norm(rows, axis=1)
    condition, inverse = _riccati_known._condition(rows, 1e-18)
    assert condition >= np.linalg.cond(rows / lengths[:, None]) * (1 - 1e-12)
    np.testing.assert_allclose(rows @ there(inverse), np.eye(size), atol=1e-6)
    assert _riccati_known._condition(np.ones((2, 2)), 1e-18)[0] > _riccati_known.SOUND
    floor = 2 * np.min(lengths) / _riccati_known.SOUND
    assert _riccati_known._condition(rows, floor)[0] == np.inf  # the shortest row may be mere rounding


# --------------------------------------------------------------------------------------- the printed formula


@pytest.mark.mostly_full
@pytest.mark.parametrize("sizes, imbalance", [((3, 3, 5), 1.0), ((5, 3, 3), -1.0), ((4, 4, 4), 0.0)])
def test_printed_formula_agrees_in_its_range(sizes, imbalance):
    weights = problem(sizes, imbalance)
    times = np.linspace(0, ACCURATE_UNTIL / np.hypot(2.0, imbalance / 2), 5)
    assert worst(balanced(*weights)(times), literal(*weights)(times), (*PRODUCTS, "loss")) < 1e-8


def test_printed_formula_fails_outside_its_range():
    weights = problem((4, 4, 4), 1.0)
    rate = np.hypot(2.0, 0.5)
    late = literal(*weights)(np.array([0.0, 0.0, 0.0, 40.0, 360.0]) / rate)["map"] - weights[2][None]
    assert np.max(np.abs(late[3])) > 1e-3
    assert not np.all(np.isfinite(late[4]))


def test_misprint_matters_when_widths_differ():
    weights = problem((3, 3, 5), 1.0)
    times = TIMES / 2
    exact, printed = balanced(*weights)(times), literal(*weights, misprinted=True)(times)
    assert worst(exact, printed) > 1e-2
    square = problem((4, 4, 4), 1.0)
    assert worst(balanced(*square)(times), literal(*square, misprinted=True)(times)) < 1e-10


# --------------------------------------------------------------------------------------------- invariants


def factors(values, hidden):
    """Weights with the given products: any factor of QQᵀ will do."""
    gram = np.block([[values["input_gram"], values["map"].T], [values["map"], values["output_gram"]]])
    size, vectors = np.linalg.eigh(gram)
    factor = (vectors * np.sqrt(np.maximum(size, 0.0)))[:, -hidden:]
    split = len(values["input_gram"])
    return factor[:split].T, factor[split:]


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), imbalance=st.floats(-3, 3), time=st.floats(0, 20), later=st.floats(0, 20))
def test_semigroup_conservation_and_rotation(seed, imbalance, time, later):
    first, second, correlation = problem((4, 4, 4), imbalance, scale=0.3, seed=seed)
    solution = balanced(first, second, correlation)
    values = solution(np.array([0.0, time, time, time + later, time + later / 2]))
    there, end = ({name: value[index] for name, value in values.items()} for index in (1, 3))
    # λ through the grams alone: W₂(W₂ᵀW₂ − W₁W₁ᵀ)W₂ᵀ = λ W₂W₂ᵀ
    conserved = end["output_gram"] @ end["output_gram"] - end["map"] @ end["map"].T
    np.testing.assert_allclose(conserved, imbalance * end["output_gram"], atol=1e-11)
    restarted = balanced(*factors(there, 4), correlation, tolerance=1e-6)
    assert restarted.imbalance == pytest.approx(imbalance, abs=1e-7)
    again = restarted(np.linspace(0, later, 5))
    assert worst({name: value[-1] for name, value in again.items()}, end) < 1e-6
    turn, tilt, swirl = (np.linalg.qr(np.random.default_rng(seed + k).normal(size=(4, 4)))[0] for k in range(3))
    turned = balanced(swirl @ first @ turn, tilt @ second @ swirl.T, tilt @ correlation @ turn)
    expected = {
        "map": tilt @ there["map"] @ turn,
        "input_gram": turn.T @ there["input_gram"] @ turn,
        "output_gram": tilt @ there["output_gram"] @ tilt.T,
    }
    found = turned(np.full(5, time))
    assert worst({name: value[2] for name, value in found.items()}, expected) < 1e-9


@pytest.mark.full
def test_any_order_shape_and_repeats():
    weights = problem((3, 3, 5), 1.0)
    solution = balanced(*weights)
    times = np.array([[3.0, 0.0, 0.5], [0.5, 12.0, 3.0]])
    values = solution(times)
    assert {name: value.shape for name, value in values.items()} == {
        "map": (2, 3, 5, 3), "input_gram": (2, 3, 3, 3), "output_gram": (2, 3, 5, 5), "loss": (2, 3),
    }  # fmt: skip
    for index in np.ndindex(times.shape):
        single = solution(times[index])
        assert max(np.max(np.abs(values[name][index] - single[name])) for name in values) < 1e-12
    assert solution(np.zeros(0))["loss"].shape == (0,)
    assert isinstance(values["map"], np.ndarray) and values["map"].dtype == np.float64


def test_double_precision_without_the_flag():
    weights = problem((3, 3, 5), 1.0)
    reference = balanced(*weights)(TIMES)
    with jax.enable_x64(False):
        assert worst(balanced(*weights)(TIMES), reference) < 1e-14


def test_flow_of_aligned_modes():
    """Aligned at λ = 0, each mode is a = s a₀/(a₀ + (s − a₀)e^{−2sT})."""
    strength = np.array([3.0, 2.0, 1.0])
    found = balanced(0.1 * np.eye(3), 0.1 * np.eye(3), np.diag(strength), 2.0)(TIMES)["map"]
    expected = 0.01 * strength / (0.01 + (strength - 0.01) * np.exp(-TIMES[:, None] * strength))
    np.testing.assert_allclose(np.diagonal(found, axis1=1, axis2=2), expected, rtol=1e-12)


def test_frozen_numbers():
    first = np.array([[0.3, 0.4, -0.1], [0.0, 0.5, 0.2], [0.1, 0.0, 0.6]])
    second = np.zeros((5, 3))
    second[1:4] = np.linalg.cholesky(first @ first.T + 0.7 * np.eye(3)).T
    correlation = np.arange(15.0).reshape(5, 3) % 4 - 1.5
    found = balanced(first, second, correlation)(TIMES)
    assert worst(found, integrated(first, second, correlation, TIMES)) < 1e-9  # rank 1 beyond S's left vectors
    np.testing.assert_allclose(found["loss"], FROZEN_LOSS, rtol=1e-10)
    np.testing.assert_allclose(found["map"][2, 1], FROZEN_ROW, rtol=1e-12)


FROZEN_LOSS = [
    8.43564078484453,
    7.004955139709851,
    0.7617791036004556,
    0.027897684159616635,
    4.239328911408564e-06,
]
FROZEN_ROW = [1.4622692359997604, -0.9258445213260664, -0.4795477904972034]


# -------------------------------------------------------------------------------------- transformations


def total(first, second, correlation, time):
    values = balanced(first, second, correlation)(time)
    weight = jnp.cos(jnp.arange(values["map"].size, dtype=float)).reshape(values["map"].shape)
    return jnp.sum(weight * values["map"]) + jnp.sum(values["input_gram"]) + 2 * jnp.sum(values["loss"])


GRADIENT, VALUE = jax.jit(jax.grad(total, argnums=(0, 1, 2, 3))), jax.jit(total)


@pytest.mark.full
@pytest.mark.parametrize("target", ["identity", "zero", "repeated"])
@pytest.mark.parametrize("imbalance", [0.0, 1.0])
def test_gradients_at_degenerate_spectra(target, imbalance):
    first, second, _ = problem((3, 3, 3), imbalance, scale=0.4)
    correlation = {"identity": np.eye(3), "zero": np.zeros((3, 3)), "repeated": np.diag([2.0, 2.0, 1.0])}[target]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments = tuple(map(np.asarray, (first, second, correlation, [0.3, 1.1])))
        gradients = GRADIENT(*arguments)
        for position, gradient in enumerate(gradients):
            assert np.all(np.isfinite(gradient))
            for index in np.ndindex(gradient.shape):
                step = np.zeros(gradient.shape)
                step[index] = 1e-5
                up, down = ((*arguments[:position], arguments[position] + sign * step, *arguments[position + 1 :])
                            for sign in (1, -1))  # fmt: skip
                slope = float(VALUE(*up) - VALUE(*down)) / 2e-5
                assert slope == pytest.approx(float(gradient[index]), abs=2e-8)


@pytest.mark.full
def test_second_derivatives():
    first, second, _ = problem((3, 3, 3), 1.0, scale=0.4)
    correlation, times = jnp.eye(3), jnp.array([0.3, 1.1])

    def along(shift):
        return total(jnp.asarray(first), jnp.asarray(second), correlation * (1 + shift), times)

    slope = jax.jit(jax.grad(along))
    curvature = jax.jit(jax.jacfwd(jax.grad(along)))(0.2)
    np.testing.assert_allclose(curvature, (slope(0.2 + 1e-5) - slope(0.2 - 1e-5)) / 2e-5, rtol=1e-6)


def test_batched_over_correlations():
    first, second, correlation = problem((3, 3, 5), 1.0)
    factors = np.array([0.5, 1.0, 1.5])
    batched = jax.vmap(lambda factor: balanced(first, second, factor * correlation)(TIMES))(factors)
    for index, factor in enumerate(factors):
        alone = balanced(first, second, factor * correlation)(TIMES)
        assert worst({name: value[index] for name, value in batched.items()}, alone) < 1e-13


def test_products_and_solves_by_halves_are_those_of_whole_matrices():
    """Of sizes that are halved twice, and unevenly."""
    random = np.random.default_rng(0)
    matrix, lower = random.normal(size=(7, 4 * BLOCK + 3)), np.tril(random.normal(size=(4 * BLOCK + 3,) * 2) / 20)
    lower[np.diag_indices(len(lower))] = 2.0
    expected = np.linalg.solve(lower, matrix.T).T
    np.testing.assert_allclose(_times_inverse(jnp.asarray(matrix), jnp.asarray(lower)), expected, atol=1e-12)
    gram = np.tril(_lower_gram(jnp.asarray(matrix)))
    np.testing.assert_allclose(gram, np.tril(matrix.T @ matrix), atol=1e-12)


def test_derivatives_are_never_silently_wrong_at_long_times():
    weights = tuple(map(jnp.asarray, problem((3, 3, 3), 1.0)))

    def entry(time, steps):
        return balanced(*weights, gradient_steps=steps)(time)["loss"]

    rate = jax.jit(jax.grad(entry), static_argnums=1)
    slope = (entry(0.7 + 1e-5, 64) - entry(0.7 - 1e-5, 64)) / 2e-5
    assert rate(0.7, 64) == pytest.approx(float(slope), rel=1e-7)
    assert np.isfinite(rate(200.0, 64)) and abs(rate(200.0, 64)) < 1e-12
    assert np.isnan(rate(1e4, 64))


# ----------------------------------------------------------------------------------- arguments, warnings


@pytest.mark.parametrize("imbalance", [0.0, 1e-3, -2.0, 5.0])
@pytest.mark.parametrize("sizes", [(3, 3, 3), (5, 2, 3), (2, 4, 6), (6, 4, 2), (2, 5, 3)])
def test_balanced_weights(sizes, imbalance):
    inputs, hidden, outputs = sizes
    if (imbalance > 0 and hidden > outputs) or (imbalance < 0 and hidden > inputs):
        with pytest.raises(ArgumentError, match=r"hidden width of at most \d+ for λ"):
            feasible(imbalance, sizes)
        with pytest.raises(ArgumentError, match="full rank"):
            balanced_weights(jax.random.key(1), sizes, imbalance, 0.2)
        return
    feasible(imbalance, sizes)
    first, second = balanced_weights(jax.random.key(1), sizes, imbalance, 0.2)
    assert first.shape == (hidden, inputs) and second.shape == (outputs, hidden)
    np.testing.assert_allclose(second.T @ second - first @ first.T, imbalance * np.eye(hidden), atol=1e-12)
    strength = np.linalg.svd(second @ first, compute_uv=False)
    np.testing.assert_allclose(strength[: min(sizes)], 0.2, atol=1e-12)
    np.testing.assert_allclose(strength[min(sizes) :], 0.0, atol=1e-12)


def test_refusals():
    first, second, correlation = problem((3, 3, 5), 1.0)
    with pytest.raises(ArgumentError, match=r"`second` must be balanced .* off by 0\.\d+ at .* where .* allowed"):
        balanced(first, 1.1 * second + 0.1, correlation)
    with pytest.raises(ArgumentError, match=r"`correlation` must have shape \(outputs, inputs\) = \(5, 3\)"):
        balanced(first, second, np.ones((5, 4)))
    with pytest.raises(ArgumentError, match=r"`second` must have shape \(outputs, hidden\) = \(5, 3\)"):
        balanced(first, second.T, correlation)
    with pytest.raises(ArgumentError, match=r"`correlation` must have shape \(outputs, inputs\) = \(5, 3\)"):
        balanced(first, second, correlation.T)
    single = first.astype(np.float32), second.astype(np.float32)
    with pytest.raises(ArgumentError, match=r"allowed by `tolerance` = 1e-12 \(weights in single precision need"):
        balanced(*single, correlation, tolerance=1e-12)
    with pytest.raises(ArgumentError, match="`timescale` must be one number"):
        balanced(first, second, correlation, np.ones(2))
    with pytest.raises(ArgumentError, match="`first` must be a matrix with rows and columns"):
        balanced(first[0], second, correlation)
    with pytest.raises(ArgumentError, match="`correlation` must be finite"):
        balanced(first, second, np.where(correlation > 0, np.nan, correlation))
    with pytest.raises(ArgumentError, match="`timescale` must be positive"):
        balanced(first, second, correlation, 0.0)
    with pytest.raises(ArgumentError, match="`input_variance` must be positive"):
        balanced(first, second, correlation, input_variance=-1.0)
    with pytest.raises(ArgumentError, match="`time` must be finite and not negative"):
        balanced(first, second, correlation)(np.array([0.0, -1.0]))


@pytest.mark.parametrize("tolerance", [1e-8, 1e-3])
def test_weights_may_be_off_balance_by_the_tolerance_and_no_more(tolerance):
    """By `tolerance` times the larger of |W₂ᵀW₂| and |W₁W₁ᵀ|, in the spectral norm."""
    first, second, correlation = problem((3, 3, 5), 1.0)
    largest = np.linalg.norm(second.T @ second, ord=2)
    first, second = first / largest**0.5, second / largest**0.5
    for off, allowed in ((0.9, True), (1.1, False)):
        root = np.linalg.cholesky(second.T @ second + tolerance * off * (np.eye(3)[:, ::-1] - np.diag([0, 1, 0])))
        unequal = second @ np.linalg.inv(np.linalg.cholesky(second.T @ second)).T @ root.T
        if allowed:
            balanced(first, unequal, correlation, tolerance=tolerance)
        else:
            with pytest.raises(ArgumentError, match="`second` must be balanced"):
                balanced(first, unequal, correlation, tolerance=tolerance)


def test_modes_that_neither_grow_nor_decay_are_solved_in_either_way():
    """Rates of exactly zero, where (e^{2ΛT} − 1)/2Λ is T: known numbers and traced ones agree with integration."""
    first, second = 0.5 * np.eye(2), 0.5 * np.eye(2)
    correlation, times = np.diag([1.5, 0.0]), np.array([0.0, 0.5, 2.0, 30.0])
    known = balanced(first, second, correlation)(times)
    traced = jax.jit(lambda first: balanced(first, second, correlation)(times))(jnp.asarray(first))
    decay = 0.25 / (1.0 + 2 * 0.25 * times)  # of the product p of both weights without a target: dp/dt = −2p²
    for found in (known, traced):
        np.testing.assert_allclose(found["map"][:, 1, 1], decay, rtol=1e-12)
        assert np.isfinite(found["loss"]).all()


def test_determinant_obstruction():
    first, second, correlation = problem((4, 4, 4), 0.0)
    assert not determinant_obstruction(first, second, correlation)
    mirrored = correlation * np.array([[-1.0], [1.0], [1.0], [1.0]])
    assert determinant_obstruction(first, second, mirrored)
    with pytest.warns(FestinaWarning, match="ends at a saddle"):
        solution = balanced(first, second, mirrored)
    weakest = np.linalg.svd(mirrored, compute_uv=False)[-1]
    assert solution(np.full(5, 1e5))["loss"][0] == pytest.approx(weakest**2 / 2, rel=1e-9)
    assert not determinant_obstruction(*problem((4, 4, 4), 1.0)[:2], mirrored)
    assert not determinant_obstruction(*problem((3, 3, 5), 0.0))


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.full), pytest.param(4, marks=pytest.mark.full)])
def test_no_rounding_error_leaves_the_saddle(size):
    """Weights balanced up to rounding, whose growing part is singular up to rounding: about half of them escaped."""
    for seed in range(6):
        generator = np.random.default_rng(seed + 1000 * size)
        first = generator.normal(size=(size, size)) * 10 ** generator.uniform(-3, 0.5)
        turn, left, right = (np.linalg.qr(generator.normal(size=(size, size)))[0] for _ in range(3))
        second, strengths = turn @ first.T, np.linspace(2.0, 0.5, size)
        correlation = left * strengths @ right
        if not determinant_obstruction(first, second, correlation):
            correlation[0] *= -1.0
        with pytest.warns(FestinaWarning, match="never learns the weakest mode, and this solution stays there"):
            solution = balanced(first, second, correlation)
        assert worst(solution(TIMES), integrated(first, second, correlation, TIMES)) < 1e-9
        late = np.array([0, 0, 0, 3, 1e3]), np.array([10, 30, 100, 300, 1e5])
        ends = [solution(times)["loss"][-1] for times in late]
        np.testing.assert_allclose([*ends, solution.limit()["loss"]], 0.125, rtol=1e-9)
