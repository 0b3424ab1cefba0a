"""
abstraction/dimension
=====================

A gate is driven by all modes of its task together, a weight only by its own. Tasks of high rank therefore make gates
fast, and networks specialise even if gates learn no faster than weights, as long as gates are bounded.
"""

import festina as fs

result = fs.run("abstraction/dimension", budget="quick")
print(result)
figure = result.figure()
