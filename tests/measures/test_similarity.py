"""Similarity, dimension and collapse of layers against sums written out, closed forms, and what must not matter."""

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError
from festina.measures import (
    cka,
    effective_rank,
    kernel_cka,
    kernel_participation_ratio,
    neural_collapse,
    participation_ratio,
    unbiased_cka,
)
from narrowing import there

RANDOM = np.random.default_rng(0)
WIDTHS = [(3, 4), (4, 30), (40, 50), (12, 12), (1, 1)]  # of 12 samples: by units, mixed, and by samples
START = RANDOM.bit_generator.state


@pytest.fixture(autouse=True)
def same_draws():
    """Whichever tests ran before."""
    RANDOM.bit_generator.state = START


def layers(first, second, samples=12):
    """Two layers that have something in common, and means that are not zero."""
    common = RANDOM.normal(size=(samples, 2))
    return [
        common @ RANDOM.normal(size=(2, width)) + RANDOM.normal(size=(samples, width)) + 3.0
        for width in (first, second)
    ]


def rotation(size):
    return np.linalg.qr(RANDOM.normal(size=(size, size)))[0]


def summed_hsic(kernel, other):
    """tr(KHLH) = Σ_ij K_ij L_ij − (2/n) Σ_ijk K_ij L_ik + (1/n²) Σ_ijkl K_ij L_kl, summand by summand."""
    count = len(kernel)
    every = range(count)
    pairs = sum(kernel[i, j] * other[i, j] for i in every for j in every)
    triples = sum(kernel[i, j] * other[i, k] for i in every for j in every for k in every)
    return pairs - 2 * triples / count + sum(map(sum, kernel.tolist())) * sum(map(sum, other.tolist())) / count**2


def u_statistic(kernel, other):
    """The mean over four different samples i, j, q, r of K_ij (L_ij + L_qr − 2 L_iq), which has no bias by symmetry."""
    every, total, terms = range(len(kernel)), 0.0, 0
    for i in every:
        for j in every:
            for q in every:
                for r in every:
                    if len({i, j, q, r}) == 4:
                        total += kernel[i, j] * (other[i, j] + other[q, r] - 2 * other[i, q])
                        terms += 1
    return total / terms


def ratio(estimate, first, second):
    kernels = first @ first.T, second @ second.T
    return estimate(*kernels) / np.sqrt(estimate(kernels[0], kernels[0]) * estimate(kernels[1], kernels[1]))


@pytest.mark.parametrize("widths", WIDTHS)
def test_alignment_is_that_of_sums_written_out(widths):
    first, second = layers(*widths)
    expected = ratio(summed_hsic, first, second)
    assert cka(first, second) == pytest.approx(expected, abs=1e-12)
    assert kernel_cka(first @ first.T, second @ second.T) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("samples", [4, 7])
def test_unbiased_alignment_is_that_of_sums_over_different_samples(widths, samples):
    first, second = layers(*widths, samples=samples)
    assert unbiased_cka(first, second) == pytest.approx(ratio(u_statistic, first, second), abs=1e-11)


CKATORCH = {  # seed, samples, units of either: `cka_base` of ckatorch 1.0.3, and the same with unbiased=True
    (0, 20, 5, 8): (0.37824405445353865, 0.16434352740886912),
    (1, 30, 60, 4): (0.2978860244151563, 0.051654150407039794),
    (2, 12, 200, 150): (0.9414252987616168, 0.029157498293035246),
    (3, 50, 10, 10): (0.3744266469366894, 0.25144302042105415),
}


def partly_shared(seed, samples, first, second):
    """Two layers with three units in common but for noise, drawn anew from their seed."""
    random = np.random.default_rng(seed)
    one, other = random.normal(size=(samples, first)), random.normal(size=(samples, second))
    other[:, :3] += one[:, :3]
    return one, other


@pytest.mark.parametrize("drawn", CKATORCH)
def test_alignment_is_that_of_a_public_package(drawn):
    one, other = partly_shared(*drawn)
    wanted, unbiased = CKATORCH[drawn]
    assert cka(one, other) == pytest.approx(wanted, abs=1e-13)
    assert unbiased_cka(one, other) == pytest.approx(unbiased, abs=1e-13)


