"""Steps that runners report: each goes into the audit trail once, if it has a place there."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection, insert, select

from bot import job_rules, jobs, outbox, request_store, wording
from bot.outbox import Effect
from bot.parts import Parts
from bot.request_store import Request
from bot.request_tables import job_events
from bot.tokens import Principal
from bot.unit_of_work import UnitOfWork, request_topic, step
from policy import canonical
from policy.audit import Kind
from policy.canonical import Json
from policy.receipt import AuditTip
from policy.refusal import Code, Refused, refuse
from policy.runner_protocol import JobEvent
from policy.states import State, Tier

LARGEST_EVENT = 16 * 1024
"""Bytes of one event's data."""


class JobEvents:
    """Takes events. Safe for threads."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def event(self, principal: Principal, job_id: str, event: JobEvent) -> AuditTip:
        """Appends one step of a job to the audit trail; the same step twice is one.

        Raises:
            Refused: `not_found`, `job_not_yours`, `event_misplaced`.
        """
        data = dict(event.data)
        digest = canonical.sha256({"kind": event.kind.value, "data": cast("Json", data)})
        if len(canonical.encode(cast("Json", data))) > LARGEST_EVENT:
            raise _misplaced(event.kind, f"it has more than {LARGEST_EVENT} bytes of data")
        with step(self._parts) as unit:
            job = jobs.of_runner(unit.connection, principal, job_id)
            request = request_store.need(unit.connection, job.request_id)
            seen = _seen(unit.connection, job_id)
            for kind, known, sequence in seen:
                if kind is event.kind and known == digest:
                    found = self._parts.audit.at(unit.connection, sequence)
                    if found is not None:
                        return found
            kinds = [kind for kind, _, _ in seen]
            why = job_rules.misplaced(job.kind, request.state, kinds, event.kind)
            if why is not None:
                raise _misplaced(event.kind, why)
            tip = unit.append(event.kind, request.id, data)
            _remember(unit.connection, job_id, len(seen), event.kind, digest, tip.sequence)
            jobs.seen(unit, principal.id, [job_id])
            if job_rules.starts_running(request.tier, job.kind, request.state, event.kind):
                start_running(unit, request)
            return tip


def start_running(unit: UnitOfWork, request: Request) -> None:
    """The tool itself has begun.

    Raises:
        TransitionRefused: when the request is no longer where it was.
    """
    read = request.tier is Tier.READ
    cause = wording.RUNNING_READ if read else wording.RUNNING
    request_store.transition(unit.connection, request, State.RUNNING, cause=cause, at=unit.now)
    if not read:
        outbox.enqueue(unit, request.id, Effect.STATUS, delay_seconds=1)
    unit.wake(request_topic(request.id))


def _seen(connection: Connection, job_id: str) -> list[tuple[Kind, str, int]]:
    rows = connection.execute(
        select(job_events.c.kind, job_events.c.data_sha256, job_events.c.sequence)
        .where(job_events.c.job_id == job_id)
        .order_by(job_events.c.position)
    )
    return [(Kind(kind), str(digest), int(sequence)) for kind, digest, sequence in rows]


def _remember(
    connection: Connection, job_id: str, position: int, kind: Kind, digest: str, sequence: int
) -> None:
    connection.execute(
        insert(job_events).values(
            job_id=job_id, position=position, kind=kind.value, data_sha256=digest, sequence=sequence
        )
    )


def _misplaced(kind: Kind, why: str) -> Refused:
    return refuse(
        Code.EVENT_MISPLACED,
        f"the event {kind.value}: {why}",
        rule="A job reports its own steps, in their order.",
        remedy="Report the step that came before, or end the job.",
    )
