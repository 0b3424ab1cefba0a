"""
abstraction/connected_map
=========================

What a fully connected network needs to specialise. Each cell is one network: its second layer slower from left to right
(a) or more strongly bounded (b), its blocks shorter from top to bottom. Without bounds (s = 0) nothing helps; with
them, short blocks or a slow second layer still leave the two tasks mixed up in the first layer.
"""

import festina as fs

result = fs.run("abstraction/connected_map", budget="quick")
print(result)
figure = result.figure()
