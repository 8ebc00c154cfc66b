"""Reads what the status comment says from the database, in one consistent view."""

from __future__ import annotations

from sqlalchemy import Connection

from bot import jobs, locks, participants, pools, request_store, wording
from bot.parts import Parts
from bot.request_store import Request
from bot.status_comment import Related, Status
from policy import audit, receipt
from policy.audit import Event
from policy.receipt import AuditTip, Receipt
from policy.refusal import Refused
from policy.states import State


def read(parts: Parts, connection: Connection, request_id: str) -> Status:
    """Everything that the comment of a request says now."""
    request = request_store.need(connection, request_id)
    tip = parts.audit.tip(connection) or AuditTip(sequence=0, hash=audit.GENESIS)
    return Status(
        request=request,
        asked_by=participants.asked_by(connection, request_id),
        predecessor=_related(connection, request.predecessor_id),
        successor=_related(connection, request.successor_id),
        receipt=verified_receipt(parts, request),
        events=_events(parts, connection, request_id),
        tip=tip,
        waits_for=waits_for(parts, connection, request),
    )


def waits_for(parts: Parts, connection: Connection, request: Request) -> str | None:
    """What keeps a request from going on that is not its own state; None when nothing does."""
    if request.state is State.GRANTED and parts.pause.reason(connection) is not None:
        return wording.PAUSED
    waits_for_lock = request.state in (State.PLANNING, State.GRANTED)
    if waits_for_lock and locks.held_against(connection, request) is not None:
        return wording.LOCKED
    if request.state not in (State.RECEIVED, State.PLANNING, State.GRANTED):
        return None
    if not jobs.waits_for_work(connection, request.id):
        return None
    return pools.trouble(parts, connection, request.runner_pool)


def verified_receipt(parts: Parts, request: Request) -> Receipt | None:
    """The stored receipt, checked again; None before there is one."""
    if request.receipt is None:
        return None
    try:
        return receipt.verify(request.receipt, parts.receipt_keys)
    except Refused:
        # The runner's key was taken out of the settings since. The signed text still stands in the
        # trail; the bot itself no longer vouches for it.
        return None


def _events(parts: Parts, connection: Connection, request_id: str) -> list[Event]:
    events: list[Event] = []
    while True:
        after = events[-1].sequence if events else 0
        page = parts.audit.events(connection, request_id, after=after)
        if not page:
            return events
        events += page


def _related(connection: Connection, request_id: str | None) -> Related | None:
    if request_id is None:
        return None
    other = request_store.get(connection, request_id)
    return Related(id=request_id, number=other.pull_request if other else None)
