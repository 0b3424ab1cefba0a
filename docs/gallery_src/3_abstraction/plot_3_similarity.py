"""
Similar tasks
=============

The more similar two tasks are, the less there is to separate, and the longer it takes. Vary ``similarity``, the cosine
of the teachers, and look at the gates: with similar tasks they stay together for many blocks.
"""

import matplotlib.pyplot as plt

import festina as fs

model = fs.models.TaskAbstraction(data="closure", until=20.0, records=200)
swept = model.sweep(similarity=[0.0, 0.5, 0.8])
figure, axes = plt.subplots(3, 1, figsize=(6, 4), layout="constrained", sharex=True, sharey=True)
for axis, similarity in zip(axes, swept["similarity"].values, strict=True):
    gates = swept["gates"].sel(similarity=similarity).isel(seed=0)
    for path, color in zip(range(2), fs.style.PALETTE, strict=False):
        axis.plot(gates["time"], gates.isel({gates.dims[-1]: path}), color=color)
    axis.set(ylabel="gates", title=f"cosine of the tasks {similarity:g}")
axes[-1].set(xlabel="time")
plt.show()
