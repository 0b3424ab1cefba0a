"""
abstraction/connected
=====================

Gates that nobody built: a fully connected network whose fast second layer is bounded learns to use single hidden units
as switches. Sorted by the rows of the teachers, its second layer is a diagonal that jumps from one half to the other
with the task (g); without bounds the same network relearns its first layer in every block.
"""

import festina as fs

result = fs.run("abstraction/connected", budget="quick")
print(result)
figure = result.figure()
