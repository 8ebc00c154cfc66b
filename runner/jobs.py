"""One job from its arrival to its delivered result.

journal → preflight → the work of its kind → result kept (an execution's, or one that the bot does not
take now) → journal cleared → delivered. A runner that is killed between any two of these knows at its
next start what it owes (`recovery`).
"""

from __future__ import annotations

import threading
from typing import assert_never

import structlog

from policy.audit import Kind
from policy.receipt import AuditTip
from policy.refusal import Refusal, Refused
from policy.runner_protocol import Job, JobKind, JobOutcome, JobResult
from policy.tools import Tool
from runner import execution, plan_job, preflight, reading, recovery, reports
from runner.bot_client import BotRefused, BotUnavailable
from runner.chain_watch import WentBack
from runner.equipment import Equipment
from runner.heartbeat import Heartbeat
from runner.job_journal import JobInWork
from runner.kept_results import KeptResult
from runner.sandbox.interface import StillRunning
from runner.trail import Trail

_log = structlog.get_logger(__name__)


def work(equipment: Equipment, job: Job, *, asked: AuditTip | None) -> JobResult:
    """Does one job and delivers its result, or keeps it for later.

    Args:
        equipment: the runner's own.
        job: as the poll brought it.
        asked: the audit tip that the poll carried.

    Raises:
        WentBack: the bot contradicts its audit chain; the job was not begun, or its result is kept.
        OSError: the disk refuses what must be on it.
    """
    equipment.chain.check_poll(asked, job.audit_tip, job.audit_at_remembered)
    settings = equipment.settings
    begun = JobInWork(
        job_id=job.id,
        request_id=job.request_id,
        kind=job.kind,
        tool=job.tool,
        grant_id=None,
        digest=None,
        begun_at=equipment.now(),
    )
    equipment.journal.write(begun)
    cancelled = threading.Event()
    trail = Trail(equipment.bot, job_id=job.id, runner=settings.name, chain=equipment.chain)
    with Heartbeat(equipment.bot, job_id=job.id, runner=settings.name, cancelled=cancelled):
        try:
            result = _do(equipment, job, begun, trail, cancelled)
        except WentBack:
            # Nothing of this bot's is answered any more; the next start reports the job.
            trail.close()
            raise
        undelivered = trail.close()
    _deliver(equipment, job, KeptResult(job_id=job.id, events=undelivered, result=result))
    _log.info(
        "job done", job=job.id, request=job.request_id, kind=job.kind.value, outcome=result.outcome.value
    )
    return result


def _do(
    equipment: Equipment, job: Job, begun: JobInWork, trail: Trail, cancelled: threading.Event
) -> JobResult:
    name = equipment.settings.name
    try:
        tool = preflight.check(
            job, policy=equipment.policy, pool=equipment.settings.pool, now=equipment.now()
        )
        return _by_kind(equipment, job, tool, begun, trail, cancelled)
    except StillRunning as still:
        return reports.result(name, JobOutcome.UNKNOWN, f"How it ended is not known: {still.refusal.what}.")
    except WentBack:
        raise
    except Refused as refused:
        return _refused(name, refused.refusal, trail)
    except (BotRefused, BotUnavailable) as away:
        # Of a claim whose answer was lost nobody knows whether it was made; nothing was spent on it.
        return reports.result(name, JobOutcome.FAILED, f"Nothing was done: {away}.")
    except Exception:  # noqa: BLE001  The outermost level of a job: it must end with an answer.
        _log.exception("a job broke off", job=job.id, request=job.request_id)
        if recovery.is_spent(equipment, equipment.journal.find(job.id)):
            return reports.result(name, JobOutcome.UNKNOWN, recovery.OUTCOME_LOST)
        return reports.result(name, JobOutcome.FAILED, "The runner failed; its log says why.")


def _by_kind(
    equipment: Equipment,
    job: Job,
    tool: Tool,
    begun: JobInWork,
    trail: Trail,
    cancelled: threading.Event,
) -> JobResult:
    match job.kind:
        case JobKind.READ:
            arguments = preflight.validated(tool, dict(job.arguments))
            return reading.read(equipment, job, tool, arguments, trail=trail, cancelled=cancelled)
        case JobKind.PLAN:
            arguments = preflight.validated(tool, dict(job.arguments))
            return plan_job.plan(equipment, job, tool, arguments, trail=trail, cancelled=cancelled)
        case JobKind.EXECUTE:
            return execution.execute(equipment, job, tool, begun, trail=trail, cancelled=cancelled)
        case _:
            assert_never(job.kind)


def _refused(name: str, refusal: Refusal, trail: Trail) -> JobResult:
    trail.note(Kind.RUNNER_REFUSED, {"code": refusal.code.value, "what": refusal.what})
    trail.give_time()
    return reports.refused(name, refusal)


def _deliver(equipment: Equipment, job: Job, kept: KeptResult) -> None:
    """Sends a result; what must not be lost, or can't be sent now, is on the disk first."""
    if job.kind is JobKind.EXECUTE:
        try:
            equipment.kept.keep(kept)
            equipment.journal.remove(job.id)
        except OSError as error:
            # The bot may still take it; only a kill before that would now make it unknown.
            _log.error("a result can't be kept", job=job.id, why=error.strerror)
    try:
        not_taken = equipment.kept.deliver(kept, equipment.bot, equipment.chain)
    except BotUnavailable as away:
        equipment.kept.keep(kept)
        _log.warning("a result is kept until the bot can be reached", job=job.id, why=str(away))
    else:
        if not_taken is not None:
            _log.warning("the bot does not take a result", job=job.id, why=not_taken.why)
    equipment.journal.remove(job.id)
