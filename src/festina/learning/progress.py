"""Progress as a person sees it: one bar for a whole batch, nothing where there is neither terminal nor notebook."""

from threading import RLock
from types import TracebackType
from typing import Any

from tqdm.auto import tqdm

from festina.notebook import in_kernel


class Bar(tqdm):
    """A bar whose turn to write is a matter between threads.

    tqdm's own lock is one between processes as well, which nobody here shares bars with. It is a semaphore that Python
    3.14 expects to be given back, and a command leaves without doing so (`festina.__main__`).
    """


Bar.set_lock(RLock())


class Progress:
    """A bar over the recordings of all runs; silent where nobody looks, or when asked to be.

    Somebody looks at a terminal, and at a notebook, where the bar is a widget.
    """

    def __init__(self, label: str, total: int, unit: str = "record", *, silent: bool = False) -> None:
        disable = True if silent else False if in_kernel() else None  # None: unless standard error is a terminal
        self._bar: Any = Bar(total=total, desc=label, unit=unit, disable=disable, leave=False, smoothing=0.1)

    def advance(self, count: int) -> None:
        self._bar.update(count)

    def reach(self, count: int) -> None:
        """So many are done by now."""
        self._bar.update(count - self._bar.n)

    def say(self, note: str) -> None:
        """Show a word beside the bar, such as `compiling`."""
        self._bar.set_postfix_str(note)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
