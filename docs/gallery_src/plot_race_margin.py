"""
race/margin
===========

A third input separates the two classes of exclusive-or by a margin, so that a linear solution exists. Rectified
networks prefer the nonlinear one up to a margin of √(2/3), where the pathways of the linear solution become the faster
ones (the lecture has the two rates; where they cross is solved here). The smaller the initial weights, the sharper the
crossover; the curves of all starts cross in one point. Lines are the law of the race, with nothing fitted.
"""

import festina as fs

result = fs.run("race/margin", budget="quick")
print(result)
figure = result.figure()
