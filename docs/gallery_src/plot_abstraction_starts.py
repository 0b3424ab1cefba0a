"""
abstraction/starts
==================

What a network begins with shifts the border of the flexible regime. With gates that are hardly fast enough, larger
initial weights specialise in shorter blocks (a) and with slower gates (c): small ones have nothing for the gates to
choose between. Weights as large as the teachers' are too much. Where the gates begin is forgotten at once (b). The
tables that the authors' notebook prints are nearest to maps from weights ten or more times larger than published (d).
"""

import festina as fs

result = fs.run("abstraction/starts", budget="quick")
print(result)
figure = result.figure()
