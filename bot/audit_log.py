"""The audit chain in the database, and its tip in a file of its own.

Events are appended inside the caller's transaction, so a step and its record stand or fall together.
After the commit the chain's tip is written to `audit-tip.json`, replaced in one move and synced. The file
is never ahead of the database that it belongs to; when it is, the database is an older copy, and the
bot doesn't start with it until an operator accepts that.

What holds the file should not be restored together with the database: a spent grant stays spent
because runners remember it, but only the tip shows that the bot forgot.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, select

from bot import schema
from bot.audit_tip_file import AuditTipFile
from bot.database import Database
from policy import audit, canonical, record
from policy.audit import Event, Kind
from policy.canonical import Json
from policy.receipt import AuditTip
from policy.refusal import Code, refuse

LARGEST_PAGE = 1000
"""Events in one answer of `events` at most."""

logger = logging.getLogger(__name__)


class AuditLog:
    """Appends to the chain and reads it. Safe for threads."""

    def __init__(self, database: Database, tip_file: Path) -> None:
        """Args: tip_file: where the tip is kept, apart from the database; its folder is made."""
        self._database = database
        self._file = AuditTipFile(tip_file)
        self.tip_file_error: str | None = None

    def open(self, *, at: datetime, accept_restore: bool = False) -> None:
        """Compares the chain with the tip that was attested; must be called before anything else.

        Args:
            at: the present moment, for the event that records an accepted restore.
            accept_restore: go on with a chain that ends before the attested tip or contradicts it.

        Raises:
            Refused: `database_restored`, when that happened and is not accepted; `audit_broken`, when
                the chain's newest event doesn't have its own hash.
        """
        remembered = self._file.read()
        with self._database.reading() as connection:
            tip = self.tip(connection)
            same = remembered is not None and self._holds(connection, remembered)
            self._check_newest(connection, tip)
        if (remembered is None and tip is None) or same:
            self._store(tip)
            return
        if not accept_restore:
            raise _restored(self._file.path, remembered, tip)
        data: dict[str, Json] = {
            "attested_sequence": remembered.sequence if remembered else None,
            "attested_hash": remembered.hash if remembered else None,
            "found_sequence": tip.sequence if tip else 0,
        }
        with self._database.transaction() as connection:
            self.append(connection, Kind.RESTORE_ACCEPTED, None, data, at=at)

    def append(
        self,
        connection: Connection,
        kind: Kind,
        request_id: str | None,
        data: Mapping[str, Json],
        *,
        at: datetime,
    ) -> Event:
        """Adds one event to the chain, in the caller's transaction.

        Args:
            connection: of `Database.transaction`.
            request_id: the request that the event is about; None for the bot as a whole.
            data: what happened; secrets are removed (`policy.audit.scrub`).
            at: when; cut to whole seconds.
        """
        previous_of_request = None
        if request_id is not None:
            previous_of_request = connection.scalar(
                select(schema.events.c.hash)
                .where(schema.events.c.request_id == request_id)
                .order_by(schema.events.c.sequence.desc())
                .limit(1)
            )
        event = audit.link(
            kind=kind,
            request_id=request_id,
            at=at,
            data=data,
            tip=self.tip(connection),
            previous_of_request=previous_of_request,
        )
        connection.execute(schema.events.insert().values(_row(event)))
        tip = {"sequence": event.sequence, "hash": event.hash}
        if connection.execute(schema.audit_tip.update().values(tip)).rowcount == 0:
            connection.execute(schema.audit_tip.insert().values(id=1, **tip))
        self._database.after_commit("audit tip", lambda: self._store(event.tip))
        return event

    def tip(self, connection: Connection) -> AuditTip | None:
        """The newest event's sequence and hash; None for an empty chain."""
        found = connection.execute(select(schema.audit_tip.c.sequence, schema.audit_tip.c.hash)).first()
        return AuditTip(sequence=found.sequence, hash=found.hash) if found else None

    def at(self, connection: Connection, sequence: int) -> AuditTip | None:
        """The tip as it was when that event was the newest; None when there is no such event."""
        query = select(schema.events.c.hash).where(schema.events.c.sequence == sequence)
        found = connection.scalar(query)
        return AuditTip(sequence=sequence, hash=found) if found is not None else None

    def events(
        self,
        connection: Connection,
        request_id: str | None = None,
        after: int = 0,
        limit: int = LARGEST_PAGE,
    ) -> tuple[Event, ...]:
        """One page of events by sequence.

        Args:
            request_id: only this request's events; None for all.
            after: only events with a greater sequence; the last one's sequence asks for the next page.
            limit: events at most, no more than `LARGEST_PAGE`.
        """
        query = select(schema.events).where(schema.events.c.sequence > after)
        if request_id is not None:
            query = query.where(schema.events.c.request_id == request_id)
        query = query.order_by(schema.events.c.sequence).limit(min(limit, LARGEST_PAGE))
        return tuple(_event(row) for row in connection.execute(query))

    def pages(self, request_id: str | None = None) -> Iterator[tuple[Event, ...]]:
        """All events, page by page, each page in a view of its own so that no reader holds up the bot."""
        after = 0
        while True:
            with self._database.reading() as connection:
                page = self.events(connection, request_id, after)
            if not page:
                return
            yield page
            after = page[-1].sequence

    def _holds(self, connection: Connection, remembered: AuditTip) -> bool:
        if remembered.sequence == 0:
            return True
        return self.at(connection, remembered.sequence) == remembered

    def _check_newest(self, connection: Connection, tip: AuditTip | None) -> None:
        query = select(schema.events).order_by(schema.events.c.sequence.desc()).limit(1)
        row = connection.execute(query).first()
        newest = _event(row) if row else None
        if (newest.tip if newest else None) != tip or (newest is not None and _made_again(newest) != newest):
            raise refuse(
                Code.AUDIT_BROKEN,
                f"the audit chain: event {newest.sequence if newest else 0} is not what its hash says",
                rule="The bot only adds to a chain that holds.",
                remedy="Run `ownergate audit verify`, find out who changed the database, restore a backup.",
            )

    def _store(self, tip: AuditTip | None) -> None:
        # The transaction stands already. A file that stays behind is safe, only less telling; health
        # and log say so until it can be written again.
        try:
            self._file.write(tip or AuditTip(sequence=0, hash=audit.GENESIS))
            self.tip_file_error = None
        except OSError as error:
            self.tip_file_error = f"{self._file.path}: {error.strerror}"
            logger.error("the audit tip can't be stored: %s", self.tip_file_error)


