"""A watch from the outside: the libraries it takes in agree, files say the same, and bad input gets a sentence."""

import equinox as eqx
import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError, UnknownName
from festina.watching.look import Diverged
from narrowing import there
from watching.small import curved, task, weights


@pytest.fixture
def random():
    return np.random.default_rng(2)


def layers_of(parameters):
    return parameters["first"]["weight"], parameters["first"]["bias"], parameters["second"]["weight"]


def mlp(parameters):
    """The same network, of Equinox."""
    first, bias, second = layers_of(parameters)
    module = eqx.nn.MLP(4, 3, 6, depth=1, activation=jax.numpy.tanh, use_final_bias=False, key=jax.random.key(0))
    places = lambda module: (module.layers[0].weight, module.layers[0].bias, module.layers[1].weight)  # noqa: E731
    return eqx.tree_at(places, module, tuple(jax.numpy.asarray(each) for each in (first, bias, second)))


def same(first, second, tolerance=1e-10):
    """All numbers that two reports share, whatever their layers are called."""
    for name in first.data.data_vars:
        np.testing.assert_allclose(first.data[name].values, second.data[name].values, rtol=tolerance, atol=tolerance)
    assert first.verdict.word == second.verdict.word


def test_a_module_of_equinox_is_the_function_that_it_is(random):
    (inputs, targets), start, end = task(random), weights(random, bias=True), weights(random, bias=True)

    def first(parameters, inputs):
        return inputs @ parameters["first"]["weight"].T + parameters["first"]["bias"][None]

    one = fs.watch((curved, start), inputs, targets, layers={"hidden": first})
    other = fs.watch(mlp(start), inputs, targets, layers=["layers.0"])
    one(10, end)
    other(10, mlp(end))
    same(one.report(), other.report())
    assert "similarity_to_start" in one.report().data


@pytest.mark.full
def test_a_module_of_torch_is_the_function_that_it_is(random):
    torch = pytest.importorskip("torch")

    def module(parameters):
        made = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3, bias=False)).double()
        with torch.no_grad():
            for own, value in zip(made.parameters(), layers_of(parameters), strict=True):
                own.copy_(torch.tensor(value))
        return made

    (inputs, targets), start, end = task(random), weights(random, bias=True), weights(random, bias=True)
    one, network = fs.watch((curved, start), inputs, targets), module(start)
    other = fs.watch(network, inputs, targets, layers=["0"])
    with torch.no_grad():
        for own, value in zip(network.parameters(), layers_of(end), strict=True):
            own.copy_(torch.tensor(value))
    one(10, end)
    other(10)
    for name in one.report().data.data_vars:
        found = other.report().data[name].values
        np.testing.assert_allclose(found, one.report().data[name].values, rtol=1e-9, atol=1e-10)
    states = {step: module(each).state_dict() for step, each in ((0, start), (10, end))}
    again = fs.diagnose(states, module(start), inputs, targets, layers=["0"])
    same(again, other.report(), 1e-12)


@pytest.mark.full
def test_pytorchs_own_recipe_finds_the_same_kernel(random):
    """Derivatives by `torch.func.jacrev`, contracted over parameters."""
    torch = pytest.importorskip("torch")
    from torch.func import functional_call, jacrev, vmap

    from festina.watching.outside import take_in
    from festina.watching.tangent import WHOLE, Tangents

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3)).double()
    inputs = torch.tensor(random.normal(size=(5, 4)))
    point = {name: value.detach() for name, value in module.named_parameters()}
    each = vmap(jacrev(lambda point, x: functional_call(module, point, (x,))), (None, 0))(point, inputs)
    flat = torch.cat([value.flatten(2) for value in each.values()], dim=2).reshape(15, -1)
    network = take_in(module, inputs)
    around = network.linearised(network.parameters())
    found = there(Tangents.of(network, network.parameters(), 3, 5).kernels(around)[WHOLE].matrix)
    np.testing.assert_allclose(found, (flat @ flat.T).numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.full
def test_dropout_and_averages_rest_while_a_network_is_looked_at(random):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3)
    )
    module.train()
    inputs, targets = task(random)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    seen = fs.watch(module, inputs, targets)
    assert seen(1).scalars["loss"] == seen.looks[0].scalars["loss"]
    assert module.training and all(child.training for child in module)
    assert all(bool((value == before[name]).all()) for name, value in module.state_dict().items())
    module[1].running_mean += 1.0  # as batches would move it: the start stays what it was
    assert np.isfinite(seen(2).scalars["curvature"])
    np.testing.assert_allclose(seen.start.seen.around.forward({"3.bias": np.ones((1, 3))})[0], 1.0)


