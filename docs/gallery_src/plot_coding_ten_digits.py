"""
coding/ten_digits
=================

Are the three codes those of ten classes, too? The same networks as in coding/digits learn to tell all ten digits.
Readouts of linear neurons are one cloud in ten dimensions, of which two are shown (**a**); those of sigmoidal neurons
sit at the corners of a cube (**b**), and each is on for about five digits (**e**): hardly two of them have the same
code, for there are more codes than neurons. Of the rectified neurons a few answer to one digit each (**c**, **f**).

Below: mean features against those that theory implies (**g**), mean answers to test images against those of the lazy
network (**h**), their variances (**i**) and errors (**j**; percentages are test images named rightly).
"""

import festina as fs

result = fs.run("coding/ten_digits", budget="quick")
print(result)
figure = result.figure()
