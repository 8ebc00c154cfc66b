"""The tips of the base branches as last read, so that a read-only call needs no call to GitHub.

Whatever can change anything reads the tip afresh. A read-only call is given the tip as the reconciler
last saw it, or as a push event moved it since.
"""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

from bot.clock import Clock
from evidence import GitHubReader


class BaseTips:
    """Remembers one commit for each branch. Safe for threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[str, datetime]] = {}

    def known(self, branch: str, *, youngest_seconds: int | None = None) -> str | None:
        """The tip as last read; None when it was never read, or longer ago than that many seconds."""
        with self._lock:
            found = self._seen.get(branch)
        if found is None:
            return None
        sha, at = found
        if youngest_seconds is not None and self._clock.now() - at > timedelta(seconds=youngest_seconds):
            return None
        return sha

    def read(self, reader: GitHubReader, branch: str) -> str:
        """Reads the tip at GitHub and remembers it.

        Raises:
            Unavailable: when GitHub can't be read.
        """
        sha = reader.branch_tip(branch)
        with self._lock:
            self._seen[branch] = (sha, self._clock.now())
        return sha

    def forget(self, branch: str) -> None:
        """Something was pushed to that branch."""
        with self._lock:
            self._seen.pop(branch, None)
