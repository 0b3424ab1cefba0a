"""
linear/continual
================

Tasks one after the other, solved exactly: what is forgotten, and what interleaving saves.
"""

import festina as fs

result = fs.run("linear/continual", budget="quick")
print(result)
figure = result.figure()
