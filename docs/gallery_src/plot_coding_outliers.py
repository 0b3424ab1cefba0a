"""
coding/outliers
===============

Rectified networks code a class with few neurons that grow out of the bulk. Theory says in which directions they do, and
how large they are together, but not how many share a direction. While networks are cooled many neurons stand out; held
at a low temperature they merge, slowly, towards one for each class. The kernel does not depend on how many there are.
Which neurons win is left to chance if a network is annealed, even from the same weights. If it is put at the low
temperature at once, its first weights may have a say; a few runs can only hint at it.
"""

import festina as fs

result = fs.run("coding/outliers", budget="quick")
print(result)
figure = result.figure()
