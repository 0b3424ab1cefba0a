"""What festina does, step by step, under the name `festina` of Python's own `logging`: silent unless somebody listens.

    import logging
    logging.basicConfig(level=logging.INFO)
    logging.getLogger("festina").setLevel(logging.DEBUG)

Runs, sweeps, answers from the store, work that goes on from a checkpoint, and programs that took long to compile are
told at INFO, details at DEBUG. What a user must know is a warning or an error, and never said here again.
"""

import logging

NAME = "festina"

logging.getLogger(NAME).addHandler(logging.NullHandler())


def journal(module: str) -> logging.Logger:
    """Where a module tells what it does.

    Args:
        module: its name.

    Returns:
        The logger of that name, below that of festina.

    Example:
        >>> journal("festina.lab.run").parent.name
        'festina'
    """
    return logging.getLogger(module)
