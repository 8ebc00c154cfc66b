"""Tables of the bot that are not about requests, and the types that all its tables share.

Modules that own more tables add them to the same `metadata`; `database.Database.create` makes them all.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    DDL,
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
    text,
)
from sqlalchemy.types import TypeDecorator

VERSION = 1
"""Grows with every change of a table. A database of another version is never opened."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)
"""Every table of the bot. Named constraints let a later migration speak of them."""


class Moment(TypeDecorator[datetime]):
    """A column of aware moments in UTC, in every database; a moment without a zone is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To the database, as UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without a time zone can't be stored")
        moment = value.astimezone(UTC)
        # SQLite has no zones: it stores the text of a UTC moment, which sorts by time.
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """From the database, aware."""
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def one_of(column: str, values: list[str] | tuple[str, ...], *, name: str) -> CheckConstraint:
    """A check that a text column holds one of these plain words, such as the values of a StrEnum."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=name)


schema_version = Table(
    "schema_version",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    CheckConstraint("id = 1", name="one_row"),
)

principals = Table(
    "principals",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False),
    Column("role", String(10), nullable=False),
    Column("token_sha256", String(64), nullable=False, unique=True),
    Column("person_id", BigInteger),
    Column("login", String(100)),
    Column("created_at", Moment, nullable=False),
    Column("revoked_at", Moment),
    one_of("role", ("agent", "runner", "auditor", "admin"), name="role"),
    CheckConstraint("role != 'agent' OR (person_id > 0 AND login IS NOT NULL)", name="agent_has_person"),
)

inbox = Table(
    "inbox",
    metadata,
    Column("sequence", Integer, primary_key=True),
    Column("delivery_id", String(36), nullable=False),
    Column("event", String(60), nullable=False),
    Column("subject", String(80)),
    Column("body", LargeBinary),
    Column("body_sha256", String(64), nullable=False),
    Column("received_at", Moment, nullable=False),
    Column("state", String(10), nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("next_attempt_at", Moment, nullable=False),
    Column("failure", String(300)),
    Column("note", String(300)),
    Column("ended_at", Moment),
    UniqueConstraint("delivery_id"),
    one_of("state", ("waiting", "done", "ignored"), name="state"),
    CheckConstraint("state != 'waiting' OR body IS NOT NULL", name="waiting_has_body"),
    sqlite_autoincrement=True,
)
"""Webhook deliveries in the order in which they were stored. The body goes when the work is done."""

Index("ix_inbox_waiting", inbox.c.sequence, sqlite_where=text("state = 'waiting'"))
Index("ix_inbox_waiting_subject", inbox.c.subject, inbox.c.sequence, sqlite_where=text("state = 'waiting'"))

events = Table(
    "events",
    metadata,
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(40), nullable=False),
    Column("request_id", String(40)),
    Column("at", Moment, nullable=False),
    Column("data", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("previous_of_request", String(64)),
    Column("hash", String(64), nullable=False),
    CheckConstraint("sequence > 0", name="from_one"),
)
"""The audit chain, one row an event; `data` is canonical JSON. Rows are only ever added."""

Index("ix_events_request", events.c.request_id, events.c.sequence)

for _change in ("UPDATE", "DELETE"):
    # The hash chain shows a change; this stops the accidental one before it happens.
    event.listen(
        events,
        "after_create",
        DDL(  # type: ignore[no-untyped-call]
            f"CREATE TRIGGER events_no_{_change.lower()} BEFORE {_change} ON events "
            "BEGIN SELECT RAISE(ABORT, 'audit events are only ever added'); END"
        ).execute_if(dialect="sqlite"),
    )

audit_tip = Table(
    "audit_tip",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("sequence", Integer, nullable=False),
    Column("hash", String(64), nullable=False),
    CheckConstraint("id = 1", name="one_row"),
)
"""The chain's newest event. Its one row is what writers of several bots would lock."""

bot_settings = Table(
    "bot_settings",
    metadata,
    Column("name", String(60), primary_key=True),
    Column("value", Text, nullable=False),
    Column("changed_at", Moment, nullable=False),
)
"""What the bot has to remember about itself: the pause and its reason, the App's and repository's ids."""
