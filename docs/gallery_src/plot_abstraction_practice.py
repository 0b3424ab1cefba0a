"""
abstraction/practice
====================

Two tasks alternate, and what counts is how a network does in the first few samples after a switch.

With fast and bounded gates the second switch is already far easier than the first, because each student has begun to
keep one task. Without bounds every switch undoes what was learned, and the next one is harder still. People behave like
the former: their performance after a switch improves with practice (Steyvers et al. 2019; only this trend is compared).
"""

import festina as fs

result = fs.run("abstraction/practice", budget="quick")
print(result)
figure = result.figure()
