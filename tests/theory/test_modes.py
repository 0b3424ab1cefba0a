"""Full networks as chains: exact where the modes are decoupled, close where weights are small."""

import functools
import warnings
from collections.abc import Sequence
from fractions import Fraction
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import hadamard

import festina as fs
from festina.errors import ArgumentError, FestinaWarning
from festina.networks import DeepLinear
from festina.theory._coupling import _doubt
from festina.theory.modes import singular_modes
from festina.worlds import Dataset, Moments, Teacher


@pytest.mark.mostly_full
@pytest.mark.parametrize("hidden", [(), (5,), (4, 6)])
def test_decoupled_networks_are_independent_chains(hidden):
    teacher = Teacher(np.random.default_rng(0).normal(size=(3, 4)), 0.3)
    left, strengths, right = singular_modes(teacher.map)
    network = DeepLinear.aligned(left, 0.1 * strengths**0 * [1.0, 2.0, 0.5], right, hidden)
    run = fs.flow(network, teacher, until=5.0)
    comparison = fs.compare(run, fs.theory.modes(teacher, initial=network))
    assert comparison.max_error < 1e-8, comparison


@pytest.mark.full
@pytest.mark.parametrize("world", [fs.worlds.tree(features=60), fs.worlds.partition(3, 3, features=60)])
def test_small_random_weights_follow_the_modes(world):
    """Degenerate spectra included; what is left is the coupling of modes through a hidden layer of finite width."""
    errors = []
    for width in (32, 512):
        network = DeepLinear.init(jax.random.key(0), (world.items, width, 60), 1e-5)
        run = fs.flow(network, world, until=60.0)
        comparison = fs.compare(run, fs.theory.modes(world, initial=network))
        errors.append(comparison.errors["map"] / float(abs(run["map"]).max()))
    assert errors[1] < 0.06 and errors[1] < errors[0]


def integrated(network, teacher, times):
    """Every weight by DOP853, and the map at the times."""
    weights = [np.asarray(weight, float) for weight in network.weights]
    edges = np.cumsum([weight.size for weight in weights])[:-1]
    moments = teacher.moments
    variance, cross = float(moments.inputs[0, 0]), np.asarray(moments.cross)

    def split(flat) -> list[np.ndarray]:
        return [part.reshape(weight.shape) for part, weight in zip(np.split(flat, edges), weights, strict=True)]

    def product(parts: Sequence[np.ndarray], size: int) -> np.ndarray:
        return functools.reduce(lambda done, part: part @ done, parts, np.eye(size))

    def rate(_, flat):
        parts = split(flat)
        error = cross - variance * product(parts, cross.shape[1])
        before = [product(parts[:k], cross.shape[1]) for k in range(len(parts))]
        after = [product(parts[k + 1 :], part.shape[0]) for k, part in enumerate(parts)]
        return np.concatenate([(a.T @ error @ b.T).ravel() for a, b in zip(after, before, strict=True)])

    start = np.concatenate([weight.ravel() for weight in weights])
    solved = solve_ivp(rate, (0, times[-1]), start, "DOP853", times, rtol=1e-11, atol=1e-13).y.T
    return np.stack([product(split(flat), cross.shape[1]) for flat in solved])


def error_of(solution, network, teacher, until=8.0):
    times = np.linspace(0, until, 25)
    gap = solution(times)["map"] - integrated(network, teacher, times)
    return np.max(np.abs(gap)) / np.max(np.linalg.svd(teacher.map)[1])


def hidden_start(first, second, teacher, units=5, seed=0):
    """Two layers with hidden vectors ``first`` and ``second`` for each mode, in a random orthogonal frame."""
    left, _, right = singular_modes(teacher.map)
    frame = np.linalg.qr(np.random.default_rng(seed).normal(size=(units, units)))[0]
    return DeepLinear((frame[:, : len(first)] @ first @ right.T, left @ second.T @ frame[:, : len(second)].T))


TEACHER = Teacher(np.random.default_rng(3).normal(size=(3, 4)), 0.7)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((0.1, 0.9, 0.3), (0.7, 0.2, 0.3)),
        ((0.5, 0.3, 0.4), (-0.5, 0.3, -0.1)),
        ((0.0, 0.3, 0.4), (0.2, 0.0, 0.0)),
        ((2.0, 0.3, 1.0), (2.0, -3.0, -1.0)),
    ],
)
def test_two_decoupled_layers_need_not_be_equal(first, second):
    network = hidden_start(np.diag(first), np.diag(second), TEACHER)
    solution = fs.theory.modes(TEACHER, network)
    stuck = np.any(np.add(first, second) == 0)  # at a saddle, which rounding errors of an integration leave in time
    assert solution.doubt == 0.0 and error_of(solution, network, TEACHER, 2.0 if stuck else 8.0) < 1e-8


