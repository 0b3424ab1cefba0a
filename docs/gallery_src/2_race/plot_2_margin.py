r"""
Linear or nonlinear?
====================

A rectified network learns exclusive-or with a third input that solves the task by itself, by a margin Δ. A linear
solution exists for any Δ > 0, but the network takes the nonlinear one as long as pathways for single examples are
faster, that is below :math:`\Delta^* = \sqrt{2/3}`. The smaller the initial weights, the sharper the transition.

The lines are theory, evaluated on a fine grid; simulate a point with ``fs.models.Margin(separation=0.6).run()``.
"""

import matplotlib.pyplot as plt
import numpy as np

import festina as fs

separations = np.linspace(0.1, 1.4, 40)
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
for scale, color in zip((1e-2, 1e-3, 1e-4, 1e-8), fs.style.PALETTE, strict=False):
    models = [fs.models.Margin(separation=float(each), scale=scale) for each in separations]
    shares = [np.ravel(model.theory(seed=0)(np.asarray([model.until]))["single_share"])[-1] for model in models]
    axis.plot(separations, shares, color=color, label=f"initial weights {scale:g}")
axis.axvline(np.sqrt(2 / 3), color="0.6", lw=0.8)
axis.set(xlabel="margin Δ", ylabel="share of the nonlinear solution")
axis.legend()
plt.show()
