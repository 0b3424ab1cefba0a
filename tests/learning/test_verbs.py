"""Any loss, optimiser, world and number of seeds: against the plain loop one would write, and refused in words."""

import subprocess
import sys
import textwrap

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError, FestinaWarning, Interrupted
from festina.learning import Diverged
from festina.learning.picture import ARMS
from festina.networks import DeepLinear, Ensemble
from festina.style import PALETTE
from festina.worlds import Dataset, Moments, Sampled, Stream, Taught, Teacher, Wishart
from festina.worlds.losses import CrossEntropy, Hinge, Logistic, SquaredError
from narrowing import there

RANDOM = np.random.default_rng(0)
INPUTS, LABELS = RANDOM.normal(size=(30, 4)), RANDOM.integers(0, 3, size=30)
WORLD = Dataset(INPUTS, RANDOM.normal(size=(30, 2)))


def make(key, outputs=2):
    return eqx.nn.MLP(4, outputs, 6, 1, activation=jax.nn.tanh, key=key)


def double(network):
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, float) if eqx.is_inexact_array(leaf) else leaf, network)


def plain_loop(network, optimiser, loss_of, steps):
    """What one would write with optax: loss_of(step) is the loss of a network in a step."""
    network = double(network)
    weights, static = eqx.partition(network, eqx.is_inexact_array)
    memory = optimiser.init(weights)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        for step in range(steps):
            loss = loss_of(step)
            slope = jax.grad(lambda weights, loss=loss: loss(eqx.combine(weights, static)))(weights)
            changes, memory = optimiser.update(slope, memory, weights)
            weights = optax.apply_updates(weights, changes)
    return eqx.combine(weights, static)


OPTIMISERS = {
    "adam": optax.adam(1e-2),
    "momentum": optax.sgd(1e-2, momentum=0.9),
    "adamw on a schedule": optax.adamw(optax.cosine_decay_schedule(1e-2, 7)),
    "clipped": optax.chain(optax.clip_by_global_norm(0.1), optax.sgd(0.1)),
}


@pytest.mark.mostly_full
@pytest.mark.parametrize("name", OPTIMISERS)
def test_an_optimiser_takes_the_steps_of_the_plain_loop(name):
    network = make(jax.random.key(0))
    run = fs.descent(network, WORLD, steps=9, optimiser=OPTIMISERS[name], batch=5, seed=3)

    def loss_of(step):
        return double(WORLD.draw(fs.draws.fold_in(jax.random.key(3), step), 5)).loss

    expected = plain_loop(network, OPTIMISERS[name], loss_of, 9)
    np.testing.assert_allclose(run.final.layers[0].weight, expected.layers[0].weight, rtol=1e-12)
    np.testing.assert_allclose(run["loss"][-1], WORLD.samples.loss(expected), rtol=1e-12)
    assert run.time[-1] == 9 and run.data["time"].attrs["units"] == "steps"


LOSSES = {
    "cross-entropy": (CrossEntropy(), lambda f, y: -jax.nn.log_softmax(f)[jnp.argmax(y)]),
    "logistic": (Logistic(), lambda f, y: jnp.sum(jnp.log1p(jnp.exp(-(2 * y - 1) * f)))),
    "hinge": (Hinge(), lambda f, y: jnp.sum(jnp.maximum(0.0, 1 - (2 * y - 1) * f))),
    "a function": (lambda f, y: jnp.sum(jnp.abs(f - y), axis=1), lambda f, y: jnp.sum(jnp.abs(f - y))),
}


@pytest.mark.mostly_full(2)
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_that_of_its_formula_and_so_are_its_steps(name):
    loss, formula = LOSSES[name]
    network, world = make(jax.random.key(0), 3), Dataset.labelled(INPUTS, LABELS)

    def mean(network):
        return jnp.mean(jax.vmap(lambda x, y: formula(network(x), y))(jnp.asarray(INPUTS), jnp.asarray(world.targets)))

    run = fs.descent(network, world, steps=5, step_size=0.1, loss=loss)
    expected = plain_loop(network, optax.sgd(0.1), lambda step: mean, 5)
    np.testing.assert_allclose(run["loss"][0], mean(double(network)), rtol=1e-12)
    np.testing.assert_allclose(run.final.layers[1].weight, expected.layers[1].weight, rtol=1e-11)


