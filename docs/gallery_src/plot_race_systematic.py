"""
race/systematic
===============

Only some pairs of domains are trained. What happens to the others? With a single output for each input, nothing ties
the domains together and untrained pairs are answered wrongly. With a few, a network that starts small finds one
representation for all domains and answers pairs it has never seen; one that starts large fits what it was shown and no
more.
"""

import festina as fs

result = fs.run("race/systematic", budget="quick", gain=(0.2, 0.5, 1.0, 2.5))
print(result)
figure = result.figure()
