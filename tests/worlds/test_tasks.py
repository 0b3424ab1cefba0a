"""Teachers, blocks, and batches drawn by their law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from festina.errors import ArgumentError, UnknownName
from festina.worlds import MEAN, SUM, Blocks, Sampled, Tasks, Wishart, convention
from festina.worlds.wishart import REACH, chi_polynomial

KEY = jax.random.key(1)


@pytest.mark.parametrize(("rule", "norm", "loss"), [(SUM, 20**-0.5, 0.25), (MEAN, 1.0, 0.5)])
def test_orthogonal_teachers_and_the_two_conventions(rule, norm, loss):
    tasks = Tasks.orthogonal(KEY, 2, 10, 20, rule)
    rows = np.asarray(tasks.maps).reshape(20, 20)
    np.testing.assert_allclose(rows @ rows.T, norm**2 * np.eye(20), atol=1e-12)
    np.testing.assert_allclose(0.5 * tasks.loss_share * np.sum(tasks.maps[0] ** 2), loss)
    assert convention(rule.name) is rule


def test_teachers_are_haar_distributed_in_sign():
    """A QR without its sign rule would give rows whose first entries are all of one sign."""
    first = jax.vmap(lambda seed: Tasks.orthogonal(jax.random.key(seed), 1, 2, 4).maps[0, 0, 0])(jnp.arange(400))
    assert 0.4 < np.mean(np.asarray(first) > 0) < 0.6


@pytest.mark.parametrize(("cosine", "count"), [(0.3, 2), (-0.9, 2), (0.7, 3), (-0.45, 3), (1.0, 2)])
def test_similar_teachers_have_the_cosine_asked_for(cosine, count):
    maps = np.asarray(Tasks.similar(KEY, cosine, count, 5, 20, MEAN).maps)
    cosines = np.einsum("moi,noi->mno", maps, maps)
    for pair in cosines.transpose(2, 0, 1):
        np.testing.assert_allclose(pair, (1 - cosine) * np.eye(count) + cosine, atol=1e-12)


def test_teachers_of_a_rank():
    maps = np.asarray(Tasks.of_rank(KEY, 4, 2, 12, 30, MEAN).maps)
    for teacher in maps:
        np.testing.assert_allclose(np.linalg.svd(teacher)[1], [30**0.5] * 4 + [0.0] * 8, atol=1e-12)
    np.testing.assert_allclose(maps[0] @ maps[1].T, 0, atol=1e-12)
    crowded = np.asarray(Tasks.of_rank(KEY, 20, 2, 30, 30).maps)  # more modes than inputs: no longer orthogonal
    assert np.linalg.matrix_rank(crowded[0]) == 20


def test_compositions():
    tasks = Tasks.orthogonal(KEY, 3, 4, 12)
    a, b, c = tasks.maps
    np.testing.assert_allclose(tasks.averaged(((0, 1), (2,))).maps, jnp.stack([(a + b) / 2, c]))
    mixed = tasks.alternating(((0, 2),)).maps[0]
    np.testing.assert_array_equal(mixed, jnp.stack([a[0], c[1], a[2], c[3]]))
    both = tasks.followed_by(tasks.averaged(((0, 1),)))
    assert both.count == 4 and both.loss_share == tasks.loss_share


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda: Tasks.orthogonal(KEY, 3, 10, 20), "inputs"),
        (lambda: Tasks.similar(KEY, -0.9, 3, 2, 20), "cosine"),
        (lambda: Tasks.of_rank(KEY, 11, 2, 10, 20), "rank"),
        (lambda: Tasks.orthogonal(KEY, 2, 2, 4).averaged(((0, 2),)), "groups"),
        (lambda: Tasks.orthogonal(KEY, 2, 2, 4).followed_by(Tasks.orthogonal(KEY, 2, 2, 4, MEAN)), "others"),
        (lambda: Blocks.of((), 1.0, 0.1), "order"),
        (lambda: Blocks.of((0, 1), 0.01, 0.1), "length"),
        (lambda: Blocks.of((0, 1), (1.0, 2.0, 3.0), 0.1), "length"),
        (lambda: Wishart(10).second_moment(KEY, 20, float), "batch"),
    ],
)
def test_bad_questions_name_their_field(ask, named):
    with pytest.raises(ArgumentError, match=f"`{named}`"):
        ask()


def test_an_unknown_convention_is_named():
    with pytest.raises(UnknownName, match="summ"):
        convention("summ")


def test_blocks_have_exactly_their_steps():
    """Lengths that are no whole multiple of dt in floating point (1/.001 = 999.999…) lose no step."""
    blocks = Blocks.of((0, 1), 0.3, 0.001)
    shown = np.asarray(jax.vmap(blocks.task_at)(jnp.arange(1500)))
    np.testing.assert_array_equal(shown, (np.arange(1500) // 300) % 2)


def test_blocks_of_any_order_and_length_go_round():
    blocks = Blocks.of((2, 0, 2, 1), (0.2, 0.1, 0.4, 0.3), 0.1)
    once = [2, 2, 0, 2, 2, 2, 2, 1, 1, 1]
    shown = [int(blocks.task_at(step)) for step in range(23)]
    assert shown == (once * 3)[:23]
    weights = np.array([[float(w) for w in blocks.shown(step, 3)] for step in range(10)])
    np.testing.assert_array_equal(weights, np.eye(3)[once])


def test_the_polynomial_of_chi_is_its_quantile_function():
    z = np.linspace(-5, 5, 101)
    for degrees, count, error in ((200, 20, 1e-10), (40, 20, 1e-9)):
        for k in (0, count - 1):
            law = stats.chi(degrees - k)
            exact = np.where(z < 0, law.ppf(stats.norm.cdf(z)), law.isf(stats.norm.sf(z)))
            found = np.polynomial.polynomial.polyval(z / REACH, chi_polynomial(degrees, count)[k])
            np.testing.assert_allclose(found, exact, atol=error)


@pytest.mark.parametrize(("degrees", "count"), [(100, 5), (200, 40), (3200, 80), (100_000, 80)])
def test_polynomials_of_all_degrees_of_freedom_are_one_array(degrees, count, monkeypatch):
    """The last coefficient of a fit may be exactly zero: on some processors it is, and here it is made so."""
    fit = np.polynomial.chebyshev.chebfit

    calls = iter(range(count))

    def some_without_last(x, y, power):
        return fit(x, y, power) * (np.arange(power + 1) <= power - next(calls) % 2)

    monkeypatch.setattr(np.polynomial.chebyshev, "chebfit", some_without_last)
    found = chi_polynomial.__wrapped__(degrees, count)
    assert found.shape == (count, 10 if degrees - count >= 179 else 18)
    z = np.linspace(-3, 3, 7)
    at = np.polynomial.polynomial.polyval(z / REACH, found[0])
    np.testing.assert_allclose(at, stats.chi(degrees).ppf(stats.norm.cdf(z)), rtol=1e-6)


@pytest.mark.parametrize("batch", [pytest.param(8, marks=pytest.mark.full), 40])
def test_wishart_matrices_have_the_law_of_sampled_batches(batch):
    """Means, variances and a fourth moment, with few degrees of freedom (rejection) and with more (polynomial)."""
    keys = jax.random.split(KEY, 20_000)
    drawn = [
        np.asarray(jax.jit(jax.vmap(lambda key, rule=rule: rule.second_moment(key, 5, float)))(keys))
        for rule in (Sampled(batch), Wishart(batch))
    ]
    for moments in drawn:
        np.testing.assert_allclose(moments.mean(axis=0), np.eye(5), atol=5 * np.sqrt(2 / batch / 20_000))
        variance = np.full((5, 5), 1 / batch) + np.eye(5) / batch
        np.testing.assert_allclose(moments.var(axis=0), variance, rtol=0.08)
    for statistic in (lambda s: np.linalg.eigvalsh(s)[:, 0], lambda s: np.linalg.det(s), lambda s: s[:, 4, 4]):
        assert stats.ks_2samp(*(statistic(moments) for moments in drawn)).pvalue > 1e-3
