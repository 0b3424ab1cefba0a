"""The analyser of gates on layers whose gates are known."""

import warnings

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection

import festina as fs
from festina.errors import ArgumentError
from narrowing import there

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


@pytest.mark.full
def test_the_null_has_the_law_of_shuffled_samples():
    """A unit on in two of four samples: both fall into one context in a third of all shuffles, and else into none."""
    found = fs.measures.gates(np.array([[1.0], [1.0], [0.0], [0.0]]), list("aabb"), shuffles=4000)
    assert found.by_size.tolist() == [0.0, 1.0, 0.0]
    np.testing.assert_allclose(found.null.mean(axis=0), [2 / 3, 1 / 3, 0.0], atol=4 * (2 / 9 / 4000) ** 0.5)
    np.testing.assert_allclose(found.contextual_null.mean(), 1 / 3, atol=4 * (2 / 9 / 4000) ** 0.5)
    assert found.chances[1] == pytest.approx(1 / 3, abs=0.05)


def test_items_count_in_the_contexts_of_a_unit_only():
    """On for three of four items in one context, and for the other item in the other, of which it is no part."""
    layer = np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])[:, :, None]
    (group,) = fs.measures.gates(layer, items=range(4)).groups
    assert group.contexts == (0,) and group.items == (0, 1, 2)


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
    assert all(group.items is None for group in fs.measures.gates(layer).groups)  # unless asked for
    found = fs.measures.gates(layer, items=range(6))
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
        raster, *others = found.figure().axes
        assert len(others) == 2 and there(raster.images[0].get_array()).shape == found.on.T.shape
        assert len(found.figure(np.eye(18), layer.reshape(18, -1)).axes) == 4
    assert "mixed" in repr(found)


def test_the_raster_has_a_line_between_any_two_contexts_and_any_two_groups():
    raster = fs.measures.gates(planted()).figure().axes[0]
    places = {"x": set[float](), "y": set[float]()}
    for line in raster.lines:
        (x, other), (y, _) = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        places["x" if x == other else "y"].add(float(x if x == other else y))
    assert places == {"x": {5.5, 11.5}, "y": {7.5, 11.5, 15.5}}
    assert [(text.get_text(), text.get_position()[0]) for text in raster.get_xticklabels()] == [
        ("0", 2.5), ("1", 8.5), ("2", 14.5)
    ]  # fmt: skip


def test_figures_fit_on_a_page_and_thresholds_are_those_that_are_asked_for():
    layer = planted()
    found = fs.measures.gates(layer)
    assert found.threshold_figure([0.4, 0.6]).get_figwidth() <= 7.0
    assert found.by_threshold([0.4, 0.6], shuffles=1)["threshold"].values.tolist() == [0.4, 0.6]
    assert found.figure(np.eye(18), layer.reshape(18, -1)).get_figwidth() <= 10.0


def test_a_unit_that_is_on_in_exactly_half_of_the_samples_of_an_item_is_not_on_for_it():
    layer = np.zeros((8, 2))
    layer[:, 0] = [1, 1, 1, 0, 0, 0, 0, 0]  # both samples of the first item in context 0, one of the second
    layer[:, 1] = 1.0
    found = fs.measures.gates(layer, np.repeat([0, 1], 4), items=np.tile([0, 0, 1, 1], 2))
    assert {group.contexts: group.items for group in found.groups} == {(0,): (0,), (0, 1): None}


def test_shares_that_every_shuffle_has_are_no_surprise():
    found = fs.measures.gates(np.ones((3, 4, 5)), above=0.0)
    assert found.by_size.tolist() == [0.0, 0.0, 0.0, 1.0] and found.chances.tolist() == [1.0] * 4


