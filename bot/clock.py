"""The bot's one clock. Whatever decides by time is handed a clock, so tests can move it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time as an aware moment in UTC."""

    def now(self) -> datetime:
        """The present moment."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """The present moment in UTC."""
        return datetime.now(UTC)
