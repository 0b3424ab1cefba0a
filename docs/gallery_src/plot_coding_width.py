"""
coding/width
============

Theory of coding schemes is that of infinitely many neurons. How many are enough? The kernel of a single network strays
from theory as N^(−½) (**a**), and so do its codes: shares of sigmoidal neurons that are on for the same classes, second
moments of linear readouts (**b**). The dotted line is at 5 %. Kernels and predictors that are averaged over the
posterior are far nearer (**c**, **d**); what is left of linear ones is what theory has at finite N (dashed). The
variance of the predictor falls as 1/N (**e**, dashed: theory). Chains of sigmoidal networks mix more slowly than those
of linear ones (**f**): this is just above the temperature at which they freeze.
"""

import festina as fs

result = fs.run("coding/width", budget="quick")
print(result)
figure = result.figure()