@pytest.mark.parametrize("drawn", CKATORCH)
def test_alignment_is_kornbliths_formula(drawn):
    """tr(KHLH)/√(tr(KHKH) tr(LHLH)), HSIC as the paper's eq. 3 has it."""
    one, other = partly_shared(*drawn)
    centring = np.eye(len(one)) - np.ones((len(one), len(one))) / len(one)

    def hsic(kernel, other):
        return np.trace(kernel @ centring @ other @ centring) / (len(kernel) - 1) ** 2

    first, second = one @ one.T, other @ other.T
    wanted = hsic(first, second) / np.sqrt(hsic(first, first) * hsic(second, second))
    assert cka(one, other) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("measure", [cka, unbiased_cka])
@pytest.mark.parametrize("widths", [(3, 4), (40, 50)])
def test_rotations_shifts_and_scales_do_not_matter_but_other_maps_do(measure, widths):
    first, second = layers(*widths)
    found = measure(first, second)
    moved = -7.0 * first @ rotation(widths[0]) + RANDOM.normal(size=widths[0])
    assert measure(moved, second) == pytest.approx(found, abs=1e-12)
    assert measure(second, first) == pytest.approx(found, abs=1e-12)
    assert measure(moved, first) == pytest.approx(1.0, abs=1e-12)
    order = RANDOM.permutation(len(first))
    assert measure(first[order], second[order]) == pytest.approx(found, abs=1e-12)
    assert abs(measure(first @ np.diag([100.0] + [1.0] * (widths[0] - 1)), second) - found) > 0.01


def test_alignment_of_a_layer_with_some_of_its_principal_directions():
    """With white directions, k of D of them: k/√(k D)."""
    white = RANDOM.normal(size=(30, 9))
    white = np.linalg.qr(white - white.mean(axis=0))[0]
    for kept in (1, 4, 9):
        assert cka(white, white[:, :kept]) == pytest.approx(np.sqrt(kept / 9), abs=1e-12)
    assert cka(white[:, :4], white[:, 4:]) == pytest.approx(0.0, abs=1e-12)


def test_few_samples_bias_one_and_not_the_other():
    pairs = [RANDOM.normal(size=(2, 10, 500)) for _ in range(100)]
    assert min(cka(*pair) for pair in pairs) > 0.9
    found = [unbiased_cka(*pair) for pair in pairs]
    assert abs(np.mean(found)) < 4 * np.std(found) / 10 and np.std(found) < 0.4


def test_the_cheap_way_does_not_depend_on_which_is_cheap():
    """Zero units change nothing but which products are taken."""
    first, second = layers(3, 4)
    wide = [np.pad(each, ((0, 0), (0, 60))) for each in (first, second)]
    for measure in (cka, unbiased_cka):
        assert measure(*wide) == pytest.approx(measure(first, second), abs=1e-13)
    assert participation_ratio(wide[0]) == pytest.approx(participation_ratio(first), abs=1e-12)


def test_kernels_may_be_indefinite():
    kernel = np.diag([1.0, -1.0, 2.0]) + 0.5
    assert kernel_cka(kernel, -kernel) == pytest.approx(-1.0)


@pytest.mark.parametrize("shape", [(50, 7), (6, 40)])
def test_participation_ratio_is_that_of_the_covariance(shape):
    layer = RANDOM.normal(size=shape) @ np.diag(np.linspace(1, 3, shape[1])) + 5.0
    eigenvalues = np.linalg.eigvalsh(np.cov(layer.T))
    expected = np.sum(eigenvalues) ** 2 / np.sum(eigenvalues**2)
    assert participation_ratio(layer) == pytest.approx(expected, rel=1e-10)
    centred = layer - layer.mean(axis=0)
    assert kernel_participation_ratio(centred @ centred.T) == pytest.approx(expected, rel=1e-10)
    assert participation_ratio(2.5 * layer @ rotation(shape[1]) - 1.0) == pytest.approx(expected, rel=1e-10)
    assert participation_ratio(layer[:, :1]) == pytest.approx(1.0)


