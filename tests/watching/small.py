"""Small networks, as functions of their parameters, that are watched in tests."""

import jax
import jax.numpy as jnp
import numpy as np


def linear(parameters, inputs):
    """W₂W₁x for every input, a row."""
    return inputs @ parameters["first"]["weight"].T @ parameters["second"]["weight"].T


def curved(parameters, inputs):
    """Two layers with a hyperbolic tangent between them."""
    hidden = jnp.tanh(inputs @ parameters["first"]["weight"].T + parameters["first"]["bias"][None])
    return hidden @ parameters["second"]["weight"].T


def weights(random, sizes=(4, 6, 3), scale=0.5, bias=False):
    """Parameters of either."""
    inputs, hidden, outputs = sizes
    first = {"weight": scale * random.normal(size=(hidden, inputs))}
    if bias:
        first["bias"] = scale * random.normal(size=hidden)
    return {"first": first, "second": {"weight": scale * random.normal(size=(outputs, hidden))}}


def task(random, probes=12, inputs=4, outputs=3):
    """Inputs and targets of some probes."""
    seen = random.normal(size=(probes, inputs))
    return seen, np.tanh(seen @ random.normal(size=(inputs, outputs)))


def trained(seen, scale, steps, rate):
    """Gradient descent on the probes, with the rate that makes answers of any scale as fast; seen by a watch."""
    network, targets = seen.start.network, seen.start.targets.values
    now, structure = network.parameters(), jax.tree.structure(network.start)

    @jax.jit
    def step_of(now):
        answers, pull = jax.vjp(network.apply, now)
        change = pull((answers - targets) / scale**2)[0]
        return {name: value - rate * change[name] for name, value in now.items()}

    for step in range(1, steps + 1):
        now = step_of(now)
        if step in seen.schedule:
            seen(step, jax.tree.unflatten(structure, [now[name] for name in sorted(now)]))
    return seen.report()