def test_an_ordinary_rectified_layer_can_be_drawn():
    """Shares that hardly any shuffle has: their mean is above the interval that holds 95 % of them."""
    random = np.random.default_rng(0)
    contexts = np.repeat(np.arange(4), 25)
    layer = np.maximum(random.normal(size=(100, 12)) - 0.8 + 0.9 * random.normal(size=(4, 12))[contexts], 0)
    found = fs.measures.gates(layer, contexts)
    assert np.any(found.null.mean(axis=0) > np.percentile(found.null, 97.5, axis=0))
    drawn = found.figure().axes[1].collections
    (bars,) = [bar for bar in drawn if isinstance(bar, LineCollection) and bar.get_segments()]
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
        ((-np.ones((4, 3)), [0, 1, 0, 1]), "in most of some context's samples"),
        ((np.ones(4), [0, 1, 0, 1]), r"\(samples, units\)"),
        ((np.ones((2, 2, 3)), [0, 1, 2]), r"`contexts` must name the 2 contexts"),
        ((np.ones((2, 2, 3)), [[0, 1], [0, 1]]), r"`contexts` must name the 2 contexts"),
        ((np.ones((2, 2, 3)), None, [0]), r"`items` must name the 2 items"),
        ((np.ones((2, 2, 3, 4, 5)), [0, 1]), r"channels, height, width\)"),
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


def rates(seed=0):
    """The planted units as firing rates: a baseline and a gain of their own, and noise that never reaches zero."""
    random = np.random.default_rng(seed)
    base, gain = random.uniform(4.0, 8.0, len(UNITS)), random.uniform(5.0, 12.0, len(UNITS))
    return base + gain * PATTERNS[UNITS].T[:, None, :] + 0.7 * random.normal(size=(3, 15, len(UNITS)))


def test_positive_rates_have_thresholds_of_their_own_and_the_answer_says_so():
    layer = rates()
    found = fs.measures.gates(layer)
    selective = UNITS > 0  # a unit that is always on has responses of one kind
    np.testing.assert_array_equal(found.sets[:, selective], PATTERNS[UNITS].T[:, selective] > 0)
    assert "half-way between its low and its high responses" in repr(found) and "12 of 20 units have two" in repr(found)
    np.testing.assert_allclose(found.above.of_units, fs.measures.half_way(layer))
    for unit in range(8, 20):
        on = PATTERNS[UNITS[unit]][:, None] * np.ones(15) > 0
        middle = (layer[..., unit][on].mean() + layer[..., unit][~on].mean()) / 2
        np.testing.assert_allclose(found.above.of_units[unit], middle)
    assert "on above 0" in repr(fs.measures.gates(layer, above=0.0))
    assert fs.measures.gates(layer, above=0.0).by_size[3] == 1.0  # what zero says of rates: all are always on


def test_rectified_units_keep_zero_even_if_most_are_on():
    layer = np.random.default_rng(0).uniform(0.5, 1.5, (100, 5))
    layer[:10, 0] = 0.0  # one activation in fifty
    found = fs.measures.gates(layer, np.arange(100) % 2)
    assert np.all(found.above.of_units == 0.0) and "on above 0" in repr(found)
    layer[5:10, 0] = 0.1  # one in a hundred
    assert np.all(fs.measures.gates(layer, np.arange(100) % 2).above.of_units == 0.0)
    layer[2:10, 0] = 0.1  # one in two hundred and fifty
    assert np.all(fs.measures.gates(layer, np.arange(100) % 2).above.of_units > 0.0)


def test_units_that_never_change_are_on_if_they_are_positive():
    layer = rates()
    layer[..., 0] = 0.1 + 0.2
    found = fs.measures.gates(layer)
    assert found.above.of_units[0] == 0.0 and found.sets[:, 0].all()


def test_thresholds_may_be_one_for_all_or_one_a_unit():
    layer = rates()
    each = fs.measures.gates(layer, above=fs.measures.half_way(layer))
    np.testing.assert_array_equal(each.sets, fs.measures.gates(layer).sets)
    assert "on above 9.5" in repr(fs.measures.gates(layer, above=9.5))
    with pytest.raises(ArgumentError, match="`above` must be one number, or 20, one a unit"):
        fs.measures.gates(layer, above=np.ones(3))


