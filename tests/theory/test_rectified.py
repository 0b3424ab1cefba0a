"""Pathways in a world with contexts: against the data themselves, and against gated networks that learn."""

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.networks.gated import Gated
from festina.networks.graph import Graph
from festina.theory.rectified import always_on, at_start, initial_loss, on_residual, residual_loss, two_phases
from festina.worlds.contexts import context_subsets, multitask
from festina.worlds.gated import GatedDataset

CENTRED = slice(1, None)


def centred_inputs(world):
    """Object modes v_k without the constant one, as vectors of the whole input."""
    modes = np.linalg.svd(world.common)[2][CENTRED]
    return np.pad(modes, ((0, 0), (0, world.context_count)))


def residual(world):
    """What the best linear map leaves of the targets."""
    x, y = world.dataset.inputs, world.dataset.targets
    return y - x @ np.linalg.lstsq(x, y)[0]


@pytest.mark.parametrize(("contexts", "size"), [(3, 1), (3, 2), (3, 3), (4, 2), (5, 3)])
def test_what_a_path_sees_at_the_start(contexts, size):
    world = multitask(contexts, 1.3)
    gate = context_subsets(contexts, size)[-1][world.contexts][:, None]
    x, y = world.dataset.inputs, world.dataset.targets
    cross, inputs = (gate * y).T @ x / len(x), (gate * x).T @ x / len(x)
    modes = centred_inputs(world)
    expected = at_start(size, contexts, world.strengths)
    np.testing.assert_allclose(np.linalg.norm(cross @ modes.T, axis=0), expected.strength, atol=1e-12)
    np.testing.assert_allclose(modes @ inputs @ modes.T, np.diag(expected.input_variance), atol=1e-12)


@pytest.mark.parametrize(("contexts", "size"), [(3, 1), (3, 2), (4, 2), (4, 3), (5, 2)])
def test_what_paths_see_of_the_residual(contexts, size):
    """S, the overlaps of output directions, and the D of all paths of one size together."""
    world = multitask(contexts, 0.8)
    sets, modes = context_subsets(contexts, size), centred_inputs(world)
    gates = sets[:, world.contexts]
    x, y = world.dataset.inputs, residual(world)
    directions = np.einsum("an,no,ni,ki->ako", gates, y, x, modes) / len(x)
    expected = on_residual(size, contexts, world.strengths)
    lengths = np.linalg.norm(directions, axis=-1)
    np.testing.assert_allclose(lengths, np.tile(expected.strength, (len(sets), 1)), atol=1e-12)
    overlap = np.einsum("ako,bko->abk", directions, directions) / (lengths[:, None] * lengths[None])
    shared = np.einsum("an,bn,ni,nj,ki,kj->abk", gates, gates, x, x, modes, modes) / len(x)
    together = (overlap * shared).sum(axis=1)
    np.testing.assert_allclose(together, np.tile(expected.input_variance, (len(sets), 1)), atol=1e-12)


@pytest.mark.parametrize("contexts", [3, 4, 5])
def test_the_source_s_numbers_for_all_contexts_but_one(contexts):
    strengths = multitask(contexts).strengths
    but_one, single = on_residual(contexts - 1, contexts, strengths), on_residual(1, contexts, strengths)
    samples = 8 * contexts
    np.testing.assert_allclose(but_one.strength, np.sqrt((contexts - 1) / contexts) * strengths[1:] / samples)
    np.testing.assert_allclose(but_one.input_variance, (contexts - 1) / samples / (contexts - 1))
    np.testing.assert_allclose(but_one.strength, single.strength)
    np.testing.assert_allclose(samples * residual_loss(contexts, strengths), 0.5 * (contexts - 1) * 17)


@pytest.mark.parametrize(("contexts", "scale"), [(3, 1.0), (5, 1.35)])
def test_the_common_path_s_modes_are_those_of_the_data(contexts, scale):
    world = multitask(contexts, scale)
    modes = always_on(contexts, world.strengths, scale)
    found = np.linalg.svd(world.moments.cross, compute_uv=False)
    every = np.repeat(modes.strength, modes.copies.astype(int))
    np.testing.assert_allclose(np.sort(every)[::-1], found[: len(every)], atol=1e-12)
    start = 0.5 * np.mean(np.sum(world.dataset.targets**2, axis=1))
    left = 0.5 * np.mean(np.sum(residual(world) ** 2, axis=1))
    np.testing.assert_allclose(initial_loss(world.strengths), start)
    np.testing.assert_allclose(residual_loss(contexts, world.strengths), left)
    np.testing.assert_allclose(start - modes.energy.sum(), left)
    np.testing.assert_allclose(on_residual(contexts - 1, contexts, world.strengths).energy.sum(), left)


