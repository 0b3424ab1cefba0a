"""
rectified/selectivity
=====================

Eight objects are met in three contexts. Some of their features hold everywhere, some only in the context at hand, and
the second kind cannot be had without a nonlinearity. A ReLU network learns the task from small weights. Which gated
linear network learns as it does? (In which contexts its own units are on stands in `rectified/contexts`.)

- **a** Its loss, beside that of gated linear networks whose gates were chosen beforehand. Half of the units always on
  and the others on in all contexts but one give the same curve, with nothing fitted. Units for single contexts are
  slower, and a network of separate modules slower still. Circles: the closed form, with two initial strengths fitted.
  Gates that are simply frozen at their random start learn faster than all of them: the ReLU network wins its race
  among some candidates, not among all.
- **b** How far each of them is from the ReLU network, at worst.
- **c** How long each takes to a tenth of the loss.
"""

import festina as fs

result = fs.run("rectified/selectivity", budget="quick")
figure = result.figure()

# %%
# What the source claims, and what was found:

print(result)
