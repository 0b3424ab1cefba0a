"""Every answer carries the same headers, and only pages of this server are answered.

A page elsewhere could point its own name at this machine, or post to it blindly; the names in Host and Origin tell.
"""

import ipaddress
import socket
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from festina.page.events import as_text

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
LOOPBACK = frozenset(["127.0.0.1", "localhost", "::1"])


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_allowed(name: str | None, bound: str) -> bool:
    """Whether a browser may call a server that is bound to a host by this name.

    A server on all addresses has many names; those that are numbers no one else can claim.
    """
    if not name:
        return False
    if name == bound or (is_loopback(bound) and name in LOOPBACK):
        return True
    return bound in ("0.0.0.0", "::") and (name in LOOPBACK or name == socket.gethostname() or _is_number(name))


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def host_of(address: str) -> str | None:
    """The host in `//host:port`, in lower case."""
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def error_response(status: int, message: str, field: str | None = None, **more: object) -> Response:
    """An error as every part of the page reports it."""
    text = as_text({"error": {"message": message, "field": field}, **more})
    return Response(text.encode("utf-8", "replace"), status, media_type="application/json")


class Guard:
    """Checks who asks, and adds the headers to whatever is answered."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app, self.host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store" if scope["path"].startswith("/api/") else "no-cache")
            await send(message)

        refusal = self._refusal(Headers(scope=scope))
        await (refusal or self.app)(scope, receive, send_guarded)

    def _refusal(self, headers: Headers) -> Response | None:
        if not is_allowed(host_of(f"//{headers.get('host', '')}"), self.host):
            return error_response(400, f"This server is {self.host}; it does not answer to another name.")
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{headers['host']}":
            return error_response(403, "Only pages of this server may ask.")
        return None
