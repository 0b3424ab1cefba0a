"""
abstraction/reduction
=====================

Two vectors in a plane stand for a network of four hundred weights: exactly, if the network starts in the span of its
teachers, and only roughly if it starts from random weights. The reduced model of the literature (`published`) does not
start from the network that it is compared with.
"""

import festina as fs

result = fs.run("abstraction/reduction", budget="quick")
print(result)
figure = result.figure()
