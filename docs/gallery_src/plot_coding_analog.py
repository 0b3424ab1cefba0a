"""
coding/analog
=============

What does a wide *linear* network make of three classes? Its weights are drawn from the posterior, and the output is
scaled such that features are learned. No neuron is special: readouts are one Gaussian cloud (**a**, **b**), with the
covariance that theory predicts, and every neuron has its own graded mixture of classes (**c**, neurons sorted by the
direction of their readout). All the same the classes are plain to see in the kernel (**d**, **e**), which a chain from
the prior finds while it cools down (**f**, shaded: warming up).

The kernel is the same in all draws, nearly, although single readouts wander slowly. ``kernel_sample_size`` and
``readout_sample_size`` say how many independent draws a chain is worth for each.
"""

import festina as fs

result = fs.run("coding/analog", budget="quick")
print(result)
figure = result.figure()
