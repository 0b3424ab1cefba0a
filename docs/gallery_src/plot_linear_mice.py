"""
linear/mice
===========

Individual yet systematic: a deep network that learns a decision as mice do, and its shallow control.
"""

import festina as fs

result = fs.run("linear/mice", budget="quick")
print(result)
figure = result.figure()
