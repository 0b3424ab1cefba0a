"""
coding/scaling
==============

The prior variance of readouts is σ_a²/P^γ, with γL from 0 to 2. With γ = 1/L, which is the source's, the share η² of
the variance that lies between classes is the same for any number P of examples, whatever the neurons (**a** to **d**).
With less it falls: large readouts need little of the classes in the activity. With twice as much, networks of one layer
stop learning once there are too many examples for the temperature (**a**, **b**), but codes of two layers get sharper
(**c**, **d**). Lines are theory at the width of the samples, which are the marks; of two sigmoidal layers there is none
here, and lines only join marks.

A sharp code has its price: what sigmoidal networks have not learned of their targets is the less the blurrier their
code (**e**). Blurred neurons still fall into groups, on for some classes and off for others, but nearer to each other
(**f**).
"""

import festina as fs

result = fs.run("coding/scaling", budget="quick")
print(result)
figure = result.figure()
