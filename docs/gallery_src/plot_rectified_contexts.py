"""
rectified/contexts
==================

In how many contexts is a unit of a ReLU network on, and does it serve more of them if there are more?

- **a** Where the strength of units lies over time. First nearly all units are on in all contexts; after some 600 steps
  they switch, and two of three contexts win.
- **b** The same at the end, with more contexts and with larger context inputs (κ = 1.35, as the published code has them
  with five contexts). With five contexts and κ = 1, units on in *three* lead.
- **c** The mean share of contexts in which units are on. If they were on in all but one, it would grow with the number
  of contexts.
- **d** Theory has gates that depend on the context alone. In the end hardly any unit is like that: most are on for some
  objects of a context and off for others.
"""

import festina as fs

result = fs.run("rectified/contexts", budget="quick")
figure = result.figure()

# %%
# What the source claims, and what was found:

print(result)
