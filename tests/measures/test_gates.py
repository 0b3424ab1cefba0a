"""The analyser of gates on layers whose gates are known."""

import warnings

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError

PATTERNS = np.array([[1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0]], float)  # common, and all contexts but one
UNITS = np.repeat(np.arange(4), [8, 4, 4, 4])


def planted(seed=0, items=6):
    """Units with known contexts, random positive activity where they are on: (contexts, items, units)."""
    random = np.random.default_rng(seed)
    return random.uniform(0.5, 1.5, (3, items, len(UNITS))) * PATTERNS[UNITS].T[:, None, :]


def test_planted_groups_are_found_with_their_shares():
    layer = planted()
    found = fs.measures.gates(layer)
    assert {group.contexts: group.units.tolist() for group in found.groups} == {
        (0, 1, 2): list(range(8)),
        (1, 2): list(range(8, 12)),
        (0, 2): list(range(12, 16)),
        (0, 1): list(range(16, 20)),
    }
    strength = np.sqrt(np.mean(layer**2, axis=(0, 1)))
    np.testing.assert_allclose(
        found.by_size, [0, 0, strength[8:].sum() / strength.sum(), strength[:8].sum() / strength.sum()]
    )
    np.testing.assert_allclose(found.mixed, found.by_size[2])
    assert found.contextual == 1.0 and all(group.items is None for group in found.groups)


def test_shuffling_breaks_what_is_structured_and_leaves_what_is_random():
    found = fs.measures.gates(planted())
    assert found.contextual_null.max() < 0.9 and found.chances[2] < 0.2
    random = np.random.default_rng(1).normal(size=(3, 20, 200))
    noise = fs.measures.gates(random)
    low, high = np.percentile(noise.null, [0.5, 99.5], axis=0)
    assert np.all((low <= noise.by_size) & (noise.by_size <= high))
    np.testing.assert_allclose(noise.null.mean(axis=0).sum(), 1.0)


def test_labels_by_name_in_any_order_give_the_same():
    layer = planted()
    order = np.random.default_rng(2).permutation(18)
    contexts = np.repeat(["north", "south", "west"], 6)[order]
    flat = fs.measures.gates(layer.reshape(18, -1)[order].tolist(), contexts.tolist(), np.tile(np.arange(6), 3)[order])
    np.testing.assert_allclose(flat.by_size, fs.measures.gates(layer).by_size)
    assert {group.contexts for group in flat.groups} == {
        ("north", "south", "west"), ("south", "west"), ("north", "west"), ("north", "south"),
    }  # fmt: skip


def test_units_that_tell_items_apart_are_groups_of_their_own():
    layer = planted()
    layer[:, :2, 0] = 0.0
    found = fs.measures.gates(layer)
    (group,) = [group for group in found.groups if group.items is not None]
    assert group.units.tolist() == [0] and group.items == (2, 3, 4, 5) and group.contexts == (0, 1, 2)
    assert found.contextual < 1.0
    np.testing.assert_array_equal(found.group_gates[group.name], np.tile([0, 0, 1, 1, 1, 1], 3))


def test_the_readout_weighs_the_units():
    layer = planted()
    readout = np.zeros((2, len(UNITS)))
    readout[:, 16:] = 1.0
    found = fs.measures.gates(layer, readout=readout)
    assert [group.contexts for group in found.groups] == [(0, 1)] and found.by_size[2] == 1.0


