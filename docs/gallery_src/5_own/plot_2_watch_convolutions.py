"""
Is a convolutional network lazy or rich?
========================================

A small convolutional network learns digits, once from weights as its library draws them and once from weights four
times as large. `fs.watch` looks at it on a few probes while it is trained, and says what kind of learning it was. MNIST
is used where it is at hand (``festina data fetch mnist``), and the digits of scikit-learn elsewhere.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import optax

import festina as fs

name = "mnist" if fs.worlds.images.has_images("mnist") else "digits"
found = fs.worlds.load_images(name)
images, labels = found.images[:1000, None] / found.images.max(), found.labels[:1000]
side = images.shape[-1]
print(name, images.shape)

# %%
# The network, and a step of its training
# ---------------------------------------
# Two convolutions and a readout, in Equinox. Nothing of it knows that it is watched.


def network(key, scale):
    """Two convolutions and a readout, with initial weights times a scale."""
    keys = jax.random.split(key, 3)
    made = eqx.nn.Sequential(
        [
            eqx.nn.Conv2d(1, 8, 3, stride=2, padding=1, key=keys[0]),
            eqx.nn.Lambda(jax.nn.relu),
            eqx.nn.Conv2d(8, 16, 3, stride=2, padding=1, key=keys[1]),
            eqx.nn.Lambda(jax.nn.relu),
            eqx.nn.Lambda(jnp.ravel),
            eqx.nn.Linear(16 * (-(-side // 4)) ** 2, 10, key=keys[2]),
        ]
    )
    return jax.tree.map(lambda leaf: scale * leaf if eqx.is_array(leaf) else leaf, made)


def loss(model, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(model)(x), y).mean()


@eqx.filter_jit
def step(model, rate, x, y):
    return eqx.apply_updates(model, jax.tree.map(lambda slope: -rate * slope, eqx.filter_grad(loss)(model, x, y)))


# %%
# Watched while it is trained
# ---------------------------
# Thirty images are the probes. The watch is called at the steps of its schedule, with the network as it is then.

random, reports = np.random.default_rng(0), {}
for scale in (1.0, 4.0):
    model = network(jax.random.key(0), scale)
    watch = fs.watch(model, images[:30], labels[:30], layers=["layers.0", "layers.2"])
    for number in range(1, 513):
        batch = random.integers(0, len(images), 64)
        model = step(model, 0.2 / scale**4, images[batch].astype(np.float32), labels[batch])
        if number in watch.schedule:
            watch(number, model)
    reports[scale] = watch.report()
    print(f"initial weights × {scale}:", reports[scale])

# %%
# What was seen
# -------------
# The figure of the first training: within a hundred steps the answers leave the first-order expansion of the network,
# its kernel turns towards the targets, and all modes of the images are learned. (The network was trained on other
# images, too, so that the twin that knows the probes alone goes its own way.)

figure = reports[1.0].figure()

# %%
# Layer by layer
# --------------
# From larger weights the same network changes less of what its layers show of the images.

comparison, axes = plt.subplots(1, 2, figsize=(7.2, 2.6), layout="constrained", sharey=True)
for axis, (scale, report) in zip(axes, reports.items(), strict=True):
    for layer in report.data["watched_layer"].values:
        axis.semilogx(report.data["step"] + 1, report.data["similarity_to_start"].sel(watched_layer=layer), label=layer)
    axis.set(xlabel="step + 1", title=f"weights × {scale}: {report.verdict.word}", ylim=(0, 1.05))
axes[0].set(ylabel="similarity to the start (CKA)")
axes[0].legend()
plt.show()
