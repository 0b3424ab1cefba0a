"""The one loop with kernels in C: the same recordings, checkpoints, failures and interrupts as with JAX."""

import logging
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina import draws
from festina.experiments.abstraction.regimes import Regimes
from festina.lab import unknown
from festina.lab.batch import Run, batches, simulate
from festina.learning import Checkpoint, JointDescent, closed_process, drive, joint_process, native
from festina.learning.crossed import Crossed
from festina.learning.native import NativeChunk
from festina.models import TaskAbstraction
from festina.networks import NeuronGated, PathGated, Regularizer
from festina.worlds import Blocks, Population, Sampled, Tasks, Wishart
from interrupting import answering

pytestmark = pytest.mark.usefixtures("kernels")
STEP = 0.01
SEEDS, TIMESCALES = 2, (0.05, 0.1, 0.2)


def see(view):
    return {"loss": view.loss, "gates": view.gates, "alignment": view.alignment, "speeds": view.speeds}


class Building:
    """Builds a run of joint descent; hashable by what it is."""

    def __init__(self, statistics=None, kind=PathGated, make=joint_process, records=12, square_cost=None):
        self.statistics, self.kind, self.make = statistics, kind, make
        self.records, self.square_cost = records, square_cost

    def __call__(self, inputs):
        key = draws.fold_in(jax.random.key(5), inputs["seed"])
        for_tasks, for_network, for_data = draws.split(key, 3)
        tasks = Tasks.orthogonal(for_tasks, 2, 3, 8)
        network = self.kind.init(for_network, 2, 3, 8, 0.3)
        rule = JointDescent(0.8, inputs["gate_timescale"], Regularizer(0.2, 0.6, square_cost=self.square_cost))
        seen = {"statistics": self.statistics} if self.make is joint_process else {}
        clock = {"step_size": STEP, "records": self.records, "steps_per_record": 25}
        return self.make(network, rule, Blocks.of((0, 1), 0.5, STEP), tasks, for_data, observe=see, **clock, **seen)


def crossed(timescales=TIMESCALES):
    return Crossed(
        {"seed": jnp.arange(SEEDS)}, {"gate_timescale": jnp.asarray(timescales)}, {}, (SEEDS, len(timescales))
    )


@pytest.fixture
def chunks(monkeypatch):
    """The recordings that kernels in C were asked for."""
    seen, advance = [], NativeChunk._advance

    def noted(self, count, inputs, state, first):
        seen.append(int(first))
        return advance(self, count, inputs, state, first)

    monkeypatch.setattr(NativeChunk, "_advance", noted)
    return seen


def by_jax(monkeypatch, work):
    with monkeypatch.context() as context:
        context.setenv("FESTINA_FAST", "0")
        return work()


def agree(one, other, tolerance):
    assert one.observed.keys() == other.observed.keys()
    for name, values in one.observed.items():
        assert values.dtype == other.observed[name].dtype
        np.testing.assert_allclose(values, other.observed[name], rtol=0, atol=tolerance, err_msg=name)
    leaves = (jax.tree.leaves((each.state, each.times)) for each in (one, other))
    for mine, others in zip(*leaves, strict=True):
        assert mine.dtype == others.dtype
        np.testing.assert_allclose(mine, others, rtol=0, atol=tolerance)


@pytest.mark.mostly_full
@pytest.mark.parametrize(
    ("build", "tolerance"),
    [
        (Building(Wishart(30)), 1e-7),
        (Building(Population()), 1e-12),
        (Building(make=closed_process, records=220), 1e-12),
    ],
    ids=["stream", "population", "closure, several recordings a chunk"],
)
def test_the_loop_records_what_it_does_with_jax(build, tolerance, chunks, monkeypatch):
    expected = by_jax(monkeypatch, lambda: drive(build, crossed()))
    assert chunks == []
    agree(drive(build, crossed()), expected, tolerance)
    assert chunks[0] == 1


def test_a_run_is_resumed_from_a_checkpoint_to_the_last_bit(chunks, tmp_path):
    build, place = Building(Wishart(30), records=40), Checkpoint(tmp_path / "state.npz", every=1e9, mark="a")
    undisturbed = drive(build, crossed())

    def interrupt(records, observed):
        if records == 17:
            signal.raise_signal(signal.SIGINT)

    with answering(signal.default_int_handler):
        first = drive(build, crossed(), checkpoint=place, listen=interrupt)
    assert first.interrupted and first.records == 17
    chunks.clear()
    resumed = drive(build, crossed(), checkpoint=place)
    assert resumed.resumed_from == 17 and chunks[0] == 17
    agree(resumed, undisturbed, 0.0)


@pytest.mark.full
def test_a_run_that_goes_astray_is_dated_as_with_jax(monkeypatch):
    """Gates that are too fast for their steps leave the finite numbers, in one arm of each seed."""
    build, inputs = Building(Wishart(30)), crossed((0.05, 2e-4))
    expected = by_jax(monkeypatch, lambda: drive(build, inputs))
    found = drive(build, inputs)
    assert [failure.run for failure in found.failures] == [1, 3] and found.failures == expected.failures
    for name, values in found.observed.items():
        np.testing.assert_array_equal(np.isnan(values), np.isnan(expected.observed[name]))
    assert np.isfinite(found.observed["loss"][0]).all() and np.isnan(found.observed["loss"][1, -1])


