"""
rectified/frozen
================

On any input a ReLU unit is on, and linear, or off, and silent: with its activity pattern as gates a ReLU network is a
gated linear one. Here the pattern is frozen at a step t, and the gated network goes on from there. For how long does it
learn as the ReLU network does?

- **a** The loss of the ReLU network (dots), and of gated networks from the step on at which they begin. Random gates of
  the start learn faster. Gates of the first plateau, where all units that matter are on everywhere, learn what is
  linear, and then hardly anything.
- **b** When the two losses first differ by 1% of the loss at the start. On the plateau it does not matter when gates
  were frozen: they part when units switch.
- **c** How far they part. Over the first loss this becomes little, over the loss that is left at t it does not.
- **d** For gates go on to change: the share of those of step t that are what the network's own units would make them in
  the end.
"""

import festina as fs

result = fs.run("rectified/frozen", budget="quick")
figure = result.figure()

# %%
# What the source claims, and what was found:

print(result)
