"""What happened to a job, in order, for any number of listeners: written by threads, read by the event loop."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from festina.lab.tables import as_json

LATEST_ONLY = frozenset(["points", "cells"])  # each says all that the one before it said
ALIVE = b": still here\n\n"


@dataclass(frozen=True)
class Event:
    """One event, already written as JSON, for several listeners may read it."""

    number: int
    name: str
    data: str

    def encoded(self) -> bytes:
        return f"id: {self.number}\nevent: {self.name}\ndata: {self.data}\n\n".encode("utf-8", "replace")


class Events:
    """A log that threads write and listeners follow; of pictures that replace each other it keeps the latest."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._log: list[Event] = []
        self._count = 0
        self._closed = False
        self._listeners: set[Callable[[], None]] = set()

    def publish(self, name: str, data: dict[str, Any], *, last: bool = False) -> None:
        """Add an event, and close the log if it is the last; a closed log takes no more."""
        with self._lock:
            if self._closed:
                return
        text = as_text(data)  # outside the lock, for pictures take a millisecond
        with self._lock:
            if self._closed:
                return
            if name in LATEST_ONLY:
                self._log = [event for event in self._log if event.name != name]
            self._count += 1
            self._log.append(Event(self._count, name, text))
            self._closed = last
            listeners = list(self._listeners)
        for wake in listeners:
            wake()

    @property
    def closed(self) -> bool:
        return self._closed

    def after(self, number: int) -> tuple[list[Event], bool]:
        """The events beyond a number, and whether there will be more."""
        with self._lock:
            return [event for event in self._log if event.number > number], not self._closed

    async def follow(self, number: int, gone: Callable[[], Any], alive: float = 5.0) -> AsyncIterator[bytes]:
        """Everything beyond a number, as it happens, until the log is closed or the listener has ``gone``."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(news.set)

        with self._lock:
            self._listeners.add(wake)
        try:
            while True:
                news.clear()
                events, more = self.after(number)
                for event in events:
                    number = event.number
                    yield event.encoded()
                if not more or await gone():
                    return
                try:
                    await asyncio.wait_for(news.wait(), alive)
                except TimeoutError:
                    yield ALIVE
        finally:
            with self._lock:
                self._listeners.discard(wake)


def as_text(data: Any) -> str:
    """JSON without NaN: what is not a finite number is null or a text."""
    settings: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
    try:
        return json.dumps(data, **settings)
    except (ValueError, TypeError):  # rare, and a second look at every number is slow
        return json.dumps(as_json(data), **settings)
