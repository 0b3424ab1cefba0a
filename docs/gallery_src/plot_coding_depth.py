"""
coding/depth
============

Networks with two hidden layers learn the toy task. Each row of the upper panels is a neuron, each column an example;
dashed lines part the classes. In the second layer neurons answer to the class and to hardly anything else, by the code
that their nonlinearity has with a single layer: graded in linear networks (**a**), on and off in groups in sigmoidal
ones (**b**), and a few strong neurons in rectified ones (**c**). In the first layer the same classes go together, but
most of what a neuron does is due to the single example.

The share of the variance that lies between classes, η², says it in one number: it rises from the first layer to the
second for all of them (**d**). Kernels are near those of the theory (**e**): of both linear layers as T → 0, and this
short run is at T = .1; and of the second sigmoidal layer on top of the measured first one. Codes come as temperature
falls (**f**). Theory of both sigmoidal layers from scratch has been solved above the onset and not far below it; this
short run asks for T = 1 only (grey: not solved).
"""

import festina as fs

result = fs.run("coding/depth", budget="quick")
print(result)
figure = result.figure()
