"""The application: which address answers what. Everything else is in the modules it calls."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from festina.errors import ArgumentError, FestinaError, UnknownName
from festina.experiment import Result
from festina.lab.batch import Run
from festina.lab.registry import all_models, find
from festina.lab.reproduce import load_all
from festina.page import downloads, limits, maps, own, runs, telling, thumbnails
from festina.page.describe import describe, gallery
from festina.page.events import as_text
from festina.page.jobs import Job, Jobs, QueueFull, UnknownJob
from festina.page.questions import (
    LONGEST_NAME,
    BadJson,
    FieldError,
    only,
    parsed,
    read_flag,
    read_question,
    read_whole,
)
from festina.page.security import Guard, error_response
from festina.page.streams import EventStream, body_of
from festina.page.theory import theory_of

STATIC = Path(__file__).with_name("static")
THEORIES_AT_ONCE = 2
THEORIES_WAITING = 64


class Page:
    """The handlers, and what they share: the jobs, and how long structures took."""

    def __init__(self, jobs: Jobs, timings: limits.Timings, store: Path | None, folder: Path | None) -> None:
        self.jobs, self.timings, self.store = jobs, timings, store
        self.items = [] if folder is None else own.items_in(folder)
        self.own_stories = own.stories_in(self.items)
        self.theories = asyncio.Semaphore(THEORIES_AT_ONCE)
        self.theories_waiting = 0
        self.drawers = CapacityLimiter(limits.DOWNLOADS_AT_ONCE)

    def index(self, request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    def experiments(self, request: Request) -> Response:
        found = [entry.experiment for entry in load_all() if entry.experiment is not None]
        return answer(gallery([*found, *all_models()], thumbnails.statuses()))

    def experiment(self, request: Request) -> Response:
        return answer(describe(_experiment(request)))

    def thumbnail(self, request: Request) -> Response:
        return Response(thumbnails.thumbnail(_experiment(request).name), media_type="image/svg+xml")

    def stories(self, request: Request) -> Response:
        return answer(telling.as_listed(self.told()))

    def story(self, request: Request) -> Response:
        name, known = request.path_params["name"], self.told()
        if name not in known:
            raise UnknownName("story", name[:LONGEST_NAME], known)
        return answer(telling.as_told(name, known[name]))

    def told(self) -> dict[str, telling.Story]:
        """The stories there are: those of the folder that was given, then festina's own."""
        return self.own_stories | telling.shipped()

    def own_items(self, request: Request) -> Response:
        listed = [{"id": number, "kind": item.kind, "name": item.name} for number, item in enumerate(self.items)]
        return answer(listed)

    async def own_item(self, request: Request) -> Response:
        return answer(await run_in_threadpool(own.opened, self._own(request)))

    async def own_slice(self, request: Request) -> Response:
        body, item = parsed(await body_of(request)), self._own(request)
        only(body, ("variable", "x", "y", "at"))
        if item.kind != "sweep":
            return error_response(409, f"{item.name} is a {item.kind}; there are slices of sweeps only.")
        return answer(await run_in_threadpool(own.slice_of, item, body))

    def _own(self, request: Request) -> own.Item:
        number = request.path_params["id"]
        if not 0 <= number < len(self.items):
            raise UnknownName("item of the folder", str(number), map(str, range(len(self.items))))
        return self.items[number]

    async def theory(self, request: Request) -> Response:
        body = parsed(await body_of(request))
        if self.theories_waiting >= THEORIES_WAITING:
            raise QueueFull(f"{self.theories_waiting} questions to theory are waiting; ask again in a moment.")
        self.theories_waiting += 1
        try:
            async with self.theories:
                if await request.is_disconnected():  # a slider has moved on: nobody reads this answer
                    return Response(status_code=204)
                found = await run_sync(_theory, body, abandon_on_cancel=True)
        finally:
            self.theories_waiting -= 1
        return Response(status_code=204) if found is None else answer(found)

    async def start_run(self, request: Request) -> Response:
        body = parsed(await body_of(request))
        return self._expect_a_listener(await run_in_threadpool(self._start_run, body))

    def _expect_a_listener(self, begun: Job | Response) -> Response:
        """The answer to who asked for a job; one that nobody comes to see does not keep its place."""
        if isinstance(begun, Response):
            return begun
        asyncio.get_running_loop().call_later(limits.FIRST_GRACE, self._cancel_if_alone, begun)
        return _started(begun)

    def _start_run(self, body: dict[str, Any]) -> Job | Response:
        only(body, ("experiment", "budget", "fields", "seeds", "confirmed"))
        question = read_question(body)
        confirmed = read_flag(body, "confirmed")
        asked = (question.experiment, question.config, len(question.seeds))
        limits.check_work(question.experiment, question.config)
        limits.check_memory(*asked)
        doubt = None if confirmed else self.timings.question(*asked, question.budget)
        if doubt is not None:
            confirm = {"seconds": doubt.seconds, "reason": doubt.reason}
            return error_response(409, f"This may take long: {doubt.reason}.", confirm=confirm)
        return self.jobs.submit(partial(runs.carry_out, question, self.store, self.timings))

    async def start_map(self, request: Request) -> Response:
        body = parsed(await body_of(request))
        return self._expect_a_listener(await run_in_threadpool(self._start_map, body))

    def _start_map(self, body: dict[str, Any]) -> Job:
        only(body, ("experiment", "budget", "fields", "x", "y", "variable", "entry", "seed"))
        asked = maps.read_map(body, read_question(body))
        return self.jobs.submit(partial(maps.carry_out, asked))

    async def events(self, request: Request) -> Response:
        job = self._job(request)
        seen = request.headers.get("last-event-id", "")
        number = int(seen) if seen.isdecimal() and len(seen) < 10 else 0
        news, more = job.events.after(number)
        if number and not news and not more:  # tells a browser that it need not ask again
            return Response(status_code=204)
        return EventStream(job, number, request.is_disconnected, self._cancel_if_alone)

    def _cancel_if_alone(self, job: Job) -> None:
        if job.streams == 0 and not job.ended:
            self.jobs.cancel(job, "nobody listens any more")

    def cancel(self, request: Request) -> Response:
        self.jobs.cancel(self._job(request))
        return Response(status_code=204)

    async def download(self, request: Request) -> Response:
        job, name = self._job(request), request.path_params["file"]
        if name not in downloads.TYPES:
            raise UnknownName("file of a run", name[:LONGEST_NAME], downloads.TYPES)
        result = job.result
        if job.state != "done" or not isinstance(result, Result):
            return error_response(409, f"It is {job.state}; there are files only of a run, and when it is done.")
        headers = {"Content-Disposition": f'attachment; filename="{downloads.file_name(result, name)}"'}
        kind = downloads.TYPES[name]
        if name == "data.csv":
            return StreamingResponse(downloads.table(result), media_type=kind, headers=headers)
        if self.drawers.statistics().tasks_waiting >= limits.DOWNLOADS_WAITING:
            raise QueueFull(f"{limits.DOWNLOADS_WAITING} downloads are waiting; ask again in a moment.")
        content = await run_sync(_content, result, name, limiter=self.drawers, abandon_on_cancel=True)
        return Response(content, media_type=kind, headers=headers)

    def _job(self, request: Request) -> Job:
        return self.jobs.find("run or map", request.path_params["id"])


