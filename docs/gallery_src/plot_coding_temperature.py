"""
coding/temperature
==================

Networks are sampled while their temperature goes down a ladder, or up. Sigmoidal neurons (above) choose a code, a set
of classes for which they are on, and below a certain temperature keep it: networks cooled from the prior then miss the
equilibrium that heated ones, started from the theory, come from. The part of the kernel that tells classes apart, V,
does not show it; its mean over all pairs of examples does. In rectified networks (below) outliers condense, first for
the largest class, at the temperatures of the theory (dotted): more neurons than needed at first, which merge later.
"""

import festina as fs

result = fs.run("coding/temperature", budget="quick")
print(result)
figure = result.figure()
