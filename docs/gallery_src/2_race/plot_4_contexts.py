"""
Why ReLU networks share
=======================

A ReLU network learns what objects are like in three contexts. Its units choose their own gates. How clearly contexts
are shown, ``context_scale``, decides whether units are on in all contexts but one, and so shared by the others, or
spread over all kinds.

``everywhere`` is the share of units' strength that is on in all contexts.
"""

import matplotlib.pyplot as plt

import festina as fs

model = fs.models.RectifiedContexts(contexts=3, width=100, steps=4000, records=40)
swept = model.sweep(context_scale=[0.3, 1.0, 3.0])
figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
for scale, color in zip(swept["context_scale"].values, fs.style.PALETTE, strict=False):
    run = swept.sel(context_scale=scale).isel(seed=0)
    axes[0].plot(run["time"], run["loss"], color=color, label=f"contexts × {scale:g}")
    axes[1].plot(run["time"], run["everywhere"], color=color)
axes[0].set(xlabel="step", ylabel="loss")
axes[1].set(xlabel="step", ylabel="strength that is always on")
axes[0].legend()
plt.show()
