"""
abstraction/clothes
===================

Clothes can be sorted from upper to lower body, or from warm to cold weather. The second order leaves half of the usual
labels as they are, so that less is lost at a switch (b): does the network come to switch by its gates all the same?
The paper says so of Fashion-MNIST. Where that is not at hand digits stand in, with the same permutations. There the
gates part later if more is shared (d, e), since what both tasks have in common need not be switched.
"""

import festina as fs

result = fs.run("abstraction/clothes", budget="quick")
print(result)
figure = result.figure()
