"""What the bot has to remember about itself, by name: the pause, who it is at GitHub, its last look."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from bot import schema

_TABLE = schema.bot_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One value and when it was last set."""

    value: str
    changed_at: datetime


def recall(connection: Connection, name: str) -> Remembered | None:
    """What is remembered under a name."""
    row = connection.execute(select(_TABLE).where(_TABLE.c.name == name)).first()
    return Remembered(value=row.value, changed_at=row.changed_at) if row else None


def remember(connection: Connection, name: str, value: str, *, at: datetime) -> None:
    """Sets the value of a name, in the caller's transaction."""
    changed = connection.execute(
        _TABLE.update().where(_TABLE.c.name == name).values(value=value, changed_at=at)
    )
    if changed.rowcount == 0:
        connection.execute(_TABLE.insert().values(name=name, value=value, changed_at=at))


def forget(connection: Connection, name: str) -> bool:
    """Forgets a name; False when nothing was remembered."""
    return connection.execute(_TABLE.delete().where(_TABLE.c.name == name)).rowcount == 1
