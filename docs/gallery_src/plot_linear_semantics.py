"""
linear/semantics
================

Concepts from broad to fine: a deep linear network in a world with the structure of a tree.
"""

import festina as fs

result = fs.run("linear/semantics", budget="quick")
print(result)
figure = result.figure()
