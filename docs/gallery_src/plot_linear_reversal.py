"""
linear/reversal
===============

When the task turns into its opposite: stuck for ever, or only for a while.
"""

import festina as fs

result = fs.run("linear/reversal", budget="quick")
print(result)
figure = result.figure()
