"""The FastAPI application: REST under ``/`` and ``/api/v3``, git transport, control, and human pages."""

import asyncio
from collections.abc import AsyncIterator

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, StreamingResponse

from github_simulator import control, git_http, pages
from github_simulator.dispatch import Answer, Dispatcher, Incoming
from github_simulator.world import World

API_ROOTS = frozenset(
    {
        "app",
        "graphql",
        "installation",
        "organizations",
        "orgs",
        "rate_limit",
        "repos",
        "repositories",
        "teams",
        "user",
        "users",
    }
)
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
LARGEST_BODY = 100 * 1024 * 1024


def create_application(world: World) -> FastAPI:
    """The application on a world."""
    application = FastAPI(title="Simulator of GitHub", docs_url=None, redoc_url=None, openapi_url=None)
    dispatcher = Dispatcher(world)

    application.include_router(control.routes(world))

    @application.exception_handler(Exception)
    async def fault_of_the_simulator(request: Request, error: Exception) -> Response:
        """A mistake in the simulator itself fails the test too, even if the client tries again."""
        world.violations.append(f"{request.method} {request.url.path}: the simulator failed: {error!r}")
        return JSONResponse({"message": "Server Error", "status": "500"}, status_code=500)

    @application.get("/_codeload/{ticket}")
    async def archive(ticket: str) -> Response:
        content = await run_in_threadpool(world.archive, ticket)
        if content is None:
            return Response("Not Found", status_code=404)
        return Response(content, media_type="application/x-gzip")

    @application.get("/{owner}/{name}.git/info/refs")
    async def advertise(owner: str, name: str, request: Request, service: str = "") -> Response:
        if service not in git_http.SERVICES:
            return Response("Please upgrade your git client.", status_code=403)
        headers = request.headers
        found = await run_in_threadpool(
            git_http.advertise,
            world,
            owner,
            name,
            service,
            headers.get("authorization"),
            headers.get("git-protocol", ""),
        )
        return Response(found.body, status_code=found.status, headers=found.headers)

    @application.post("/{owner}/{name}.git/{service}")
    async def serve(owner: str, name: str, service: str, request: Request) -> Response:
        if service not in git_http.SERVICES:
            return Response("Not Found", status_code=404)
        body, headers = await request.body(), request.headers
        found = await run_in_threadpool(
            git_http.serve,
            world,
            owner,
            name,
            service,
            body,
            headers.get("content-encoding", ""),
            headers.get("authorization"),
            headers.get("git-protocol", ""),
        )
        return Response(found.body, status_code=found.status, headers=found.headers)

    @application.api_route("/api/v3/{path:path}", methods=METHODS)
    async def rest_as_enterprise(path: str, request: Request) -> Response:
        return await _answered(dispatcher, request, f"/{path}", "/api/v3")

    @application.post("/api/graphql")
    async def graphql_as_enterprise(request: Request) -> Response:
        return await _answered(dispatcher, request, "/graphql", "/api")

    human = pages.Pages(world, dispatcher)

    @application.api_route("/{path:path}", methods=METHODS)
    async def everything(path: str, request: Request) -> Response:
        first = path.partition("/")[0]
        if first in API_ROOTS:
            return await _answered(dispatcher, request, f"/{path}", "")
        return await human.answer(request, f"/{path}")

    return application


async def _answered(dispatcher: Dispatcher, request: Request, path: str, prefix: str) -> Response:
    incoming = Incoming(
        method=request.method,
        path=path,
        query=dict(request.query_params),
        headers=request.headers,
        body=await request.body(),
        host=f"{request.url.scheme}://{request.headers.get('host', request.url.netloc)}",
        prefix=prefix,
    )
    answer = await run_in_threadpool(dispatcher.answer, incoming)
    if answer.delay:
        await asyncio.sleep(answer.delay)
    headers = {
        name: value.encode("latin-1", "replace").decode("latin-1") for name, value in answer.headers.items()
    }
    if answer.pause:
        return StreamingResponse(
            _in_two_halves(answer),
            status_code=answer.status,
            headers=headers | {"content-length": str(len(answer.body))},
        )
    body = b"" if request.method == "HEAD" else answer.body
    return Response(body, status_code=answer.status, headers=headers)


async def _in_two_halves(answer: Answer) -> AsyncIterator[bytes]:
    middle = len(answer.body) // 2
    yield answer.body[:middle]
    await asyncio.sleep(answer.pause)
    yield answer.body[middle:]