def test_labels_are_judged_by_cross_entropy_unless_told_otherwise():
    run = fs.descent(make(jax.random.key(0), 3), (INPUTS, LABELS), steps=2)
    other = fs.descent(make(jax.random.key(0), 3), (INPUTS, LABELS), steps=2, loss=SquaredError())
    assert "accuracy" in run.data and "accuracy" not in other.data
    assert run["loss"][0] == pytest.approx(
        float(CrossEntropy()(jax.vmap(double(make(jax.random.key(0), 3)))(INPUTS), LABELS)), rel=1e-6
    )


@pytest.mark.full
def test_a_linear_network_learns_from_another_loss_sample_by_sample():
    network, world = DeepLinear.init(jax.random.key(0), (4, 3), 0.1), Dataset.labelled(INPUTS, LABELS)
    run = fs.flow(network, world, until=200.0)
    slope = jax.grad(lambda w: CrossEntropy()(jnp.asarray(INPUTS) @ w.T, jnp.asarray(LABELS)))
    assert np.abs(slope(jnp.asarray(run.final.weights[0]))).max() < 1e-3 * np.abs(slope(network.weights[0])).max()
    assert np.all(np.diff(run["loss"]) <= 1e-12)


@pytest.mark.full
def test_a_student_learns_from_a_stream_of_a_teacher():
    world = Taught(make(jax.random.key(5)), inputs=4)
    run = fs.descent(make, world, steps=600, optimiser=optax.adam(1e-2), batch=20, test=50, records=5)
    assert run["test_loss"][-1] < 0.05 * run["test_loss"][0]
    fixed = [data.loss(double(make(jax.random.key(0)))) for data in (world.draw(jax.random.key(1), 1000),) * 2]
    assert fixed[0] == fixed[1]
    noisy = Taught(make(jax.random.key(5)), inputs=4, noise=0.5)
    spread = noisy.draw(jax.random.key(1), 4000).targets - world.draw(jax.random.key(1), 4000).targets
    assert np.std(spread) == pytest.approx(0.5, rel=0.05)


@pytest.mark.full
def test_the_same_examples_are_observed_at_every_recording():
    """Weights that do not move have a loss that does not move, though every step sees fresh examples."""
    run = fs.descent(make, Taught(make(jax.random.key(5)), inputs=4), steps=4, step_size=1e-300, batch=3)
    np.testing.assert_allclose(run["loss"], run["loss"][0].item(), rtol=1e-12)


def test_seeds_are_runs_alone():
    alone = [fs.descent(make, WORLD, steps=6, optimiser=optax.adam(1e-2), batch=5, seed=seed) for seed in (2, 3)]
    run = fs.descent(make, WORLD, steps=6, optimiser=optax.adam(1e-2), batch=5, seed=2, seeds=2)
    assert run["loss"].dims == ("seed", "time") and run.data["seed"].values.tolist() == [2, 3]
    for number, single in enumerate(alone):
        np.testing.assert_allclose(run["loss"][number], single["loss"], rtol=1e-12)
        np.testing.assert_allclose(run.final[number].layers[0].weight, single.final.layers[0].weight, rtol=1e-11)
        np.testing.assert_allclose(run.sel(seed=2 + number)["loss"], single["loss"], rtol=1e-12)


@pytest.mark.full
def test_an_ensemble_flows_as_its_members_do():
    several = DeepLinear.init(jax.random.key(0), (4, 3, 2), 0.3, seeds=3)
    run = fs.flow(several, WORLD, until=2.0)
    single = fs.flow(several[1], WORLD, until=2.0)
    np.testing.assert_allclose(run["map"][1], single["map"], atol=1e-9)
    assert len(several) == 3 and np.any(several[0].weights[0] != several[1].weights[0])
    assert isinstance(run.final, Ensemble) and run.sel(seed=1).final.weights[0].shape == (3, 4)
    with pytest.raises(ArgumentError, match="`seeds` must be 3, as the ensemble has, but is 2"):
        fs.flow(several, WORLD, until=2.0, seeds=2)


class Chosen(eqx.Module):
    """A network that sees some of its inputs, by their numbers."""

    layer: eqx.nn.Linear
    chosen: np.ndarray

    def __call__(self, x):
        return self.layer(x[self.chosen])


@pytest.mark.full
def test_arrays_of_whole_numbers_are_no_weights():
    layer = eqx.nn.Linear(2, 2, key=jax.random.key(0))
    network, plain = Chosen(layer, np.array([0, 3])), Dataset(INPUTS[:, [0, 3]], WORLD.targets)
    run = fs.flow(network, WORLD, until=1.0, dense=True)
    np.testing.assert_allclose(run["loss"], fs.flow(layer, plain, until=1.0)["loss"], rtol=1e-9)
    assert run.final.chosen.tolist() == run(0.5).chosen.tolist() == [0, 3]
    assert fs.descent(network, WORLD, steps=3, step_size=0.1, batch=4, seeds=2)["loss"].sizes["seed"] == 2