def test_the_effective_network_is_the_one_that_was_planted():
    random = np.random.default_rng(3)
    contexts = np.repeat(np.arange(3), 30)
    inputs = random.normal(size=(90, 5))
    maps = random.normal(size=(4, 2, 5))
    targets = np.einsum("pn,poi,ni->no", PATTERNS[:, contexts], maps, inputs)
    found = fs.measures.gates(PATTERNS[UNITS].T[contexts], contexts)
    effective = found.effective(inputs, targets, cover=1.0)
    assert effective.loss < 1e-20 < effective.loss_linear < effective.loss_zero
    np.testing.assert_allclose(effective(inputs), targets, atol=1e-12)
    assert np.all(np.diff(effective.losses) <= 1e-12) and len(effective.losses) == 4
    assert not effective.saturated and effective.numbers == 180
    few = slice(None, None, 6)  # five samples a context for maps of five inputs
    full = fs.measures.effective_network(inputs[few], targets[few], {n: g[few] for n, g in found.group_gates.items()})
    assert full.saturated and "anything would fit" in repr(full)
    assert effective.parameters == 2 * 3 * 5  # four gates over three contexts: three are independent
    network = fs.networks.Gated.of_maps(effective.maps)
    np.testing.assert_allclose(network({"x": inputs}, effective.gates)["y"], targets, atol=1e-12)
    few = found.effective(inputs, targets, cover=0.3)
    assert len(few.maps) == 1 and few.loss > 1e-3


def test_the_figure_draws_without_a_warning():
    layer = planted()
    found = fs.measures.gates(layer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(found.figure().axes) == 3
        assert len(found.figure(np.eye(18), layer.reshape(18, -1)).axes) == 4
    assert "mixed" in repr(found)


def test_an_ordinary_rectified_layer_can_be_drawn():
    """Shares that hardly any shuffle has: their mean is above the interval that holds 95 % of them."""
    random = np.random.default_rng(0)
    contexts = np.repeat(np.arange(4), 25)
    layer = np.maximum(random.normal(size=(100, 12)) - 0.8 + 0.9 * random.normal(size=(4, 12))[contexts], 0)
    found = fs.measures.gates(layer, contexts)
    assert np.any(found.null.mean(axis=0) > np.percentile(found.null, 97.5, axis=0))
    (bars,) = [bar for bar in found.figure().axes[1].collections if bar.get_segments()]
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends.T, np.percentile(found.null, [2.5, 97.5], axis=0), atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((4, 3)),), "`contexts` must name the context"),
        ((np.ones((4, 3)), [0, 0, 0, 0]), "at least 2 contexts"),
        ((np.ones((4, 3)), [0, 1, 0]), "each of the 4 samples"),
        ((np.zeros((4, 3)), [0, 1, 0, 1]), "not silent"),
        ((np.full((4, 3), np.nan), [0, 1, 0, 1]), "12 non-finite"),
        ((-np.ones((4, 3)), [0, 1, 0, 1]), "on in most"),
        ((np.ones(4), [0, 1, 0, 1]), r"\(samples, units\)"),
        ((np.ones((2, 2, 3)), [0, 1]), "be left out"),
        (([[1.0, 2.0], [1.0]], [0, 1]), "rectangular"),
        ((np.ones((2, 3)), [[0], [1, 2]]), "`contexts` must be a rectangular"),
        ((np.ones((2, 3)), [0.0, np.nan]), "`contexts` must name every sample"),
        ((np.ones((2, 3)) * 1j, [0, 1]), "real numbers"),
        ((np.array([["a"], ["b"]]), [0, 1]), "real numbers"),
    ],
)
def test_bad_input_is_refused_with_a_reason(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        fs.measures.gates(*arguments)


def test_names_of_groups_never_collide():
    """Contexts "a b", "a" and "b": the units of the first are not those of the other two."""
    contexts = np.repeat(["a b", "a", "b"], 2)
    layer = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1]], float).T
    found = fs.measures.gates(layer, contexts)
    assert {group.name for group in found.groups} == {"{'a b'}", "{a b}"}
    assert len(found.effective(np.eye(6), layer, cover=1.0).maps) == 2


def test_a_readout_with_holes_is_refused():
    with pytest.raises(ArgumentError, match="`readout` must be finite"):
        fs.measures.gates(planted(), readout=np.full((2, len(UNITS)), np.nan))
    with pytest.raises(ArgumentError, match="`targets` must be finite"):
        fs.measures.gates(planted()).effective(np.eye(18), np.full((18, 1), np.nan))
