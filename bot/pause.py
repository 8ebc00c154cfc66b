"""The pause: while it lasts no grant can be claimed. It is a row, so it outlives a restart."""

from __future__ import annotations

from sqlalchemy import Connection

from bot import memory
from bot.audit_log import AuditLog
from bot.clock import Clock
from bot.database import Database
from bot.tokens import Principal
from policy.audit import Kind
from policy.canonical import Json

_NAME = "pause"


class Pause:
    """Pauses and resumes claims. Every change is an audit event. Safe for threads."""

    def __init__(self, database: Database, audit: AuditLog, clock: Clock) -> None:
        self._database = database
        self._audit = audit
        self._clock = clock

    def reason(self, connection: Connection) -> str | None:
        """Why claims are paused; None when they are not. A claim asks this in its own transaction."""
        paused = memory.recall(connection, _NAME)
        return paused.value if paused else None

    def pause(self, principal: Principal, reason: str) -> bool:
        """Pauses all claims; False when they were paused already, whose reason is kept."""
        now = self._clock.now()
        with self._database.transaction() as connection:
            if memory.recall(connection, _NAME) is not None:
                return False
            memory.remember(connection, _NAME, reason, at=now)
            data: dict[str, Json] = {"by": principal.name, "reason": reason}
            self._audit.append(connection, Kind.BOT_PAUSED, None, data, at=now)
        return True

    def resume(self, principal: Principal) -> bool:
        """Lets claims happen again; False when they were not paused."""
        with self._database.transaction() as connection:
            if not memory.forget(connection, _NAME):
                return False
            data: dict[str, Json] = {"by": principal.name}
            self._audit.append(connection, Kind.BOT_RESUMED, None, data, at=self._clock.now())
        return True
