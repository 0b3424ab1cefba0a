"""How the command `festina` ends, as numbers for scripts."""

BROKEN = 1  # something in festina, or in one of several experiments, failed
WRONG = 2  # what was asked for cannot be
INTERRUPTED = 130  # by Ctrl-C
BROKEN_PIPE = 141  # whoever read the output has gone
