"""The theory of coding schemes against short posterior samples: kernel, residual, and predictor with its variance."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina.learning.loop import drive
from festina.learning.posterior import constant, posterior_process
from festina.networks.bayesian import LINEAR, RECTIFIED, SIGMOIDAL, Bayesian
from festina.theory.coding import analog, planted, redundant, sparse
from festina.worlds.classes import orthogonal_classes

pytestmark = pytest.mark.full

WORLD = orthogonal_classes((15, 15), targets=[[1.0], [-1.0]])
INPUTS = np.concatenate([WORLD.inputs, np.zeros((30, 4))], axis=1)
TESTS = np.random.default_rng(0).normal(size=(6, 34)) * 0.08 + INPUTS[[0, 3, 6, 20, 23, 26]] * 0.4
TESTS[:3, :15] += 0.15
TEMPERATURE, VARIANCE, WIDTH, CHAINS = 0.2, 1 / 30, 100, 4


class Build:
    """One chain that starts planted."""

    def __init__(self, network):
        self.network = network

    def __call__(self, start):
        def average(parameters):
            network = self.network.having(parameters)
            answers = network(jnp.asarray(TESTS))
            kernel = network.kernels(jnp.asarray(INPUTS))[0]
            return {"kernel": kernel, "f": network(jnp.asarray(INPUTS)), "test": answers, "square": answers**2}

        return posterior_process(
            lambda parameters, data, heat: self.network.having(parameters).energy(*data, heat),
            start["parameters"], (jnp.asarray(INPUTS), jnp.asarray(WORLD.targets)), start["key"], 4, 100,
            lambda state: state.memory.means, constant(TEMPERATURE), 100, average=average,
        )  # fmt: skip


def sampled(nonlinearity, prediction):
    """Averages over four chains of 300 draws each."""
    network = Bayesian.init(jax.random.key(0), (34, WIDTH, 1), nonlinearity, readout_variance=VARIANCE)
    starts = [planted(jax.random.key(k), prediction, INPUTS, WIDTH, VARIANCE) for k in range(CHAINS)]
    parameters = jax.tree.map(lambda *parts: jnp.stack([jnp.asarray(part) for part in parts]), *starts)
    outcome = drive(Build(network), {"parameters": parameters, "key": jax.random.split(jax.random.key(1), CHAINS)})
    return {name: values[:, -1].mean(axis=0) for name, values in outcome.observed.items()}


def relative(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.parametrize("nonlinearity", (LINEAR, SIGMOIDAL, RECTIFIED), ids=lambda each: each.name)
def test_theory_is_what_sampling_finds(nonlinearity):
    task = WORLD.counts, WORLD.class_targets, TEMPERATURE, VARIANCE
    prediction = {
        "linear": lambda: analog(np.eye(30), WORLD.targets, TEMPERATURE, VARIANCE, WIDTH),
        "sigmoidal": lambda: redundant(*task),
        "rectified": lambda: sparse(*task),
    }[nonlinearity.name]()
    found = sampled(nonlinearity, prediction)
    assert relative(found["kernel"], prediction.kernels[0]) < 0.03
    assert relative((WORLD.targets - found["f"]) / TEMPERATURE, prediction.residual) < 0.03
    expected = prediction.predict(TESTS @ INPUTS.T, np.sum(TESTS**2, axis=1), WIDTH)
    assert relative(found["test"], expected.mean) < 0.05
    variance = found["square"] - found["test"] ** 2
    assert (variance / expected.variance).mean() == pytest.approx(1.0, abs=0.2)
