"""
race/views
==========

Several views show the same target. Which of them will a network use? As long as each view is sometimes seen alone, the
data decide: every seed ends in the same non-negative least-squares solution, even if one view rushed ahead on the way
(b). Only views that always come together leave the choice to the initial weights (a, c). Two layers then keep the
ratios of the start. Deeper pathways amplify them: the smaller the start, the more of all goes to one view (d), and the
seed chooses which.

The picture of competing species (Lotka–Volterra) keeps ratios at any depth, and so misses this (e). It stands below as
a misprint, and the claim that views of a single task never race as one that is not reproduced. Mind the dotted line in
(c) as well: to call a view learned if it gets more than half of the answer when shown alone counts none of several
views that share a target well. Views with pathways and answers of their own do not compete at all; through one narrow
layer, only the strongest pass (f).
"""

import festina as fs

result = fs.run("race/views", budget="quick")
print(result)
figure = result.figure()