def test_hidden_vectors_of_one_mode_need_not_be_parallel():
    first, second = np.zeros((5, 3)), np.zeros((5, 3))
    first[[0, 1, 2], [0, 1, 2]], second[[0, 1, 2], [0, 1, 2]] = (0.3, 0.2, 0.4), (0.1, 0.5, 0.2)
    second[[3, 4], [0, 1]] = (0.6, 0.3)
    network = hidden_start(first, second, TEACHER)
    solution = fs.theory.modes(TEACHER, network)
    assert solution.doubt == 0.0 and error_of(solution, network, TEACHER) < 1e-8


def test_layers_that_are_nearly_decoupled_have_a_doubt_of_a_thousandth():
    first = np.diag([0.1, 0.2, 0.4])
    first[0, 1] = 1e-8
    solution = fs.theory.modes(TEACHER, hidden_start(first, np.diag([0.3, 0.1, 0.2]), TEACHER))
    assert solution.doubt == pytest.approx(1e-3, rel=1e-3)


def test_inputs_of_another_variance_are_weights_of_another_size():
    """λW in place of W, for inputs of variance λ², as its docstring has it."""
    random = np.random.default_rng(0)
    left, right = (np.linalg.qr(random.normal(size=(4, 3)))[0] for _ in range(2))
    parts, weights = (left, np.array([3.0, 2.0, 1.0]), right), [0.1 * random.normal(size=(4, 4)) for _ in range(2)]
    expected = _doubt(parts, [3.0 * weight for weight in weights], 1.0)
    assert _doubt(parts, weights, 9.0) == pytest.approx(expected, rel=1e-12) and expected > 0.01


def test_equal_strengths_do_not_hide_decoupled_layers():
    teacher = Teacher(np.eye(3))
    network = hidden_start(np.diag([0.1, 0.2, 0.1]), np.diag([0.1, -0.2, 0.4]), teacher)
    solution = fs.theory.modes(teacher, network)
    assert solution.doubt == 0.0 and error_of(solution, network, teacher) < 1e-8


def test_one_layer_is_exact_from_any_start():
    network = DeepLinear((np.random.default_rng(1).normal(size=(3, 4)),))
    solution = fs.theory.modes(TEACHER, network)
    assert error_of(solution, network, TEACHER) < 1e-9
    run = fs.flow(network, TEACHER, until=3.0)
    np.testing.assert_allclose(solution(run["time"].values)["loss"], run["loss"], atol=1e-8)


@pytest.mark.parametrize("signs", [(1, 1, 1), (-1, 1, -1)])
def test_three_decoupled_layers_keep_their_signs(signs):
    left, _, right = singular_modes(TEACHER.map)
    network = DeepLinear.aligned(left, np.array([0.1, 0.2, 0.3]), right, (4, 5))
    *others, last = (np.asarray(weight) for weight in network.weights)
    network = DeepLinear((*others, left * signs @ left.T @ last))
    assert error_of(fs.theory.modes(TEACHER, network), network, TEACHER, 2.0) < 1e-8


def test_starts_that_are_not_decoupled_are_refused():
    for scale in (1e-3, 0.1):
        narrow = DeepLinear.init(jax.random.key(0), (4, 2, 4), scale)
        with pytest.raises(ArgumentError, match="`initial` must have modes that share few hidden directions"):
            fs.theory.modes(Teacher(np.diag([2.0, 1.5, 1.0, 0.5])), narrow)
    with pytest.raises(ArgumentError, match="`initial` must have modes that share few hidden directions"):
        fs.theory.modes(TEACHER, DeepLinear.init(jax.random.key(0), (4, 8, 3), 1.0))
    with pytest.raises(ArgumentError, match=r"`initial` must be decoupled and balanced .* departs from it by \d"):
        fs.theory.modes(TEACHER, DeepLinear.init(jax.random.key(0), (4, 8, 8, 3), 1e-3))
    left, _, right = singular_modes(TEACHER.map)
    first, second, third = DeepLinear.aligned(left, np.array([0.1, 0.2, 0.3]), right, (3, 3)).weights
    with pytest.raises(ArgumentError, match="`initial` must be decoupled and balanced"):
        fs.theory.modes(TEACHER, DeepLinear((2.0 * np.asarray(first), second, third)))


@pytest.mark.full
def test_the_doubt_of_random_starts_holds():
    warned = 0
    for seed in range(12):
        generator = np.random.default_rng(seed)
        units, scale = [6, 16, 100][seed % 3], 10 ** generator.uniform(-3, -0.5)
        teacher = Teacher(generator.normal(size=(3, 3)))
        network = DeepLinear.init(jax.random.key(seed), (3, units, 3), scale)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", FestinaWarning)
            try:
                solution = fs.theory.modes(teacher, network)
            except ArgumentError:
                continue
        warned += bool(caught)
        assert bool(caught) == (solution.doubt > 0.25)
        assert error_of(solution, network, teacher, 20.0) < solution.doubt
    assert 0 < warned < 12


