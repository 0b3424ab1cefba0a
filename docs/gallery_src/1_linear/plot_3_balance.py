"""
Lazy, rich and late
===================

Two layers may hold weights of different size; gradient flow keeps their imbalance λ for ever. In a network with more
inputs than outputs a large second layer (λ > 0) is lazy: it learns at once, and its tangent kernel stays. A large
first layer (λ < 0) learns a part at once, waits on a plateau, and turns its kernel late.

Only the exact solution is evaluated here. Exchange ``inputs`` and ``outputs``, and the picture is mirrored.
"""

import matplotlib.pyplot as plt
import numpy as np

import festina as fs

times = np.geomspace(1e-2, 300, 300)
figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
for imbalance, color in zip((-10.0, 0.0, 10.0), fs.style.PALETTE, strict=False):
    exact = fs.models.TwoLayer(imbalance=imbalance, inputs=8, outputs=4).theory(seed=0)(times)
    axes[0].loglog(times, exact["loss"], color=color, label=f"λ = {imbalance:g}")
    axes[1].semilogx(times, exact["distance"], color=color)
axes[0].set(xlabel="time t / τ", ylabel="loss", ylim=(1e-4, 20))
axes[1].set(xlabel="time t / τ", ylabel="kernel distance from the start")
axes[0].legend()
plt.show()
