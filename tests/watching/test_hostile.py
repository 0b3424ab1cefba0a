"""Networks, probes and checkpoints that nobody wished for: an answer that is right, or a sentence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.watching.look import Diverged
from narrowing import there
from watching.small import curved, task, weights

LABELS = np.tile([0, 1, 2], 4)


@pytest.fixture
def random():
    return np.random.default_rng(6)


def single(parameters, inputs):
    return inputs @ parameters["only"]


def imaginary(values):
    return jax.lax.complex(values, values)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ((single, {"only": np.ones((4, 3), complex)}), r"`model` must have real parameters, .* only"),
        (
            (lambda now, x: imaginary(single(now, x)), {"only": np.ones((4, 3))}),
            "`model` must give real answers",
        ),
        (
            (lambda now, x: single(now, x).sum(), {"only": np.ones((4, 3))}),
            r"a row for each probe, .* shape \(\) to 12",
        ),
        (
            (lambda now, x: single(now, x)[:5], {"only": np.ones((4, 3))}),
            r"a row for each probe, .* shape \(5, 3\) to 12",
        ),
        ((lambda now, x: {"logits": single(now, x)}, {"only": np.ones((4, 3))}), "a row for each probe, .* type dict"),
        ((single, {"only": np.ones((4, 3), int)}), "`model` must have parameters that are trained"),
    ],
)
def test_networks_that_do_not_fit(random, model, said):
    inputs, targets = task(random)
    with pytest.raises(ArgumentError, match=said):
        fs.watch(model, inputs, targets)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"inputs": np.full((12, 4), np.nan)}, "`inputs` must be finite everywhere"),
        ({"inputs": np.ones((12, 4)) * 1j}, "`inputs` must be real numbers"),
        ({"inputs": np.ones((1, 4)), "targets": np.ones((1, 3))}, "`inputs` must be two probes or more"),
        ({"inputs": np.ones((0, 4)), "targets": np.ones((0, 3))}, "`inputs` must be two probes or more"),
        ({"targets": np.full((12, 3), np.inf)}, "`targets` must be finite everywhere"),
        ({"targets": LABELS - 1}, "`targets` must be classes from 0 to 2, but is 'from -1 to 1'"),
        ({"targets": np.ones(12, int)}, "one class only, 1"),
    ],
)
def test_probes_that_do_not_fit(random, wrong, said):
    inputs, targets = task(random)
    given = {"inputs": inputs, "targets": targets} | wrong
    with pytest.raises(ArgumentError, match=said):
        fs.watch((curved, weights(random, bias=True)), given["inputs"], given["targets"])


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1e30, 0.0])
def test_targets_of_any_size(random, scale):
    """Shares, and not sizes, decide; a network that is linear in its weights is lazy at every scale."""
    inputs, _ = task(random)
    targets = scale * (inputs @ random.normal(size=(4, 3)))
    seen = fs.watch((single, {"only": scale * random.normal(size=(4, 3))}), inputs, targets)
    best = np.linalg.lstsq(inputs, targets, rcond=None)[0]
    seen(3, {"only": best})
    report = seen.report()
    assert report.verdict.word == ("lazy" if scale else "not trained"), report
    assert np.isfinite(float(report.data["loss"][-1]))


def test_targets_whose_squares_overflow_are_named(random):
    inputs, targets = task(random)
    with pytest.raises(Diverged, match=r"At step 0, .* `loss` are not finite"):
        fs.watch((curved, weights(random, bias=True)), inputs, 1e200 * targets)


@pytest.mark.parametrize("kind", [jnp.float16, jnp.bfloat16])
def test_half_precision_is_looked_at_in_single(random, kind):
    inputs, targets = task(random)
    start, end = ({"only": jnp.asarray(random.normal(size=(4, 3)), kind)} for _ in range(2))
    seen = fs.watch((single, start), inputs, targets)
    look = seen(2, end)
    assert look.scalars["curvature"] < 1e-5  # as of what is linear in its weights
    wanted = np.sum((inputs @ np.asarray(end["only"], float) - targets) ** 2) / 2 / 12
    assert look.scalars["loss"] == pytest.approx(wanted, rel=1e-5)


def test_a_network_that_is_a_value_has_to_be_handed_over(random):
    inputs, targets = task(random)
    seen = fs.watch((single, {"only": np.ones((4, 3))}), inputs, targets)
    with pytest.raises(ArgumentError, match="`now` must be the network or its parameters as they are now"):
        seen(1)
    with pytest.raises(ArgumentError, match="`step` must be a whole number"):
        seen(True, {"only": np.ones((4, 3))})
    assert seen(np.int64(4), {"only": np.ones((4, 3))}).step == 4 and np.int64(4) in seen.schedule


def test_folders_and_checkpoints_that_tell_no_course(random, tmp_path):
    inputs, targets = task(random)
    with pytest.raises(fs.errors.FestinaError, match="holds no checkpoints"):
        fs.diagnose(tmp_path, single, inputs, targets)
    np.savez(tmp_path / "step0.npz", only=np.ones((4, 3)))
    with pytest.raises(ArgumentError, match="`checkpoints` must be two or more"):
        fs.diagnose(tmp_path, single, inputs, targets)
    with pytest.raises(ArgumentError, match="`checkpoints` must have whole numbers as steps"):
        fs.diagnose({"0": {"only": np.ones((4, 3))}, "1": {"only": np.ones((4, 3))}}, single, inputs, targets)  # pyright: ignore[reportArgumentType]


@pytest.mark.full
def test_modules_of_torch_that_nobody_wished_for(random):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    inputs, targets = task(random)

    def made():
        return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))

    network = made()
    network[0].weight.requires_grad_(False)
    seen = fs.watch(network, inputs, targets)
    assert seen.looks[0].layers["trace"]["0"] > 0  # its bias is trained
    with torch.no_grad():
        network[0].weight.mul_(2.0)
    with pytest.raises(ArgumentError, match=r"`model` must keep `0\.weight`, which required no gradient"):
        seen(3)
    with pytest.raises(ArgumentError, match="`now` must have the parameters of the start"):
        fs.watch(made(), inputs, targets)(3, torch.nn.Linear(2, 2))
    other = torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.Tanh(), torch.nn.Linear(9, 3))
    with pytest.raises(ArgumentError, match=r"`checkpoint` must have `0.weight` of shape \(8, 4\)"):
        fs.diagnose({0: made().state_dict(), 1: other.state_dict()}, made(), inputs, targets)

    class Several(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cells, self.readout = torch.nn.LSTM(4, 6), torch.nn.Linear(6, 3)
            self.unused = torch.nn.Linear(4, 3)

        def forward(self, x):
            return self.readout(self.cells(x[None])[0][0])

    for layer, said in (("cells", "one row for each of the 12 probes"), ("unused", "that are used")):
        with pytest.raises(ArgumentError, match=said):
            fs.watch(Several(), inputs, targets, layers=layer)


@pytest.mark.full
def test_tied_weights_are_one_parameter(random):
    """The kernel is that of derivatives with regard to the matrix that both layers share."""
    torch = pytest.importorskip("torch")

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = (torch.nn.Linear(3, 3, bias=False) for _ in range(2))
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(torch.tanh(self.first(x)))

    module, inputs = Tied().double(), torch.tensor(random.normal(size=(5, 3)))
    answers = lambda weight: (torch.tanh(inputs @ weight.T) @ weight.T).reshape(-1)  # noqa: E731
    derivatives = torch.autograd.functional.jacobian(answers, module.first.weight.detach()).reshape(15, -1)
    seen = fs.watch(module, inputs, np.ones((5, 3)))
    found = there(seen.start.seen.kernels["all"].matrix)
    np.testing.assert_allclose(found, (derivatives @ derivatives.T).numpy(), atol=1e-12)


@pytest.mark.full
def test_a_network_with_shuffled_labels_is_rich_and_as_selective_as_chance():
    """Both leave their expansion; what tells them apart are the nulls (60 probes of 300 digits, learned by heart)."""
    import equinox as eqx
    from sklearn.datasets import load_digits

    digits = load_digits()
    images, labels = digits.data[:300] / 16, digits.target[:300]
    found = {}
    for kind, given in (("real", labels), ("shuffled", np.random.default_rng(0).permutation(labels))):
        module = eqx.nn.MLP(64, 10, 100, depth=1, key=jax.random.key(0))
        seen = fs.watch(module, images[:60], given[:60], layers=["layers.0"])

        @eqx.filter_jit
        def step_of(module, given=given):
            def loss(module):
                return -jax.nn.log_softmax(jax.vmap(module)(images))[np.arange(300), given].mean()

            return eqx.apply_updates(module, jax.tree.map(lambda slope: -0.5 * slope, eqx.filter_grad(loss)(module)))

        for step in range(1, 1025):
            module = step_of(module)
            if step in (16, 64, 256, 1024):
                seen(step, module)
        found[kind] = seen.report()
    last = {kind: report.data.isel(step=-1, watched_layer=0) for kind, report in found.items()}
    assert [report.verdict.word for report in found.values()] == ["rich", "rich"]
    assert all(float(each["accuracy"]) == 1.0 for each in last.values())
    beyond = {kind: float(each["selective_share"] - each["selective_share_shuffled"]) for kind, each in last.items()}
    assert beyond["real"] > 0.15 and abs(beyond["shuffled"]) < 0.1, beyond
    assert float(last["real"]["variability_in_classes"]) < 1 < 2 < float(last["shuffled"]["variability_in_classes"])
    turned = {kind: float(report.data["distance"].sel(layer="all").max()) for kind, report in found.items()}
    assert turned["shuffled"] > 1.5 * turned["real"], turned
