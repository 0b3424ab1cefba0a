"""
coding/digits
=============

Do the three codes appear on real data? Networks with one hidden layer learn to tell three digits that look alike, 3, 5
and 8. Readouts of linear neurons form one cloud (**a**), those of sigmoidal neurons fall into groups (**b**), and of
the rectified ones a few stand out while all others stay near zero (**c**). Image by image (**d**, **e**, **f**), the
same neurons do for test images, on the right, what they do for those they have learned from.

Theory says what the mean features ⟨φ⟩ of single neurons must be, once it is told their readouts and what is left of the
error (**g**; at the full budget it finds no answer for many rectified neurons); of linear networks it says all.
Mean answers to test images are nearly those of the lazy network, a Gaussian process, if neurons are linear, but not for
the others (**h**). Variances are far less for all of them (**i**), and so is the test error where that of the lazy
network is variance to a good part (**j**; percentages are test images named rightly by the mean answer).
"""

import festina as fs

result = fs.run("coding/digits", budget="quick")
print(result)
figure = result.figure()
