"""
rectified/depth
===============

The world of `rectified/selectivity`, and a ReLU network with two hidden layers. Where does it put its nonlinearity?

- **a** The loss falls in stages, as in a deep linear network. Lines are gated networks with nothing fitted: a shared
  first layer and, in the second, common and all-but-one or single-context paths; a first layer for each path, which is
  slower; no gates at all.
- **b** At first both layers are linear in the input. When what is linear in the task has been learned, the second layer
  bends, and the first hardly does.
- **c** While the linear part is being learned, gates depend on the context at most; later they tell objects apart too.
- **d, e** In how many of the three contexts the units of each layer are on, weighed by their strength. Two thirds of
  the first layer are shared by all contexts, and about a quarter of the second.
- **f** The second layer of each run at the end. No number of contexts dominates, and runs differ: one should not
  conclude much from two of them. (The full budget has ten, of 420 units a layer, and 30,000 steps.)
"""

import festina as fs

result = fs.run("rectified/depth", budget="quick")
figure = result.figure()

# %%
# What the source claims, and what was found:

print(result)
