"""The outbox: what must still happen at GitHub, written together with the reason for it.

A step that wants something done at GitHub leaves a note in its own transaction and does nothing
itself. One worker carries the notes out, in order for each request:

1. the attempt is counted and committed, so that after a crash the next try knows of it;
2. the effect looks whether an earlier try came through, then does what is missing;
3. what it learned (a number, an id) is stored together with "done".

So a crash, a lost answer or an error after GitHub's commit repeats a look, never a post. What an
effect says is made up when it is carried out, from the database as it is then: notes that wait for the
same thing are one note, and a late one never brings back an older state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import Connection, func, insert, select, update

from bot import github_failures
from bot.github_failures import Later, Never
from bot.parts import Parts
from bot.request_tables import outbox
from bot.unit_of_work import OUTBOX_TOPIC, UnitOfWork, step

logger = logging.getLogger(__name__)


class Effect(StrEnum):
    """One thing to do at GitHub for one request; `ADMIT` reads there what a successor needs."""

    ADMIT = "admit"
    PUBLISH = "publish"
    CHECK = "check"
    STATUS = "status"
    MERGE = "merge"
    CLOSE = "close"
    DELETE_BRANCH = "delete_branch"


Finish = Callable[[UnitOfWork], None]
"""Stores what an effect learned, in the transaction that marks it as done."""

Carrier = Callable[[str, bool], Finish]
"""Carries one effect out for a request. The flag says that an earlier try may have come through."""

GivenUp = Callable[[UnitOfWork, str, Effect, str], None]
"""Told in the closing transaction that GitHub will never do an effect, and why."""


class NotYet(Exception):  # noqa: N818  It is an answer, not a fault.
    """An effect has to wait for something at GitHub; the text says for what."""


class Impossible(Exception):  # noqa: N818  It is an answer, not a fault.
    """An effect can never happen; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One row of the outbox that is due."""

    id: int
    request_id: str
    effect: Effect
    attempts: int


def enqueue(
    unit: UnitOfWork, request_id: str, *effects: Effect, delay_seconds: int = 0, tried: bool = False
) -> None:
    """Leaves notes, in this order, after those that the request already has.

    A note for the same effect that waits and was not begun is used again. Notes without delay bring
    forward everything of the request that was not begun, so that nothing waits behind a delayed one.
    `tried` says that the effect may have happened before there was a note of it.
    """
    due = unit.now + timedelta(seconds=delay_seconds)
    unbegun = (outbox.c.request_id == request_id, outbox.c.done.is_(False), outbox.c.attempts == 0)
    waiting = {Effect(name) for (name,) in unit.connection.execute(select(outbox.c.effect).where(*unbegun))}
    if not delay_seconds:
        unit.connection.execute(
            update(outbox).where(*unbegun, outbox.c.not_before > due).values(not_before=due)
        )
    for effect in effects:
        if effect not in waiting:
            unit.connection.execute(
                insert(outbox).values(
                    request_id=request_id,
                    effect=effect.value,
                    done=False,
                    attempts=int(tried),
                    not_before=due,
                )
            )
    unit.wake(OUTBOX_TOPIC)


def withdraw(unit: UnitOfWork, request_id: str, *effects: Effect) -> None:
    """Takes back notes that were not begun."""
    unit.connection.execute(
        update(outbox)
        .where(
            outbox.c.request_id == request_id,
            outbox.c.done.is_(False),
            outbox.c.attempts == 0,
            outbox.c.effect.in_([effect.value for effect in effects]),
        )
        .values(done=True, trouble="withdrawn")
    )


def due(connection: Connection, now: datetime) -> list[Note]:
    """The first undone note of every request, if its time has come; the oldest first."""
    first = (
        select(func.min(outbox.c.id)).where(outbox.c.done.is_(False)).group_by(outbox.c.request_id)
    ).scalar_subquery()
    rows = connection.execute(
        select(outbox.c.id, outbox.c.request_id, outbox.c.effect, outbox.c.attempts)
        .where(outbox.c.id.in_(first), outbox.c.not_before <= now)
        .order_by(outbox.c.id)
    )
    return [
        Note(id=row.id, request_id=row.request_id, effect=Effect(row.effect), attempts=row.attempts)
        for row in rows
    ]


def next_due(connection: Connection) -> datetime | None:
    """When the next note is due; None when nothing waits."""
    return connection.execute(
        select(outbox.c.not_before).where(outbox.c.done.is_(False)).order_by(outbox.c.not_before).limit(1)
    ).scalar()


def trouble(connection: Connection, request_id: str) -> str | None:
    """What keeps the request's first note from being done; None when nothing does."""
    return connection.execute(
        select(outbox.c.trouble)
        .where(outbox.c.request_id == request_id, outbox.c.done.is_(False))
        .order_by(outbox.c.id)
        .limit(1)
    ).scalar()


