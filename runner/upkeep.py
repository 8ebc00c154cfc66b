"""What a runner does beside its jobs, on a schedule: prove, sweep, deliver, forget."""

from __future__ import annotations

import threading
import time

import structlog

from policy.refusal import Refusal, Refused
from runner import recovery
from runner.chain_watch import WentBack
from runner.equipment import Equipment

PERIOD_SECONDS = 5.0
"""Between two rounds: how soon a kept result goes out once the bot is back."""

FORGET_SECONDS = 3600.0
"""Between two looks for spent grants that may be forgotten."""

_log = structlog.get_logger(__name__)


class Upkeep:
    """The rounds, in a thread of their own."""

    def __init__(self, equipment: Equipment, *, stop: threading.Event) -> None:
        self._equipment = equipment
        self._stop = stop
        self._proved = time.monotonic()
        self._forgot = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="upkeep")

    def start(self) -> None:
        """Begins the rounds; the first comes after one period."""
        self._thread.start()

    def join(self) -> None:
        """Waits for the last round to end; `stop` must be set."""
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(PERIOD_SECONDS):
            try:
                self.round()
            except WentBack as back:
                # The workers meet the same contradiction at their next poll, and stop.
                _log.error("the bot's audit chain went back", why=back.refusal.what)
            except (Refused, OSError) as error:
                _log.error("upkeep broke off", why=str(error))
            except Exception:  # noqa: BLE001  The outermost loop: sweeping must not end silently.
                _log.exception("upkeep failed")

    def round(self) -> None:
        """One round.

        Raises:
            Refused, OSError: what could not be done; the next round tries again.
        """
        now = time.monotonic()
        if now - self._proved >= self._equipment.settings.proof_seconds:
            self._proved = now
            state = self._equipment.readiness.prove()
            if isinstance(state, Refusal):
                _log.error("the sandbox is not proved", why=state.what, remedy=state.remedy)
        recovery.sweep(self._equipment)
        recovery.deliver_kept(self._equipment)
        if now - self._forgot >= FORGET_SECONDS:
            self._forgot = now
            self._equipment.spent.sweep(self._equipment.now())
