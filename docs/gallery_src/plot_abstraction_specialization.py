"""
abstraction/specialization
==========================

Two linear tasks, A and B, are shown in alternating blocks. Nobody tells the network which one is on. It has two
students, W¹ and W², and two gates that weigh their answers; all of them learn by gradient descent on the same loss. Two
networks are compared. In the *flexible* one gates are fast, and a regulariser keeps them positive and their sum near
one. In the *forgetful* one gates are as slow as the weights, and free.

- **a** Both find each task hard at first. Later the flexible network's loss drops almost at once after a switch, while
  the forgetful one spends every block on learning again what it has just unlearned.
- **b** In the flexible network gates first drift, then take turns: they have become a sign for the task.
- **c** That is possible because its students have parted: the first one ends up agreeing with teacher A alone. The
  forgetful network's students follow whatever is shown (thin lines).
- **d, e** Early on, a switch is answered by the weights, later by the gates, whose speed grows with the size of the
  students behind them (green).
- **f** So the time to adapt falls about eighteenfold, and stays where it was in the forgetful network.
"""

import festina as fs

result = fs.run("abstraction/specialization")
figure = result.figure()

# %%
# What the source claims, and what was found:

print(result)
