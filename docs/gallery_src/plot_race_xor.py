"""
race/xor
========

Exclusive-or, learned by gated linear networks and by rectified ones. With one pathway for each example, a gated network
follows a closed form, and a rectified network from small random weights follows the same curve, shifted once in time.
Other gatings are stuck, or faster (half-planes) but such that no rectified unit can keep them: panel f shows all of
them. From a larger start units have an effect before they have turned, and the curve is another.
"""

import festina as fs

result = fs.run("race/xor", budget="quick")
print(result)
figure = result.figure()
