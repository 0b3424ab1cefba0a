"""
Broad distinctions first
========================

Things in a tree, and a network that learns what is true of them. Each level of the tree is a mode of the data, and
the broader it is, the more properties speak for it. The strength with which levels differ depends on how faithfully
properties are handed down: vary ``flip``, the probability that one changes at a branch.

With flips so frequent that relatives are hardly alike, all levels have nearly the same strength, and stages
disappear.
"""

import matplotlib.pyplot as plt

import festina as fs

figure, axes = plt.subplots(1, 3, figsize=(7.2, 2.6), layout="constrained", sharey=True)
for axis, flip in zip(axes, (0.05, 0.15, 0.4), strict=True):
    model = fs.models.Semantic(
        branching=(2, 2, 2), flip=flip, features=40, hidden=64, scale=1e-3, until=25.0, records=80
    )
    learned = model.run(seeds=1)["learned"].isel(run=0)
    for level, name in enumerate(("all alike", "2 branches", "4 branches", "8 leaves")):
        axis.plot(learned["time"], learned.isel(level=level), color=fs.style.PALETTE[level], label=name)
    axis.set(title=f"flip {flip}", xlabel="time t / τ")
axes[0].set(ylabel="share learned")
axes[2].legend()
plt.show()
