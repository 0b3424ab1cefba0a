"""
linear/depth
============

How long training takes, against depth, for five ways to begin.
"""

import festina as fs

result = fs.run("linear/depth", budget="quick")
print(result)
figure = result.figure()
