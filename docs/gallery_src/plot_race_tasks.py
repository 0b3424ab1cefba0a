"""
race/tasks
==========

Several tasks share one input. A network may learn what their targets have in common in one pathway that is always on,
or give every task a pathway of its own. Nobody tells it which; whichever pathway grows faster has explained the targets
before the other gets there. The shared one grows at a rate given by the mean target, a private one at 1/C, because it
sees its task only once in C samples. So the shared pathway wins as soon as the cosine of the targets exceeds −1/C, and
mild contradiction between tasks is no reason to keep them apart.

Upper row: the share of the energy that the shared pathway ends with, for networks (markers), theory (lines) and the
limit of a vanishing start (grey). The smaller the start, the sharper the passage; curves of small starts cross at −1/C.
From a large start, pathways learn side by side, and nothing special happens there. Lower row: how strong pathways
become on either side of the critical cosine, and how many of them take part in the end.
"""

import festina as fs

result = fs.run("race/tasks", budget="quick")
print(result)
figure = result.figure()
