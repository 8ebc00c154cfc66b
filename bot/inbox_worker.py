"""Works off the inbox: each delivery to the handler, in order for each pull request.

A delivery whose handler fails is tried again, later and later, for as long as it takes; those behind it
for the same pull request wait, until it has failed so often that waiting helps nobody. What the
handler is given is only a hint, so trying twice is harmless; a crash between the handler and the mark
does just that.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import bindparam, select

import evidence
from bot import schema
from bot.clock import Clock
from bot.database import Database, DatabaseUnavailable
from bot.delivery import Delivery
from bot.inbox import FINISHING, Inbox
from policy.refusal import Refused

FIRST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 300.0

PATIENT_ATTEMPTS = 10
"""A delivery that failed this often no longer holds up those behind it."""

LARGEST_BATCH = 64
"""Deliveries that are looked up at once."""

MARK_SECONDS = 0.25
"""Handled deliveries are marked at least this often, so that a crash repeats little."""

IDLE_SECONDS = 1.0
"""How often due retries are looked for when nothing arrives."""

logger = logging.getLogger(__name__)


class InboxWorker:
    """One thread that hands deliveries to the handler."""

    def __init__(
        self, database: Database, inbox: Inbox, handler: Callable[[Delivery], None], clock: Clock
    ) -> None:
        """Args: handler: called in the worker's thread, one delivery at a time; raises to be tried again."""
        self._database = database
        self._inbox = inbox
        self._handler = handler
        self._clock = clock
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work_for_ever, name="inbox-worker", daemon=True)

    def start(self) -> None:
        """Starts the thread; what an earlier process left behind comes first."""
        self._thread.start()

    def stop(self, timeout_seconds: float) -> None:
        """Ends the thread after the delivery that it works on."""
        self._stopping.set()
        self._inbox.arrived.set()
        self._thread.join(timeout_seconds)

    def work_once(self) -> int:
        """Handles what is due now, at most `LARGEST_BATCH` deliveries; returns how many were looked at.

        Raises:
            DatabaseUnavailable: when marks can't be written; the deliveries stay.
        """
        with self._database.reading() as connection:
            due = connection.execute(_DUE, {"now": self._clock.now()}).all()
        handled: list[int] = []
        held_up: set[str] = set()
        marked_at = time.monotonic()
        for row in due:
            if self._stopping.is_set():
                break
            if row.subject in held_up:
                continue
            error = self._handle(row.sequence)
            if error is None:
                handled.append(row.sequence)
            else:
                self._put_off(row.sequence, row.attempts, error)
                if row.subject is not None and row.attempts + 1 < PATIENT_ATTEMPTS:
                    held_up.add(row.subject)
            if time.monotonic() - marked_at > MARK_SECONDS:
                self._mark(handled)
                handled, marked_at = [], time.monotonic()
        self._mark(handled)
        return len(due)

    def _work_for_ever(self) -> None:
        while not self._stopping.is_set():
            self._inbox.arrived.clear()
            try:
                looked_at = self.work_once()
            except DatabaseUnavailable as error:
                logger.error("the inbox waits: %s", error.refusal.text())
                looked_at = 0
                self._stopping.wait(IDLE_SECONDS)
            if looked_at == 0:
                self._inbox.arrived.wait(IDLE_SECONDS)

    def _handle(self, sequence: int) -> str | None:
        """Handles one delivery; returns in a few words why it failed."""
        with self._database.reading() as connection:
            row = connection.execute(_ONE, {"sequence": sequence}).first()
        if row is None or row.body is None:
            return None
        delivery = Delivery(
            sequence=row.sequence,
            id=row.delivery_id,
            event=row.event,
            payload=json.loads(row.body),
            received_at=row.received_at,
        )
        try:
            self._handler(delivery)
        except Refused as refused:
            logger.warning("delivery %s is put off: %s", delivery.id, refused.refusal.text())
            return f"{refused.refusal.code}: {refused.refusal.what}"
        except evidence.Unavailable as missing:
            logger.warning("delivery %s is put off: %s", delivery.id, missing.reason)
            return missing.reason
        except Exception as error:
            # This is the loop that must go on: the fault may be in one payload or at GitHub, and the
            # delivery is kept.
            logger.exception("delivery %s is put off", delivery.id)
            return type(error).__name__
        return None

    def _put_off(self, sequence: int, attempts: int, failure: str) -> None:
        seconds = min(FIRST_RETRY_SECONDS * 2.0 ** min(attempts, 20), LONGEST_RETRY_SECONDS)
        # Spread, so that what failed together doesn't come back together.
        seconds *= random.uniform(0.75, 1.0)  # noqa: S311  Not a secret.
        with self._database.transaction() as connection:
            connection.execute(
                schema.inbox.update()
                .where(schema.inbox.c.sequence == sequence, schema.inbox.c.state == "waiting")
                .values(
                    attempts=attempts + 1,
                    next_attempt_at=self._clock.now() + timedelta(seconds=seconds),
                    failure=failure[:300],
                )
            )

    def _mark(self, sequences: list[int]) -> None:
        if not sequences:
            return
        now = self._clock.now()
        with self._database.transaction() as connection:
            connection.execute(
                FINISHING, [{"sequence_": sequence, "ended_at": now} for sequence in sequences]
            )


_EARLIER = schema.inbox.alias("earlier")

_DUE = (
    select(schema.inbox.c.sequence, schema.inbox.c.subject, schema.inbox.c.attempts)
    .where(
        schema.inbox.c.state == "waiting",
        schema.inbox.c.next_attempt_at <= bindparam("now", type_=schema.Moment),
        ~select(_EARLIER.c.sequence)
        .where(
            _EARLIER.c.state == "waiting",
            _EARLIER.c.subject == schema.inbox.c.subject,
            _EARLIER.c.sequence < schema.inbox.c.sequence,
            _EARLIER.c.next_attempt_at > bindparam("now", type_=schema.Moment),
            _EARLIER.c.attempts < PATIENT_ATTEMPTS,
        )
        .exists(),
    )
    .order_by(schema.inbox.c.sequence)
    .limit(LARGEST_BATCH)
)
"""What is due, except what waits behind an earlier delivery for the same pull request."""

_ONE = select(schema.inbox).where(
    schema.inbox.c.sequence == bindparam("sequence"), schema.inbox.c.state == "waiting"
)
