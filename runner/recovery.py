"""What a runner does before it takes work: it answers for what an earlier process of it left behind.

One process at a time uses a data folder (it holds a lock on it), so whatever is found there at start
belongs to a process that is gone:

 1. sandboxes that still run are destroyed, and seen to be gone;
 2. leases in the journal are revoked, and seen to be powerless: none has a living sandbox any more;
 3. every job in the journal is answered for, unless its result is kept: an execution whose grant was
    spent ended with an outcome that nobody knows; anything else was broken off before it did anything
    that counts;
 4. results that are kept are delivered.

An execution is not begun again, whatever became of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from policy.refusal import Refused
from policy.runner_protocol import JobKind, JobOutcome
from runner import reports
from runner.bot_client import BotUnavailable
from runner.equipment import Equipment
from runner.job_journal import JobInWork
from runner.kept_results import KeptResult
from runner.sandbox.interface import StillRunning

OUTCOME_LOST = (
    "How it ended is not known: the runner was stopped after the grant was spent. "
    "Look at the target; it is not tried again."
)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What was found: calls destroyed, leases that stay in the journal with the reason, jobs answered."""

    destroyed: tuple[str, ...]
    still_running: tuple[str, ...]
    leases_kept: tuple[str, ...]
    answered: tuple[JobInWork, ...]
    waiting: int


def recover(equipment: Equipment) -> Recovered:
    """Answers for everything that is left over.

    Raises:
        Refused: `journal_invalid`, when what is left over can't be read: a person must look at it.
        WentBack: the bot contradicts its audit chain.
        OSError: the disk refuses.
    """
    destroyed, still_running = _destroy(equipment)
    leases_kept = sweep(equipment)
    answered = []
    for job in equipment.journal.left_over():
        if not equipment.kept.holds(job.job_id):
            equipment.kept.keep(_answer(equipment, job))
            answered.append(job)
        equipment.journal.remove(job.job_id)
    waiting = deliver_kept(equipment)
    return Recovered(
        destroyed=destroyed,
        still_running=still_running,
        leases_kept=leases_kept,
        answered=tuple(answered),
        waiting=waiting,
    )


def deliver_kept(equipment: Equipment) -> int:
    """Delivers kept results until the bot is away; gives how many still wait.

    Raises:
        Refused: `journal_invalid`, for a kept result that can't be read.
        WentBack: the bot contradicts its audit chain.
    """
    waiting = list(equipment.kept.all())
    while waiting:
        try:
            not_taken = equipment.kept.deliver(waiting[0], equipment.bot, equipment.chain)
        except BotUnavailable as away:
            _log.warning("results are kept until the bot can be reached", count=len(waiting), why=str(away))
            break
        if not_taken is not None:
            _log.warning("the bot does not take a result", job=waiting[0].job_id, why=not_taken.why)
        del waiting[0]
    return len(waiting)


def sweep(equipment: Equipment) -> tuple[str, ...]:
    """Revokes leases whose sandbox is gone; the reasons why others stay. Never raises for OpenBao."""
    try:
        kept = equipment.sweep_leases()
    except Refused as refused:
        kept = (refused.refusal.what,)
    for why in kept:
        _log.warning("a lease stays in the journal", why=why)
    return kept


def _destroy(equipment: Equipment) -> tuple[tuple[str, ...], tuple[str, ...]]:
    destroyed, still_running = [], []
    for call_id in sorted(equipment.sandbox.alive()):
        try:
            equipment.sandbox.destroy(call_id)
            destroyed.append(call_id)
        except StillRunning as still:
            # Its lease stays in the journal, because the sweep never ends one under a living sandbox.
            still_running.append(call_id)
            _log.error("a sandbox can't be ended", call=call_id, why=still.refusal.what)
    return tuple(destroyed), tuple(still_running)


def is_spent(equipment: Equipment, job: JobInWork | None) -> bool:
    """Whether a job is an execution whose grant was spent."""
    return job is not None and job.grant_id is not None and equipment.spent.is_spent(job.grant_id)


def _answer(equipment: Equipment, job: JobInWork) -> KeptResult:
    if is_spent(equipment, job):
        outcome, reason = JobOutcome.UNKNOWN, OUTCOME_LOST
    elif job.kind is JobKind.EXECUTE:
        outcome = JobOutcome.FAILED
        reason = "The runner was stopped before the grant was spent; nothing was done."
    else:
        outcome, reason = JobOutcome.FAILED, "The runner was stopped; a read or a plan changes nothing."
    result = reports.result(equipment.settings.name, outcome, reason)
    return KeptResult(job_id=job.job_id, events=(), result=result)
