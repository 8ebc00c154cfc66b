"""Bodies in and out: records read strictly with a size limit, records written canonically.

call = await bodies.read(request, agent_protocol.CallRequest, what="the call")
return bodies.answer(view)
"""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi import Request, Response

from bot.api import problems
from policy import record
from policy.refusal import Code, Refusal

T = TypeVar("T")

LARGEST = 1024 * 1024
"""Bytes of a body at most, where a route doesn't say otherwise."""

LARGEST_WITH_SOURCE = 24 * 1024 * 1024
"""Bytes of a body that brings source files, at most: 16 MiB of files, in base64, and their names."""


async def read(
    request: Request,
    kind: type[T],
    *,
    what: str,
    code: Code = Code.ARGUMENTS_INVALID,
    limit: int = LARGEST,
) -> T:
    """Reads the body as one record.

    Raises:
        ProblemRaised: 413 before more than `limit` bytes are held, 415 for another media type.
        Refused: `json_invalid`, or `code` for a body that is not exactly such a record.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise problems.of(
            Refusal(
                code=Code.UNSUPPORTED_MEDIA_TYPE,
                what=f"{what}: it is not sent as application/json",
                rule="Bodies are JSON and say so.",
                remedy="Send `Content-Type: application/json`.",
            )
        )
    return record.read(kind, await raw(request, what=what, limit=limit), what=what, code=code)


async def raw(request: Request, *, what: str, limit: int = LARGEST) -> bytes:
    """The body's bytes.

    Raises:
        ProblemRaised: 413 before more than `limit` bytes are held.
    """
    held = bytearray()
    async for chunk in request.stream():
        held += chunk
        if len(held) > limit:
            raise problems.of(
                Refusal(
                    code=Code.BODY_TOO_LARGE,
                    what=f"{what}: it has more than {limit} bytes",
                    rule=f"A body of this call has at most {limit} bytes.",
                    remedy="Send less; split the change.",
                )
            )
    return bytes(held)


def answer(value: Any, *, status: int = 200) -> Response:
    """A record as the answer's body."""
    return Response(record.encode(value), status_code=status, media_type="application/json")


def described(kind: type[Any]) -> dict[str, Any]:
    """For a route's `openapi_extra`: says in the API's description that the body is such a record."""
    schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
    DESCRIBED.setdefault(kind.__name__, kind)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


DESCRIBED: dict[str, type[Any]] = {}
"""Records that bodies are described by; `bot.app` puts their schemas into the description."""
