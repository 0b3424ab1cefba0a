"""
linear/alignment
================

The kernel turns to the task before the loss shows anything, if weights are small.
"""

import festina as fs

result = fs.run("linear/alignment", budget="quick")
print(result)
figure = result.figure()
