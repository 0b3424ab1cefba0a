"""
race/routing
============

Many input and output domains meet in one hidden layer. The more pairs are trained, the faster all of them are learned:
sharing gains a factor K·M^(1/3) over a network for every pair. Put both into one network and let them race: from small
initial weights the shared pathway takes nearly everything.
"""

import festina as fs

result = fs.run("race/routing")
print(result)
figure = result.figure()
