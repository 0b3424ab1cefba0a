"""
race/context
============

A cue says which of two features to report. A pathway that ignores the cue is fast and gets half of it right; pathways
for each context are slower and get all of it. In one network the linear pathway is first. Rectified networks have to
find the context by themselves: without a cue they stall halfway, and with one they solve the task by gates that belong
to neither context alone.
"""

import festina as fs

result = fs.run("race/context")
print(result)
figure = result.figure()
