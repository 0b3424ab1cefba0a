"""
abstraction/regularizer
=======================

What bounds on the gates do when nothing is learned. Two gates descend on the regulariser alone and stop on the black
curve where it is zero: one may be open and the other closed (green), but both may as well be half open (cross). Who
wins is left to the tasks. Only gates that all begin negative are trapped outside (purple).
"""

import festina as fs

result = fs.run("abstraction/regularizer", budget="quick")
print(result)
figure = result.figure()
