"""
coding/deeper
=============

Networks of one to four hidden layers learn the toy task; this short run has one and three. The share η² of the variance
of activity that lies between classes rises from layer to layer. Marks are chains, dashed lines the theory of linear
networks, which is known in every layer; other lines join means. The last panel has first and last layers against
depth: the deeper the network, the less of the code is in its first layer.
"""

import festina as fs

result = fs.run("coding/deeper", budget="quick")
print(result)
figure = result.figure()
