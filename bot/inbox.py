"""The inbox: deliveries are on the disk before GitHub is answered.

Receiving is faster than a disk's sync, so commits are shared: one thread takes whatever waits, stores
it in one transaction, and then answers all of them. Under load a commit carries more, never waits
longer. If the process is killed before the commit, GitHub has no answer and lists the delivery as
failed, where `bot.missed_deliveries` finds it; after the commit, `bot.inbox_worker` does.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from bot import schema
from bot.clock import Clock
from bot.database import Database
from bot.delivery import Acceptance, Delivery, ReceivedDelivery
from policy import timestamps

LARGEST_COMMIT = 256
"""Deliveries in one commit at most."""

SLOW_ATTEMPTS = 5
"""A delivery that was tried this often without success is shown as failing."""


_KNOWN = select(schema.inbox.c.delivery_id, schema.inbox.c.body_sha256).where(
    schema.inbox.c.delivery_id.in_(bindparam("ids", expanding=True))
)
_NOTING = (
    schema.inbox.update().where(schema.inbox.c.delivery_id == bindparam("id_")).values(note=bindparam("note"))
)

FINISHING = (
    schema.inbox.update()
    .where(schema.inbox.c.sequence == bindparam("sequence_"), schema.inbox.c.state == "waiting")
    .values(state="done", body=None, failure=None, ended_at=bindparam("ended_at"))
)
"""Marks deliveries as done: takes `sequence_` and `ended_at`, changes nothing that is done already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What waits in the inbox. `failing`: those that were tried `SLOW_ATTEMPTS` times or more."""

    waiting: int
    failing: int
    oldest_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Ticket:
    delivery: ReceivedDelivery
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Acceptance]

    def settle(self, result: Acceptance | Exception) -> None:
        if self.answer.done():
            # The caller went away meanwhile; what is stored stays stored.
            return
        if isinstance(result, Exception):
            self.answer.set_exception(result)
        else:
            self.answer.set_result(result)


class Inbox:
    """Stores deliveries and knows what waits. `accept` is for the event loop, the rest for threads."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._tickets: queue.SimpleQueue[_Ticket | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self.arrived = threading.Event()
        """Set after every commit that brought something to do."""

    def start(self) -> None:
        """Starts the thread that stores."""
        self._thread = threading.Thread(target=self._store_for_ever, name="inbox-writer", daemon=True)
        self._thread.start()

    def stop(self, timeout_seconds: float) -> None:
        """Stores what still waits, then ends the thread."""
        if self._thread is not None:
            self._tickets.put(None)
            self._thread.join(timeout_seconds)

    async def accept(self, delivery: ReceivedDelivery) -> Acceptance:
        """Stores a delivery; when this returns it is on the disk.

        Raises:
            DatabaseUnavailable: when it could not be stored.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Acceptance] = loop.create_future()
        self._tickets.put(_Ticket(delivery, loop, answer))
        return await answer

    def finish(self, connection: Connection, delivery: Delivery) -> None:
        """Marks a delivery as done in the caller's transaction.

        A handler that does this together with its effect does that effect exactly once; otherwise the
        worker marks it afterwards, and a crash between the two repeats the handler.
        """
        connection.execute(FINISHING, [{"sequence_": delivery.sequence, "ended_at": self._clock.now()}])

    def backlog(self, connection: Connection) -> Backlog:
        """What waits now."""
        table = schema.inbox
        query = select(
            func.count().label("waiting"),
            func.count().filter(table.c.attempts >= SLOW_ATTEMPTS).label("failing"),
            func.min(table.c.received_at).label("oldest_at"),
        ).where(table.c.state == "waiting")
        row = connection.execute(query).one()
        return Backlog(waiting=row.waiting, failing=row.failing, oldest_at=row.oldest_at)

    def _store_for_ever(self) -> None:
        while True:
            tickets, more = self._next_tickets()
            if tickets:
                self._answer(tickets, self._stored(tickets))
            if not more:
                return

    def _next_tickets(self) -> tuple[list[_Ticket], bool]:
        tickets: list[_Ticket] = []
        ticket = self._tickets.get()
        while ticket is not None:
            tickets.append(ticket)
            if len(tickets) == LARGEST_COMMIT:
                return tickets, True
            try:
                ticket = self._tickets.get_nowait()
            except queue.Empty:
                return tickets, True
        return tickets, False

    def _stored(self, tickets: Sequence[_Ticket]) -> Sequence[Acceptance | Exception]:
        try:
            with self._database.transaction() as connection:
                return self._store(connection, [ticket.delivery for ticket in tickets])
        except Exception as error:  # noqa: BLE001  The thread must outlive it: every ticket is told, none was stored.
            return [error] * len(tickets)

    def _store(self, connection: Connection, deliveries: Sequence[ReceivedDelivery]) -> list[Acceptance]:
        # The write lock is held, so what is looked up here can't change before the insert.
        known: dict[str, str] = dict(
            connection.execute(_KNOWN, {"ids": [delivery.id for delivery in deliveries]}).all()
        )
        rows: list[dict[str, Any]] = []
        conflicts: list[dict[str, Any]] = []
        results: list[Acceptance] = []
        for delivery in deliveries:
            digest = delivery.body_sha256
            earlier = known.get(delivery.id)
            if earlier is None:
                known[delivery.id] = digest
                rows.append(_row(delivery, digest))
                results.append(Acceptance.IGNORED if delivery.ignored_because else Acceptance.STORED)
            elif earlier == digest:
                results.append(Acceptance.DUPLICATE)
            else:
                conflicts.append({"id_": delivery.id, "note": _conflict(delivery, digest)})
                results.append(Acceptance.CONFLICT)
        if rows:
            connection.execute(schema.inbox.insert(), rows)
        if conflicts:
            connection.execute(_NOTING, conflicts)
        return results

    def _answer(self, tickets: Sequence[_Ticket], results: Sequence[Acceptance | Exception]) -> None:
        if Acceptance.STORED in results:
            self.arrived.set()
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Ticket, Acceptance | Exception]]] = {}
        for ticket, result in zip(tickets, results, strict=True):
            by_loop.setdefault(ticket.loop, []).append((ticket, result))
        for loop, settled in by_loop.items():
            try:
                loop.call_soon_threadsafe(_settle, settled)
            except RuntimeError:
                # The loop is closed: nobody waits any more, and what is stored stays stored.
                continue


def _settle(settled: Sequence[tuple[_Ticket, Acceptance | Exception]]) -> None:
    for ticket, result in settled:
        ticket.settle(result)


def _row(delivery: ReceivedDelivery, digest: str) -> dict[str, Any]:
    ignored = delivery.ignored_because is not None
    return {
        "delivery_id": delivery.id,
        "event": delivery.event,
        "subject": delivery.subject,
        "body": None if ignored else delivery.body,
        "body_sha256": digest,
        "received_at": delivery.received_at,
        "state": "ignored" if ignored else "waiting",
        "next_attempt_at": delivery.received_at,
        "note": delivery.ignored_because,
        "ended_at": delivery.received_at if ignored else None,
    }


def _conflict(delivery: ReceivedDelivery, digest: str) -> str:
    at = timestamps.format_timestamp(delivery.received_at)
    return f"the same id came with another body at {at}, SHA-256 {digest}"