def _content(result: Any, name: str) -> bytes:
    if name.startswith("figure."):
        return downloads.figure(result, name.removeprefix("figure."))
    return downloads.netcdf(result) if name == "data.nc" else downloads.zipped_zarr(result)


def _theory(body: dict[str, Any]) -> dict[str, Any] | None:
    only(body, ("experiment", "budget", "fields", "seed"))
    question = read_question(body)
    seed = read_whole(body, "seed", 0, 0, limits.LARGEST_SEED)
    limits.check_work(question.experiment, question.config)
    limits.check_memory(question.experiment, question.config, 1)
    return theory_of(question.experiment, Run(question.config, seed))


def _experiment(request: Request) -> Any:
    return find(f"{request.path_params['family']}/{request.path_params['name']}")


def _started(job: Job) -> Response:
    waits = job.state == "queued"
    return answer({"id": job.id, "state": "queued" if waits else "running", "position": job.position}, 201)


def answer(data: Any, status: int = 200) -> Response:
    return Response(as_text(data).encode("utf-8", "replace"), status, media_type="application/json")


STATUS: tuple[tuple[type[Exception], int], ...] = (
    (BadJson, 400),
    (FieldError, 422),
    (limits.TooLarge, 422),
    (QueueFull, 429),
    (UnknownJob, 404),
    (UnknownName, 404),
    (ArgumentError, 422),
    (FestinaError, 422),
)


def _complain(request: Request, error: Exception) -> Response:
    status = next(status for kind, status in STATUS if isinstance(error, kind))
    return error_response(status, str(error), getattr(error, "field", None))


def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, str(error.detail))


def _apologise(request: Request, error: Exception) -> Response:
    return error_response(500, f"Something went wrong inside festina: {type(error).__name__}.")


def make_app(host: str, jobs: Jobs | None = None, store: Path | None = None, folder: Path | None = None) -> Starlette:
    """The application for a server that is bound to a host.

    Runs are kept in, and answered from, a store; what is in a ``folder`` of the reader's own can be opened.
    """
    page = Page(jobs or Jobs(), limits.Timings(), store, folder)
    handlers: dict[Any, Callable[[Request, Exception], Response]] = {
        FestinaError: _complain,
        HTTPException: _refuse,
        Exception: _apologise,
    }
    routes = [
        Route("/", page.index),
        Route("/api/experiments", page.experiments),
        Route("/api/experiments/{family}/{name}", page.experiment),
        Route("/api/experiments/{family}/{name}/thumbnail.svg", page.thumbnail),
        Route("/api/own", page.own_items),
        Route("/api/own/{id:int}", page.own_item),
        Route("/api/own/{id:int}/slice", page.own_slice, methods=["POST"]),
        Route("/api/stories", page.stories),
        Route("/api/stories/{name}", page.story),
        Route("/api/theory", page.theory, methods=["POST"]),
        Route("/api/runs", page.start_run, methods=["POST"]),
        Route("/api/maps", page.start_map, methods=["POST"]),
    ]
    for kind in ("runs", "maps"):
        routes += [
            Route(f"/api/{kind}/{{id}}/events", page.events),
            Route(f"/api/{kind}/{{id}}", page.cancel, methods=["DELETE"]),
        ]
    app = Starlette(
        routes=[
            *routes,
            Route("/api/runs/{id}/{file}", page.download),
            Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
        ],
        middleware=[Middleware(Guard, host=host)],
        exception_handlers=handlers,
    )
    app.router.redirect_slashes = False
    return app
