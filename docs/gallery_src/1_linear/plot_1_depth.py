r"""
Depth makes you wait
====================

A chain of D weights, :math:`y = w_D \cdots w_1 x`, learns to multiply by 1½. With one weight it begins at once. Each
further weight flattens the loss around zero, and the network waits there: the origin has become a saddle. Dots are
simulations, lines the exact solution.

Vary the initial weights next: the wait grows with their logarithm for two weights, and as a power for more.
"""

import matplotlib.pyplot as plt
import numpy as np

import festina as fs

figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
times = np.linspace(0, 6, 300)
for depth, color in zip((1, 2, 3, 4), fs.style.PALETTE, strict=False):
    model = fs.models.Chain(depth=depth, initial=1e-3, until=6.0, records=150)
    simulated = model.run(seeds=1)["product"].isel(run=0)
    axis.plot(times, model.theory(seed=0)(times)["product"], color=color)
    axis.plot(simulated["time"], simulated, ".", markevery=4, color=color, label=f"{depth} weights")
axis.set(xlim=(0, 6), xlabel="time t / τ", ylabel="what the chain multiplies by")
axis.legend()
plt.show()
