"""Tells the journal of programs that are compiled, which is often most of what a first run takes."""

import jax

from festina.compiling import COMPILED
from festina.journal import journal
from festina.wording import duration

JOURNAL = journal(__name__)
LONG = 1.0  # seconds that are worth a word


def tell(event: str, duration_secs: float, **kwargs: str | int) -> None:
    """What JAX calls when something took time."""
    if event == COMPILED:
        (JOURNAL.info if duration_secs >= LONG else JOURNAL.debug)("compiled a program in %s", duration(duration_secs))


jax.monitoring.register_event_duration_secs_listener(tell)
