"""Whether this runner may take work: its sandbox's isolation was proved, and lately.

The proof is made at start and again on a schedule. A proof that fails or grows old stops the taking of
work until one succeeds; it is never an old proof's word that counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from policy.refusal import Code, Refusal, Refused
from runner.sandbox.interface import Proof, Sandbox

STALE_AFTER = 2
"""A proof is too old after this many periods: one may be in the making, two were missed."""


class Readiness:
    """The newest proof, shared by the thread that makes it and the workers that ask."""

    def __init__(self, sandbox: Sandbox, *, period_seconds: int, now: Callable[[], datetime]) -> None:
        self._sandbox = sandbox
        self._period = timedelta(seconds=period_seconds)
        self._now = now
        self._lock = threading.Lock()
        self._state: Proof | Refusal = Refusal(
            code=Code.SANDBOX_NOT_ISOLATED,
            what="the sandbox has not been proved yet",
            rule="A runner takes work only while its sandbox's isolation is proved.",
            remedy="Wait for the proof; it is made at start.",
        )

    def prove(self) -> Proof | Refusal:
        """Makes a proof now; its result counts from here on."""
        try:
            state: Proof | Refusal = self._sandbox.check()
        except Refused as refused:
            state = refused.refusal
        with self._lock:
            self._state = state
        return state

    def current(self) -> Proof | Refusal:
        """The proof that counts now, or why there is none."""
        with self._lock:
            state = self._state
        if isinstance(state, Proof) and self._now() - state.proved_at > STALE_AFTER * self._period:
            return Refusal(
                code=Code.SANDBOX_NOT_ISOLATED,
                what=f"the sandbox was proved last at {state.proved_at:%H:%M:%S} UTC, too long ago",
                rule="A runner takes work only while its sandbox's isolation is proved.",
                remedy="Look in the runner's log for why the proof was not made again.",
            )
        return state
