"""model/wide-bayesian: chains against theory, starts from theory, derivatives, and what is refused."""

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.models.wide_bayesian import LEVELS

SMALL = {"width": 12, "counts": (3, 2), "warm_up": 4, "draws": 8, "records": 4, "temperature": 0.4}


def small(**fields):
    return fs.models.WideBayesian(**SMALL | fields)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["linear", "sigmoidal", "rectified"])
def test_chains_have_the_kernel_of_the_theory(kind):
    """At temperatures of their own, in one batch: a chain at one temperature misses the theory of another.

    Sigmoidal codes freeze below the first; rectified outliers condense at .61 and .74, where finite networks differ.
    """
    settings = {"nonlinearity": kind, "width": 100, "warm_up": 60, "draws": 140, "records": 20}
    network = fs.models.WideBayesian(**settings)
    swept = network.sweep(temperature=[0.25, 0.45])
    found = swept["kernel"].isel(seed=0).transpose("temperature", "example", "other").values
    theirs = np.stack([network.prediction(heat).kernels[-1] for heat in (0.25, 0.45)])
    gaps = np.linalg.norm(found[:, None] - theirs[None], axis=(2, 3)) / np.linalg.norm(theirs, axis=(1, 2))
    assert np.diag(gaps).max() < 0.03
    assert np.all(gaps[[0, 1], [1, 0]] > 2 * np.diag(gaps))


@pytest.mark.full
@pytest.mark.parametrize("field", ["temperature", "amplitude"])
def test_derivatives_are_those_of_finite_differences(field):
    """Up to the rounding of forces, which are in single precision."""
    slope = small().derivative("loss", field).values
    below, above = (small(**{field: getattr(small(), field) + step}).run()["loss"][0] for step in (-1e-4, 1e-4))
    np.testing.assert_allclose(slope, (above - below) / 2e-4, rtol=0.01, atol=1e-3)
    assert np.abs(slope).max() > 0.1


