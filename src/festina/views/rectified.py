"""What to look at in rectified."""

VIEWS = {}
HEADLINES = {}
MATTERS = {}
