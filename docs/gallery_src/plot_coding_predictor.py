"""
coding/predictor
================

What do wide networks answer to inputs they were not trained on, and how sure are they? Above, test inputs carry growing
evidence for one class. A lazy network, a Gaussian process (grey), is unsure of its answer; one that learns features
(points, with error bars too small to see) is not. For linear neurons both have the same mean. For sigmoidal neurons
answers saturate, and for rectified ones they grow faster: that only the variance changes, as the paper's abstract says
of linear networks, holds for these alone. Below, all of this on noisy test inputs, with test errors split into the
error of the mean predictor and its variance.
"""

import festina as fs

result = fs.run("coding/predictor", budget="quick")
print(result)
figure = result.figure()
