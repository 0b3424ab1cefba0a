"""
linear/chain
============

Depth adds a saddle at zero to a chain of weights, and with it a plateau before learning.
"""

import festina as fs

result = fs.run("linear/chain", budget="quick")
print(result)
figure = result.figure()
