"""
abstraction/blocks
==================

Few long blocks specialise a network more than many short ones, up to a point. Near the orbit on which an unspecialised
network is driven, small differences between its paths grow at a rate that linear stability gives exactly, and not at
all in short blocks: what specialises a network there is the transient of its first blocks.
"""

import festina as fs

result = fs.run("abstraction/blocks", budget="quick")
print(result)
figure = result.figure()
