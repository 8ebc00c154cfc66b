"""Work that is done over and over in a thread of its own: reconciling, posting, looking for lost webhooks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import evidence
from policy.refusal import Refused

logger = logging.getLogger(__name__)


class Round:
    """Calls `work` every `seconds`, earlier when it is woken, until it is stopped."""

    def __init__(self, name: str, work: Callable[[], object], *, seconds: float) -> None:
        self._work = work
        self._seconds = seconds
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._name = name
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Starts the thread; the first call is at once."""
        self._thread.start()

    def wake(self) -> None:
        """Has the next call come now."""
        self._wake.set()

    def stop(self, timeout_seconds: float) -> None:
        """Ends the thread after the call that it is in."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(timeout_seconds)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                self._work()
            except Refused as refused:
                logger.warning("%s: %s", self._name, refused.refusal.text())
            except evidence.Unavailable as missing:
                logger.warning("%s: GitHub can't be read: %s", self._name, missing.reason)
            except Exception:
                # The outermost loop of this work: whatever happens once must not end it.
                logger.exception("%s failed and will be tried again", self._name)
            self._wake.wait(self._seconds)
