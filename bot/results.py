"""What a job's end makes of its request.

Everything a runner sends is checked against the job and the request as they are; a result is taken
once, and the same one sent again is answered in the same way.
"""

from __future__ import annotations

from bot import (
    endings,
    job_events,
    job_receipts,
    job_rules,
    jobs,
    locks,
    outbox,
    request_store,
    stale,
    wording,
)
from bot.composition import Composed
from bot.jobs import QueuedJob
from bot.outbox import Effect
from bot.parts import Parts
from bot.planning import Planning, refusal_of
from bot.request_store import Request
from bot.tokens import Principal
from bot.unit_of_work import UnitOfWork, request_topic, step
from policy import canonical, record
from policy.audit import Kind
from policy.canonical import Json
from policy.inert_text import code
from policy.receipt import AuditTip, Receipt
from policy.refusal import Refused
from policy.runner_protocol import JobKind, JobOutcome, JobResult
from policy.states import State, Tier

MERGE_SECONDS = 5
"""How long the status comment waits for the merge, so that one edit says both."""

RETRY_SECONDS = 15
"""A runner that could not begin an execution gets it again after this long."""


class Results:
    """Takes results. Safe for threads."""

    def __init__(self, parts: Parts, planning: Planning) -> None:
        self._parts = parts
        self._planning = planning

    def take(self, principal: Principal, job_id: str, result: JobResult) -> AuditTip:
        """Takes a job's result.

        Raises:
            Refused: `not_found`, `job_not_yours`, `result_invalid`, `receipt_signature`,
                `receipt_invalid`.
        """
        digest = canonical.sha256_bytes(record.encode(result))
        with self._parts.database.reading() as connection:
            job = jobs.of_runner(connection, principal, job_id)
            request = request_store.need(connection, job.request_id)
        signed = job_receipts.check(job, request, result, self._parts.receipt_keys)
        prepared = self._planning.prepare(request, result) if job.kind is JobKind.PLAN else None
        with step(self._parts) as unit:
            job = jobs.of_runner(unit.connection, principal, job_id)
            request = request_store.need(unit.connection, job.request_id)
            if job.state == "taken":
                self._finish(unit, job, request, result, digest, signed, prepared)
            elif job.result_sha256 is None:
                self._late(unit, job, request, result, digest, signed)
            elif job.result_sha256 != digest:
                raise job_receipts.result_invalid("the job ended with another result already")
            tip = self._parts.audit.tip(unit.connection)
        if tip is None:
            raise job_receipts.result_invalid("the audit chain is empty")
        return tip

    def _finish(
        self,
        unit: UnitOfWork,
        job: QueuedJob,
        request: Request,
        result: JobResult,
        digest: str,
        signed: Receipt | None,
        prepared: Composed | Refused | None,
    ) -> None:
        jobs.finish(unit, job.id, result_sha256=digest)
        if job.kind is JobKind.PLAN:
            self._planning.receive(unit, job, request, result, prepared)
            return
        if request.final:
            self._note_late(unit, job, request, result, signed)
            return
        unbegun = job.kind is JobKind.EXECUTE and request.state is State.GRANTED
        if unbegun and result.outcome in (JobOutcome.FAILED, JobOutcome.UNKNOWN):
            self._again(unit, job, request, result)
            return
        state = job_rules.end_of(job.kind, request.state, result.outcome)
        if state is None and signed is not None and request.state in (State.RECEIVED, State.CLAIMED):
            # Its `sandbox.started` never arrived; the receipt says that it ran all the same.
            job_events.start_running(unit, request)
            request = request_store.need(unit.connection, request.id)
            state = job_rules.end_of(job.kind, request.state, result.outcome)
        if state is None:
            raise job_receipts.result_invalid(
                f"a {job.kind.value} job can't end as {result.outcome.value} while {request.state.value}"
            )
        self._end(unit, request, state, result, signed)

    def _again(self, unit: UnitOfWork, job: QueuedJob, request: Request, result: JobResult) -> None:
        cause = wording.RUNNER_FAILED_BEFORE_CLAIM.format(reason=code(result.reason[:500]))
        request_store.note(unit.connection, request.id, cause=cause)
        jobs.add(unit, request, JobKind.EXECUTE, attempt=job.attempt + 1, delay_seconds=RETRY_SECONDS)
        outbox.enqueue(unit, request.id, Effect.STATUS)
        unit.wake(request_topic(request.id))

    def _end(
        self, unit: UnitOfWork, request: Request, state: State, result: JobResult, signed: Receipt | None
    ) -> None:
        refusal = refusal_of(result.refusal)
        ran = request.state is State.RUNNING or signed is not None
        values = {
            "result": _stored(result, signed),
            "receipt": result.receipt,
            "refusal": refusal.as_json() if refusal else None,
        }
        if not ran and request.state is not State.CLAIMED:
            # Nothing of it ran: a refused read, a void or stale grant.
            cause = _cause(request, state)
            if request.tier is Tier.READ:
                cause = refusal.what if refusal else result.reason
            endings.end(unit, request, state, cause=cause, refusal=refusal)
            stale.replan_if_stale(self._parts, unit, request.id)
            return
        cause = _cause(request, state)
        if state is State.FAILED and not ran:
            cause = wording.FAILED_BEFORE_START
        ended = request_store.transition(unit.connection, request, state, cause=cause, at=unit.now, **values)
        unit.append(
            Kind.TOOL_RESULT,
            request.id,
            {
                "state": state.value,
                "outcome": result.outcome.value,
                "exit_code": signed.exit_code if signed else None,
                "receipt_sha256": canonical.sha256_bytes((result.receipt or "").encode()),
            },
        )
        self._after(unit, ended, rescued=signed is not None and signed.state_rescued)
        unit.wake(request_topic(request.id))

    def _after(self, unit: UnitOfWork, request: Request, *, rescued: bool) -> None:
        """What follows an execution: its pull request, its lock, and those that wait for the same state."""
        if request.tier is Tier.READ:
            return
        if rescued:
            request_store.note(unit.connection, request.id, cause=wording.STATE_RESCUED)
        if rescued or request.state is State.UNKNOWN:
            # Whoever looks at the target frees the lock.
            outbox.enqueue(unit, request.id, Effect.CHECK, Effect.STATUS, Effect.CLOSE)
        elif request.state is State.SUCCEEDED and request.changes_source:
            # A branch rule may ask for the check before the merge; the comment is written after it.
            outbox.enqueue(unit, request.id, Effect.CHECK, Effect.MERGE)
            outbox.enqueue(unit, request.id, Effect.STATUS, delay_seconds=MERGE_SECONDS)
        else:
            endings.close(unit, request)
            locks.free(unit, request)
        if request.state in (State.SUCCEEDED, State.FAILED):
            stale.others(self._parts, unit, request)
        stale.replan_if_stale(self._parts, unit, request.id)

    def _late(
        self,
        unit: UnitOfWork,
        job: QueuedJob,
        request: Request,
        result: JobResult,
        digest: str,
        signed: Receipt | None,
    ) -> None:
        """A result after its job was given up: nothing is undone, but the trail tells it."""
        jobs.finish(unit, job.id, result_sha256=digest)
        self._note_late(unit, job, request, result, signed)

    def _note_late(
        self,
        unit: UnitOfWork,
        job: QueuedJob,
        request: Request,
        result: JobResult,
        signed: Receipt | None,
    ) -> None:
        unit.append(
            Kind.TOOL_RESULT,
            request.id,
            {
                "late": True,
                "state": request.state.value,
                "outcome": result.outcome.value,
                "receipt_sha256": canonical.sha256_bytes((result.receipt or "").encode()),
            },
        )
        if request.state is not State.UNKNOWN or signed is None or job.kind is not JobKind.EXECUTE:
            return
        cause = f"{wording.LOST_EXECUTION} {wording.LATE_RECEIPT.format(outcome=signed.outcome.value)}"
        request_store.note(
            unit.connection,
            request.id,
            cause=cause,
            result=_stored(result, signed),
            receipt=result.receipt,
        )
        outbox.enqueue(unit, request.id, Effect.STATUS)
        unit.wake(request_topic(request.id))


def _cause(request: Request, state: State) -> str:
    match state:
        case State.SUCCEEDED:
            return wording.SUCCEEDED_READ if request.tier is Tier.READ else wording.SUCCEEDED
        case State.UNKNOWN:
            return wording.UNKNOWN
        case State.STALE:
            return wording.STALE_PLAN
        case State.REFUSED | State.VOID:
            return wording.REFUSED_BY_RUNNER
        case _:
            return wording.FAILED


def _stored(result: JobResult, signed: Receipt | None) -> dict[str, Json]:
    return {
        "outcome": result.outcome.value,
        "reason": result.reason,
        "output": result.output,
        "output_cut_bytes": result.output_cut_bytes,
        "receipt": record.to_json(signed) if signed else None,
    }
