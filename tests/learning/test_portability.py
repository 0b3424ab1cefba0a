"""Every kernel lowers for other devices, by `jax.export`: that needs none of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.learning import HMC, NUTS, ReplicaExchange, flow_process, posterior_process
from festina.learning.posterior import constant
from festina.worlds import Population, Sampled, Wishart
from small_kernels import KEY, RUNS, deep_linear, gated, joint, posterior, rectified

PLATFORMS = ("cuda", "tpu")


def flowing(width):
    """Gradient flow of a two-layer linear network up to its first recording, with stages in a loop or written out."""
    moments = fs.worlds.Teacher(np.eye(width)).moments

    def build(seed):
        network = fs.networks.DeepLinear.init(fs.draws.fold_in(KEY, seed), (width,) * 3, 0.5)
        rate = lambda network, stage: jax.tree.map(jnp.negative, jax.grad(moments.loss)(network))  # noqa: E731
        return flow_process(rate, network, jnp.asarray([0.0, 1.0]), lambda state: {})

    return advancing(build)


def drawing(sampler):
    """Draws from the posterior of a regression."""

    def build(seed):
        energy = lambda theta, data, heat: jnp.sum((data - theta) ** 2) / heat  # noqa: E731
        key = fs.draws.fold_in(KEY, seed)
        start, data = jnp.zeros(5), jnp.ones(5)
        return posterior_process(energy, start, data, key, 1, 2, lambda state: {}, constant(1.0), 1, sampler)

    return advancing(build)


def advancing(build):
    """A batch on its way to its first recording."""
    with fs.double():
        state = jax.vmap(lambda seed: build(seed).initial)(jnp.arange(RUNS))
    return lambda state: jax.vmap(lambda seed, state: build(seed).advance(state, jnp.asarray(1)))(
        jnp.arange(RUNS), state
    ), state


def exact(of):
    """A closed form at some times, from weights."""
    weights = 0.1 * np.eye(3)
    return lambda weights: of(weights)(jnp.linspace(0.0, 2.0, 4)), weights


KERNELS = {
    "wishart": lambda: joint(Wishart(200)),
    "sampled": lambda: joint(Sampled(200)),
    "population": lambda: joint(Population()),
    "closure": lambda: joint(None),
    "deep-linear": deep_linear,
    "gated": gated,
    "rectified": rectified,
    "forces": posterior,
    "flow in a loop": lambda: flowing(4),
    "flow written out": lambda: flowing(16),
    "hmc": lambda: drawing(HMC()),
    "nuts": lambda: drawing(NUTS()),
    "exchange": lambda: drawing(ReplicaExchange((1.0, 2.0))),
    "balanced": lambda: exact(lambda weights: fs.theory.balanced(weights, weights, np.diag([3.0, 2.0, 1.0]))),
}


@pytest.mark.mostly_full(4)
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_lowers_for_other_devices(name):
    function, state = KERNELS[name]()
    with fs.double():
        exported = jax.export.export(jax.jit(function), platforms=PLATFORMS)(state)
    assert set(exported.platforms) == set(PLATFORMS) and len(exported.mlir_module_serialized) > 0


def test_what_is_not_portable_is_where_a_planted_network_starts():
    """Theory and drawing are NumPy's work there, on the host: the one program that calls it."""
    model = fs.models.WideBayesian(nonlinearity="sigmoidal", width=10, counts=(2, 2, 2))
    with fs.double(), pytest.raises(Exception, match="callback"):
        jax.export.export(jax.jit(lambda key: model.planted(key, 0.5).readout), platforms=PLATFORMS)(KEY)
