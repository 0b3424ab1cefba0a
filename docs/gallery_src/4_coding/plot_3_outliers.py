"""
How few do the work
===================

Rectified neurons leave the work to a handful of outliers. How much of the layer's activity do the strongest k neurons
hold? Vary ``width``: the wider the layer, the smaller the share of neurons that matters.
"""

import matplotlib.pyplot as plt
import numpy as np

import festina as fs

SHORT = {"counts": (20, 10, 10), "warm_up": 100, "draws": 20, "records": 10}
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
for width, color in zip((50, 200), fs.style.PALETTE, strict=False):
    model = fs.models.WideBayesian(nonlinearity="rectified", width=width, temperature=0.05, **SHORT)
    activity = model.run(seeds=1)["activity"].isel(run=0, time=-1)
    strength = np.sort((activity**2).sum("class").values)[::-1]
    axis.plot(
        np.arange(1, width + 1) / width, np.cumsum(strength) / strength.sum(), color=color, label=f"{width} neurons"
    )
axis.set(xlabel="share of neurons, strongest first", ylabel="share of the activity", xlim=(0, 0.5), ylim=(0, 1.02))
axis.legend()
plt.show()
