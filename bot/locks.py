"""Locks: one claim at a time for each state, or for a whole target where nobody knows what it touches.

A lock is taken by the claim and freed when the work is done: after the merge for a pull request that
changes source. Where the outcome is lost or the merge failed it stays, because somebody has to look
before anything else may touch that state.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from bot.request_store import Request
from bot.request_tables import locks
from bot.unit_of_work import UnitOfWork, pool_topic
from policy.tools import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """A lock that is held, and by which request."""

    key: str
    request_id: str


def key(tool: Tool, source_path: str | None) -> str:
    """The lock of a call: its state where a plan says what it touches, else its whole target."""
    if tool.preview is not None and source_path is not None:
        return f"state:{tool.target.name}:{source_path}"
    return whole_target(tool.target.name)


def whole_target(target: str) -> str:
    """The lock of a target as a whole; it excludes every other lock of that target."""
    return f"target:{target}"


def held_against(connection: Connection, request: Request) -> Lock | None:
    """The lock of another request that keeps this one from being claimed; None when nothing does."""
    whole = whole_target(request.target)
    conflict = [locks.c.key == request.lock_key, locks.c.key == whole]
    same_target = locks.c.target == request.target
    query = select(locks.c.key, locks.c.request_id).where(
        locks.c.request_id.is_not(None),
        locks.c.request_id != request.id,
        same_target if request.lock_key == whole else or_(*conflict),
    )
    row = connection.execute(query).first()
    return None if row is None else Lock(key=row.key, request_id=row.request_id)


def take(unit: UnitOfWork, request: Request, fence: int) -> None:
    """Takes the request's lock; the caller has seen, in this transaction, that nobody holds it."""
    values = {"target": request.target, "request_id": request.id, "fence": fence, "taken_at": unit.now}
    unit.connection.execute(
        insert(locks)
        .values(key=request.lock_key, **values)
        .on_conflict_do_update(index_elements=["key"], set_=values)
    )


def free(unit: UnitOfWork, request: Request) -> bool:
    """Frees the lock if this request holds it, and wakes whoever waits for it."""
    freed = unit.connection.execute(
        update(locks)
        .where(locks.c.key == request.lock_key, locks.c.request_id == request.id)
        .values(request_id=None, fence=None, freed_at=unit.now)
    )
    unit.wake(pool_topic(request.runner_pool))
    return freed.rowcount == 1


def holds(connection: Connection, request: Request) -> bool:
    """Whether this request holds its lock."""
    return (
        connection.execute(
            select(locks.c.key).where(locks.c.key == request.lock_key, locks.c.request_id == request.id)
        ).first()
        is not None
    )


def used_since(connection: Connection, request: Request, moment: datetime) -> bool:
    """Whether other work held a lock that excludes this one after `moment`: a plan of then is stale."""
    whole = whole_target(request.target)
    same = (
        locks.c.target == request.target
        if request.lock_key == whole
        else or_(locks.c.key == request.lock_key, locks.c.key == whole)
    )
    row = connection.execute(select(locks.c.key).where(same, locks.c.freed_at >= moment)).first()
    return row is not None or held_against(connection, request) is not None
