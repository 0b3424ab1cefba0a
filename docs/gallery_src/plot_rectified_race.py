"""
rectified/race
==============

Take a linear path for every set of contexts, on in these contexts and off in all others, and let them race for the same
target from the same small start. Who wins, and why?

- **a, b** Paths on in all contexts but one win, together with the one that is always on. (By how much depends on what
  is called energy: nothing is claimed of it.)
- **c** At the start the input-output correlation S that a path sees grows with its number k of contexts, as √(k² + k).
- **d** So a network with a common path and all-but-one paths beats one with a common path and single contexts.
- **e–h** The same for what the common path leaves when it is done. Now S is the same for one context and for all but
  one, and largest in between (**g**). The duel is a draw (**h**), and middle sizes win the race (**e, f**).

Mixed selectivity thus wins by a head start. It is not that sharing contexts raises S where paths of some contexts are
needed; it raises S before, while the common path is still learning, and paths that were larger then stay ahead.
"""

import festina as fs

result = fs.run("rectified/race", budget="quick")
figure = result.figure()

# %%
# What the source claims, and what was found:

print(result)
