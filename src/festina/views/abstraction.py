"""What to look at in abstraction."""

VIEWS = {}
HEADLINES = {}
MATTERS = {}
