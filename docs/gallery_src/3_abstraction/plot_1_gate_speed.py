"""
Fast gates make tasks
=====================

Two tasks take turns, and nobody says when. Each of two paths should come to hold one of them. Whether it does is
decided by the speed of the gates: fast ones separate the tasks before weights have forgotten them. Vary
``gate_timescale``; weights have the timescale 1.3.

An alignment of 1 means one path for each task, of 0.71 that both paths hold the same mixture.
"""

import matplotlib.pyplot as plt

import festina as fs

model = fs.models.TaskAbstraction(data="closure", until=15.0, records=60)
swept = model.sweep(gate_timescale=[0.03, 0.1, 0.3, 1.3])
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
for timescale, color in zip(swept["gate_timescale"].values, fs.style.PALETTE, strict=False):
    alignment = swept["total_alignment"].sel(gate_timescale=timescale).mean("seed")
    axis.plot(alignment["time"], alignment, color=color, label=f"$\\tau_c$ = {timescale:g}")
axis.axhline(0.5**0.5, color="0.7", lw=0.8)
axis.set(xlabel="time", ylabel="alignment of paths and tasks")
axis.legend()
plt.show()