@pytest.mark.full
def test_shares_over_thresholds_are_those_of_an_analysis_at_each():
    layer = rates()
    found = fs.measures.gates(layer, above=10.0)
    scanned = found.by_threshold([5.0, 10.0, 15.0])
    for at in (5.0, 10.0, 15.0):
        alone = fs.measures.gates(layer, above=at)
        np.testing.assert_allclose(scanned["share"].sel(threshold=at), alone.by_size)
        np.testing.assert_allclose(scanned["contextual"].sel(threshold=at), alone.contextual)
        np.testing.assert_allclose(scanned["null"].sel(threshold=at), alone.null.mean(axis=0), atol=0.1)
    assert 10.0 in found.by_threshold()["threshold"]
    own = fs.measures.gates(layer)
    np.testing.assert_allclose(own.by_threshold()["share"].sel(threshold=0.5), own.by_size)
    rows = own.by_threshold(np.stack([own.above.of_units, np.full(20, 10.0)]))
    np.testing.assert_allclose(rows["share"], np.stack([own.by_size, found.by_size]))
    with pytest.raises(ArgumentError, match="`thresholds` must be numbers, or rows of 20"):
        found.by_threshold(np.ones((2, 3)))
    for one in (found, own):
        left, right = one.threshold_figure().axes
        assert len(left.lines) == 2 * 4 + 1 and len(right.lines) == 2 + 1  # found and shuffled, and the one taken


def test_names_of_an_xarray_are_kept_in_its_order():
    layer = xr.DataArray(
        rates(),
        dims=("task", "picture", "cell"),
        coords={"task": ["west", "north", "east"], "cell": [f"c{unit}" for unit in range(20)]},
    )
    found = fs.measures.gates(layer, items=layer["picture"])
    assert found.contexts == ("west", "north", "east") and found.items == tuple(range(15))
    assert found.units[8] == "c8" and {("north", "east"), ("west", "east")} <= {g.contexts for g in found.groups}
    assert found.belongs.dims == ("task", "cell") and bool(found.belongs.sel(task="north", cell="c8"))
    assert not bool(found.belongs.sel(task="west", cell="c8")) and "above" in found.belongs.coords
    flat = fs.measures.gates(layer.values.reshape(45, 20), np.repeat(["west", "north", "east"], 15))
    np.testing.assert_allclose(flat.by_size, found.by_size)
    named = fs.measures.gates(layer.values, contexts=["west", "north", "west"])  # two of them are one context
    assert named.contexts == ("west", "north") and len(named.by_size) == 3


def test_feature_maps_are_means_over_positions_unless_another_view_is_taken():
    random = np.random.default_rng(5)
    maps = random.normal(size=(40, 12, 4, 3))
    contexts = np.repeat(["a", "b"], 20)
    found = fs.measures.gates(maps, contexts)
    np.testing.assert_allclose(found.layer.values, maps.mean(axis=(2, 3)))
    np.testing.assert_allclose(fs.measures.channel_means(maps), maps.mean(axis=(2, 3)))
    np.testing.assert_allclose(fs.measures.channel_maxima(maps), maps.max(axis=(2, 3)))
    flat, marks = fs.measures.positions_as_samples(maps, contexts)
    np.testing.assert_allclose(flat[12 * 7 + 3 * 2 + 1], maps[7, :, 2, 1])
    assert marks.tolist() == np.repeat(contexts, 12).tolist() and fs.measures.gates(flat, marks).on.shape == (480, 12)
    with pytest.raises(ArgumentError, match="`labels` must be 40"):
        fs.measures.positions_as_samples(maps, ["a"])


@pytest.mark.mostly_full
@pytest.mark.parametrize("seed", range(20))
def test_any_rectified_layer_can_be_drawn(seed):
    random = np.random.default_rng(seed)
    count, each, units = random.integers(2, 9), random.integers(1, 30), random.integers(2, 80)
    names = [f"context number {k}" for k in range(count)] if seed % 3 == 0 else list(range(count))
    drive = random.normal(size=(count, 1, units)) * random.uniform(0.5, 2) + random.normal(size=(count, each, units))
    layer = np.maximum(drive, 0) * 10.0 ** random.integers(-8, 8)
    layer[..., 0] += 1.0  # is on
    items = range(each) if seed % 2 else None
    found = fs.measures.gates(layer, names, items, shuffles=int(random.choice([1, 2, 50])), above=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = found.figure()
        figure.canvas.draw()
        groups = figure.axes[2]
        labels = [label.get_text() for label in groups.get_yticklabels()]
        if items is None:
            assert len(set(labels)) == len(labels)
    plt.close(figure)
