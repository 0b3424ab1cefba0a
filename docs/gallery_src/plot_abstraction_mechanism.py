"""
abstraction/mechanism
=====================

Why a specialised student survives a switch of tasks: gates that are fast enough turn away before weights can move, and
how much is lost is a matter of one curve. Below, where the curve comes from and how far its assumptions hold.
"""

import festina as fs

result = fs.run("abstraction/mechanism", budget="quick")
print(result)
figure = result.figure()
