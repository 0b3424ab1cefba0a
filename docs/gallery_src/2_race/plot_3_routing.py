"""
Small beginnings are shared
===========================

Several kinds of inputs are to be sent to several kinds of outputs, and only some pairs are trained. A hidden layer
that all pairs share races against a private network for each pair. The shared one sees more data and is faster, and
only what it has learned answers pairs that were never trained. How much it takes depends on the initial weights:
small ones give the faster pathway the time to win. Vary ``initial``, and the number of domains.
"""

import matplotlib.pyplot as plt
import numpy as np

import festina as fs

starts = np.geomspace(1e-5, 0.3, 15)
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
for domains, color in zip((2, 4, 8), fs.style.PALETTE, strict=False):
    shares = []
    for initial in starts:
        model = fs.models.Routing(domains=domains, trained=2, pathways="both", average="trained pairs", initial=initial)
        end = model.theory(seed=0)(np.asarray([1000.0]))
        shares.append(np.ravel(end["private"])[-1] / np.ravel(end["learned"])[-1])
    axis.loglog(starts, shares, "o-", color=color, label=f"{domains} domains")
axis.set(xlabel="initial strength of each pathway", ylabel="share of private pathways")
axis.legend()
plt.show()
