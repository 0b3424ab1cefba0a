"""
abstraction/composition
=======================

New tasks made of old ones. A network learns three tasks A, B and C in turn; then come pairs of them.

In task composition a pair is the mean of two teachers. Students that have become one teacher each need not change: two
gates open by one half, the third closes, and the loss falls at once. In subtask composition the rows of a new task come
from two teachers alternately, and rows have gates of their own. The forgetful network, whose gates are not bounded, has
no students to choose from, and learns every pair anew.

The first two columns differ only in the scale of teachers and loss. With the smaller one (left), which is that of the
published code, students remain mixtures: gates no longer name the teachers, although the loss falls just as fast.
"""

import festina as fs

result = fs.run("abstraction/composition", budget="quick")
print(result)
figure = result.figure()