def test_ranks_of_kernels():
    basis = rotation(6)
    equal = basis[:, :4] @ basis[:, :4].T
    assert effective_rank(equal) == pytest.approx(4.0) and kernel_participation_ratio(equal) == pytest.approx(4.0)
    shares = np.array([0.5, 0.25, 0.125, 0.125])
    kernel = basis[:, :4] @ np.diag(9 * shares) @ basis[:, :4].T
    assert effective_rank(kernel) == pytest.approx(2**1.75)  # an entropy of 1.75 bits
    assert kernel_participation_ratio(kernel) == pytest.approx(1 / np.sum(shares**2))
    assert effective_rank([[3.0]]) == kernel_participation_ratio([[3.0]]) == 1.0
    single = RANDOM.normal(size=(300, 5)).astype(np.float32)
    assert effective_rank(single @ single.T) <= 5.001  # rounding below zero is no reason to refuse


def textbook(layer, labels):
    """tr(Σ_W Σ_B⁺)/C, coefficient of variation, spread of cosines and distance from a simplex, class by class."""
    classes = sorted(set(labels))
    groups = [layer[[label == each for label in labels]] for each in classes]
    means = [group.sum(axis=0) / len(group) for group in groups]
    centre = sum(means) / len(means)
    between = sum(np.outer(mean - centre, mean - centre) for mean in means) / len(means)
    within = sum(
        sum(np.outer(one - mean, one - mean) for one in group) / len(group)
        for group, mean in zip(groups, means, strict=True)
    ) / len(means)
    lengths = [np.sqrt(np.sum((mean - centre) ** 2)) for mean in means]
    cosines = [
        (means[c] - centre) @ (means[d] - centre) / (lengths[c] * lengths[d])
        for c in range(len(means))
        for d in range(c)
    ]
    return (
        np.trace(within @ np.linalg.pinv(between, rcond=1e-10, hermitian=True)) / len(means),
        np.std(lengths) / np.mean(lengths),
        np.std(cosines),
        np.mean([abs(cosine + 1 / (len(means) - 1)) for cosine in cosines]),
    )


def signs(found):
    return found.within_class_variability, found.norm_variation, found.angle_variation, found.simplex_deviation


LABELS = np.repeat(["one", "three", "two", "zero"], [10, 10, 10, 10])
SIMPLEX = (np.eye(4) - 0.25) @ rotation(9)[:4]  # four corners in nine units


@pytest.mark.parametrize("units", [2, 9, 100])
@pytest.mark.parametrize("sizes", [(10, 10, 10, 10), (1, 5, 20, 2)])
def test_collapse_is_that_of_the_textbook(units, sizes):
    labels = np.repeat(["one", "three", "two", "zero"], sizes)
    layer = RANDOM.normal(size=(4, units))[np.unique(labels, return_inverse=True)[1]] + 4.0
    layer = layer + 0.3 * RANDOM.normal(size=layer.shape)
    np.testing.assert_allclose(signs(neural_collapse(layer, labels)), textbook(layer, labels.tolist()), rtol=1e-9)
    moved = -3e4 * layer @ rotation(units) + RANDOM.normal(size=units)
    np.testing.assert_allclose(signs(neural_collapse(moved, labels)), textbook(layer, labels.tolist()), rtol=1e-8)


def test_a_simplex_has_collapsed():
    for sizes in ([3, 3, 3, 3], [1, 2, 5, 11]):
        labels = np.repeat(np.arange(4), sizes)
        found = neural_collapse(7 * SIMPLEX[labels] + 2.0, labels, 0.1 * SIMPLEX, answers=labels)
        np.testing.assert_allclose(signs(found), 0.0, atol=1e-13)
        assert found.readout_mismatch == pytest.approx(0.0, abs=1e-13) and found.nearest_mean_agreement == 1.0
    assert found.classes == (0, 1, 2, 3) and found.units == 9


def test_random_features_have_not():
    layer, readout = RANDOM.normal(size=(400, 5)), RANDOM.normal(size=(4, 5))  # in many units they are a simplex
    labels = np.repeat(LABELS, 10)
    found = neural_collapse(layer, labels, readout, answers=RANDOM.permutation(labels))
    assert found.within_class_variability > 3 and found.norm_variation > 0.03 and found.simplex_deviation > 0.03
    assert 1 < there(found.readout_mismatch) < 3  # 2 for directions at right angles
    assert there(found.nearest_mean_agreement) < 0.6


