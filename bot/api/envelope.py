"""Around every answer: a request id, headers that keep browsers out of trouble, a count, a last resort."""

from __future__ import annotations

import logging
import secrets

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.api import problems
from bot.metrics import Metrics
from policy.refusal import Code, Refusal

HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
"""On every answer. Nothing here is a page, and nothing may be kept by anyone in between."""

logger = logging.getLogger(__name__)


class Envelope:
    """An ASGI application around `app`."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._metrics.answer(message["status"])
                given = {name.lower() for name, _ in message["headers"]}
                more = [header for header in HEADERS if header[0] not in given]
                id_header = (b"x-request-id", request_id.encode())
                message = {**message, "headers": [*message["headers"], *more, id_header]}
            await send(message)

        with structlog.contextvars.bound_contextvars(http_request=request_id):
            try:
                await self._app(scope, receive, send_with_headers)
            except Exception:
                # The outermost frame of a request: what went wrong is for the log, the caller gets its id.
                logger.exception("%s %s failed", scope["method"], scope["path"])
                if started:
                    raise
                problem = problems.of(_failed(request_id))
                await problems.answer(problem)(scope, receive, send_with_headers)


def _failed(request_id: str) -> Refusal:
    return Refusal(
        code=Code.INTERNAL_ERROR,
        what=f"the call {request_id}: the bot failed while it worked on it",
        rule="A call that failed has changed nothing that isn't in the audit trail.",
        remedy="Give this id to the person who runs the bot.",
    )
