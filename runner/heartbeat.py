"""Says to the bot that a job is being worked on, and hears from it when the job was cancelled.

A job shorter than the period never sends one.
"""

from __future__ import annotations

import threading
from types import TracebackType

from runner.bot_client import BotClient, BotRefused, BotUnavailable

PERIOD_SECONDS = 5.0


class Heartbeat:
    """A context in which heartbeats go out. A bot that is away is no reason to stop working."""

    def __init__(
        self,
        bot: BotClient,
        *,
        job_id: str,
        runner: str,
        cancelled: threading.Event,
        period_seconds: float = PERIOD_SECONDS,
    ) -> None:
        """Takes the event that is set when the bot says that the job was cancelled."""
        self._bot = bot
        self._job_id = job_id
        self._runner = runner
        self._cancelled = cancelled
        self._period_seconds = period_seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"heartbeat {job_id}", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The thread is not joined: it may be in a call to a bot that is away, and it changes nothing.
        self._over.set()

    def _beat(self) -> None:
        while not self._over.wait(self._period_seconds):
            try:
                if self._bot.heartbeat(self._job_id, self._runner) and not self._over.is_set():
                    self._cancelled.set()
            except (BotUnavailable, BotRefused):
                continue