def attempts(connection: Connection, request_id: str, effect: Effect) -> int:
    """How often the request's undone note for an effect was tried."""
    found = connection.execute(
        select(outbox.c.attempts)
        .where(outbox.c.request_id == request_id, outbox.c.effect == effect.value, outbox.c.done.is_(False))
        .order_by(outbox.c.id)
        .limit(1)
    ).scalar()
    return int(found or 0)


def waiting_count(connection: Connection) -> int:
    """How many notes wait, for the metrics."""
    return int(
        connection.execute(
            select(func.count()).select_from(outbox).where(outbox.c.done.is_(False))
        ).scalar_one()
    )


class OutboxWorker:
    """Carries notes out. One thread runs it."""

    def __init__(self, parts: Parts, carriers: Mapping[Effect, Carrier], given_up: GivenUp) -> None:
        self._parts = parts
        self._carriers = carriers
        self._given_up = given_up
        self._limited_until: datetime | None = None

    def run_once(self) -> int:
        """Carries out every note that is due and returns how many were done."""
        done = 0
        while True:
            now = self._parts.clock.now()
            if self._limited_until is not None and now < self._limited_until:
                return done
            with self._parts.database.reading() as connection:
                notes = due(connection, now)
            if not notes:
                return done
            for note in notes:
                if self._limited_until is not None and self._parts.clock.now() < self._limited_until:
                    return done
                done += self._carry_out(note)

    def _carry_out(self, note: Note) -> bool:
        with step(self._parts) as unit:
            unit.connection.execute(
                update(outbox).where(outbox.c.id == note.id).values(attempts=note.attempts + 1)
            )
        try:
            finish = self._carriers[note.effect](note.request_id, note.attempts > 0)
        except NotYet as reason:
            later = Later(
                seconds=min(2 ** min(note.attempts + 1, 6), 60), everything=False, trouble=str(reason)
            )
            self._postpone(note, later)
            return False
        except Impossible as reason:
            self._give_up(note, str(reason))
            return False
        except Exception as error:  # noqa: BLE001  The worker outlives any effect; the note is kept.
            self._failed(note, error)
            return False
        with step(self._parts) as unit:
            finish(unit)
            unit.connection.execute(
                update(outbox).where(outbox.c.id == note.id).values(done=True, trouble=None)
            )
        return True

    def _failed(self, note: Note, error: Exception) -> None:
        meaning = github_failures.meaning(error, attempt=note.attempts + 1, now=self._parts.clock.now())
        match meaning:
            case Later():
                self._postpone(note, meaning)
            case Never():
                self._give_up(note, meaning.trouble)
        logger.warning("%s of %s: %s", note.effect.value, note.request_id, meaning.trouble)

    def _postpone(self, note: Note, later: Later) -> None:
        again = self._parts.clock.now() + timedelta(seconds=later.seconds)
        if later.everything:
            self._limited_until = again
        with step(self._parts) as unit:
            unit.connection.execute(
                update(outbox).where(outbox.c.id == note.id).values(not_before=again, trouble=later.trouble)
            )

    def _give_up(self, note: Note, why: str) -> None:
        with step(self._parts) as unit:
            unit.connection.execute(
                update(outbox).where(outbox.c.id == note.id).values(done=True, trouble=why)
            )
            self._given_up(unit, note.request_id, note.effect, why)
