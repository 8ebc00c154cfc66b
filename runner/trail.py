"""One job's events for the bot's audit trail: in order, sent in the background, never lost silently.

An intent is noted before its effect and an outcome after it. Sending waits for nobody: a read's sandbox
starts while `credential.issued` is still on its way. Where the order against the outside world matters
(nothing may be spent before its intent stands in the chain), the caller waits with `settle`.

What could not be sent is handed back by `close`, is kept with the result, and is delivered with it.
Each event carries its place in the job (`step`), so one that was sent twice can be recognised.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Mapping

from pydantic import JsonValue

from policy.audit import Kind
from policy.runner_protocol import JobEvent
from runner.bot_client import BotClient, BotRefused, BotUnavailable
from runner.chain_watch import ChainWatch, WentBack

GIVEN_SECONDS = 5.0
"""How long a result waits for its events; what has not arrived then travels with it."""

_Failure = BotUnavailable | BotRefused | WentBack


class Trail:
    """The events of one job. One thread notes, one sends; `close` ends the sending one."""

    def __init__(self, bot: BotClient, *, job_id: str, runner: str, chain: ChainWatch) -> None:
        self._bot = bot
        self._job_id = job_id
        self._runner = runner
        self._chain = chain
        self._changed = threading.Condition()
        self._waiting: deque[JobEvent] = deque()
        self._noted = 0
        self._failure: _Failure | None = None
        self._closed = False
        self._sender: threading.Thread | None = None

    def note(self, kind: Kind, data: Mapping[str, JsonValue]) -> None:
        """Puts one event in the queue. `data` holds no secret."""
        with self._changed:
            self._noted += 1
            event = JobEvent(runner=self._runner, kind=kind, data={**data, "step": self._noted})
            self._waiting.append(event)
            if self._sender is None:
                self._sender = threading.Thread(target=self._send, name=f"trail {self._job_id}", daemon=True)
                self._sender.start()
            self._changed.notify_all()

    def settle(self, *, timeout_seconds: float) -> None:
        """Waits until every event so far stands in the chain.

        Raises:
            BotUnavailable: when they don't, in that time.
            BotRefused: when the bot does not take one of them.
            WentBack: when an answer contradicts what was seen of the chain before.
        """
        with self._changed:
            done = self._changed.wait_for(
                lambda: self._failure is not None or not self._waiting, timeout_seconds
            )
            if self._failure is not None:
                raise self._failure
            if not done:
                raise BotUnavailable("the bot is slow to take audit events", may_have_acted=True)

    def give_time(self) -> None:
        """Gives the events time to arrive, so that a receipt's tip stands after them.

        A bot that is away, does not want them or contradicts its own chain is no reason to lose the
        result of what was done; whoever delivers that meets the same bot again.
        """
        with contextlib.suppress(BotUnavailable, BotRefused, WentBack):
            self.settle(timeout_seconds=GIVEN_SECONDS)

    def close(self) -> tuple[JobEvent, ...]:
        """Ends the sending and gives the events that are not known to stand in the chain, in order."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._sender is not None:
            self._sender.join()
        return tuple(self._waiting)

    def _send(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting or self._failure is not None:
                    return
                event = self._waiting[0]
            try:
                self._chain.see(self._bot.event(self._job_id, event))
            except (BotUnavailable, BotRefused, WentBack) as failure:
                # Later events may not overtake this one, so nothing more is sent.
                with self._changed:
                    self._failure = failure
                    self._changed.notify_all()
                return
            with self._changed:
                self._waiting.popleft()
                self._changed.notify_all()