@pytest.mark.full
def test_a_network_learns_the_common_path_as_predicted():
    world = multitask(3, 1.2)
    modes = always_on(3, world.strengths, 1.2)
    left, _, right = np.linalg.svd(world.moments.cross)
    count = int(modes.copies.sum())
    network = fs.networks.DeepLinear.aligned(left[:, :count], np.full(count, 1e-3), right[:count].T, (count,))
    times = np.linspace(0, 60, 31)
    run = fs.flow(network, world.dataset, times=times)
    predicted = residual_loss(3, world.strengths) + modes(times, 1e-3)["loss"]
    np.testing.assert_allclose(run["loss"], predicted, atol=1e-8)


@pytest.mark.full
@pytest.mark.parametrize(("contexts", "size"), [(3, 2), (4, 2)])
def test_gated_networks_learn_the_residual_as_predicted(contexts, size):
    """One node a path, from decoupled weights, trained on what a common path leaves."""
    world = multitask(contexts)
    sets, inputs = context_subsets(contexts, size), centred_inputs(world)
    names = [f"path{number}" for number in range(len(sets))]
    gates = {name: chosen[world.contexts] for name, chosen in zip(names, sets, strict=True)}
    targets = residual(world)
    data = GatedDataset({"x": world.dataset.inputs}, {"y": targets}, gates)
    weights = {}
    for name in names:
        direction = (gates[name][:, None] * targets).T @ world.dataset.inputs @ inputs.T
        direction /= np.linalg.norm(direction, axis=0)
        weights |= {f"x->{name}": 0.03 * inputs, f"{name}->y": 0.03 * direction}
    widths = {"x": 8 + contexts, "y": targets.shape[1]} | dict.fromkeys(names, 7)
    network = Gated.of(Graph.of(f"x -> {', '.join(names)} -> y", widths=widths), weights)
    times = np.linspace(0, 150, 16)
    run = fs.flow(network, data, times=times, observe=lambda network, data: {"loss": data.loss(network)})
    predicted = on_residual(size, contexts, world.strengths)(times, 9e-4)["loss"]
    np.testing.assert_allclose(run["loss"], predicted, atol=1e-8)
    assert predicted[-1] < 0.2 * predicted[0]


def test_two_phases_add_up():
    strengths = multitask(4).strengths
    both = two_phases(4, strengths, 3)
    times = np.array([0.0, 20.0, 1e4])
    parts = both.common(times, 1e-4)["loss"] + both.contextual(times, 1e-3)["loss"]
    np.testing.assert_allclose(both(times, 1e-4, 1e-3), parts)
    np.testing.assert_array_equal(both(times, 1e-4, 1e-3), two_phases(4, strengths, 3, 1.0)(times, 1e-4, 1e-3))
    np.testing.assert_allclose(both(times, 1e-9, 1e-9)[[0, -1]], [initial_loss(strengths), 0.0], atol=1e-6)
    with pytest.raises(ArgumentError, match="nothing is left for a path always on"):
        two_phases(4, strengths, 4)


@pytest.mark.full
def test_strengths_may_be_whole_numbers_in_a_list():
    for function in (at_start, on_residual):
        whole, real = function(2, 3, [4, 2, 1]), function(2, 3, np.array([4.0, 2.0, 1.0]))
        np.testing.assert_array_equal(whole.energy, real.energy)
        assert np.all(whole.input_variance > 0)
    np.testing.assert_array_equal(two_phases(3, [4, 2, 1], 2)(np.ones(1), 0.1, 0.1).shape, (1,))
    assert initial_loss([4, 2, 1]) == 7.0 and residual_loss(3, [4, 2, 1]) == pytest.approx(5 / 9)
    for refused in (lambda: at_start(1, 3, [1.0, np.inf]), lambda: initial_loss([np.nan, 1.0])):
        with pytest.raises(ArgumentError, match="`strengths` must be finite"):
            refused()
