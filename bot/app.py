"""The bot's web application: the API on FastAPI, the webhook receiver in front of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from bot import webhook_events
from bot.api import admin, audit, bodies, health, problems
from bot.api.envelope import Envelope
from bot.api.wiring import Wiring
from bot.webhook_receiver import WebhookReceiver
from bot.webhook_signature import Signatures
from policy.agent_protocol import Problem
from policy.refusal import Code, Refusal, Refused

ROUTERS: tuple[APIRouter, ...] = (audit.router, admin.router, health.router)
"""The routes that are not about requests."""


def create(
    wiring: Wiring,
    *,
    routers: Sequence[APIRouter],
    signatures: Signatures,
    serves: webhook_events.Scope,
) -> ASGIApp:
    """The whole application.

    Args:
        routers: the routes about requests, for agents and for runners.
        signatures: the webhook secrets that are accepted.
        serves: the repository and installation that webhooks may be about.
    """
    return Envelope(
        WebhookReceiver(
            api(wiring, routers=routers),
            signatures=signatures,
            inbox=wiring.inbox,
            serves=serves,
            clock=wiring.clock,
            metrics=wiring.metrics,
            contact=wiring.contact,
        ),
        wiring.metrics,
    )


def api(wiring: Wiring, *, routers: Sequence[APIRouter]) -> FastAPI:
    """The API alone, without webhooks."""
    app = FastAPI(
        title="ownergate",
        version="1",
        description="Requests of agents, work of runners, audit trail, health. No role can approve.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        responses={"4XX": {"model": Problem}, "5XX": {"model": Problem}},
    )
    app.state.wiring = wiring
    for router in (*routers, *ROUTERS):
        app.include_router(router)
    app.add_exception_handler(problems.ProblemRaised, _problem)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _parameters)
    app.add_exception_handler(Exception, _unexpected)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


async def _problem(_request: Request, error: Exception) -> Response:
    if not isinstance(error, problems.ProblemRaised):
        raise error
    return problems.answer(error)


async def _refused(_request: Request, error: Exception) -> Response:
    if not isinstance(error, Refused):
        raise error
    return problems.answer(problems.of(error.refusal))


async def _unexpected(_request: Request, error: Exception) -> Response:
    # Starlette would answer with a text of its own; raised on, it reaches `Envelope`, which answers.
    raise error


async def _http(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    code, why = {
        404: (Code.NOT_FOUND, "there is nothing of this name"),
        405: (Code.METHOD_NOT_ALLOWED, f"it doesn't take {request.method}"),
    }.get(error.status_code, (Code.ARGUMENTS_INVALID, "it can't be understood"))
    refusal = Refusal(
        code=code,
        what=f"the call of {request.url.path[:200]}: {why}",
        rule="Only the documented calls exist.",
        remedy="See /api/v1/openapi.json.",
    )
    return problems.answer(problems.ProblemRaised(error.status_code, refusal, headers=error.headers))


async def _parameters(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    names = sorted({str(fault["loc"][-1]) for fault in error.errors()})
    refusal = Refusal(
        code=Code.ARGUMENTS_INVALID,
        what=f"the call of {request.url.path[:200]}: {', '.join(names)[:200]} can't be used",
        rule="Every parameter has the documented form.",
        remedy="See /api/v1/openapi.json.",
    )
    return problems.answer(problems.of(refusal))


def _described(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        description = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        kinds: list[tuple[str, Literal["validation"], TypeAdapter[Any]]] = [
            (name, "validation", TypeAdapter(kind)) for name, kind in bodies.DESCRIBED.items()
        ]
        _, defined = TypeAdapter.json_schemas(kinds, ref_template="#/components/schemas/{model}")
        schemas = description.setdefault("components", {}).setdefault("schemas", {})
        for name, schema in defined.get("$defs", {}).items():
            schemas.setdefault(name, schema)
        description["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        description["security"] = [{"token": []}]
        app.openapi_schema = description
    return app.openapi_schema
