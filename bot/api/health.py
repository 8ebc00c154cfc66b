"""`/healthz` for anyone, `/metrics` for auditors and admins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request, Response
from sqlalchemy import func, select

from bot import metrics, request_tables
from bot.api import bodies, wiring
from bot.api.authentication import Auditor
from bot.database import DatabaseUnavailable
from policy import record
from policy.record import Moment
from policy.states import State

router = APIRouter(tags=["health"])

STALE_CONTACT_SECONDS = 300
"""GitHub out of reach for longer is a reason to say so; the bot works on without being less safe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the bot is.

    Attributes:
        ok: whether it can do its work; 503 is answered otherwise.
        trouble: what people should look at, in sentences; may be there even when it is ok.
        inbox_waiting: deliveries that are stored and not handled yet; null without a database.
        github_reached_at: when GitHub last answered or delivered; null for not since the start.
    """

    __pydantic_config__ = record.STRICT

    ok: bool
    trouble: tuple[str, ...]
    inbox_waiting: int | None
    inbox_oldest_seconds: int | None
    github_reached_at: Moment | None
    audit_sequence: int | None
    paused: bool | None


@router.get("/healthz", response_model=Health)
def health(request: Request) -> Response:
    """Database, inbox, audit tip and GitHub."""
    found = _health(wiring.of(request))
    return bodies.answer(found, status=200 if found.ok else 503)


@router.get("/metrics", response_class=Response)
def all_metrics(request: Request, _auditor: Auditor) -> Response:
    """Prometheus' text form."""
    parts = wiring.of(request)
    found = _health(parts)
    now = parts.clock.now()
    reached = parts.contact.last.reached_at
    with parts.database.reading() as connection:
        backlog = parts.inbox.backlog(connection)
        table = request_tables.requests
        counted = connection.execute(select(table.c.state, func.count()).group_by(table.c.state))
        by_state = {state.value: 0 for state in State} | dict(counted.all())
    parts.metrics.inbox(
        waiting=backlog.waiting, failing=backlog.failing, oldest_seconds=_age(backlog.oldest_at, now)
    )
    parts.metrics.requests(by_state)
    parts.metrics.standing(
        audit_sequence=found.audit_sequence or 0,
        contact_seconds=_age(reached, now) if reached else -1,
        paused=bool(found.paused),
    )
    return Response(parts.metrics.text(), media_type=metrics.CONTENT_TYPE)


def _health(parts: wiring.Wiring) -> Health:
    now = parts.clock.now()
    contact = parts.contact.last
    trouble = [f"GitHub can't be reached: {contact.reason}."] if contact.reason else []
    if contact.reached_at and _age(contact.reached_at, now) > STALE_CONTACT_SECONDS and not contact.reason:
        trouble.append("GitHub was last reached more than five minutes ago.")
    if parts.audit.tip_file_error:
        trouble.append(f"The audit tip can't be stored: {parts.audit.tip_file_error}.")
    try:
        with parts.database.reading() as connection:
            backlog = parts.inbox.backlog(connection)
            tip = parts.audit.tip(connection)
            paused = parts.pause.reason(connection) is not None
    except DatabaseUnavailable as error:
        return Health(
            ok=False,
            trouble=(error.refusal.text(), *trouble),
            inbox_waiting=None,
            inbox_oldest_seconds=None,
            github_reached_at=contact.reached_at,
            audit_sequence=None,
            paused=None,
        )
    unwritable = parts.database.write_failure
    if unwritable:
        trouble.insert(0, unwritable.text())
    if backlog.failing:
        trouble.append(f"{backlog.failing} webhook deliveries were tried often and failed.")
    return Health(
        ok=not unwritable and not parts.audit.tip_file_error,
        trouble=tuple(trouble),
        inbox_waiting=backlog.waiting,
        inbox_oldest_seconds=_age(backlog.oldest_at, now),
        github_reached_at=contact.reached_at,
        audit_sequence=tip.sequence if tip else 0,
        paused=paused,
    )


def _age(moment: datetime | None, now: datetime) -> int:
    return max(0, int((now - moment).total_seconds())) if moment else 0
