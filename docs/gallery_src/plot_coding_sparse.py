"""
coding/sparse
=============

With rectified neurons a handful does all the work. Their readouts and activities are of the order of √N (**a**,
crosses: theory; **b**, **c**), while all others stay as small as they were a priori, and know next to nothing of the
classes. The kernel is that of the theory nevertheless (**d**, **e**, **f**).

How many outliers there are is decided late. At leading order, two with readouts in one direction do what one does: many
appear at first, and then become fewer and fewer (**g**), so that chains as short as these may end with several for a
class. Together they have the size that theory gives to one.
"""

import festina as fs

result = fs.run("coding/sparse", budget="quick")
print(result)
figure = result.figure()
