"""What time alone decides: expired requests and grants, tools that changed, runners that fell silent."""

from __future__ import annotations

from datetime import timedelta

from bot import endings, jobs, outbox, request_store, wording
from bot.jobs import QueuedJob
from bot.outbox import Effect
from bot.parts import Parts
from bot.request_store import Request
from bot.request_tables import OPEN
from bot.unit_of_work import UnitOfWork, request_topic
from policy.audit import Kind
from policy.runner_protocol import JobKind
from policy.states import State, Tier

MOST_ATTEMPTS = 2
"""A read or plan whose runner fell silent is handed out once more."""


def sweep(parts: Parts, unit: UnitOfWork) -> None:
    """Everything that is due now."""
    for request in request_store.in_states(unit.connection, OPEN):
        if not _end_changed(parts, unit, request) and not _waited_in_vain(parts, unit, request):
            _expire(parts, unit, request)
    before = unit.now - timedelta(seconds=parts.limits.heartbeat_seconds)
    for job in jobs.silent(unit.connection, before):
        lose(unit, job)


def _end_changed(parts: Parts, unit: UnitOfWork, request: Request) -> bool:
    tool = parts.policy.tools.get(request.tool)
    if tool is not None and tool.sha256 == request.tool_digest:
        return False
    match request.state:
        case State.PENDING | State.GRANTED:
            endings.end(unit, request, State.VOID, cause=wording.TOOL_CHANGED)
        case State.RECEIVED | State.PLANNING:
            endings.end(unit, request, State.REFUSED, cause=wording.TOOL_CHANGED)
        case _:
            return False
    return True


def _waited_in_vain(parts: Parts, unit: UnitOfWork, request: Request) -> bool:
    """Ends what no runner took: a read after minutes, a plan after the time that people would have had."""
    waited = unit.now - request.created_at
    untaken = request.tier is Tier.READ and request.state is State.RECEIVED
    if untaken and waited > timedelta(seconds=parts.limits.received_seconds):
        endings.end(unit, request, State.REFUSED, cause=wording.NOT_TAKEN)
        return True
    unplanned = request.state is State.PLANNING and request.digest is None
    if unplanned and waited > timedelta(seconds=parts.policy.tools[request.tool].wait_seconds):
        endings.end(unit, request, State.FAILED, cause=wording.NOT_PLANNED)
        return True
    return False


def _expire(parts: Parts, unit: UnitOfWork, request: Request) -> None:
    if request.state not in (State.PENDING, State.GRANTED) or request.expires_at is None:
        return
    if unit.now >= request.expires_at:
        granted = request.state is State.GRANTED
        cause = wording.EXPIRED_GRANT if granted else wording.EXPIRED_WAIT
        endings.end(unit, request, State.EXPIRED, cause=cause)
        return
    tool = parts.policy.tools[request.tool]
    age = timedelta(seconds=tool.plan_age_seconds)
    if request.planned_at is not None and unit.now >= request.planned_at + age:
        endings.end(unit, request, State.EXPIRED, cause=wording.EXPIRED_PLAN)


def lose(unit: UnitOfWork, job: QueuedJob) -> None:
    """A job's runner fell silent: what that means depends on what it may have done."""
    jobs.finish(unit, job.id, result_sha256=None)
    request = request_store.need(unit.connection, job.request_id)
    if request.final:
        return
    again = job.attempt < MOST_ATTEMPTS and not job.cancelled
    match job.kind, request.state:
        case JobKind.READ, State.RECEIVED if again:
            jobs.add(unit, request, JobKind.READ, attempt=job.attempt + 1)
        case JobKind.READ, State.RECEIVED:
            endings.end(unit, request, State.REFUSED, cause=wording.LOST_READ)
        case JobKind.READ, State.RUNNING:
            _end_lost(unit, request, State.FAILED, wording.LOST_READ)
        case JobKind.PLAN, State.PLANNING if again:
            jobs.add(unit, request, JobKind.PLAN, attempt=job.attempt + 1)
        case JobKind.PLAN, State.PLANNING if request.digest is None:
            endings.end(unit, request, State.FAILED, cause=wording.LOST_PLAN)
        case JobKind.EXECUTE, State.GRANTED:
            jobs.add(unit, request, JobKind.EXECUTE, attempt=job.attempt + 1)
        case JobKind.EXECUTE, State.CLAIMED | State.RUNNING:
            _end_lost(unit, request, State.UNKNOWN, wording.LOST_EXECUTION)
        case _:
            return


def _end_lost(unit: UnitOfWork, request: Request, state: State, cause: str) -> None:
    request_store.transition(unit.connection, request, state, cause=cause, at=unit.now)
    unit.append(Kind.TOOL_RESULT, request.id, {"state": state.value, "outcome": "unknown", "cause": cause})
    if request.tier is Tier.DESTRUCTIVE:
        # The lock stays: somebody has to look at the target first.
        outbox.enqueue(unit, request.id, Effect.CHECK, Effect.STATUS, Effect.CLOSE)
    unit.wake(request_topic(request.id))
