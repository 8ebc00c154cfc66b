"""Hands jobs to runners: what a runner is told, and when it is told nothing."""

from __future__ import annotations

from bot import jobs, participants, request_papers
from bot.jobs import QueuedJob
from bot.parts import Parts
from bot.request_store import Request
from bot.tokens import Principal
from bot.unit_of_work import UnitOfWork, step
from policy import audit, manifest
from policy.receipt import AuditTip
from policy.runner_protocol import Job, JobKind, Poll


class HandingOut:
    """Answers polls. Safe for threads."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def next_job(self, principal: Principal, poll: Poll) -> Job | None:
        """The next job, or None. A runner with another policy than the bot's is noted and gets nothing."""
        with step(self._parts) as unit:
            jobs.describe_runner(unit, poll, principal.id)
            jobs.seen(unit, principal.id, poll.running)
            if poll.policy_sha256 != self._parts.policy.sha256:
                return None
            paused = self._parts.pause.reason(unit.connection) is not None
            taken = jobs.take(unit, poll, principal.id, paused=paused)
            if taken is None:
                return None
            return self._describe(unit, poll, *taken)

    def _describe(self, unit: UnitOfWork, poll: Poll, job: QueuedJob, request: Request) -> Job:
        connection = unit.connection
        execute = job.kind is JobKind.EXECUTE
        papers = request_papers.papers_of(connection, request.id) if execute else None
        people = participants.asked_by(connection, request.id)
        remembered = poll.remembered
        return Job(
            id=job.id,
            kind=job.kind,
            request_id=request.id,
            at=unit.now,
            audit_tip=self._parts.audit.tip(connection) or AuditTip(sequence=0, hash=audit.GENESIS),
            audit_at_remembered=(
                None if remembered is None else self._parts.audit.at(connection, remembered.sequence)
            ),
            tool=request.tool,
            tool_digest=request.tool_digest,
            policy_sha256=self._parts.policy.sha256,
            arguments=request.arguments,
            base=manifest.Base(ref=request.base_ref, sha=request.base_sha or ""),
            source=request.source,
            manifest=papers.manifest if papers else None,
            pull_request=request.pull_request if execute else None,
            head_sha=request.head_sha if execute else None,
            barred=tuple(sorted({person.person_id for person in people})),
        )
