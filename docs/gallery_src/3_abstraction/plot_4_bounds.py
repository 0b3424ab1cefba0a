"""
What bounds on gates leave open
===============================

Bounds alone do not choose a task. They pull two gates to a curve, on which all points are equally good, from one open
gate to two that are open by half; the tasks do the rest. Vary ``order``, the norm that is kept at one.
"""

import matplotlib.pyplot as plt
import numpy as np

import festina as fs

figure, axes = plt.subplots(1, 2, figsize=(6, 3), layout="constrained", sharey=True)
for axis, order in zip(axes, (1, 2), strict=True):
    model = fs.models.BoundedGates(order=order, records=50)
    swept = model.sweep(first=np.linspace(-0.4, 1.4, 6), second=np.linspace(-0.4, 1.4, 6))
    gates = swept["gates"].isel(seed=0).stack(start=("first", "second"))
    one, two = gates.isel({gates.dims[-2] if gates.dims[-1] == "start" else gates.dims[-1]: [0, 1]}).transpose(
        ..., "time", "start"
    )
    axis.plot(one, two, color="0.8", lw=0.8)
    axis.plot(one.isel(time=-1), two.isel(time=-1), "o", color=fs.style.BLUE, ms=4)
    axis.set(xlabel="first gate", title=f"norm of order {order}", aspect="equal")
axes[0].set(ylabel="second gate")
plt.show()