@pytest.mark.full
def test_a_batch_equals_single_runs():
    network = small(nonlinearity="rectified")
    together, alone = network.run(seeds=3), network.run(first_seed=1)
    for name in ("loss", "readout", "class_kernel"):
        np.testing.assert_allclose(together[name].isel(run=1), alone[name].isel(run=0), atol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("origin", ["theory", "even"])
def test_a_network_from_the_theory_is_drawn_at_its_own_temperature_and_amplitude(origin):
    """As NumPy draws it, to the last bit: neither number is rounded on its way out of the compiled program."""
    network = small(origin=origin, temperature=0.1, amplitude=1.1, width=30, counts=(10, 8))
    run = network.run(first_seed=3)
    theory = fs.theory.coding.redundant((10, 8), network.world().class_targets, 0.1, 1.1**2 / 18)
    with jax.enable_x64(True):
        key = fs.draws.split(jax.random.key(3), 2)[0]
        drawn = fs.theory.coding.Even(theory) if origin == "even" else theory
        _, readout = fs.theory.coding.planted(key, drawn, np.eye(18), 30, 1.1**2 / 18)
    np.testing.assert_allclose(run["readout"][0, 0], readout.T * np.sqrt(1.1**2 / 18), rtol=1e-13)
    np.testing.assert_array_equal(run["heat"][0], 0.1)  # it need not cool down


@pytest.mark.full
def test_runs_with_a_common_origin_start_from_the_same_network():
    common, own = (small(origin=origin, records=2).run(seeds=2)["readout"][:, 0] for origin in ("common", "prior"))
    np.testing.assert_array_equal(common[0], common[1])
    assert np.abs(own[0] - own[1]).max() > 0.1


def test_temperature_falls_while_the_chain_warms_up_and_stays_then():
    with jax.enable_x64(True):
        network = small(hottest=2.0, warm_up=40, cooling=0.25)
        heats = [float(network.heat(jax.numpy.asarray(draw))) for draw in (0, 5, 10, 40)]
    np.testing.assert_allclose(heats, [2.0, np.sqrt(2.0 * 0.4), 0.4, 0.4])


def test_replicas_reach_from_the_temperature_to_the_hottest():
    with jax.enable_x64(True):
        start = small().start(jax.random.key(0))
    assert small().sampler(start) is None
    sampler = small(temperature=0.1, hottest=0.9, replicas=3).sampler(start)
    assert isinstance(sampler, fs.learning.ReplicaExchange)
    np.testing.assert_allclose(sampler.ladder, [1.0, 3.0, 9.0])


def test_inputs_to_test_have_unit_norm_and_the_evidence_they_should():
    network = fs.models.WideBayesian(tests=4, noise=0.25)
    tests, data = network.test_inputs(), network.world()
    np.testing.assert_allclose(np.linalg.norm(tests, axis=1), 1.0)
    overlaps = tests @ np.asarray(data.inputs).T
    np.testing.assert_allclose(overlaps[:LEVELS].sum(axis=1), np.linspace(0, 2, LEVELS))
    np.testing.assert_allclose(overlaps[:LEVELS, data.labels != 0], 0.0)
    own = data.membership[:, network.test_labels()[LEVELS:]].T
    noise = overlaps[LEVELS:] - own / own.sum(axis=1)[:, None]
    np.testing.assert_allclose(np.linalg.norm(noise, axis=1), 0.25)


@pytest.mark.full
def test_layers_are_recorded_one_by_one():
    run = small(layers=2, records=2).run()
    assert run.theory is None
    assert run["class_kernels"].dims == ("run", "time", "layer", "class", "other_class")
    np.testing.assert_array_equal(run["class_kernels"].sel(layer=2), run["class_kernel"])
    np.testing.assert_array_equal(run["kernels"].sel(layer=2), run["kernel"])
    last = run["hidden"].isel(run=0).sel(layer=2).values
    members = small().world().membership
    means = fs.measures.class_means(last, members)
    np.testing.assert_allclose(means, run["activity"].isel(run=0, time=-1))


def test_where_theory_refuses_there_is_none():
    """Of several layers; of one it has linear neurons for any number of classes."""
    with jax.enable_x64(True):
        start = small().start(jax.random.key(0))
        assert small(layers=2).solution(start) is None
        linear = small(nonlinearity="linear", counts=(3, 3, 3, 3)).solution(start)
    assert linear is not None and linear(np.zeros(2))["kernel"].shape == (2, 12, 12)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"temperature": 1e-4}, "`temperature` must be greater than or equal to 0.001"),
        ({"records": 7}, "`records` must divide the 12 draws there are, as 6 does"),
        ({"counts": (1, 5)}, "`counts` must be at least 2 each"),
        ({"origin": "theory", "layers": 2}, "`origin` must be prior or common with several layers"),
        ({"counts": (5, 5, 5, 5)}, "`counts` must have at most 3 classes unless neurons are linear"),
        ({"origin": "even", "nonlinearity": "linear"}, "`origin` must be another one, unless neurons are sigmoidal"),
        ({"noise": 0.7}, "`noise` must be less than or equal to 0.69"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(fields, says):
    with pytest.raises(ArgumentError, match=says):
        fs.models.WideBayesian.checked("model/wide-bayesian", SMALL | fields)


@pytest.mark.full
def test_the_collapsed_method_stays_at_its_temperature_and_finds_equilibrium_in_the_cold():
    network = small(method="collapsed", width=60, counts=(6, 5), temperature=0.05, warm_up=20, draws=60, records=40)
    run = network.run(seeds=2)
    np.testing.assert_array_equal(run["heat"], 0.05)
    assert np.all(run["gradients"] == 0) and np.all(run["acceptance"][:, 1:] > 0.2)
    ours, theirs = run.data["kernel"].values, network.prediction(0.05).kernels[-1]
    assert np.all(np.linalg.norm(ours - theirs[None], axis=(1, 2)) < 0.05 * np.linalg.norm(theirs))


@pytest.mark.parametrize("other", [{"nonlinearity": "linear"}, {"layers": 2}, {"replicas": 3}])
def test_what_the_collapsed_method_is_not_for_is_refused(other):
    with pytest.raises(ArgumentError, match=r"hmc, unless neurons are sigmoidal|must be 1 for the collapsed method"):
        fs.models.WideBayesian.checked("model/wide-bayesian", {"method": "collapsed"} | other)
