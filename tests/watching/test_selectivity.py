"""Codes and gates of watched layers over training: those of the analysers, at every look, with their nulls."""

import jax
import numpy as np
import pytest

import festina as fs
from festina.watching import selectivity
from festina.watching.representation import represented, units_of
from festina.watching.targets import Targets
from watching.small import curved, weights

LABELS = np.repeat([0, 1, 2], 10)


@pytest.fixture
def random():
    return np.random.default_rng(5)


def hidden(parameters, inputs):
    return jax.nn.relu(inputs @ parameters["first"]["weight"].T)


def test_every_look_has_the_numbers_of_the_analysers(random):
    inputs = random.normal(size=(30, 4))
    start, middle, end = (weights(random, (4, 60, 3), scale=scale, bias=True) for scale in (0.5, 1.0, 3.0))
    seen = fs.watch((curved, start), inputs, LABELS, layers={"hidden": hidden})
    seen(3, middle)
    seen(9, end)
    data = seen.report().data.sel(watched_layer="hidden")
    before = np.asarray(hidden(start, inputs))
    for step, now in ((0, start), (3, middle), (9, end)):
        layer, found = np.asarray(hidden(now, inputs)), data.sel(step=step)
        code = fs.measures.coding(layer, LABELS, prior_kernel=before @ before.T / 60, resamples=0, shuffles=20)
        assert str(found["code"].values) == code.scheme
        assert float(found["code_strength"]) == pytest.approx(code.statistics.strength, rel=1e-9, abs=1e-12)
        assert float(found["code_share"]) == pytest.approx(code.statistics.share, rel=1e-9)
        assert float(found["code_neighbour"]) == pytest.approx(code.statistics.neighbour, rel=1e-6)
        gates = fs.measures.gates(layer, LABELS, shuffles=20)
        assert float(found["classes_per_unit"]) == pytest.approx(gates.by_size @ np.arange(4))
        assert float(found["selective_share"]) == pytest.approx(gates.by_size[1:3].sum())
        assert float(found["classes_per_unit_shuffled"]) == pytest.approx(np.mean(gates.null @ np.arange(4)))
        assert float(found["active_share"]) == pytest.approx(gates.on.mean())
    assert str(data["code"].sel(step=0).values) == "lazy"  # nothing beyond the start, at the start


def test_layers_without_structure_are_as_their_null_and_others_are_not(random):
    noise = random.normal(size=(30, 80))
    tuned = np.maximum(noise + 4 * random.normal(size=(3, 80))[LABELS], 0)
    flat, sharp = (selectivity.gates_of(layer, LABELS) for layer in (np.maximum(noise, 0), tuned))
    assert abs(flat["selective_share"] - flat["selective_share_shuffled"]) < 0.1
    assert sharp["selective_share"] > sharp["selective_share_shuffled"] + 0.2
    code = selectivity.code_of(tuned, noise, LABELS)[1]
    assert code["code_strength"] > 10 * code["code_strength_shuffled"] > 0
    shuffled = selectivity.code_of(noise, noise, LABELS)[1]
    assert shuffled["code_strength"] == pytest.approx(0, abs=1e-12)


def test_feature_maps_count_by_the_means_of_their_channels(random):
    maps, start = random.normal(size=(2, 30, 24, 5, 4))
    inputs, targets = random.normal(size=(30, 4)), Targets.of(LABELS, 30, 3)
    found = represented(maps, start, inputs, targets)
    flat = represented(maps.mean(axis=(2, 3)), start.mean(axis=(2, 3)), inputs, targets)
    assert found.code == flat.code
    np.testing.assert_allclose(list(found.numbers.values()), list(flat.numbers.values()), rtol=1e-9)
    assert units_of(random.normal(size=(30, 6, 7))).shape == (30, 6)


@pytest.mark.full
def test_channels_are_units_in_every_library(random):
    """Convolutions of PyTorch, Equinox and Flax with the same weights have the same numbers."""
    torch, nn = pytest.importorskip("torch"), pytest.importorskip("flax.linen")
    import equinox as eqx

    kernel, bias = random.normal(size=(24, 2, 3, 3)), random.normal(size=24)
    images, readout = random.normal(size=(30, 2, 5, 6)), random.normal(size=(3, 24))

    class Torch(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution = torch.nn.Conv2d(2, 24, 3).double()
            self.readout = torch.nn.Linear(24, 3, bias=False).double()

        def forward(self, x):
            return self.readout(torch.relu(self.convolution(x)).mean(dim=(2, 3)))

    class Equinox(eqx.Module):
        convolution: eqx.nn.Conv2d
        readout: eqx.nn.Linear

        def __call__(self, x):
            return self.readout(jax.nn.relu(self.convolution(x)).mean(axis=(1, 2)))

    class Flax(nn.Module):
        @nn.compact
        def __call__(self, x):
            maps = nn.Conv(24, (3, 3), padding="VALID", name="convolution")(x)
            return nn.Dense(3, use_bias=False, name="readout")(nn.relu(maps).mean(axis=(1, 2)))

    module = Torch()
    with torch.no_grad():
        for own, value in zip(module.parameters(), (kernel, bias, readout), strict=True):
            own.copy_(torch.tensor(value))
    key = jax.random.key(0)
    other = Equinox(eqx.nn.Conv2d(2, 24, 3, key=key), eqx.nn.Linear(24, 3, use_bias=False, key=key))
    places = lambda module: (module.convolution.weight, module.convolution.bias, module.readout.weight)  # noqa: E731
    with jax.enable_x64(True):
        arrays = (jax.numpy.asarray(kernel), jax.numpy.asarray(bias[:, None, None]), jax.numpy.asarray(readout))
        other = eqx.tree_at(places, other, arrays)
    parameters = {
        "params": {
            "convolution": {"kernel": kernel.transpose(2, 3, 1, 0), "bias": bias},
            "readout": {"kernel": readout.T},
        }
    }
    looks = [
        fs.watch(model, inputs, LABELS, layers=["convolution"]).looks[0].representations
        for model, inputs in (
            (module, images),
            (other, images),
            ((Flax(), parameters), images.transpose(0, 2, 3, 1)),
        )
    ]
    assert looks[0]["dimension"]["convolution"] > 1
    for look in looks[1:]:
        for name in set(looks[0]) - {"similarity_to_inputs"}:
            assert look[name]["convolution"] == pytest.approx(looks[0][name]["convolution"], rel=1e-4, abs=1e-6), name


def test_large_layers_are_sampled_and_small_ones_are_not(random, monkeypatch):
    layer, labels = random.normal(size=(300, 400)), random.integers(0, 3, 300)
    few, own = selectivity.sampled(layer, labels)
    assert few.shape == (selectivity.MOST_PROBES, selectivity.MOST_UNITS) and len(own) == selectivity.MOST_PROBES
    again, _ = selectivity.sampled(layer + 1, labels)
    np.testing.assert_allclose(again, few + 1)  # the same units and probes at every look
    assert selectivity.sampled(layer[:20, :30], labels[:20])[0].shape == (20, 30)


def test_what_a_layer_does_not_have_is_not_a_number(random):
    targets = Targets.of(LABELS, 30, 3)
    silent = represented(np.zeros((30, 5)), np.zeros((30, 5)), random.normal(size=(30, 4)), targets)
    assert silent.code == "" and np.isnan(silent.numbers["classes_per_unit"])
    assert silent.numbers["active_share"] == 0.0