@pytest.mark.full
def test_convolutions_recurrence_and_attention_can_be_watched(random):
    """Also those whose fused operations have no forward derivative."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)

    class Recurrent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cells, self.readout = torch.nn.LSTM(3, 6, batch_first=True), torch.nn.Linear(6, 2)

        def forward(self, x):
            return self.readout(self.cells(x)[0][:, -1])

    convolutions = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 5, 3), torch.nn.Flatten(), torch.nn.Linear(80, 2)
    )
    attention = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    for module, shape in ((convolutions, (10, 1, 8, 8)), (Recurrent(), (10, 5, 3)), (attention, (3, 4, 8))):
        inputs = torch.tensor(random.normal(size=shape), dtype=torch.float32)
        seen = fs.watch(module, inputs, np.zeros(tuple(module.eval()(inputs).flatten(1).shape)))
        point = seen.start.network.parameters()
        random_direction = {name: random.normal(size=(1, *value.shape)) for name, value in point.items()}
        answered = random.normal(size=(1, *seen.start.seen.around.answers.shape))
        pushed = seen.start.seen.around.forward(random_direction)  # ⟨u, J v⟩ = ⟨Jᵀu, v⟩
        pulled = seen.start.seen.around.backward(answered)
        backwards = sum(float(np.sum(pulled[name] * random_direction[name])) for name in point)
        assert float(np.sum(pushed * answered)) == pytest.approx(backwards, rel=1e-3)
    seen = fs.watch(convolutions, random.normal(size=(4, 1, 8, 8)), np.eye(4)[:, :2])
    assert list(seen.looks[0].pairs["imbalance"]) == ["0 → 2"]


@pytest.mark.full
def test_a_module_of_flax_is_read_from_its_end_to_its_start(random):
    nn = pytest.importorskip("flax.linen")

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(3)(nn.relu(nn.Dense(20)(x)))  # the last layer is made first

    inputs, targets = task(random)
    parameters = Network().init(jax.random.key(0), inputs.astype("float32"))
    seen = fs.watch((Network(), parameters), inputs, targets, layers=["Dense_1"])
    assert list(seen.looks[0].pairs["imbalance"]) == ["params.Dense_1 → params.Dense_0"]
    assert seen.looks[0].representations["similarity_to_start"]["Dense_1"] == pytest.approx(1.0)


@pytest.mark.full
def test_a_watch_can_follow_an_optimiser(random):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    inputs, targets = task(random)
    module = torch.nn.Linear(4, 3)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    seen = fs.watch(module, inputs, targets).attach(optimiser)
    x, y = (torch.tensor(each, dtype=torch.float32) for each in (inputs, targets))
    for _ in range(21):
        optimiser.zero_grad()
        ((module(x) - y) ** 2).mean().backward()
        optimiser.step()
    report = seen.report()
    assert report.data["step"].values.tolist() == [0, 1, 2, 3, 4, 6, 8, 11, 16, 21]
    assert report.verdict.word == "lazy"  # as is all that is linear in its weights


@pytest.mark.full
def test_networks_on_digits_are_the_lazier_the_larger_their_weights():
    from sklearn.datasets import load_digits

    digits = load_digits()
    images, labels = digits.data[:500] / 16, digits.target[:500]
    found = []
    for scale in (0.1, 0.5, 2.0, 5.0):
        module = eqx.nn.MLP(64, 10, 60, depth=1, key=jax.random.key(0))
        module = jax.tree.map(lambda leaf, s=scale: s * leaf if eqx.is_array(leaf) else leaf, module)
        seen = fs.watch(module, images[:40], labels[:40])

        @eqx.filter_jit
        def step_of(module, scale=scale):
            rate = 0.5 / max(scale, 1.0) ** 2

            def loss(module):
                scores = jax.nn.log_softmax(jax.vmap(module)(images))
                return -scores[np.arange(500), labels].mean()

            return eqx.apply_updates(module, jax.tree.map(lambda g: -rate * g, eqx.filter_grad(loss)(module)))

        for step in range(1, 257):
            module = step_of(module)
            if step in (16, 64, 256):
                seen(step, module)
        found.append(float(seen.report().data["curvature"][-1]))
    assert np.all(np.diff(found) < 0), found


def test_files_say_what_was_watched(random, tmp_path):
    (inputs, targets), start, end = task(random), weights(random, bias=True), weights(random, bias=True)
    seen = fs.watch((curved, start), inputs, targets)
    seen(7, end)

    def flat(parameters):
        first, bias, second = layers_of(parameters)
        return {"first.weight": first, "first.bias": bias, "second.weight": second}

    for step, each in ((0, start), (7, end)):
        np.savez(tmp_path / f"step{step}.npz", **flat(each))

    def apply(flat, inputs):
        first = {"weight": flat["first.weight"], "bias": flat["first.bias"]}
        return curved({"first": first, "second": {"weight": flat["second.weight"]}}, inputs)

    same(fs.diagnose(tmp_path, apply, inputs, targets), seen.report())


def test_a_report_can_be_kept(random, tmp_path):
    (inputs, targets), start, end = task(random), weights(random, bias=True), weights(random, bias=True)
    seen = fs.watch((curved, start), inputs, targets)
    seen(5, end)
    report = seen.report()
    page = report.save(tmp_path / "training.html").read_text()
    assert report.verdict.word in page and "data:image/png" in page and "http" not in page.replace("http-equiv", "")
    import xarray as xr

    kept = xr.load_dataset(report.save(tmp_path / "training.nc"), engine="scipy")
    np.testing.assert_array_equal(kept["distance"], report.data["distance"])
    with pytest.raises(ArgumentError, match=r"`path` must end in \.html or \.nc"):
        report.save(tmp_path / "training.pdf")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"targets": np.ones(5)}, r"`targets` must be 12, one a probe"),
        ({"targets": np.zeros(12, int)}, r"`targets` must have two classes or more"),
        ({"targets": np.arange(12)}, r"`targets` must be classes from 0 to 2"),
        ({"targets": np.ones((12, 2))}, r"`targets` must have one number for each of the 3 outputs"),
        ({"inputs": np.ones((12, 7))}, r"`inputs` must be what the network takes, but it says: "),
        ({"inputs": np.ones(4)}, r"`inputs` must be two probes or more"),
        ({"model": "network"}, r"`model` must be a torch.nn.Module, a module of Equinox, or a pair"),
        ({"model": (3, {"a": np.ones(2)})}, r"`model` must be \(apply, parameters\)"),
        ({"directions": 3}, r"`directions` must be 0 or at least 16"),
        ({"layers": ["hidden"]}, r"`layers` must be functions \(parameters, inputs\) by name"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(random, wrong, said):
    inputs, targets = task(random)
    given = {"model": (curved, weights(random, bias=True)), "inputs": inputs, "targets": targets} | wrong
    with pytest.raises(ArgumentError, match=said):
        fs.watch(**given)


def test_an_unknown_layer_is_told_with_its_neighbours(random):
    inputs, targets = task(random)
    with pytest.raises(UnknownName, match=r"unknown layer 'layer\.0'; did you mean 'layers\.0'"):
        fs.watch(mlp(weights(random, bias=True)), inputs, targets, layers=["layer.0"])


def test_numbers_that_are_not_finite_are_named(random):
    (inputs, targets), start = task(random), weights(random, bias=True)
    seen = fs.watch((curved, start), inputs, targets)
    broken = jax.tree.map(np.copy, start)
    broken["second"]["weight"][0, 0] = np.nan
    with pytest.raises(Diverged, match=r"At step 3, 1 of the 18 numbers of `second\.weight` are not finite"):
        seen(3, broken)
    assert len(seen.looks) == 1  # and nothing seen before is lost


def test_steps_go_forward(random):
    (inputs, targets), start = task(random), weights(random, bias=True)
    seen = fs.watch((curved, start), inputs, targets)
    seen(3, start)
    with pytest.raises(ArgumentError, match="`step` must be later than the last one seen, 3"):
        seen(2, start)
    assert seen.report().verdict.word == "not trained"


def test_the_code_and_the_gates_of_a_watched_layer_are_those_of_the_analysers(random):
    inputs, labels = random.normal(size=(30, 4)), np.repeat([0, 1, 2], 10)
    start, end = weights(random, (4, 60, 3), bias=True), weights(random, (4, 60, 3), bias=True)

    def hidden(parameters, inputs):
        return jax.nn.relu(inputs @ parameters["first"]["weight"].T)

    seen = fs.watch((curved, start), inputs, labels, layers={"hidden": hidden})
    seen(3, end)
    report = seen.report()
    before, after = (np.asarray(hidden(each, inputs)) for each in (start, end))
    np.testing.assert_array_equal(report.activations["hidden"][1], after)
    wanted = fs.measures.coding(after, labels, prior_kernel=before @ before.T / 60)
    assert report.coding("hidden").statistics == wanted.statistics
    assert str(report.gates("hidden")) == str(fs.measures.gates(after, labels))
    assert not seen.looks[0].activations  # only the latest are kept
    with pytest.raises(UnknownName, match="unknown watched layer 'hiden'; did you mean 'hidden'"):
        report.coding("hiden")
