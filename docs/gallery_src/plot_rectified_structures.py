"""
rectified/structures
====================

The two data sets of the source: eight objects in three contexts, with the same hierarchy in all of them (first row), or
with a hierarchy, a ring and a cross-cut hierarchy (second row). Dots are a ReLU network, lines are theory, whose two
initial strengths were fitted to the loss.

- **a, d** The loss. A gated network with common and all-but-one paths has it with nothing fitted, one with common and
  single-context paths does not, and a linear network stops at what depends on the context: ½(C − 1)·17 in a sum over
  samples, for the same structure.
- **b, e** Sizes of the modes of the common path, as they are found in the network's answers.
- **c, f** Sizes of the modes of what it leaves, the first three of each context below. With different structures theory
  leaves out that paths act on each other while they learn: the third mode of the ring is carried along by stronger
  modes of the other contexts, and comes long before its time.
"""

import festina as fs

result = fs.run("rectified/structures", budget="quick")
figure = result.figure()

# %%
# What the source claims, and what was found:

print(result)