@pytest.mark.mostly_full
@pytest.mark.parametrize(
    ("build", "words"),
    [
        (Building(Sampled(16)), "do not know sampled data"),
        (Building(Wishart(12)), "at least 9 more examples than inputs"),
        (Building(kind=NeuronGated), None),  # pyright: ignore[reportArgumentType]
        (Building(square_cost=0.1), None),
    ],
    ids=["sampled batches", "few degrees of freedom", "gates of neurons", "costly weights"],
)
def test_what_the_kernels_do_not_know_jax_does_and_says_so_once(build, words, chunks, monkeypatch, caplog):
    caplog.set_level(logging.INFO, logger="festina")
    native.tell_once.cache_clear()
    expected = by_jax(monkeypatch, lambda: drive(build, crossed()))
    for _ in range(2):
        agree(drive(build, crossed()), expected, 0.0)
    said = [each.getMessage() for each in caplog.records if "kernels in C are not used" in each.getMessage()]
    assert chunks == [] and len(said) == (words is not None) and all(words in line for line in said)


# Here NumPy draws and rotates the start, as for theory: it differs in the last digits, and specialising lets that grow.
# The same bound as that of the experiment's claim on its theory, which begins so.
OTHER_START = 1e-10
FEW = {"gate_timescale": (0.02, 0.1), "strength": (0.05,), "block_length": (0.1, 0.6), "until": 1.4, "records": 14}


def asked(**fields):
    experiment = Regimes()
    config = experiment.configure("full", **FEW, **fields)
    return experiment, [Run(config, seed) for seed in (0, 3)]


@pytest.fixture
def nothing_compiled(monkeypatch):
    """An error wherever a run would begin in JAX."""

    def refused(*arguments):
        raise AssertionError("JAX was asked")

    return lambda: monkeypatch.setattr("festina.learning.loop._start", refused)


@pytest.mark.mostly_full
@pytest.mark.parametrize(
    ("fields", "tolerance"),
    [
        ({"data": "closure"}, OTHER_START),
        ({"data": "population"}, OTHER_START),
        ({"data": "wishart"}, 1e-7),
        ({"data": "closure", "order": 2, "tasks": 3, "inputs": 30}, OTHER_START),
    ],
    ids=lambda value: " ".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_a_map_of_regimes_begins_and_ends_as_with_jax(fields, tolerance, monkeypatch, nothing_compiled):
    expected = by_jax(monkeypatch, lambda: simulate(*asked(**fields), label="map", hand_back=True))
    nothing_compiled()
    found = simulate(*asked(**fields), label="map", hand_back=True)
    assert found.observed.keys() == expected.observed.keys() and found.steps == expected.steps
    np.testing.assert_array_equal(found.times, expected.times)
    for name, values in found.observed.items():
        assert values.dtype == expected.observed[name].dtype
        np.testing.assert_allclose(values, expected.observed[name], rtol=0, atol=tolerance, err_msg=name)
    for mine, others in zip(*(jax.tree.leaves(each.drawn) for each in (found, expected)), strict=True):
        if jnp.issubdtype(mine.dtype, jax.dtypes.prng_key):
            mine, others = map(jax.random.key_data, (mine, others))
        np.testing.assert_allclose(mine, others, rtol=0, atol=1e-12)


def test_starts_that_differ_between_cells_begin_in_jax(monkeypatch):
    """Nothing may be taken for the start of all cells that depends on one of them."""
    (experiment, small), (_, large) = (asked(data="closure", scale=scale) for scale in (0.01, 0.3))
    runs = [small[0], large[0]]
    assert all(batch.builder.together(batch.inputs) is None for batch in batches(experiment, runs))
    expected = by_jax(monkeypatch, lambda: simulate(experiment, runs, label="map"))
    found = simulate(experiment, runs, label="map")
    np.testing.assert_allclose(found.observed["loss"], expected.observed["loss"], rtol=0, atol=1e-12)


def test_models_that_change_the_process_begin_in_jax():
    class Watched(TaskAbstraction):
        def watch(self, view):
            return {"loss": view.loss}

    class Usual(TaskAbstraction):
        """Changes nothing."""

    for kind, known in ((Watched, False), (Usual, True)):
        model = kind(data="closure", recorded="totals", until=1.0, records=10)
        start = model.start(unknown.known_key(0))
        assert (model.together([start], np.zeros(3, int)) is not None) == known


@pytest.mark.full
def test_in_single_precision_a_map_is_nearer_to_that_of_jax_than_to_double(monkeypatch, nothing_compiled):
    """Training magnifies rounding while students separate, and how numbers are rounded is a matter of the compiler."""
    double, single = (
        by_jax(monkeypatch, lambda fields=fields: simulate(*asked(data="wishart", **fields), label="map")).observed
        for fields in ({}, {"precision": "single"})
    )
    nothing_compiled()
    found = simulate(*asked(data="wishart", precision="single"), label="map").observed
    for name, values in found.items():
        assert values.dtype == single[name].dtype
        rounding = np.max(np.abs(single[name] - double[name]))
        np.testing.assert_allclose(values, single[name], rtol=0, atol=rounding / 2, err_msg=name)


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**32 + 7])
def test_keys_are_those_of_jax(seed):
    assert bool((unknown.known_key(seed) == jax.random.key(seed)).item())


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x + 1,
        lambda x: 2.0 * x,
        lambda x: np.ones(2) * x,
        lambda x: np.broadcast_to(x, (2,)),
        lambda x: float(x),
        lambda x: x > 0,
        lambda x: x == 0,
        lambda x: bool(x),
        lambda x: -x,
        lambda x: np.sqrt(x),
        lambda x: f"{x}",
    ],
)
def test_nobody_looks_at_what_is_not_known(look):
    with pytest.raises((unknown.NotKnown, TypeError)):
        look(unknown.UNKNOWN)