def test_within_class_variability_goes_with_the_variance():
    """Noise of variance s² in the C − 1 directions of a simplex of edge weight 1: s² (C − 1), exactly with ±s."""
    signs_of_noise = np.array([1.0, -1.0])[:, None, None]
    directions = np.linalg.svd(SIMPLEX)[2][:3]
    for spread in (1e-6, 0.1, 2.0):
        noise = spread * np.sqrt(3) * (signs_of_noise * directions).reshape(-1, 9)  # three directions, either way
        layer = (SIMPLEX[:, None] + noise[None]).reshape(-1, 9)
        found = neural_collapse(layer, np.repeat(np.arange(4), 6))
        assert found.within_class_variability == pytest.approx(3 * spread**2, rel=1e-6)
        assert found.simplex_deviation == pytest.approx(0.0, abs=1e-9)


def test_readout_by_rows_of_classes():
    turned = SIMPLEX[::-1]
    labels = np.repeat(np.arange(4), 3)
    expected = np.sum((turned - SIMPLEX) ** 2) / np.sum(SIMPLEX**2)
    assert neural_collapse(SIMPLEX[labels], labels, turned).readout_mismatch == pytest.approx(expected)
    assert neural_collapse(SIMPLEX[labels], labels, -SIMPLEX).readout_mismatch == pytest.approx(4.0)


def test_answers_by_name():
    layer = np.array([[0.0], [0.2], [1.0], [0.9], [0.45]])  # means .1 and .78: their middle is .44
    labels = ["a", "a", "b", "b", "b"]
    assert neural_collapse(layer, labels, answers=labels).nearest_mean_agreement == 1.0
    layer[-1] = 0.3
    assert neural_collapse(layer, labels, answers=labels).nearest_mean_agreement == pytest.approx(0.8)
    assert neural_collapse(layer, labels, answers=list("aaaaa")).nearest_mean_agreement == pytest.approx(0.6)
    assert neural_collapse(layer, labels, answers=list("aabba")).nearest_mean_agreement == 1.0
    assert neural_collapse(layer, labels, answers=list("aabbz")).nearest_mean_agreement == pytest.approx(0.8)
    numbers = np.array([0, 0, 1, 1, 1])
    assert neural_collapse(layer, numbers, answers=numbers.astype(float)).nearest_mean_agreement == pytest.approx(0.8)
    with pytest.raises(ArgumentError, match=r"`answers` must name classes as `labels` does"):
        neural_collapse(layer, labels, answers=numbers)


def test_the_nearest_mean_is_the_nearest():
    labels = np.repeat([0, 1, 2, 3], 25)
    layer = RANDOM.normal(size=(100, 3)) + 4.0 * np.array([0.0, 0.1, 0.5, 2.0])[labels][:, None]
    means = [layer[labels == each].mean(axis=0) for each in range(4)]
    nearest = np.argmin([np.linalg.norm(layer - mean, axis=1) for mean in means], axis=0)
    assert neural_collapse(layer, labels, answers=nearest).nearest_mean_agreement == 1.0
    assert neural_collapse(layer, labels, answers=labels).nearest_mean_agreement == np.mean(nearest == labels) < 0.95


def test_means_in_fewer_directions_than_classes():
    """Classes on a line, one of them in the middle: no direction of its own, and no noise taken for one."""
    labels = np.repeat([0, 1, 2], 4)
    line = (labels - 1.0)[:, None] + np.tile([-0.1, 0.1], 6)[:, None]
    one_unit = neural_collapse(line, labels)
    assert one_unit.within_class_variability == pytest.approx(0.01 / 2)
    assert one_unit.simplex_deviation == pytest.approx((0.5 + 0.5 + 0.5) / 3)  # cosines 0, 0 and −1
    assert one_unit.norm_variation == pytest.approx(np.std([1, 0, 1]) / np.mean([1, 0, 1]))
    for dtype in (np.float64, np.float32, np.float16):
        wide = (line @ RANDOM.normal(size=(1, 30)) + 1.0).astype(dtype)
        found = neural_collapse(wide, labels)
        np.testing.assert_allclose(signs(found), signs(one_unit), rtol=0.02, err_msg=str(dtype))


