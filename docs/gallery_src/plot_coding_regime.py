"""
coding/regime
=============

The same networks are sampled as they learn features and as lazy ones. Features make answers of networks sure (**a**,
**b**), and the less so the deeper networks are: the variance of linear ones is U_1/N of a lazy network's, and U_1 grows
with depth (dashed). Test errors (**c**) are lower with features. Means of both regimes differ if neurons are sigmoidal
(**d**).

What neurons of each code contribute to an answer varies, and codes make up for each other in lazy networks: the parts
within codes are larger than the whole, and those between codes negative (**e**, **f**).
"""

import festina as fs

result = fs.run("coding/regime", budget="quick")
print(result)
figure = result.figure()
