"""
abstraction/similarity
======================

Teachers that are alike. The rows of two teachers have the cosine ρ; a student that is one of them agrees with the other
by ρ, so that there is at most 1 − ρ to tell them apart.

One-to-one specialisation comes near that bound up to ρ = ½ and is then missing: it grows exponentially from block to
block, but ten blocks are not enough for teachers that are more similar. The measure of the source (open symbols) reads
1 − ρ for every network that solves the task shown, also for one whose students are all the same. (The bound on the
gates is that of the paper's table; the published notebook has a tenth of it, and loses specialisation at ρ = ½.)
"""

import festina as fs

result = fs.run("abstraction/similarity", budget="quick")
print(result)
figure = result.figure()
