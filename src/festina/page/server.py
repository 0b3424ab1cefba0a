"""Start the page: on this machine alone, unless another host is asked for."""

import logging
import signal
import socket
import sys
import webbrowser
from contextlib import closing, nullcontext
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn

from festina.errors import FestinaError
from festina.interrupts import handled
from festina.lab.batch import Run
from festina.lab.registry import find
from festina.lab.reproduce import load_all
from festina.page.app import make_app
from festina.page.jobs import Jobs
from festina.page.security import is_loopback
from festina.page.theory import theory_of

FIRST = "linear/chain"
PATIENCE = 1  # seconds for open streams when the server stops


class Server(uvicorn.Server):
    """A server that leaves signals to who starts it, ends jobs when it stops, and calls nothing an error from then on.

    The streams of jobs end with them; the server itself would cut them, as it does all that is not answered in time.
    """

    def __init__(self, settings: uvicorn.Config, jobs: Jobs) -> None:
        super().__init__(settings)
        self.jobs = jobs

    def capture_signals(self) -> Any:
        return nullcontext()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        log = logging.getLogger("uvicorn.error")
        log.addFilter(self._is_serving)
        try:
            super().run(sockets)
        finally:
            log.removeFilter(self._is_serving)

    def _is_serving(self, record: logging.LogRecord) -> bool:
        return not self.should_exit

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.jobs.cancel_all()
        await super().shutdown(sockets)


def serve(
    host: str, port: int, *, browser: bool = False, store: Path | None = None, folder: Path | None = None
) -> None:
    """Serve the page until Ctrl-C; the address is printed, and shown in a ``browser``, as soon as it can be opened.

    What is in a ``folder`` of the reader's own can be opened on the page: results, sweeps, reports and stories.

    What jobs and the warming up are computing when the server stops goes on in their threads: the process must not wait
    for them, nor tear the interpreter down under them (`festina.__main__` does neither).
    """
    listener = bound(host, port)
    if not is_loopback(host):
        print(
            f"festina: warning: anyone who can reach {host} can start computations here; there is no password.",
            file=sys.stderr,
        )
    jobs = Jobs()
    settings = uvicorn.Config(
        make_app(host, jobs, store, folder),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=PATIENCE,
    )
    server = Server(settings, jobs)

    def stop(number: int, frame: object) -> None:
        server.should_exit = True

    with handled(stop, signal.SIGINT, signal.SIGTERM), closing(listener):
        print(f"festina is at {address(host, listener)} (Ctrl-C stops it)", flush=True)
        if browser:
            webbrowser.open(address(host, listener))
        Thread(target=warm_up, name="warm up", daemon=True).start()
        server.run(sockets=[listener])
    print("festina has stopped", flush=True)


def warm_up() -> None:
    """Import what the gallery lists, and compile what the first question to theory would otherwise wait for."""
    load_all()
    experiment = find(FIRST)
    theory_of(experiment, Run(experiment.configure("quick"), 0))


def bound(host: str, port: int) -> socket.socket:
    """A socket that is bound and listens; port 0 takes any that is free."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(128)
    except (OSError, OverflowError) as error:
        raise FestinaError(
            f"cannot serve at {host}, port {port}: {getattr(error, 'strerror', None) or error}"
        ) from None
    return listener


def address(host: str, listener: socket.socket) -> str:
    """What to type into a browser."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{listener.getsockname()[1]}/"
