"""
abstraction/regimes
===================

When does a network learn to switch, and when does it keep forgetting? Two maps of how well students and teachers agree
after a fixed time: over the speed of the gates and the length of blocks (**a**), and over the strength of the
regulariser and the length of blocks (**b**). 1 means one student for each teacher; .71 (1/√2) means that all students
are the same mixture of both.

Three things are needed: fast gates, bounded gates, and blocks that are long enough, although the time spent in learning
is the same everywhere. The tables that the authors' notebook prints differ from these maps in several cells, and the
claims below say so.

With infinitely many inputs the whole dynamics closes on four coordinates for each student, whatever the sizes of the
network. That is how the second figure, a map of 40 × 40 cells, is made in a moment.
"""

import numpy as np

import festina as fs

result = fs.run("abstraction/regimes")
figure = result.figure()

# %%
# What the source claims, and what was found:

print(result)

# %%
# The same map in fine detail, by the exact closure:

fine = fs.run(
    "abstraction/regimes",
    data="closure",
    seeds=5,
    records=7,
    gate_timescale=np.geomspace(0.005, 0.15, 40).tolist(),
    strength=np.linspace(0.0, 0.3, 40).tolist(),
    block_length=np.linspace(0.05, 1.5, 40).tolist(),
)
figure = fine.figure()
