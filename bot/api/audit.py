"""`/api/v1/audit`: the trail for auditors. Checking it is `policy.audit`'s work and needs no bot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from bot import audit_log
from bot.api import bodies, wiring
from bot.api.authentication import Auditor
from policy import record
from policy.audit import Event
from policy.receipt import AuditTip

router = APIRouter(prefix="/api/v1/audit", tags=["audit"])


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """One page of the trail. `tip`: the chain's newest event, null for an empty chain."""

    __pydantic_config__ = record.STRICT

    events: tuple[Event, ...]
    tip: AuditTip | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TipView:
    """The chain's newest event, null for an empty chain."""

    __pydantic_config__ = record.STRICT

    tip: AuditTip | None


RequestId = Annotated[str | None, Query(max_length=40, pattern=r"^[A-Za-z0-9_-]+$")]


@router.get("", response_model=EventPage)
def events(
    request: Request,
    _auditor: Auditor,
    request_id: RequestId = None,
    after: Annotated[int, Query(ge=0, lt=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=audit_log.LARGEST_PAGE)] = 100,
) -> Response:
    """Events by sequence, all or one request's; `after` is the last sequence of the page before."""
    parts = wiring.of(request)
    with parts.database.reading() as connection:
        page = EventPage(
            events=parts.audit.events(connection, request_id, after, limit), tip=parts.audit.tip(connection)
        )
    return bodies.answer(page)


@router.get("/tip", response_model=TipView)
def tip(request: Request, _auditor: Auditor) -> Response:
    """The newest event's sequence and hash."""
    parts = wiring.of(request)
    with parts.database.reading() as connection:
        return bodies.answer(TipView(tip=parts.audit.tip(connection)))


@router.get("/export", response_class=StreamingResponse)
def export(request: Request, _auditor: Auditor, request_id: RequestId = None) -> StreamingResponse:
    """The whole trail, or one request's, one event's JSON a line (`application/x-ndjson`)."""
    lines = _lines(wiring.of(request).audit, request_id)
    return StreamingResponse(lines, media_type="application/x-ndjson")


def _lines(audit: audit_log.AuditLog, request_id: str | None) -> Iterator[bytes]:
    for page in audit.pages(request_id):
        yield b"".join(record.encode(event) + b"\n" for event in page)
