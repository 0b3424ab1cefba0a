"""
abstraction/mixtures
====================

Tasks that share teachers. Each of three tasks is the mean of two of three teachers A, B and C, which are never shown.

After some blocks there is one student near each teacher, and every task opens two gates by one half. But the students
are on their way. Every triangle of students that is turned about its centre still holds the three tasks (crosses), for
these lie on its inscribed circle. Nothing in the loss says that the corners should be the teachers, and so students
drift past them, half a degree and more in every block.
"""

import festina as fs

result = fs.run("abstraction/mixtures", budget="quick")
print(result)
figure = result.figure()