def _restored(path: Path, remembered: AuditTip | None, tip: AuditTip | None) -> Exception:
    attested = f"attests event {remembered.sequence}" if remembered else "is missing"
    here = f"ends at event {tip.sequence}" if tip else "is empty"
    return refuse(
        Code.DATABASE_RESTORED,
        f"the database: its audit chain {here}, while {path} {attested}"
        + (", which it doesn't have" if remembered else ""),
        rule="A database that was restored from an older copy has forgotten grants and refusals.",
        remedy="Restore the newest copy, or start once with --accept-restore, which is recorded.",
    )


def _made_again(event: Event) -> Event:
    before = AuditTip(sequence=event.sequence - 1, hash=event.previous) if event.sequence > 1 else None
    return audit.link(
        kind=event.kind,
        request_id=event.request_id,
        at=event.at,
        data=event.data,
        tip=before,
        previous_of_request=event.previous_of_request,
    )


def _row(event: Event) -> dict[str, Any]:
    return {
        "sequence": event.sequence,
        "kind": event.kind.value,
        "request_id": event.request_id,
        "at": event.at,
        "data": canonical.encode(dict(event.data)).decode(),
        "previous": event.previous,
        "previous_of_request": event.previous_of_request,
        "hash": event.hash,
    }


def _event(row: Row[Any]) -> Event:
    value: dict[str, Json] = {
        "sequence": row.sequence,
        "kind": row.kind,
        "request_id": row.request_id,
        "at": record.to_json(row.at),
        "data": canonical.parse(row.data, what="an audit event's data"),
        "previous": row.previous,
        "previous_of_request": row.previous_of_request,
        "hash": row.hash,
    }
    return record.from_json(Event, value, what="the audit event", code=Code.AUDIT_INVALID)
