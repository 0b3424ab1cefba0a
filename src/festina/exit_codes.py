"""How the command `festina` ends: numbers for scripts, and a sentence for people."""

BROKEN = 1  # something in festina, or in one of several experiments, failed
WRONG = 2  # what was asked for cannot be
INTERRUPTED = 130  # by Ctrl-C
BROKEN_PIPE = 141  # whoever read the output has gone

INTERRUPTED_SENTENCE = "interrupted; results that were finished are kept"
