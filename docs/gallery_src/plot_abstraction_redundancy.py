"""
abstraction/redundancy
======================

Four paths for two tasks. The gates are bounded in all arms; what differs is whether weights are costly, and how. A path
that is not needed may share a task with another (a), or fall silent (b). The cost of columns empties unused paths (e)
and silences most of them (f); the cost of squares is too weak to do either within twenty blocks. How many runs end with
silent paths takes many seeds to tell: here are few.
"""

import festina as fs

result = fs.run("abstraction/redundancy", budget="quick")
print(result)
figure = result.figure()
