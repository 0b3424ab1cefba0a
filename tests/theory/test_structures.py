"""Contexts whose structures differ: modes against the data, errors of paths against gradients, fits."""

import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.theory import phases, rectified, structures
from festina.worlds.contexts import context_subsets, different_structures, in_contexts, multitask


def drawn(seed, contexts=4, features=5, objects=6):
    """A world of random features, which have nothing in common."""
    random = np.random.default_rng(seed)
    return in_contexts(
        random.normal(size=(features, objects)), [*random.normal(size=(contexts, features, objects))], 1.4
    )


@pytest.mark.parametrize(("contexts", "scale"), [(2, 1.0), (4, 0.7)])
def test_equal_structures_have_the_modes_of_their_strengths(contexts, scale):
    world, times = multitask(contexts, scale), np.linspace(0, 200, 30)
    ours = structures.two_phases(world.common, world.structures, scale)
    theirs = rectified.two_phases(contexts, world.strengths, contexts - 1, scale)
    logs = np.log([1e-5, 1e-3])
    found, expected = (phases.loss_of(theory, times)(logs) for theory in (ours, theirs))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    "world", [different_structures(1.4), drawn(0), drawn(1, features=1)], ids=["published", "random", "few"]
)
def test_what_the_common_path_sees_is_in_the_data(world):
    inputs, targets = world.dataset.inputs, world.dataset.targets
    path = structures.common_path(world.common, world.structures, 1.4)
    seen = np.pad(path.right, ((0, 0), (0, world.context_count)))
    cross, spread = targets.T @ inputs / len(inputs), inputs.T @ inputs / len(inputs)
    count = len(seen)
    np.testing.assert_allclose(
        np.einsum("ko,oi,ki->k", path.left, cross, seen), path.modes.strength[:count], atol=1e-12
    )
    np.testing.assert_allclose(seen @ spread @ seen.T, np.eye(count) / world.object_count, atol=1e-12)
    best = np.linalg.lstsq(inputs, targets)[0][: world.object_count].T
    np.testing.assert_allclose(path.strengths(best), path.learned, atol=1e-10)
    left = 0.5 * np.mean(np.sum((targets - inputs @ np.linalg.lstsq(inputs, targets)[0]) ** 2, axis=1))
    np.testing.assert_allclose(structures.paths_but_one(world.structures).modes.energy.sum(), left)


@pytest.mark.parametrize("world", [different_structures(), drawn(2)], ids=["published", "random"])
def test_the_error_of_a_path_is_the_gradient_of_the_joint_loss(world):
    """Of linear maps W_k, each on in all contexts but one, on what the best linear map of the input leaves."""
    contexts, objects = world.context_count, np.eye(world.object_count)[world.objects]
    inputs, targets = world.dataset.inputs, world.dataset.targets
    rest = targets - inputs @ np.linalg.lstsq(inputs, targets)[0]
    gates = context_subsets(contexts, contexts - 1)[::-1][:, world.contexts]  # the first is off in the first context
    maps = np.random.default_rng(3).normal(size=(contexts, rest.shape[1], world.object_count))
    answers = np.einsum("kn,koi,ni->no", gates, maps, objects)
    slopes = np.einsum("kn,no,ni->koi", gates, rest - answers, objects) / len(inputs)
    centre = np.eye(world.object_count) - 1 / world.object_count
    path = structures.paths_but_one(world.structures)
    ends = np.einsum("kmo,km,kmi->koi", path.left, path.learned, path.right)
    expected = (ends - (maps + (contexts - 2) * maps.sum(axis=0)) @ centre) / len(inputs)
    np.testing.assert_allclose(slopes @ centre, expected, atol=1e-12)
    np.testing.assert_allclose(ends.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(path.strengths(ends), path.learned, atol=1e-12)


@pytest.mark.full
def test_the_loss_in_numpy_is_that_of_the_phases():
    world, times = different_structures(), np.linspace(0, 190, 50)
    theory = structures.two_phases(world.common, world.structures, 0.6)
    found = phases.loss_of(theory, times)(np.log([1e-5, 1e-3]))
    np.testing.assert_allclose(found, theory(times, 1e-5, 1e-3), atol=1e-10)


def test_modes_are_halfway_at_their_half_times_and_fits_find_the_starts_of_a_curve():
    world, times = different_structures(), np.linspace(0, 190, 120)
    theory = structures.two_phases(world.common, world.structures)
    halves = phases.half_time(theory.common, 1e-4)
    np.testing.assert_allclose(np.diag(phases.course(theory.common, halves, 1e-4)), 0.5)
    assert np.all(phases.half_time(theory.common, 1e3) == 0.0)
    nothing = structures.paths_but_one(np.zeros((3, 2, 4))).modes
    assert np.all(phases.half_time(nothing, 0.1) == 0.0) and np.all(phases.course(nothing, times, 0.1) == 1.0)
    logs = np.array([-16.0, -11.0])
    curve = phases.loss_of(theory, times)(logs)
    np.testing.assert_allclose(phases.fitted_starts(theory, times, curve, 2), logs, atol=0.02)


def test_bad_structures_are_refused_with_a_sentence():
    world = different_structures()
    with pytest.raises(ArgumentError, match=r"`structures` must be two or more matrices of the shape \(15, 8\)"):
        structures.common_path(world.common, world.structures[:1])
    with pytest.raises(ArgumentError, match=r"`structures` must be two or more matrices of the shape \(4, 5\)"):
        structures.paths_but_one(np.ones((1, 4, 5)))
    with pytest.raises(ArgumentError, match="`structures` must be finite"):
        structures.paths_but_one(np.full((3, 4, 5), np.nan))
    with pytest.raises(ArgumentError, match="`starts` must be 1 or 2, but is 3"):
        phases.fitted_starts(structures.two_phases(world.common, world.structures), np.ones(3), np.ones(3), 3)
