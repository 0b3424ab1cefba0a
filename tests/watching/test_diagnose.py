"""From files to a verdict by the command line, and from activations alone."""

import json

import numpy as np
import pytest

import festina as fs
from festina.cli import main
from festina.errors import ArgumentError, UnknownName
from festina.watching.perceptron import perceptron
from watching.small import curved, task, weights


@pytest.fixture
def random():
    return np.random.default_rng(3)


@pytest.fixture
def folder(random, tmp_path):
    """Checkpoints of a network with one hidden layer, and a file of probes."""
    inputs, targets = task(random)
    np.savez(tmp_path / "probes.npz", inputs=inputs, targets=targets)
    (tmp_path / "checkpoints").mkdir()
    for step in (0, 10, 40):
        parameters = weights(random, bias=True)
        first, second = parameters["first"], parameters["second"]
        arrays = {"first.weight": first["weight"], "first.bias": first["bias"], "second.weight": second["weight"]}
        np.savez(tmp_path / "checkpoints" / f"step{step}.npz", **arrays)
    return tmp_path


def test_a_perceptron_is_read_from_its_weights(random):
    parameters, (inputs, _) = weights(random, bias=True), task(random)
    first, second = parameters["first"], parameters["second"]
    flat = {"first.weight": first["weight"], "first.bias": first["bias"], "second.weight": second["weight"]}
    wanted = np.asarray(curved(parameters, inputs))
    np.testing.assert_allclose(perceptron(flat, "tanh")(flat, inputs), wanted, rtol=1e-12)
    turned = {name: value.T for name, value in flat.items()}
    np.testing.assert_allclose(perceptron(turned, "tanh")(turned, inputs), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "arrays",
    [
        {"a.weight": (4, 3), "b.weight": (2, 5)},
        {"a.weight": (4, 3), "norm.scale": (4,)},
        {"a.weight": (4, 3, 3, 3)},
        {"bias": (4,)},
    ],
)
def test_what_is_no_perceptron_is_refused(arrays):
    with pytest.raises(ArgumentError, match=r"`checkpoint` must be a plain perceptron, .* use `fs\.diagnose`"):
        perceptron({name: np.ones(shape) for name, shape in arrays.items()}, "relu")


def test_the_function_between_layers_must_be_known():
    with pytest.raises(UnknownName, match="unknown activation 'rleu'; did you mean 'relu'"):
        perceptron({"a.weight": np.ones((2, 2))}, "rleu")


@pytest.mark.full
def test_the_command_says_what_python_says(folder, capsys):
    probes = dict(np.load(folder / "probes.npz"))
    words = ["diagnose", folder / "checkpoints", "--probes", folder / "probes.npz", "--activation", "tanh"]
    words += ["--html", folder / "page.html", "--json"]
    assert main([str(word) for word in words]) == 0
    said = json.loads(capsys.readouterr().out)
    values = dict(np.load(folder / "checkpoints" / "step0.npz"))
    wanted = fs.diagnose(folder / "checkpoints", perceptron(values, "tanh"), probes["inputs"], probes["targets"])
    assert said["verdict"] == wanted.verdict.word and said["steps"] == [0, 10, 40]
    assert said["last"]["curvature"] == pytest.approx(float(wanted.data["curvature"][-1]), rel=1e-9)
    assert "data:image/png" in (folder / "page.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["checkpoints"], "diagnose needs probes"),
        (["nowhere", "--probes", "probes.npz"], "nowhere"),
        (["checkpoints", "--probes", "checkpoints/step0.npz"], "must have the arrays `inputs` and `targets`"),
        (["checkpoints", "--probes", "probes.npz", "--activation", "tan"], "did you mean 'tanh'"),
    ],
)
def test_what_is_missing_is_told_in_a_sentence(folder, words, said, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["diagnose", *words]) == 2
    assert said in capsys.readouterr().err


def test_activations_that_stay_are_lazy_and_those_that_turn_to_the_targets_rich(random):
    labels = np.repeat(["a", "b", "c"], 15)
    noise, signal = random.normal(size=(45, 40)), 3 * random.normal(size=(3, 40))[np.repeat([0, 1, 2], 15)]
    still = fs.watching.diagnose_activations(np.stack([noise, noise + 0.01]), labels)
    turned = fs.watching.diagnose_activations(np.stack([noise, noise + signal]), labels, steps=[0, 900])
    elsewhere = fs.watching.diagnose_activations(np.stack([noise, random.normal(size=(45, 40))]), labels)
    assert (still.verdict.word, turned.verdict.word, elsewhere.verdict.word) == ("lazy", "rich", "rich")
    assert "not towards them" in str(elsewhere.verdict) and "not towards them" not in str(turned.verdict)
    assert turned.data["step"].values.tolist() == [0, 900]
    assert str(turned).startswith("2 looks from step 0 to 900\nrich")
    assert len(turned.figure().axes) == 2
    assert "similarity_to_inputs" not in turned.data


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"activations": np.ones((4, 5))}, "`activations` must be"),
        ({"steps": [3, 1]}, "`steps` must be 2, each later"),
        ({"targets": np.ones(3)}, "`targets` must be 6, one a probe"),
        ({"activations": np.full((2, 6, 3), np.nan)}, "`activations` must be finite"),
    ],
)
def test_recordings_that_do_not_fit_are_refused(random, wrong, said):
    given = {"activations": random.normal(size=(2, 6, 3)), "targets": np.tile([0, 1], 3)} | wrong
    with pytest.raises(ArgumentError, match=said):
        fs.watching.diagnose_activations(**given)