def test_inputs_that_are_not_white_are_refused():
    rng = np.random.default_rng(0)
    world = Dataset(rng.normal(size=(9, 3)), rng.normal(size=(9, 2)))
    with pytest.raises(ArgumentError, match="`world` must have white inputs"):
        fs.theory.modes(world, initial=DeepLinear.init(jax.random.key(0), (3, 4, 2)))


def test_compare_needs_something_in_common():
    teacher = Teacher(np.eye(2))
    run = fs.flow(DeepLinear.init(jax.random.key(0), (2, 2)), teacher, until=1.0)
    with pytest.raises(ArgumentError, match=r"`theory` must give a variable the run recorded \(loss, map\)"):
        fs.compare(run, lambda time: {"x": time})
    figure = fs.compare(run, fs.theory.modes(teacher, initial=run.initial)).plot()
    assert len(figure.axes) == 2


def test_modes_without_strength_decay_exactly():
    teacher = Teacher(np.diag([2.0, 1.0, 0.0]))
    network = DeepLinear.aligned(np.eye(3), np.full(3, 0.3), np.eye(3), (3,))
    run = fs.flow(network, teacher, until=5.0)
    assert fs.compare(run, fs.theory.modes(teacher, initial=network)).max_error < 1e-8


def test_compare_does_not_look_past_nan():
    run = fs.flow(DeepLinear.init(jax.random.key(0), (2, 2)), Teacher(np.eye(2)), until=1.0)
    comparison = fs.compare(run, lambda time: {"loss": np.where(time > 0.5, np.nan, run["loss"].values)})
    assert np.isnan(comparison.max_error)
    with pytest.raises(ArgumentError, match=r"must give `loss` with shape \(201,\)"):
        fs.compare(run, lambda time: {"loss": np.zeros(3)})


def least_loss_exactly(inputs, targets):
    """Least squares in fractions: the normal equations by elimination, and what is left."""
    rows = [[[Fraction(float(entry)) for entry in row] for row in table] for table in (inputs, targets)]
    columns, answers = (list(zip(*table, strict=True)) for table in rows)

    def inner(one, other):
        return sum(a * b for a, b in zip(one, other, strict=True))

    left = Fraction(0)
    for answer in answers:
        frame, rest = [], list(answer)
        for column in columns:  # Gram-Schmidt, without roots
            for unit in frame:
                share = inner(unit, column) / inner(unit, unit)
                column = [a - share * b for a, b in zip(column, unit, strict=True)]
            frame.append(column)
        for unit in frame:
            share = inner(unit, rest) / inner(unit, unit)
            rest = [a - share * b for a, b in zip(rest, unit, strict=True)]
        left += inner(rest, rest)
    return left / (2 * len(inputs))


@pytest.mark.parametrize("size", [1.0, 1e-4, 1e-8, 1e-12, 1e-16, 1e-20])
@pytest.mark.parametrize("turned", [False, True])
def test_the_floor_is_right_however_small_it_is(size, turned):
    """Inputs that are white to the last digit, and others that rounding makes white only nearly."""
    random = np.random.default_rng(1)
    inputs = hadamard(8)[:, 1:4] * 0.7
    if turned:
        inputs = np.sqrt(8) * np.linalg.qr(random.normal(size=(8, 3)))[0]
    targets = inputs @ random.normal(size=(3, 2)) + size * random.normal(size=(8, 2))
    network = DeepLinear.init(jax.random.key(0), (3, 2), 0.1)
    solution = fs.theory.modes(Dataset(inputs, targets), network)
    exact = least_loss_exactly(inputs, targets)
    assert exact > 0 and abs(Fraction(solution.floor) / exact - 1) < 1e-12
    assert solution(1e3)["loss"] == pytest.approx(float(exact), rel=1e-12)


def test_the_floor_is_never_negative():
    """Targets that inputs explain wholly, and a world of which only moments are known."""
    random = np.random.default_rng(2)
    network = DeepLinear.init(jax.random.key(0), (3, 2), 0.1)
    for _ in range(20):
        world = Dataset(hadamard(4)[:, :3], hadamard(4)[:, :3] @ random.normal(size=(3, 2)))
        moments = world.moments
        bare = SimpleNamespace(moments=Moments(moments.inputs, moments.cross, moments.outputs))
        assert 0.0 <= fs.theory.modes(world, network).floor < 1e-31
        assert fs.theory.modes(bare, network).floor == 0.0
    noisy = Teacher(random.normal(size=(2, 3)), 1e-9)
    assert fs.theory.modes(noisy, network).floor == pytest.approx(1e-18, rel=1e-12)


def test_a_network_that_does_not_fit_is_refused():
    with pytest.raises(ArgumentError, match="`initial` must map 2 inputs to 2 outputs"):
        fs.theory.modes(Teacher(np.eye(2)), initial=DeepLinear.init(jax.random.key(0), (3, 2)))
