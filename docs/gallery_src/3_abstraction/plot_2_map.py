"""
A map of when it works
======================

The same over two fields at once: the speed of gates and the length of blocks. Fast gates are not enough; blocks have
to be long as well, although the time spent in learning is the same everywhere.

With infinitely many inputs the dynamics closes on a few averages (``data="closure"``), so that 64 cells take a
moment. Replace ``gate_timescale`` by ``strength``, the bounds on gates, for the other map of the paper.
"""

import matplotlib.pyplot as plt
import numpy as np

import festina as fs

model = fs.models.TaskAbstraction(data="closure", until=15.0, records=10)
swept = model.sweep(gate_timescale=np.geomspace(0.02, 1.0, 8), block_length=np.geomspace(0.1, 2.0, 8))
last = swept["total_alignment"].isel(time=-1).mean("seed")
figure, axis = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
image = axis.pcolormesh(last["block_length"], last["gate_timescale"], last.transpose("gate_timescale", "block_length"))
axis.set(xscale="log", yscale="log", xlabel="length of blocks", ylabel="timescale of gates")
figure.colorbar(image, label="alignment of paths and tasks")
plt.show()