def test_two_classes_are_always_a_simplex():
    found = neural_collapse(RANDOM.normal(size=(10, 3)), [0] * 7 + [1] * 3)
    assert found.simplex_deviation < 1e-12 and found.norm_variation < 1e-12 and found.angle_variation == 0.0


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_the_unit_of_activations_does_not_matter(scale):
    first, second = layers(5, 40, samples=40)
    for measure in (cka, unbiased_cka):
        assert measure(scale * first, second) == pytest.approx(measure(first, second), abs=1e-12)
        assert measure(scale * first, scale * second) == pytest.approx(measure(first, second), abs=1e-12)
    kernel = first @ first.T
    assert kernel_cka(scale * kernel, second @ second.T) == pytest.approx(cka(first, second), abs=1e-12)
    assert participation_ratio(scale * first) == pytest.approx(participation_ratio(first))
    assert effective_rank(scale * kernel) == pytest.approx(effective_rank(kernel))
    assert kernel_participation_ratio(scale * kernel) == pytest.approx(kernel_participation_ratio(kernel))
    found, plain = (neural_collapse(each, LABELS, scale * SIMPLEX[:, :5]) for each in (scale * first, first))
    np.testing.assert_allclose(signs(found), signs(plain), rtol=1e-9)
    assert found.readout_mismatch == pytest.approx(plain.readout_mismatch)


def test_a_constant_unit_does_not_matter_however_large():
    first, second = layers(5, 6, samples=40)
    joined = np.column_stack([1e-200 * first, np.full(40, 1e300), np.full(40, 0.1)])
    assert cka(joined, second) == pytest.approx(cka(first, second), abs=1e-12)
    assert unbiased_cka(joined, second) == pytest.approx(unbiased_cka(first, second), abs=1e-12)
    assert participation_ratio(joined) == pytest.approx(participation_ratio(first))
    np.testing.assert_allclose(signs(neural_collapse(joined, LABELS)), signs(neural_collapse(first, LABELS)), rtol=1e-9)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: cka(np.full((5, 2), 0.1), np.ones((5, 2))), "`first` must differ between samples, but is 'constant'"),
        (lambda: cka(np.eye(5), np.full((5, 2), 0.1)), "`second` must differ between samples"),
        (lambda: cka(np.ones((1, 2)), np.ones((1, 2))), "`first` must hold at least 2 samples, but is 1"),
        (lambda: cka(np.eye(5), np.eye(4)), "`second` must hold the 5 samples of `first`, but is 4"),
        (lambda: cka(np.ones(5), np.eye(5)), "`first` must be .samples, units."),
        (lambda: cka(np.eye(5), [[1.0, np.nan]] * 5), "`second` must be finite everywhere"),
        (lambda: cka(np.eye(2) * 1j, np.eye(2)), "`first` must be real numbers"),
        (lambda: unbiased_cka(np.eye(3), np.eye(3)), "`first` must hold at least 4 samples, but is 3"),
        (lambda: unbiased_cka(np.eye(6) / 3, np.eye(6)), "`first` must make some pairs of samples more alike"),
        (
            lambda: unbiased_cka(RANDOM.normal(size=(30, 1)), 0.1 * np.eye(30)[:, :1]),
            "`second` must make some pairs of samples more alike",
        ),
        (lambda: kernel_cka(np.ones((3, 2)), np.eye(3)), "`first` must be .samples, samples."),
        (lambda: kernel_cka(np.eye(3), np.eye(4)), "`second` must hold the 3 samples of `first`, but is 4"),
        (lambda: kernel_cka([[2.0]], [[1.0]]), "`first` must hold at least 2 samples"),
        (lambda: kernel_cka(np.eye(3), np.triu(np.ones((3, 3)))), "`second` must be symmetric"),
        (lambda: kernel_cka(np.full((99, 99), 0.1), np.eye(99)), "`first` must differ between samples"),
        (lambda: kernel_cka(np.zeros((4, 4)), np.eye(4)), "`first` must differ between samples"),
        (lambda: participation_ratio(np.full((9, 3), 0.1)), "`activations` must differ between samples"),
        (lambda: participation_ratio(np.ones((1, 3))), "`activations` must hold at least 2 samples"),
        (lambda: effective_rank(np.zeros((3, 3))), "`kernel` must have entries other than 0"),
        (lambda: effective_rank(np.diag([1.0, -1.0])), "`kernel` must have no negative eigenvalues"),
        (lambda: kernel_participation_ratio(np.ones((2, 3))), "`kernel` must be .samples, samples."),
        (lambda: neural_collapse(np.eye(4), [1, 1, 1, 1]), "`labels` must name at least 2 classes"),
        (lambda: neural_collapse(np.eye(4), [0, 1, 2, 3]), "`labels` must leave some class with several samples"),
        (lambda: neural_collapse(np.eye(4), [0, 1]), "`labels` must have one label for each of the 4 samples"),
        (lambda: neural_collapse(np.eye(4)), "`labels` must name the label of each sample"),
        (lambda: neural_collapse(np.ones((4, 2)), [0, 0, 1, 1]), "`activations` must differ between samples"),
        (
            lambda: neural_collapse(np.array([[0.1], [0.7], [0.7], [0.1]]), [0, 0, 1, 1]),
            "`activations` must have class means that differ",
        ),
        (lambda: neural_collapse(np.eye(4), [0, 0, 1, 1], np.eye(4)), "`readout` must be .2 classes, 4 units."),
        (lambda: neural_collapse(np.eye(4), [0, 0, 1, 1], np.zeros((2, 4))), "`readout` must have weights other than"),
        (lambda: neural_collapse(np.eye(4), [0, 0, 1, 1], answers=np.eye(4)), "`answers` must have one label for each"),
    ],
)
def test_what_has_no_answer_gets_a_sentence(call, sentence):
    with pytest.raises(ArgumentError, match=f"^Argument {sentence}"):
        call()


