"""Bars are written in turns of threads, without what Python would have given back at the end."""

import subprocess
import sys

SHOWN = """
from tqdm.std import TqdmDefaultWriteLock
from festina.lab.machine import say
from festina.learning.progress import Progress

with Progress("learning", total=3) as progress:
    progress.advance(1)
    say("a line above the bar")
assert not hasattr(TqdmDefaultWriteLock, "mp_lock"), "a semaphore between processes"
"""


def test_no_semaphore_is_made_for_a_bar_or_a_line_above_it():
    done = subprocess.run([sys.executable, "-c", SHOWN], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == ["festina: a line above the bar"]
