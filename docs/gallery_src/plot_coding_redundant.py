"""
coding/redundant
================

Sigmoidal neurons fall into groups. At a low temperature their readouts split into six branches (**a**, crosses:
theory), and each branch is a set of classes for which its neurons are on (**b**). Many neurons do the same: the code is
redundant.

How many neurons have each code? At a higher temperature, where neurons still change their codes, a chain from the prior
finds what theory says (**d**, **e**). Further down neurons keep the code they have. A network planted with theory's
shares stays where it is (**c**, **g**, **h**). One that was cooled down from the prior stays where it froze, with other
shares and another kernel (**c**, **f**, **i**): out of equilibrium, but not out of reach of theory, which gives its
kernel if told its shares (**j**).
"""

import festina as fs

result = fs.run("coding/redundant", budget="quick")
print(result)
figure = result.figure()
