"""
Shared pathways generalise
==========================

Four kinds of inputs, four kinds of outputs, and data for some pairs only. A hidden layer that all pairs share sees all
data and is learned first; then pairs that were never trained are answered, too. A private network for each pair learns what
it is shown. Vary ``trained``, the number of output domains that each input domain is trained with.
"""

import matplotlib.pyplot as plt
import numpy as np

import festina as fs

times = np.linspace(0, 15, 200)
figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained", sharey=True)
for axis, pathways in zip(axes, ("shared", "private"), strict=True):
    for trained, color in zip((1, 2, 4), fs.style.PALETTE, strict=False):
        model = fs.models.Routing(domains=4, trained=trained, pathways=pathways, until=15.0)
        axis.plot(times, model.theory(seed=0)(times)["loss"], color=color, label=f"{trained} trained")
    axis.set(title=f"{pathways} pathways", xlabel="time t / τ")
axes[0].set(ylabel="loss")
axes[0].legend()
plt.show()
