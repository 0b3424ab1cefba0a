"""A process that is one worker of a sweep: `python -m festina.lab.sweeps.process FOLDER BEGIN`, as a crew starts it.

It ends with the process that started it, whose end closes its standard input; what it has to say in one sentence, it
says on standard error. It never tears the interpreter down, under which a thread of XLA could wake up and abort.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from festina.errors import FestinaError, one_line
from festina.exit_codes import BROKEN, WRONG
from festina.lab import machine
from festina.lab.sweeps import cores

if TYPE_CHECKING:
    from festina.lab.sweeps.plan import Plan


def prepare() -> None:
    """Before anything is computed for a sweep: whoever computes a batch, its bits are those of one thread."""
    cores.keep_to_one_thread()
    machine.prepare()


def work_on(folder: Path, shard: tuple[int, int] | None = None, *, begin: float = 0.0) -> tuple["Plan", list[int]]:
    """Be one worker of a sweep on a core of one's own; its plan, and the runs in every tile that was computed here."""
    cores.take_core()
    prepare()
    from festina.lab.sweeps.folder import check_code, stored_plan
    from festina.lab.sweeps.worker import Shard, work

    share = None if shard is None else Shard(*shard)
    plan, computed = stored_plan(folder), []
    check_code(folder, plan)
    work(folder, plan, shard=share, begin=begin, tell=lambda tile, outcome: computed.append(tile.runs))
    return plan, computed


def command(folder: Path, begin: float) -> list[str]:
    """How a worker process is started that begins at a share of the tiles."""
    return [sys.executable, "-m", __name__, str(folder), f"{begin:.6f}"]


def main(folder: str, begin: str) -> int:
    """Work until nothing is left, or nobody is there to work for; the exit code."""
    Thread(target=_end_with_the_caller, daemon=True).start()
    try:
        work_on(Path(folder), begin=float(begin))
    except Exception as error:
        ours = isinstance(error, FestinaError)
        print(f"festina: {one_line(error)}", file=sys.stderr)
        return WRONG if ours else BROKEN
    return 0


def _end_with_the_caller() -> None:
    """End this process when the one that started it is gone, and with it the other end of standard input."""
    while os.read(0, 1024):  # not through sys.stdin, whose lock would have to be free when Python ends
        pass
    os._exit(1)


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)