def test_arrays_of_any_library_and_shape():
    torch = pytest.importorskip("torch")
    maps, other = RANDOM.normal(size=(8, 5, 3, 3)), RANDOM.normal(size=(8, 6))
    means, labels = maps.mean(axis=(2, 3)), [0, 0, 0, 1, 1, 1, 2, 2]
    expected = cka(means, other)
    tensor = torch.tensor(maps, requires_grad=True)
    for given in (maps, tensor, jnp.asarray(maps), xr.DataArray(maps), means.tolist()):
        assert cka(given, other) == pytest.approx(expected, abs=1e-12)
        assert cka(other, given) == pytest.approx(expected, abs=1e-12)
        np.testing.assert_allclose(signs(neural_collapse(given, labels)), signs(neural_collapse(means, labels)))
    assert kernel_cka(torch.tensor(means @ means.T), jnp.asarray(other @ other.T)) == pytest.approx(expected)
    assert participation_ratio(tensor.to(torch.bfloat16)) == pytest.approx(participation_ratio(means), rel=0.05)
    half = neural_collapse(torch.tensor(means).to(torch.bfloat16), labels)
    np.testing.assert_allclose(signs(half), signs(neural_collapse(means, labels)), rtol=0.1)


def test_contexts_and_items():
    grid = xr.DataArray(RANDOM.normal(size=(3, 4, 5)), dims=("task", "stimulus", "unit"), coords={"task": list("zya")})
    flat, labels = grid.values.reshape(12, 5), np.repeat([0, 1, 2], 4)
    readout = RANDOM.normal(size=(3, 5))
    found, plain = neural_collapse(grid, readout=readout), neural_collapse(flat, labels, readout)
    assert found.classes == ("z", "y", "a") and signs(found) == signs(plain)
    assert found.readout_mismatch == plain.readout_mismatch  # rows in the order of contexts
    assert cka(grid, flat) == pytest.approx(1.0)


def test_what_is_said_of_a_collapse():
    labels = np.repeat(np.arange(4), 3)
    layer = SIMPLEX[labels]
    assert "\n" in repr(neural_collapse(layer, labels)) and "readout" not in repr(neural_collapse(layer, labels))
    whole = str(neural_collapse(layer + 0.1 * RANDOM.normal(size=layer.shape), labels, SIMPLEX, labels))
    assert whole.count("\n") == 2 and "100.0% of samples" in whole and "4 classes in 9 units" in whole


def test_all_are_shown():
    assert fs.measures.NeuralCollapse.__module__ == "festina.measures.collapse"
