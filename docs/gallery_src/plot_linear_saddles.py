"""
linear/saddles
==============

A deep linear network goes from saddle to saddle, one rank after the other, and each network in its own time.
"""

import festina as fs

result = fs.run("linear/saddles", budget="quick")
print(result)
figure = result.figure()
