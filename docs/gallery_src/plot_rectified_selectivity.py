"""
rectified/selectivity
=====================

Eight objects are met in three contexts. Some of their features hold everywhere, some only in the context at hand, and
the second kind cannot be had without a nonlinearity. A ReLU network learns the task from small weights. Which of its
units are on in which contexts?

- **a** Its loss, beside that of gated linear networks whose gates were chosen beforehand. Half of the units always on
  and the others on in all contexts but one give the same curve, with nothing fitted. Units for single contexts are
  slower, and a network of separate modules slower still. Circles: the closed form, with two initial strengths fitted.
  Gates that are simply frozen at their random start learn faster than all of them: the ReLU network wins its race
  among some candidates, not among all.
- **b** How far each of them is from the ReLU network, at worst.
- **c** How long each takes to a tenth of the loss.
- **d** Where the strength of the network's units lies over time. First nearly all units are on in all contexts; after
  some 600 steps they switch, and two of three contexts win.
- **e** The same at the end. The full budget has four and five contexts as well: with five, units on in *three* lead,
  unless the context's part of the input is made larger (κ = 1.35), as the published code does.
- **f** Theory has gates that depend on the context alone. In the end hardly any unit is like that: most are on for some
  objects of a context and off for others. A loss that matches does not identify the gates.
"""

import festina as fs

result = fs.run("rectified/selectivity", budget="quick")
figure = result.figure()

# %%
# What the source claims, and what was found:

print(result)
