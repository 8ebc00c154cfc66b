"""Who asked for a request, and which call an idempotency key was used for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select

from bot.request_tables import idempotency_keys, participants


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """Somebody who asked for a request."""

    request_id: str
    principal_id: int
    person_id: int
    login: str
    agent: str
    asked_first: bool
    joined_at: datetime


def join(
    connection: Connection,
    request_id: str,
    principal_id: int,
    person_id: int,
    login: str,
    agent: str,
    *,
    first: bool,
    at: datetime,
) -> bool:
    """Records that somebody asked for this request; false when that already stands there."""
    known = connection.execute(
        select(participants.c.request_id).where(
            participants.c.request_id == request_id, participants.c.principal_id == principal_id
        )
    ).first()
    if known is not None:
        return False
    connection.execute(
        insert(participants).values(
            request_id=request_id,
            principal_id=principal_id,
            person_id=person_id,
            login=login,
            agent=agent,
            asked_first=first,
            joined_at=at,
        )
    )
    return True


def asked_by(connection: Connection, request_id: str) -> list[Participant]:
    """Everyone who asked for a request, the first one first."""
    rows = connection.execute(
        select(participants)
        .where(participants.c.request_id == request_id)
        .order_by(participants.c.asked_first.desc(), participants.c.joined_at, participants.c.principal_id)
    )
    return [Participant(**row._mapping) for row in rows]


def keyed(connection: Connection, principal_id: int, key: str) -> tuple[str, str] | None:
    """The call's digest and the request's id that a principal used a key for; None for a new key."""
    row = connection.execute(
        select(idempotency_keys.c.call_sha256, idempotency_keys.c.request_id).where(
            idempotency_keys.c.principal_id == principal_id, idempotency_keys.c.key == key
        )
    ).first()
    return None if row is None else (str(row[0]), str(row[1]))


def remember_key(connection: Connection, principal_id: int, key: str, call: str, request_id: str) -> None:
    """Records what a key was used for."""
    connection.execute(
        insert(idempotency_keys).values(
            principal_id=principal_id, key=key, call_sha256=call, request_id=request_id
        )
    )
