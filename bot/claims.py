"""The answer to a runner that wants to carry something out: everything is read again, then one wins.

1. the job is this runner's, and its policy is the bot's;
2. what the database alone can refuse is refused before GitHub is asked;
3. the approval is read and decided again, whole;
4. a pull request that changes source can be merged afterwards;
5. one transaction decides the race (`bot.grants`), takes the lock and appends `grant.claimed`;
6. only then is the grant signed.
"""

from __future__ import annotations

from bot import grants, jobs, request_papers, request_store
from bot.approvals import Approvals
from bot.jobs import QueuedJob
from bot.parts import Parts
from bot.request_store import Request
from bot.tokens import Principal
from bot.unit_of_work import step
from evidence import Unavailable
from policy import grant
from policy.approval import Approved
from policy.receipt import AuditTip
from policy.refusal import Code, Refused, refuse
from policy.runner_protocol import Claim, ClaimRequest, JobKind


class Claims:
    """Answers claims. Safe for threads."""

    def __init__(self, parts: Parts, approvals: Approvals) -> None:
        self._parts = parts
        self._approvals = approvals

    def claim(self, principal: Principal, job_id: str, wanted: ClaimRequest) -> Claim:
        """Gives the signed grant and the sealed plan to the one runner that wins.

        Raises:
            Refused: `not_found`, `job_not_yours`, `claim_refused`, or `github_unavailable` when the
                approval can't be read again now; nothing is claimed then.
        """
        request = self._first_look(principal, job_id, wanted)
        self._check_approval(request)
        with step(self._parts) as unit:
            self._check_job(jobs.of_runner(unit.connection, principal, job_id), request)
            claims, fence = grants.claim(
                self._parts, unit, request.id, runner=wanted.runner, digest=wanted.digest
            )
            papers = request_papers.papers_of(unit.connection, request.id)
            tip = self._parts.audit.tip(unit.connection)
        return Claim(
            grant=grant.sign(claims, self._parts.grant_key),
            fence=fence,
            sealed_plan=papers.sealed_plan if papers else None,
            audit_tip=tip or AuditTip(sequence=0, hash="0" * 64),
        )

    def _first_look(self, principal: Principal, job_id: str, wanted: ClaimRequest) -> Request:
        with self._parts.database.reading() as connection:
            job = jobs.of_runner(connection, principal, job_id)
            request = request_store.need(connection, job.request_id)
            claims = grants.of_request(connection, request.id)
            now = self._parts.clock.now()
            why = grants.why_not(self._parts, connection, request, claims, digest=wanted.digest, now=now)
        self._check_job(job, request)
        if wanted.policy_sha256 != self._parts.policy.sha256:
            why = "the runner's policy is not the bot's"
        if why is not None:
            raise grants.refused(request, why)
        return request

    def _check_job(self, job: QueuedJob, request: Request) -> None:
        if job.kind is not JobKind.EXECUTE:
            raise grants.refused(request, "the job executes nothing")
        if job.state != "taken" or job.cancelled:
            raise grants.refused(request, "the job is over or was cancelled")

    def _check_approval(self, request: Request) -> None:
        try:
            look = self._approvals.look(request.id)
            if look is None or not isinstance(look.decision, Approved):
                raise grants.refused(request, "its approval no longer holds")
            if request.changes_source:
                self._check_mergeable(request, mergeable=look.facts.pull_request.mergeable)
        except Unavailable:
            raise _github_silent(request) from None

    def _check_mergeable(self, request: Request, *, mergeable: bool | None) -> None:
        if mergeable is None and request.pull_request is not None:
            # GitHub works it out when it is first asked, and tells it the next time.
            mergeable = self._parts.writer().pull_request(request.pull_request).get("mergeable")
        if mergeable is not True:
            raise grants.refused(request, "GitHub does not say that its pull request can be merged")


def _github_silent(request: Request) -> Refused:
    return refuse(
        Code.GITHUB_UNAVAILABLE,
        f"the claim of {request.id}: GitHub can't be read now",
        rule="An approval is read again when its grant is claimed.",
        remedy="Try again later; the grant is unclaimed.",
    )
