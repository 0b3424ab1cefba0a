"""
coding/descent
==============

Theory speaks of the posterior. Do networks that are *trained* have its codes? Each row is one nonlinearity (**a**
linear, **b** sigmoidal, **c** rectified), each column one way of descending the same energy from the same start; dots
are readouts of neurons, and the title is what the analyser calls the code.

Noisy descent with weight decay is a sampler in disguise, and gives the codes of the posterior. Plain descent and
momentum give codes of the same name without any noise. Adam does not: its steps have much the same length for all
weights, so that no neuron stays behind or runs ahead. Linear neurons then fall into groups, and rectified ones share
the work evenly (**d**; colours as in **e**), with the same loss and energy in the end: several codes are equally good,
and the way of training selects one. Plain descent of rectified networks stays above the least loss (**f**): a neuron
that is off for an example receives no gradient from it, and nothing ever turns it on.
"""

import festina as fs

result = fs.run("coding/descent", budget="quick")
print(result)
figure = result.figure()
