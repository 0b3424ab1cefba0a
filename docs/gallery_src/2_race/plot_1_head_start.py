"""
A head start
============

Two pathways could learn the same answers. The first has two layers and small weights, the rival two, three or four
layers and larger weights. What the faster one has learned is no longer there for the other. How large a head start
does a pathway need to win? Vary ``rival_start``, its initial strength over that of the first, and its depth.

A deeper pathway is slower from small weights, and needs a much larger head start. Try
``initial=0.1``.
"""

import matplotlib.pyplot as plt
import numpy as np

import festina as fs

starts = np.geomspace(1, 300, 12)
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
for depth, color in zip((2, 3, 4), fs.style.PALETTE, strict=False):
    model = fs.models.TwoPathways(rival_depth=depth, initial=1e-3, until=60.0, records=10, answers="same")
    learned = model.sweep(rival_start=starts)["learned"].isel(time=-1, seed=0).sel(pathway="rival")
    axis.semilogx(starts, learned, "o-", color=color, label=f"{depth} layers")
axis.set(xlabel="head start of the rival", ylabel="what the rival has learned", ylim=(-0.03, 1.03))
axis.legend()
plt.show()
