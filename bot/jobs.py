"""The queue of work for runners: who gets what, who still works, who was lost.

A job is handed out once, by one atomic statement, to a runner of its target's pool whose policy is the
bot's own. What a lost job means depends on what it may have done: planning and reading are tried
again once, an execution that was never claimed goes back into the queue, and one that was claimed has
an unknown outcome and is never tried again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from bot import locks, request_store
from bot.identifiers import new_job_id
from bot.request_store import Request
from bot.request_tables import jobs, runners
from bot.tokens import Principal
from bot.unit_of_work import UnitOfWork, pool_topic
from policy.refusal import Code, refuse
from policy.runner_protocol import JobKind, Poll
from policy.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """One row of `jobs`."""

    id: str
    kind: JobKind
    request_id: str
    pool: str
    attempt: int
    state: str
    cancelled: bool
    runner: str | None
    principal_id: int | None
    taken_at: datetime | None
    seen_at: datetime | None
    result_sha256: str | None
    created_at: datetime


_COLUMNS = (
    jobs.c.id,
    jobs.c.kind,
    jobs.c.request_id,
    jobs.c.pool,
    jobs.c.attempt,
    jobs.c.state,
    jobs.c.cancelled,
    jobs.c.runner,
    jobs.c.principal_id,
    jobs.c.taken_at,
    jobs.c.seen_at,
    jobs.c.result_sha256,
    jobs.c.created_at,
)

WANTED: dict[JobKind, frozenset[State]] = {
    JobKind.READ: frozenset({State.RECEIVED}),
    JobKind.PLAN: frozenset({State.PLANNING}),
    JobKind.EXECUTE: frozenset({State.GRANTED}),
}
"""The state that a request must be in for its job to be handed out."""


def add(
    unit: UnitOfWork, request: Request, kind: JobKind, *, attempt: int = 1, delay_seconds: int = 0
) -> str:
    """Queues a job and returns its id."""
    job_id = new_job_id()
    unit.connection.execute(
        insert(jobs).values(
            id=job_id,
            kind=kind.value,
            request_id=request.id,
            pool=request.runner_pool,
            attempt=attempt,
            state="queued",
            cancelled=False,
            not_before=unit.now + timedelta(seconds=delay_seconds),
            created_at=unit.now,
        )
    )
    unit.wake(pool_topic(request.runner_pool))
    return job_id


def get(connection: Connection, job_id: str) -> QueuedJob | None:
    """The job with that id; None when there is none."""
    row = connection.execute(select(*_COLUMNS).where(jobs.c.id == job_id)).first()
    return None if row is None else _record(row)


def of_runner(connection: Connection, principal: Principal, job_id: str) -> QueuedJob:
    """The job, if this runner took it.

    Raises:
        Refused: `not_found` or `job_not_yours`.
    """
    job = get(connection, job_id)
    if job is None:
        raise refuse(
            Code.NOT_FOUND,
            f"the job {job_id[:40]!a}",
            rule="A job is known by the id that it was handed out with.",
            remedy="Ask for work.",
        )
    if job.principal_id != principal.id:
        raise refuse(
            Code.JOB_NOT_YOURS,
            f"the job {job.id}",
            rule="A job is reported by the runner that took it.",
            remedy="Ask for work.",
        )
    return job


def take(
    unit: UnitOfWork, poll: Poll, principal_id: int, *, paused: bool
) -> tuple[QueuedJob, Request] | None:
    """Hands the oldest fitting job of a pool to a runner; None when there is none."""
    rows = unit.connection.execute(
        select(*_COLUMNS)
        .where(jobs.c.pool == poll.pool, jobs.c.state == "queued", jobs.c.not_before <= unit.now)
        .order_by(jobs.c.created_at, jobs.c.id)
    ).all()
    for row in rows:
        job = _record(row)
        request = request_store.need(unit.connection, job.request_id)
        if not _may_start(unit.connection, job, request, paused=paused):
            continue
        taken = unit.connection.execute(
            update(jobs)
            .where(jobs.c.id == job.id, jobs.c.state == "queued")
            .values(
                state="taken",
                runner=poll.runner,
                principal_id=principal_id,
                taken_at=unit.now,
                seen_at=unit.now,
            )
            .returning(jobs.c.id)
        ).first()
        if taken is not None:
            return job, request
    return None


def _may_start(connection: Connection, job: QueuedJob, request: Request, *, paused: bool) -> bool:
    if job.cancelled or request.state not in WANTED[job.kind]:
        return False
    if job.kind is JobKind.READ:
        return True
    # A plan made while others change the same state would be stale before anyone read it.
    if locks.held_against(connection, request) is not None:
        return False
    return not (job.kind is JobKind.EXECUTE and paused)


def seen(unit: UnitOfWork, principal_id: int, job_ids: Sequence[str]) -> None:
    """Records that a runner still works on these jobs of its own."""
    unit.connection.execute(
        update(jobs)
        .where(jobs.c.id.in_(job_ids), jobs.c.principal_id == principal_id, jobs.c.state == "taken")
        .values(seen_at=unit.now)
    )


def finish(unit: UnitOfWork, job_id: str, *, result_sha256: str | None) -> None:
    """Marks a job as done; a result's digest lets the same result be sent twice."""
    unit.connection.execute(
        update(jobs).where(jobs.c.id == job_id).values(state="done", result_sha256=result_sha256)
    )


def cancel(unit: UnitOfWork, request_id: str) -> None:
    """Takes back what is queued, and tells the runner of what is taken with its next heartbeat."""
    queued = (jobs.c.request_id == request_id, jobs.c.state == "queued")
    unit.connection.execute(update(jobs).where(*queued).values(state="done", cancelled=True))
    taken = (jobs.c.request_id == request_id, jobs.c.state == "taken")
    unit.connection.execute(update(jobs).where(*taken).values(cancelled=True))


def silent(connection: Connection, before: datetime) -> list[QueuedJob]:
    """Jobs that a runner took and has not spoken of since."""
    rows = connection.execute(
        select(*_COLUMNS).where(jobs.c.state == "taken", jobs.c.seen_at < before).order_by(jobs.c.id)
    )
    return [_record(row) for row in rows]


def waits_for_work(connection: Connection, request_id: str) -> bool:
    """Whether the request has a job that is not done."""
    return (
        connection.execute(
            select(jobs.c.id).where(jobs.c.request_id == request_id, jobs.c.state != "done")
        ).first()
        is not None
    )


def queue_lengths(connection: Connection) -> dict[str, int]:
    """How many jobs wait in each pool, for the metrics."""
    rows = connection.execute(
        select(jobs.c.pool, func.count()).where(jobs.c.state == "queued").group_by(jobs.c.pool)
    )
    return {str(pool): int(count) for pool, count in rows}


def describe_runner(unit: UnitOfWork, poll: Poll, principal_id: int) -> None:
    """Stores how a runner describes itself."""
    values = {
        "principal_id": principal_id,
        "pool": poll.pool,
        "last_seen_at": unit.now,
        "sandbox": poll.sandbox,
        "kernel": poll.kernel,
        "proved_at": poll.proved_at,
        "policy_sha256": poll.policy_sha256,
    }
    unit.connection.execute(
        upsert(runners)
        .values(name=poll.runner, **values)
        .on_conflict_do_update(index_elements=["name"], set_=values)
    )


def _record(row: object) -> QueuedJob:
    values = dict(row._mapping)  # type: ignore[attr-defined]
    return QueuedJob(**{**values, "kind": JobKind(values["kind"])})
