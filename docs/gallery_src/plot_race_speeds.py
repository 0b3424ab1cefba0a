"""
race/speeds
===========

What makes one pathway of a network faster than another? The lecture names four things, and each is a race here: a first
pathway of two layers, and a rival that differs from it in one thing alone. A gate that lets through fewer samples slows
the rival in proportion (a). More layers slow it from a small start (b). A larger start is faster (c), and so is a less
balanced one of the same strength (d). And an edge that n paths share hears all of them (e): it gets n times the
gradient, but it is one edge of L, so that learning is faster by the L-th root of n.

Depth is "generally slower", says the lecture, and it has to say generally. Each of L layers learns through the product
of all others, which is tiny while the strength is small; near the end it is about one, and L layers move L times as
fast as one. From a large start deeper is faster (f). All half-times are those of closed forms (g). Given one target,
the pathway that is faster alone has nearly all of it in the end (h).
"""

import festina as fs

result = fs.run("race/speeds", budget="quick")
print(result)
figure = result.figure()
