"""One step of the bot: one transaction, one moment, its audit events, and who to wake afterwards.

The order is what makes a crash harmless: state, audit event and the note in the outbox or the job
queue are written in one transaction, and nobody is woken before it is durable. Nothing that waits for
the network may happen inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from policy import audit
from policy.canonical import Json
from policy.receipt import AuditTip

if TYPE_CHECKING:
    from bot.parts import Parts


@dataclass(slots=True, kw_only=True)
class UnitOfWork:
    """What one step writes through.

    Attributes:
        connection: the open transaction.
        now: the step's one moment.
    """

    connection: Connection
    now: datetime
    _parts: Parts
    _topics: list[str] = field(default_factory=list)

    def append(self, kind: audit.Kind, request_id: str | None, data: Mapping[str, Json]) -> AuditTip:
        """Appends an event to the audit chain and returns the chain's new tip."""
        event = self._parts.audit.append(self.connection, kind, request_id, data, at=self.now)
        return event.tip

    def wake(self, *topics: str) -> None:
        """Wakes whoever waits for a topic, once this step is durable."""
        self._topics += topics


@contextmanager
def step(parts: Parts) -> Iterator[UnitOfWork]:
    """Opens one step; leaving it without an error commits it and then wakes.

    Raises:
        DatabaseUnavailable: when the database can't be written.
    """
    with parts.database.transaction() as connection:
        unit = UnitOfWork(connection=connection, now=parts.clock.now(), _parts=parts)
        yield unit
    for topic in dict.fromkeys(unit._topics):
        parts.notifier.notify(topic)


def request_topic(request_id: str) -> str:
    """Woken when a request changes."""
    return f"request:{request_id}"


def pool_topic(pool: str) -> str:
    """Woken when there is work for a pool of runners."""
    return f"pool:{pool}"


OUTBOX_TOPIC = "outbox"
"""Woken when an effect at GitHub waits."""