def test_one_network_sees_other_data_with_every_seed():
    run = fs.descent(make(jax.random.key(0)), WORLD, steps=3, step_size=0.1, batch=4, seeds=2)
    assert run["loss"][0, 0] == run["loss"][1, 0] and run["loss"][0, -1] != run["loss"][1, -1]


@pytest.mark.full
def test_some_seeds_may_diverge():
    large, small = (DeepLinear.init(jax.random.key(0), (4, 3, 2), size) for size in (1e3, 0.1))
    starts = Ensemble.of([small, large])
    with pytest.warns(FestinaWarning, match=r"1 of 2 seeds diverged \(1\)"):
        run = fs.descent(starts, WORLD, steps=60, step_size=0.01)
    assert np.isfinite(run["loss"][0, -1]) and np.isnan(run["loss"][1, -1])
    with pytest.raises(Diverged):
        fs.descent(large, WORLD, steps=60, step_size=0.01)


RESUMED = """
import sys
import equinox as eqx, jax, numpy as np, optax
import festina as fs
from festina.learning import loop

folder, most = sys.argv[1], int(sys.argv[2])
world = fs.worlds.Dataset(np.arange(12.0).reshape(6, 2) / 12, np.arange(6.0)[:, None])
counted, advance = [], loop._advance_journey

def limited(*arguments):
    if len(counted) == most:
        raise KeyboardInterrupt
    counted.append(None)
    return advance(*arguments)

loop._advance_journey = limited
run = fs.descent(
    lambda key: eqx.nn.MLP(2, 1, 5, 1, key=key), world, steps=8, optimiser=optax.adam(1e-2), batch=3, records=4,
    checkpoint=folder + "/kept.npz",
)
print(len(counted), run["loss"].values.tolist())
"""


@pytest.mark.full
def test_an_optimiser_goes_on_with_its_memory_in_another_process(tmp_path):
    def ran(folder, most):
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-c", textwrap.dedent(RESUMED), str(folder), str(most)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert "interrupted at t = 4" in ran(tmp_path / "one", 2).stderr
    counted, resumed = ran(tmp_path / "one", 99).stdout.split(" ", 1)
    whole, losses = ran(tmp_path / "other", 99).stdout.split(" ", 1)
    assert (counted, whole) == ("2", "4") and resumed == losses


def test_another_optimiser_does_not_take_over_a_checkpoint(tmp_path, monkeypatch):
    def begun(optimiser, **settings):
        return fs.descent(
            make, WORLD, steps=8, optimiser=optimiser, records=4, checkpoint=tmp_path / "kept.npz", **settings
        )

    with monkeypatch.context() as patch:
        patch.setattr("festina.learning.loop.CHUNKS", 4)
        patch.setattr("festina.learning.loop.held", interrupted_at_once)
        with pytest.raises(Interrupted):
            begun(optax.adam(1e-2))
    with pytest.warns(FestinaWarning, match="belongs to another run"):
        begun(optax.adam(2e-2))


class interrupted_at_once:
    """Ctrl-C, pressed while the first chunk was computed."""

    def __enter__(self):
        return lambda: True

    def __exit__(self, *_):
        raise KeyboardInterrupt


def test_single_precision_is_that():
    run = fs.descent(make, WORLD, steps=20, optimiser=optax.adam(1e-2), batch=5, precision="float32")
    double = fs.descent(make, WORLD, steps=20, optimiser=optax.adam(1e-2), batch=5)
    assert run.final.layers[0].weight.dtype == np.float32 and double.final.layers[0].weight.dtype == np.float64
    np.testing.assert_allclose(run["loss"], double["loss"], rtol=1e-4)


class Table:
    """As much of a pandas data frame as is used of it."""

    def __init__(self, **columns):
        self.held = {name: np.asarray(values) for name, values in columns.items()}
        self.columns, self.iloc = list(columns), None

    def __getitem__(self, name):
        if isinstance(name, list):
            return Table(**{one: self.held[one] for one in name})
        return Column(self.held[name])

    def to_numpy(self, kind):
        return np.stack(list(self.held.values()), axis=1).astype(kind)


class Column:
    def __init__(self, values):
        self.values, self.dtype = values, values.dtype

    def to_numpy(self):
        return self.values


