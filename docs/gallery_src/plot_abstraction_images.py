"""
abstraction/images
==================

Two ways to label the same images: on the features of a convolutional network, gates learn to switch between them.

Ten classes of images have one set of labels in task A and a permuted one in task B (panel a). The tasks alternate
without notice. At first both networks learn anew whatever is asked (b). Then the students of the flexible network part
(f), its gates choose between them (c), and from then on a switch costs a handful of steps (d, e). In the forgetful
network both gates stay as open as each other, and every block begins near the share of labels that both tasks have in
common.

The images are the 8×8 digits of scikit-learn, unless those of the paper are at hand: ``festina data fetch mnist`` gets
them.
"""

import festina as fs

result = fs.run("abstraction/images", budget="quick")
print(result)
figure = result.figure()
