"""
One task, three codes
=====================

Wide networks are drawn at random among all that explain three classes. Only the nonlinearity differs: linear neurons
carry graded mixtures of classes, sigmoidal ones fall into groups, and few rectified ones do all the work. Each
picture shows the mean activity of every neuron in each class.
"""

import matplotlib.pyplot as plt
import numpy as np

import festina as fs

SHORT = {"counts": (20, 10, 10), "warm_up": 100, "draws": 20, "records": 10}
figure, axes = plt.subplots(1, 3, figsize=(7, 3), layout="constrained")
for axis, nonlinearity in zip(axes, ("linear", "sigmoidal", "rectified"), strict=True):
    model = fs.models.WideBayesian(nonlinearity=nonlinearity, width=100, temperature=0.05, **SHORT)
    activity = model.run(seeds=1)["activity"].isel(run=0, time=-1).transpose("neuron", "class").values
    order = np.lexsort(np.abs(activity).max() / 3 < activity.T)
    axis.imshow(
        activity[order],
        aspect="auto",
        interpolation="nearest",
        cmap="PuOr_r",
        vmin=-activity.max(),
        vmax=activity.max(),
    )
    axis.set(title=nonlinearity, xlabel="class", xticks=(0, 1, 2))
axes[0].set(ylabel="neuron, sorted")
plt.show()
