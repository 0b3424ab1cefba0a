"""Bodies in and events out: what flows between a browser and the server, within limits."""

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from festina.page import limits
from festina.page.jobs import Job


async def body_of(request: Request) -> bytes:
    """The whole body, or an error as soon as it is too large."""
    too_large = HTTPException(413, f"The body must be at most {limits.BODY_BYTES // 1024} kB.")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:18]) > limits.BODY_BYTES:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(limits.BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > limits.BODY_BYTES:
                    raise too_large
    except TimeoutError:
        raise HTTPException(408, f"The body must arrive within {limits.BODY_SECONDS:g} seconds.") from None
    except ClientDisconnect:
        raise HTTPException(400, "The body must arrive whole.") from None
    return bytes(body)


class EventStream(StreamingResponse):
    """The events of a job; when the last listener has gone, ``left`` is called after a moment of grace."""

    def __init__(self, job: Job, number: int, gone: Callable[[], Any], left: Callable[[Job], None]) -> None:
        super().__init__(
            job.events.follow(number, gone), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )
        self.job, self.left = job, left

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.job.streams += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.job.streams -= 1
            asyncio.get_running_loop().call_later(limits.GRACE, self.left, self.job)