class Pairs:
    """A data set of another library: pairs by their number."""

    def __len__(self):
        return len(INPUTS)

    def __getitem__(self, number):
        return INPUTS[number], WORLD.targets[number]


def batches():
    for first in range(0, 30, 8):
        yield INPUTS[first : first + 8], WORLD.targets[first : first + 8]


class Loader:
    batch_size = 8

    def __iter__(self):
        return batches()


SAME = {
    "a pair": (INPUTS, WORLD.targets),
    "an xarray": xr.Dataset({"inputs": (("n", "i"), INPUTS), "targets": (("n", "o"), WORLD.targets)}),
    "a data set": Pairs(),
    "a loader": Loader(),
    "lists": (INPUTS.tolist(), WORLD.targets.tolist()),
}


@pytest.mark.parametrize("name", SAME)
def test_worlds_are_made_of_what_there_is(name):
    world = fs.worlds.from_data(SAME[name])
    np.testing.assert_array_equal(world.inputs, INPUTS)
    np.testing.assert_array_equal(world.targets, WORLD.targets)


def test_tables_have_named_targets():
    table = Table(height=[1.0, 2.0], age=[3, 4], species=np.array(["cat", "dog"]))
    world = fs.worlds.from_data(table, targets="species")
    assert world.classes == 2 and world.inputs.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    numbers = fs.worlds.from_data(Table(a=[1.0, 2.0], b=[3.0, 5.0]), targets=["b"])
    assert numbers.targets.tolist() == [[3.0], [5.0]] and numbers.classes is None
    for targets in (None, "speceis"):
        with pytest.raises(ArgumentError, match="`targets` must name some of the columns height, age, species"):
            fs.worlds.from_data(table, targets=targets)
    with pytest.raises(ArgumentError, match="not a number in species"):
        fs.worlds.from_data(table, targets="age")


@pytest.mark.full
def test_correlations_are_a_world_with_white_inputs():
    cross = RANDOM.normal(size=(2, 4))
    network = DeepLinear.init(jax.random.key(0), (4, 3, 2), 0.3)
    one = fs.flow(network, cross, until=2.0)
    other = fs.flow(network, Moments(np.eye(4), cross, cross @ cross.T), until=2.0)
    np.testing.assert_allclose(one["map"], other["map"], atol=1e-9)
    assert isinstance(fs.worlds.from_data(cross), Teacher)


