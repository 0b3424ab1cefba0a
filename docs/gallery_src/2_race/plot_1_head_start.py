"""
What makes a pathway fast
=========================

Two pathways are able to explain the same data. The one that grows faster takes everything, and the other is left with
nothing to learn. Here the rival has a smaller correlation with the answers, by ``rival_correlation``; how large must its head
start be, in initial weights, to win all the same?

The border is a power law: small weights make races that are decided by the data, large ones races decided by the start.
"""

import matplotlib.pyplot as plt
import numpy as np

import festina as fs

starts = np.geomspace(1, 30, 9)
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
for correlation, color in zip((0.9, 0.7, 0.5), fs.style.PALETTE, strict=False):
    model = fs.models.TwoPathways(rival_correlation=correlation, initial=1e-3, until=40.0, records=10)
    learned = model.sweep(rival_start=starts)["learned"].isel(time=-1, seed=0)
    rival = learned.isel({learned.dims[-1]: 1})
    axis.semilogx(starts, rival, "o-", color=color, label=f"correlation {correlation:g}")
axis.set(xlabel="head start of the rival, × initial weights", ylabel="what the rival has learned")
axis.legend()
plt.show()
