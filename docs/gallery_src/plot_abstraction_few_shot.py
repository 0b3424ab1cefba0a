"""
abstraction/few_shot
====================

How many samples does it take to notice that the task has changed? Here every step of learning sees a single one. Late
in learning the first sample of a new task removes two thirds of the error and the second half of the rest (d), because
only the gates have to move (e). At the first switches, and in the forgetful network, the same samples hardly matter.
"""

import festina as fs

result = fs.run("abstraction/few_shot", budget="quick")
print(result)
figure = result.figure()
