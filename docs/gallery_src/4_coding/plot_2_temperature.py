"""
Temperature melts a code
========================

At a high temperature the prior wins, and neurons know nothing of the classes. Cooled down, sigmoidal neurons choose a
code each: how much their activity differs between classes grows, and spreads into two peaks, on and off. Vary
``temperature``; all values are one compiled program.
"""

import matplotlib.pyplot as plt
import numpy as np

import festina as fs

SHORT = {"counts": (20, 10, 10), "warm_up": 100, "draws": 20, "records": 10}
model = fs.models.WideBayesian(nonlinearity="sigmoidal", width=100, **SHORT)
swept = model.sweep(temperature=[1.0, 0.3, 0.03])
figure, axes = plt.subplots(1, 3, figsize=(7, 2.4), layout="constrained", sharey=True)
for axis, temperature in zip(axes, swept["temperature"].values, strict=True):
    activity = swept["activity"].sel(temperature=temperature).isel(seed=0, time=-1)
    axis.hist(np.ravel(activity), bins=np.linspace(0, 1, 21), color=fs.style.BLUE)
    axis.set(title=f"T = {temperature:g}", xlabel="mean activity in a class")
axes[0].set(ylabel="neurons × classes")
plt.show()