REFUSED = {
    "a test set that changes": (
        lambda: fs.flow(make(jax.random.key(0)), WORLD, until=1.0, test=fs.worlds.Curriculum.of((WORLD, WORLD), [0.5])),
        "`test` must be one world, but is .a curriculum",
    ),
    "a world of no kind": (lambda: fs.flow(make(jax.random.key(0)), 3, until=1.0), "`world` must be a world, a pair"),
    "an input that does not fit": (
        lambda: fs.descent(make, (INPUTS[:, :3], WORLD.targets), steps=1),
        r"`network` must take one input of shape \(3,\)",
    ),
    "an answer that does not fit": (
        lambda: fs.descent(make, (INPUTS, INPUTS), steps=1),
        r"`network` must answer one input of shape \(4,\) in the shape \(4,\) of the targets",
    ),
    "targets of other examples": (
        lambda: fs.descent(make, (INPUTS, WORLD.targets[:5]), steps=1),
        "`targets` must have one row for each of the 30 inputs",
    ),
    "an endless world, seen as a whole": (
        lambda: fs.descent(make, Taught(make(jax.random.key(1)), 4), steps=1),
        "give the size of a batch, as in `fs.descent",
    ),
    "an endless world that flows": (
        lambda: fs.flow(make, Taught(make(jax.random.key(1)), 4), until=1.0),
        r"give some of its examples, as in `fs.flow\(network, world.draw",
    ),
    "moments of a curved network": (
        lambda: fs.descent(make, Moments(np.eye(4), np.ones((2, 4)), np.eye(2)), steps=1),
        "`world` must hold samples",
    ),
    "moments, sampled": (
        lambda: fs.descent(
            DeepLinear((np.ones((2, 4)),)), Moments(np.eye(4), np.ones((2, 4)), np.eye(2)), steps=1, batch=3
        ),
        "`statistics` must be `Population` for a Moments",
    ),
    "the law of moments under another loss": (
        lambda: fs.descent(
            DeepLinear((np.ones((2, 4)),)), Teacher(np.ones((2, 4))), steps=1, statistics=Wishart(5), loss=Logistic()
        ),
        "`statistics` must be `Sampled` or `Population` for a loss other than squared error",
    ),
    "two sizes of step": (
        lambda: fs.descent(make, WORLD, steps=1, step_size=0.1, optimiser=optax.adam(1e-3)),
        "`step_size` must be left out with an optimiser",
    ),
    "an optimiser until a time": (
        lambda: fs.descent(make, WORLD, until=1.0, optimiser=optax.adam(1e-3)),
        "`steps` must be given with an optimiser",
    ),
    "timescales of an optimiser": (
        lambda: fs.descent(make, WORLD, steps=1, optimiser=optax.adam(1e-3), timescale=2.0),
        "`timescale` must be left out with an optimiser",
    ),
    "no end": (lambda: fs.descent(make, WORLD), "`until` or `steps` must be given, and not both"),
    "no seed": (lambda: fs.descent(make, WORLD, steps=1, seeds=0), "`seeds` must be a whole number from 1 on"),
    "two batches": (
        lambda: fs.descent(make, WORLD, steps=1, batch=3, statistics=Sampled(3)),
        "`batch` must be left out if `statistics` is given",
    ),
    "a loss of a matrix": (
        lambda: fs.descent(make, WORLD, steps=1, loss=lambda f, y: (f - y) ** 2),  # pyright: ignore[reportArgumentType]
        r"`loss` must give one number, or one for each example, .* but gives an array of shape \(30, 2\)",
    ),
    "a test of so many where there are no more": (
        lambda: fs.descent(make, WORLD, steps=1, test=10),
        "`test` must be a data set of its own",
    ),
    "a stream of something else": (
        lambda: fs.descent(make, Stream(lambda key, batch: jnp.zeros((batch, 4))), steps=1, batch=3),  # pyright: ignore[reportArgumentType]
        "`function` must give inputs and targets",
    ),
    "labels below zero": (lambda: fs.descent(make, (INPUTS, LABELS - 1), steps=1), "whole numbers from 0 on"),
    "not a number": (
        lambda: fs.descent(make, (np.where(INPUTS > 1, np.nan, INPUTS), WORLD.targets), steps=1),
        "`inputs` must be finite everywhere",
    ),
    "an endless loader": (
        lambda: fs.worlds.from_data(Loader(), most=10),
        "`world` must end after 10 examples",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_go_is_refused_in_a_sentence(name):
    call, sentence = REFUSED[name]
    with pytest.raises(ArgumentError, match=sentence):
        call()


UNTYPED = """
import equinox as eqx, jax, numpy as np
import festina as fs

def make(key):
    return eqx.nn.MLP(2, 1, 3, 1, key=key)

for settings in ({"optimiser": 0.1}, {"steps": 1.5}, {"loss": "mse"}, {"precision": "half"}):
    try:
        fs.descent(make, (np.eye(2), np.ones(2)), **({"steps": 1} | settings))
    except fs.errors.ArgumentError as error:
        print(error)
"""


def test_arguments_of_another_type_are_refused_in_a_sentence():
    """Without the types being checked at run time, as users have it."""
    done = subprocess.run([sys.executable, "-c", UNTYPED], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "Argument `optimiser` must be one of optax, such as `optax.adam(1e-3)`, but is 0.1.",
        "Argument `steps` must be a whole number from 1 to 1e+15, but is 1.5.",
        "Argument `loss` must be a function of answers and targets, but is 'mse'.",
        "Argument `precision` must be 'float64' or 'float32', but is 'half'.",
    ]


def test_the_picture_shows_modes_and_tests():
    several = DeepLinear.init(jax.random.key(0), (4, 3, 2), 0.3, seeds=2)
    figure = fs.flow(several, WORLD, until=2.0, test=(INPUTS[:5], WORLD.targets[:5])).plot()
    assert [axis.get_ylabel() for axis in figure.axes] == ["loss", "mode strength $u_k^\\top W v_k$"]
    assert [text.get_text() for text in there(figure.axes[0].get_legend()).get_texts()] == ["training", "test"]


def test_arms_have_all_colours_and_begin_with_others_than_paths():
    assert sorted(ARMS) == sorted(PALETTE) and not set(ARMS[:2]) & set(PALETTE[:2])


def test_strengths_are_those_along_the_modes_of_the_world():
    run = fs.flow(DeepLinear.init(jax.random.key(0), (4, 3, 2), 0.3), Teacher(np.diag([3.0, 2.0, 1.0, 0.0])[:2]), 20.0)
    np.testing.assert_allclose(there(run.strengths)[-1], [3.0, 2.0], atol=1e-9)
