"""model/temperature-ladder: its temperatures, where it starts, its theory, and what is measured on each rung."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError
from festina.models.temperature_ladder import RECORDS, TemperatureLadder, by_rung
from festina.testing import check_model
from narrowing import solution_of, there

SMALL = {"width": 12, "counts": (3, 2), "ladder": (1.0, 0.5, 0.3), "stay": 8}


def small(**fields):
    return TemperatureLadder(**SMALL | fields)


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    """But for slopes: forces are in single precision."""
    check_model(TemperatureLadder, differentiate=False, **SMALL)


@pytest.mark.parametrize(("heated", "order"), [(False, slice(None)), (True, slice(None, None, -1))])
def test_a_chain_stays_on_each_rung_for_as_many_draws(heated, order):
    with jax.enable_x64(True):
        model = small(heated=heated, stay=16)
        heats = [float(model.heat(jnp.asarray(draw))) for draw in range(-1, 49)]
    assert heats[:1] + heats[-1:] == [model.climb[0], model.climb[-1]]
    np.testing.assert_allclose(heats[1:-1], np.repeat(np.array(SMALL["ladder"])[order], 16))


def test_theory_is_that_of_the_rung_of_each_recording():
    model = small(heated=True)
    course = solution_of(model)(np.array([0.0, 1.0, 8.0, 9.0, 24.0]))["class_kernel"]
    expected = [
        fs.measures.between_classes(model.prediction(heat).kernels[0], model.world().membership)
        for heat in (0.3, 0.3, 0.3, 0.5, 1.0)
    ]
    np.testing.assert_allclose(course, expected)


def test_rungs_are_from_hot_to_cold_for_every_chain():
    """Recordings that are numbered: the first is of no rung, and the chain that climbs is turned round."""
    number = np.arange(1 + 2 * RECORDS)
    falling = np.where(number > RECORDS, 0.2, 1.0)
    heat = np.stack([falling, np.where(number > RECORDS, 1.0, 0.2)])
    data = xr.Dataset(
        {"heat": (("chain", "time"), heat), "seen": ("time", number)}, coords={"time": number, "chain": ["down", "up"]}
    )
    rungs = by_rung(data)
    assert rungs["temperature"].values.tolist() == [1.0, 0.2]
    np.testing.assert_array_equal(rungs["heat"].transpose("chain", "recording", "temperature")[0, 0], [1.0, 0.2])
    seen = rungs["seen"].transpose("chain", "temperature", "recording").values
    np.testing.assert_array_equal(seen[0].ravel(), number[1:])
    np.testing.assert_array_equal(seen[1], seen[0][::-1])


def test_codes_are_counted_on_each_rung():
    """Two neurons; on the second rung one of them changes its code after half of the draws."""
    on = np.zeros((1, 1 + 2 * RECORDS, 2, 2))
    on[0, :, 0, 0] = 1.0
    on[0, 1 + RECORDS + RECORDS // 2 :, 1, 1] = 1.0
    time = np.arange(1 + 2 * RECORDS)
    data = xr.Dataset(
        {
            "heat": (("run", "time"), np.where(time > RECORDS, 0.1, 1.0)[None]),
            "activity": (("run", "time", "neuron", "class"), on),
            "class_kernel": (
                ("run", "time", "class", "other_class"),
                np.ones((1, len(time), 2, 2)) * time[:, None, None],
            ),
            "outliers": (("run", "time"), time[None] * 1.0),
            "served": (("run", "time"), 0.0 * time[None]),
        },
        coords={"time": time},
    )
    found = TemperatureLadder.measure(data)
    np.testing.assert_allclose(found["code_shares"].isel(run=0), [[0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0]])
    np.testing.assert_allclose(found["persistence"].isel(run=0), [1.0, 1.0 - 0.5 / 0.5])
    np.testing.assert_allclose(found["rung_outliers"].isel(run=0), [6.5, 14.5])
    np.testing.assert_allclose(found["rung_class_kernel"].isel(run=0, other_class=0).sel({"class": 1}), [6.5, 14.5])


@pytest.mark.full
def test_a_heated_chain_starts_from_neurons_of_the_theory_at_the_lowest_temperature():
    run = small(heated=True, amplitude=1.1, counts=(10, 8), width=30).run(first_seed=3)
    network = fs.models.WideBayesian(origin="theory", temperature=0.3, amplitude=1.1, counts=(10, 8), width=30)
    with jax.enable_x64(True):
        planted = network.start(jax.random.key(3)).network
    np.testing.assert_allclose(run["readout"][0, 0], planted.readouts, rtol=1e-12)
    np.testing.assert_allclose(run["heat"][0, [1, 9, 17]], [0.3, 0.5, 1.0])


def test_outliers_are_counted_by_the_readouts_and_the_activity_that_are_recorded():
    model = small(nonlinearity="rectified")
    with jax.enable_x64(True):
        network = model.start(jax.random.key(0)).network
        larger = eqx.tree_at(lambda own: own.readout, network, 6.0 * network.readout)
        none, some = (jax.tree.map(np.asarray, model.seen(own)) for own in (network, larger))
    standing_out = fs.measures.outliers(some["readout"], 1 / 5)
    served = fs.measures.serving(standing_out, some["activity"]).any(axis=0)
    assert none["outliers"] == none["served"] == 0
    assert 0 < some["outliers"] == standing_out.sum() < 12 and some["served"] == served.sum()


@pytest.mark.parametrize(
    ("fields", "says"),
    [({"ladder": (0.1, 0.2)}, "`ladder` must fall"), ({"stay": 33}, "`stay` must be a multiple of 8")],
)
def test_what_cannot_be_is_refused_in_a_sentence(fields, says):
    with pytest.raises(ArgumentError, match=says):
        TemperatureLadder.checked("model/temperature-ladder", SMALL | fields)


@pytest.mark.full
def test_neurons_are_proposed_from_the_law_of_their_rung():
    """Up and down the ladder; proposals are accepted at its ends, and the kernel there is that of theory."""
    ladder = {"ladder": (1.0, 0.1), "stay": 80, "width": 60, "counts": (6, 5), "method": "collapsed"}
    for model in (small(**ladder), small(heated=True, **ladder)):
        run = model.run(seeds=2)
        rungs = by_rung(run.data[["heat", "class_kernel", "acceptance"]]).isel(recording=slice(RECORDS // 2, None))
        assert rungs["acceptance"].mean(("run", "recording")).min() > 0.2
        theirs = by_rung(run.data[["heat"]].assign(class_kernel=there(run.theory)["class_kernel"])).isel(recording=-1)
        ours, expected = rungs["class_kernel"].mean(("run", "recording")), theirs["class_kernel"].isel(run=0)
        np.testing.assert_allclose(ours, expected.transpose(*ours.dims), atol=0.06)


def test_only_sigmoidal_neurons_are_drawn_as_a_whole():
    with pytest.raises(ArgumentError, match="`method` must be hmc, unless neurons are sigmoidal"):
        TemperatureLadder.checked("model/temperature-ladder", {"nonlinearity": "linear", "method": "collapsed"})
