"""
abstraction/capacity
====================

Two or four paths for two or three tasks. With a path for each task all are kept (a), and a task that returns costs
little (d). Two paths for three tasks keep two thirds of them, which is the most that two dimensions can hold (b), and
less of what was shown longer ago (c): the students turn within the space of all three teachers (e). Forgetful networks,
whose gates are slow and free, keep the task at hand whatever the number of paths. The full map, which takes a minute or
two, has up to six paths and four tasks.
"""

import festina as fs

result = fs.run("abstraction/capacity", budget="quick")
print(result)
figure = result.figure()
