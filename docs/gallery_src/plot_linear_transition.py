"""
linear/transition
=================

From exponential to sigmoidal learning as the imbalance of the layers goes to zero.
"""

import festina as fs

result = fs.run("linear/transition", budget="quick")
print(result)
figure = result.figure()
