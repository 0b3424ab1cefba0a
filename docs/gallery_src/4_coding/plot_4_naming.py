"""
How much noise hides a code
===========================

``fs.measures.coding`` names the code of any layer, from activations and labels alone. Here 150 neurons are on for one
or two of three classes, and noise is added. Vary it, and the number of examples: when does the code lose its name,
and how sure is the answer before that?
"""

import matplotlib.pyplot as plt
import numpy as np

import festina as fs

random = np.random.default_rng(0)
labels = np.repeat([0, 1, 2], 20)
codes = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0]])[random.integers(0, 3, 150)]
figure, axes = plt.subplots(1, 3, figsize=(7, 2.8), layout="constrained", sharey=True)
for axis, noise in zip(axes, (0.2, 1.0, 3.0), strict=True):
    layer = codes[:, labels].T + noise * random.normal(size=(60, 150))
    found = fs.measures.coding(layer, labels, resamples=20, shuffles=20)
    order = np.lexsort(codes.T)
    axis.imshow(layer[:, order], aspect="auto", cmap="Greys", vmin=-0.2, vmax=1.2)
    axis.set(title=f"noise {noise:g}: {found.scheme}", xlabel="neuron, sorted")
axes[0].set(ylabel="example, by class")
plt.show()
