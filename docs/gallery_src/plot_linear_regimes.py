"""
linear/regimes
==============

Lazy, rich and delayed rich: what the imbalance of the layers and the shape of the network decide.
"""

import festina as fs

result = fs.run("linear/regimes", budget="quick")
print(result)
figure = result.figure()
