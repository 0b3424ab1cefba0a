"""The latest answers of theory, arm by arm: a slider that moves one arm leaves the others as they were."""

from collections import OrderedDict
from collections.abc import Hashable, Iterator, MutableMapping
from threading import Lock

from festina.lab.labelled import Answer

MOST_BYTES = 4 * 2**20


class Latest(MutableMapping[Hashable, Answer | None]):
    """Answers up to so many bytes; those that were not asked for the longest go first. Several threads may ask.

    Example:
        >>> from festina.page.kept import Latest
        >>> few = Latest(most_bytes=1000)
        >>> for name in ("a", "b", "c"):
        ...     few[name] = {"loss": np.zeros(50)}
        >>> list(few)
        ['b', 'c']
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self._answers: OrderedDict[Hashable, Answer | None] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __getitem__(self, key: Hashable) -> Answer | None:
        with self._lock:
            self._answers.move_to_end(key)
            return self._answers[key]

    def __setitem__(self, key: Hashable, answer: Answer | None) -> None:
        with self._lock:
            self._forget(key)
            self._answers[key] = answer
            self._bytes += _size(answer)
            while self._bytes > self.most_bytes:
                self._forget(next(iter(self._answers)))

    def __delitem__(self, key: Hashable) -> None:
        with self._lock:
            if key not in self._answers:
                raise KeyError(key)
            self._forget(key)

    def __contains__(self, key: object) -> bool:
        return key in self._answers

    def __iter__(self) -> Iterator[Hashable]:
        return iter(tuple(self._answers))

    def __len__(self) -> int:
        return len(self._answers)

    def _forget(self, key: Hashable) -> None:
        if key in self._answers:
            self._bytes -= _size(self._answers.pop(key))


def _size(answer: Answer | None) -> int:
    return sum(values.nbytes for values in (answer or {}).values())
