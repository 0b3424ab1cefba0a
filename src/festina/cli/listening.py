"""`--verbose`: what the journal says, line by line on standard error."""

import logging

from festina.journal import NAME
from festina.lab import machine

FLAGS = {"-v": 1, "--verbose": 1, "-vv": 2}


class Aloud(logging.Handler):
    """Says every record in one line, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        machine.say(f"{record.levelname.lower()}: {record.getMessage()}")


def listen(words: list[str]) -> list[str]:
    """Let the journal be heard as far as the words ask for it; the other words."""
    asked = sum(FLAGS.get(word, 0) for word in words)
    logger = logging.getLogger(NAME)
    for handler in [each for each in logger.handlers if isinstance(each, Aloud)]:  # of an earlier command
        logger.removeHandler(handler)
    if asked:
        logger.addHandler(Aloud())
        logger.setLevel(logging.INFO if asked == 1 else logging.DEBUG)
    return [word for word in words if word not in FLAGS]
