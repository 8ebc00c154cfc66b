"""When GitHub was last reached, and what went wrong since; for health and metrics."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """`failed_at` and `reason` are null when the last try succeeded."""

    reached_at: datetime | None = None
    failed_at: datetime | None = None
    reason: str | None = None


class GitHubContact:
    """Remembers the last contact. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = Contact()

    @property
    def last(self) -> Contact:
        """The last contact as one consistent value."""
        with self._lock:
            return self._last

    def reached(self, at: datetime) -> None:
        """GitHub answered, or delivered a webhook."""
        with self._lock:
            self._last = Contact(reached_at=at)

    def failed(self, at: datetime, reason: str) -> None:
        """GitHub could not be read; `reason` is short and holds no secret."""
        with self._lock:
            self._last = Contact(reached_at=self._last.reached_at, failed_at=at, reason=reason)
