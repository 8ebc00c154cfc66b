"""The simulator's clock: real time that a test can move forward, or time that stands still."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What the simulator asks for the time."""

    def now(self) -> datetime:
        """The present, with time zone UTC."""

    def advance(self, seconds: float) -> None:
        """Move the present forward by so many seconds."""


class Moving:
    """Real time plus what tests have added."""

    def __init__(self) -> None:
        self._added = timedelta()
        self._lock = threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            return datetime.now(UTC) + self._added

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._added += timedelta(seconds=seconds)


class Standing:
    """A time that moves only when told; it makes git's SHAs the same in every run."""

    def __init__(self, start: datetime) -> None:
        self._now = start.astimezone(UTC)
        self._lock = threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._now += timedelta(seconds=seconds)


def text(moment: datetime) -> str:
    """GitHub's form of a time: ISO 8601 in UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
