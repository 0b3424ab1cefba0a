"""
abstraction/interleaved
=======================

Should two tasks be practised in blocks, or interleaved? Shuffled step by step they leave a network with fast and
bounded gates where they leave any other: both students learn the mean of the two tasks (a, left), and half of the loss
stays (b). Long blocks specialise the students; the forgetful network has nothing from them (a, open marks).

Blocks need not be regular. If a coin decides before every step whether the task changes, blocks of a quarter of the
mean length are enough (a, blue): of equal blocks one undoes the other, of unequal ones not. Only where there are a
handful of blocks in all is regularity better (c).
"""

import festina as fs

result = fs.run("abstraction/interleaved", budget="quick")
print(result)
figure = result.figure()
