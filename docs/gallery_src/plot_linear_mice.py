"""
linear/mice
===========

Individual yet systematic: a deep network that learns a decision as mice do, and its shallow control.
Learning curves of single animals, psychometric curves and teaching signals by session, and the stationary points of
both networks.
"""

import festina as fs

result = fs.run("linear/mice", budget="quick")
print(result)
figure = result.figure()
