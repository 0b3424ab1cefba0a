"""What to look at in race."""

VIEWS = {}
HEADLINES = {}
MATTERS = {}
