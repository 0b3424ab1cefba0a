"""
Is my network lazy or rich?
===========================

You have a two-layer linear network, that is two weight matrices, and data. Will it learn by bending its
representation to the task (rich), or with the representation it happens to have (lazy)? The tangent kernel
tells: it stays what it is in a lazy network and turns in a rich one.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import festina as fs

# %%
# Your own weights and data
# -------------------------
# Anything that gives NumPy arrays will do. Here the second layer starts much larger than the first, in a network
# with more outputs than inputs.

rng = np.random.default_rng(0)
inputs = rng.normal(size=(500, 4))
teacher = rng.normal(size=(8, 4)) / 2
targets = inputs @ teacher.T

first = 0.02 * rng.normal(size=(4, 4))
second = 2.0 * np.linalg.qr(rng.normal(size=(8, 4)))[0]

# %%
# The exact solution needs white inputs. Whitening is a change of the coordinates of the input, to be undone in the
# first layer.

covariance = inputs.T @ inputs / len(inputs)
whitening = np.linalg.inv(np.linalg.cholesky(covariance))
white = inputs @ whitening.T
world = fs.worlds.Dataset(white, targets)
network = fs.networks.DeepLinear((first @ np.linalg.inv(whitening), second))

# %%
# How unbalanced are the layers?
# ------------------------------
# Gradient flow keeps :math:`W_2^T W_2 - W_1 W_1^T` for ever. If it is :math:`\lambda I`, the learning curve has a
# closed form. Yours will rarely be exactly so; its mean diagonal is the :math:`\lambda` that matters.

balance = network.balances[0]
imbalance = np.trace(balance) / len(balance)
print(f"λ = {imbalance:.2f}, departs from λI by {np.abs(balance - imbalance * np.eye(4)).max():.3f}")

# %%
# What the kernel does
# --------------------
# Weights that are not exactly balanced are integrated; ``observe`` records the two Gram matrices that make up the
# kernel. A network that is exactly balanced, with the same :math:`\lambda` and a small map, is solved in closed form
# for comparison.


def grams(net, data):
    """What the kernel of a two-layer linear network is made of."""
    return {
        "loss": data.loss(net),
        "input_gram": net.weights[0].T @ net.weights[0],
        "output_gram": net.weights[1] @ net.weights[1].T,
    }


times = np.concatenate([[0.0], np.geomspace(1e-3, 100.0, 200)])
run = fs.flow(network, world, times=times, observe=grams)

twin = fs.networks.DeepLinear.balanced(jax.random.key(0), (4, 4, 8), imbalance, 0.05)
exact = fs.theory.balanced(*twin.weights, world.moments.cross)(times)

# %%
# Both verdicts matter: *distance* is how far the kernel has turned, *movement* how much it has changed at all.

for name, found in (("yours", run.data), ("balanced twin", exact)):
    pair = np.asarray(found["input_gram"]), np.asarray(found["output_gram"])
    distance = np.asarray(fs.measures.kernel_distance(*pair))[-1]
    movement = np.asarray(fs.measures.kernel_movement(*pair))[-1]
    verdict = "rich" if distance > 0.1 else "lazy"
    print(f"{name:14s} distance {distance:.3f}, movement {movement:.3f}: {verdict}")

# %%
# The rule behind it: a large :math:`|\lambda|` makes learning lazy, unless the wider side is the one with the large
# weights, :math:`(N_o - N_i)\lambda > 0`. Then the network first learns what it can without moving, waits on a
# plateau, and turns its representation late: *delayed rich*.

with fs.style.style():
    figure, (curve, kernel) = plt.subplots(1, 2, figsize=(7.2, 2.6))
    for found, color, label in ((run.data, "#0072B2", "yours"), (exact, "#D55E00", "balanced twin")):
        pair = np.asarray(found["input_gram"]), np.asarray(found["output_gram"])
        line = "-" if label == "yours" else "--"
        curve.plot(times[1:], np.asarray(found["loss"])[1:], line, color=color, label=label)
        kernel.plot(times[1:], np.asarray(fs.measures.kernel_distance(*pair))[1:], line, color=color)
    curve.set(xscale="log", xlabel="time t / τ", ylabel="loss", title="A fast lazy phase, a plateau, then the rest")
    kernel.set(xscale="log", xlabel="time t / τ", ylabel="kernel distance", title="The kernel turns late")
    curve.legend()
